package activity

import (
	"time"

	"github.com/fastio-go/fastio/api"
)

// Cursor is a moment of a profile's activity, as the server wrote it. It is sent
// back letter by letter.
type Cursor string

// Time returns the moment; the zero time if the server wrote what is none.
func (c Cursor) Time() time.Time {
	t, err := api.ParseTime(string(c))
	if err != nil {
		return time.Time{}
	}
	return t.Time
}

// Back returns a cursor that is d earlier, for a poll that shall find what
// became visible late; c itself if its moment cannot be read.
func (c Cursor) Back(d time.Duration) Cursor {
	t := c.Time()
	if t.IsZero() {
		return c
	}
	return cursorAt(t.Add(-d))
}

// Later returns the later of two cursors, and next where that cannot be told. A
// missing one is earlier than any.
func (c Cursor) Later(next Cursor) Cursor {
	if next == "" || c != "" && c.Time().After(next.Time()) && !next.Time().IsZero() {
		return c
	}
	return next
}

// cursorAt writes a moment as the platform does: with all six digits.
func cursorAt(t time.Time) Cursor {
	return Cursor(t.UTC().Format("2006-01-02 15:04:05.000000 UTC"))
}
