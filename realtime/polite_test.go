package realtime_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/realtime"
)

// Many clients that lose their sockets at once do not reconnect at once (P19).
func TestReconnectsAreSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		var all []*realtime.Subscription
		for range crowd {
			sub := open(t, p)
			all = append(all, sub)
		}
		time.Sleep(time.Minute)
		p.locked(func() { p.dialErr, p.dials = errReset, nil })
		p.each((*socket).drop)
		dropped := time.Now()
		const outage = 10 * time.Minute
		time.Sleep(outage)
		p.locked(func() {
			if mean := float64(len(p.dials)) / crowd / outage.Minutes(); mean > 6 {
				t.Errorf("%.1f dials a minute and client", mean)
			}
			bins, attempts := map[[2]int]int{}, map[string]int{}
			for _, dial := range p.dials { // the token tells who dials
				attempts[dial.address]++
				bins[[2]int{attempts[dial.address], int(dial.at.Sub(dropped) / time.Second)}]++
			}
			for bin, n := range bins { // the fourth pause is of eight seconds at most, so a second has an eighth of it
				if attempt := bin[0]; attempt > 4 && n > crowd/10 || attempt == 4 && n > crowd/6 {
					t.Errorf("%d of %d clients tried for the %dth time in second %d", n, crowd, attempt, bin[1])
				}
			}
			if len(attempts) != crowd {
				t.Errorf("%d clients dialed", len(attempts))
			}
		})
		var closing sync.WaitGroup
		for _, sub := range all {
			closing.Go(func() { closeWithin(t, sub) })
		}
		closing.Wait()
	})
}

// Frames of a closed socket are ignored, and there is one socket at most, two while
// a token is replaced (P20).
func TestStaleSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.life = 2 * time.Minute
		d := &lingering{platform: p}
		c := begin(t, p, func(o *realtime.Options) { o.Dialer = d })
		for i := range 200 {
			time.Sleep(time.Duration(i%7) * 13 * time.Second)
			p.locked(func() { p.slow = time.Duration(i%5) * 3 * time.Second })
			if i%3 == 0 {
				p.each((*socket).drop)
			}
			if i%10 == 0 {
				p.each((*socket).stall)
			}
		}
		_ = c.stop(t)
		for _, f := range c.told() {
			if f == "stale" {
				t.Fatal("a stale session was heard")
			}
		}
		if n := d.said.Load(); n < 50 || p.open > 2 {
			t.Errorf("%d stale frames, %d sockets at a time", n, p.open)
		}
	})
}

// lingering opens sockets that yield a frame after they are closed.
type lingering struct {
	*platform
	said atomic.Int64
}

func (d *lingering) Dial(ctx context.Context, address string, header http.Header) (realtime.Conn, error) {
	conn, err := d.platform.Dial(ctx, address, header)
	if err != nil {
		return nil, err
	}
	return &lastWord{socket: conn.(*socket), said: &d.said}, nil
}

type lastWord struct {
	*socket
	said   *atomic.Int64
	closed atomic.Bool
}

func (s *lastWord) Close() error {
	s.closed.Store(true)
	return s.socket.Close()
}

func (s *lastWord) ReadMessage() ([]byte, bool, error) {
	b, text, err := s.socket.ReadMessage()
	if err != nil && s.closed.CompareAndSwap(true, false) {
		s.said.Add(1)
		return []byte(`{"response":"activity","activity":["stale"]}`), true, nil
	}
	return b, text, err
}
