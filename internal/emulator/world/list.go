package world

import (
	"math"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// List pages through profiles.
func (w *Directory) List(
	c *wire.Call, key string, ids []string, render func(id, viewer string, lv wire.Level) wire.Object,
) (wire.Object, error) {
	limit := c.Integer("limit", wire.ListDefault, 1, wire.ListLimit)
	offset := c.Integer("offset", 0, 0, math.MaxInt32)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	first := min(offset, len(ids))
	last := min(first+limit, len(ids))
	rows := make([]wire.Object, 0, last-first)
	for _, id := range ids[first:last] {
		rows = append(rows, render(id, c.Key.User, c.Out.Level))
	}
	return wire.Object{{key, rows}, {"pagination", wire.Object{
		{"total", len(ids)},
		{"limit", limit},
		{"offset", offset},
		{"has_more", last < len(ids)},
	}}}, nil
}
