package events

import (
	"iter"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/world"
)

// candidates walks the indexed rows of a query from behind start, within the positions its times allow.
func candidates(l *world.Log, q *Query, start *world.Position) iter.Seq[uint32] {
	rows := rows(l, q)
	first, last := l.Span(q.from, q.to)
	at := func(n uint32, p world.Position) int { return l.Position(n).Compare(p) }
	from, _ := slices.BinarySearchFunc(rows, first, at)
	if start != nil {
		behind, found := slices.BinarySearchFunc(rows, *start, at)
		if found {
			behind++
		}
		from = max(from, behind)
	}
	return func(yield func(uint32) bool) {
		for _, n := range rows[from:] {
			if l.Position(n).Compare(last) > 0 || !yield(n) {
				return
			}
		}
	}
}
