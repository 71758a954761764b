package realtime

import (
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/internal/servertime"
)

// position is what Position says.
type position struct {
	Version int             `json:"v"`
	Profile string          `json:"profile"`
	Cursor  activity.Cursor `json:"cursor"`
	Heard   time.Time       `json:"heard,omitzero"` // the latest sign of life, by the server's clock
}

const positionVersion = 1

// Position returns what [Options.Position] resumes at. The change that the loop over
// Changes is at, and maybe a few before it, come again.
func (s *Subscription) Position() string {
	covered, entries := s.pending.position()
	p := position{Version: positionVersion, Profile: s.profile.String(), Cursor: covered, Heard: s.clock.last()}
	if from, owed := s.history.owed(); owed || entries {
		p.Heard = from
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // a position holds nothing that fails to encode
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// resume reads the position to start from; it is zero without one.
func (s *Subscription) resume() (position, error) {
	if s.o.Position == "" {
		return position{}, nil
	}
	var p position
	b, err := base64.RawURLEncoding.DecodeString(s.o.Position)
	if err != nil || json.Unmarshal(b, &p) != nil || p.Version != positionVersion || p.Cursor == "" || p.Profile == "" {
		return position{}, refuse("position", "must come from Subscription.Position")
	}
	return p, nil
}

// clock is the server's clock and the latest sign of life.
type clock struct {
	servertime.Clock

	mu    sync.Mutex
	heard time.Time // the latest sign of life, by the server's clock
	local time.Time // the same by the local one; zero for one of an earlier subscription
}

// answer observes the Date of a response and returns how long nothing was heard
// before it; 0 for the first.
func (c *clock) answer(h http.Header) (silence time.Duration) {
	c.Observe(h)
	c.mu.Lock()
	defer c.mu.Unlock()
	before, local := c.heard, c.local
	c.heard, c.local = c.Earliest(), time.Now().Round(0)
	switch {
	case before.IsZero():
		return 0
	case local.IsZero():
		return c.heard.Sub(before)
	}
	return c.local.Sub(local)
}

// alive records a sign of life without a Date.
func (c *clock) alive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard, c.local = c.Earliest(), time.Now().Round(0)
}

// last returns the latest sign of life.
func (c *clock) last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// since returns how long ago a moment of the server's is, 0 if it is still to
// come.
func (c *clock) since(at time.Time) time.Duration { return max(0, c.Earliest().Sub(at)) }
