package realtime

import (
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
)

// position is what Position says.
type position struct {
	Version int             `json:"v"`
	Profile string          `json:"profile"`
	Cursor  activity.Cursor `json:"cursor"`
	Heard   time.Time       `json:"heard,omitzero"` // the latest sign of life, by the server's clock
}

const positionVersion = 1

// Position returns up to where the loop over Changes has finished with everything,
// for [Options.Position]. The change that the loop is at does not count, and maybe
// a few before it: they come again.
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
		return position{}, &api.InputError{Op: opSubscribe, Field: "position", Rule: "must come from Subscription.Position"}
	}
	return p, nil
}

// clock tells the server's time as far as its answers do. Only differences count
// of the local one.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration // of the local clock
	heard time.Time     // the latest sign of life
}

// answer takes in the Date of an answer and returns how long nothing was heard
// before it; 0 for the first.
func (c *clock) answer(h http.Header) (silence time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		c.ahead = date.Sub(now)
	}
	before := c.heard
	c.heard = now.Add(c.ahead).UTC().Round(0)
	if before.IsZero() {
		return 0
	}
	return c.heard.Sub(before)
}

// alive notes a sign of life that tells no time.
func (c *clock) alive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now().Add(c.ahead).UTC().Round(0)
}

// last returns the latest sign of life.
func (c *clock) last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// since returns how long ago a moment of the server's is, 0 if it is still to
// come.
func (c *clock) since(at time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, time.Now().Add(c.ahead).Sub(at))
}
