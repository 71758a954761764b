package transport

import (
	"sync"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/drift"
)

// maxPlaces is the most members that a client reports.
const maxPlaces = 1000

// drifts are the differences of a client that are known.
type drifts struct {
	mu    sync.Mutex
	known map[drift.Place]map[drift.Kind]bool
}

// isNew reports whether a difference of that kind has not been reported yet, and
// remembers it. Each is reported once; after maxPlaces places no other place is
// reported.
func (s *drifts) isNew(at drift.Place, kind drift.Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := s.known[at]
	switch {
	case kinds[kind]:
		return false
	case kinds != nil: // a known place, another kind
	case len(s.known) >= maxPlaces:
		return false
	default:
		if s.known == nil {
			s.known = map[drift.Place]map[drift.Kind]bool{}
		}
		kinds = map[drift.Kind]bool{}
		s.known[at] = kinds
	}
	kinds[kind] = true
	return true
}

// observeDrift reports what the response has that the type of out has not, each
// difference once per client.
func (x *exchange) observeDrift(out any) {
	for _, d := range drift.Differences(out, x.body) {
		d = d.Named()
		if !x.client.drifts.isNew(d.Place, d.Kind) {
			continue
		}
		e := api.DriftEvent{
			Op: x.request.Op, Type: d.Type, Member: d.Member, Kind: api.DriftKind(d.Kind), Want: d.Want, Got: d.Got,
		}
		for _, report := range x.client.cfg.Drift {
			reportDrift(report, e)
		}
	}
}

// reportDrift calls a function of the program and recovers its panics.
func reportDrift(report func(api.DriftEvent), e api.DriftEvent) {
	defer func() { _ = recover() }()
	report(e)
}
