package activity

import (
	"time"

	"github.com/fastio-go/fastio/api"
)

// Cursor is a moment of a profile's activity, as the server wrote it.
type Cursor string

// Time returns the moment; the zero time if it cannot be read.
func (c Cursor) Time() time.Time {
	t, err := api.ParseTime(string(c))
	if err != nil {
		return time.Time{}
	}
	return t.Time
}

// Back returns a cursor that is d earlier, to find what became visible late; c
// itself if its moment cannot be read.
func (c Cursor) Back(d time.Duration) Cursor {
	t := c.Time()
	if t.IsZero() {
		return c
	}
	return cursorAt(t.Add(-d))
}

// Until returns the earlier of c and the cursor of a moment. A poll that goes on
// from a cursor in the future reports nothing until then.
func (c Cursor) Until(latest time.Time) Cursor {
	if !c.Time().After(latest) {
		return c
	}
	return cursorAt(latest)
}

// Later returns the later of two cursors: c if next is missing, or unreadable
// where c is not, and next if only c is.
func (c Cursor) Later(next Cursor) Cursor {
	at, to := c.Time(), next.Time()
	if next == "" || !at.IsZero() && (to.IsZero() || at.After(to)) {
		return c
	}
	return next
}

// cursorAt writes a moment as the platform does: with all six digits.
func cursorAt(t time.Time) Cursor {
	return Cursor(t.UTC().Format("2006-01-02 15:04:05.000000 UTC"))
}
