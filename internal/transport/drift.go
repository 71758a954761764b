package transport

import (
	"context"
	"slices"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/drift"
)

// maxPlaces is the most members that a client reports.
const maxPlaces = 1000

// noteDrift remembers a difference of a kind at a place, and reports whether it is new. After
// maxPlaces places, a difference at any other place does not count as new.
func (c *Client) noteDrift(at drift.Place, kind drift.Kind) (isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds, isKnown := c.drifts[at]
	if slices.Contains(kinds, kind) || !isKnown && len(c.drifts) >= maxPlaces {
		return false
	}
	c.drifts[at] = append(kinds, kind)
	return true
}

// observeDrift reports what the response has that the type of out has not, each
// difference once per client.
func (x *exchange) observeDrift(ctx context.Context, out any) {
	for _, d := range drift.Differences(out, x.body) {
		d = d.Named() // without content of the response
		if !x.client.noteDrift(d.Place, d.Kind) {
			continue
		}
		e := api.DriftEvent{
			Op: x.request.Op, Type: d.Type, Member: d.Member, Kind: api.DriftKind(d.Kind), Want: d.Want, Got: d.Got,
		}
		for _, report := range x.client.cfg.Drift {
			runHook(ctx, func(_ context.Context, e api.DriftEvent) { report(e) }, e)
		}
	}
}
