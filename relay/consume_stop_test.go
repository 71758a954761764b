package relay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

// Programs that stop while others of their messages wait make no dead letters of these, although another
// delivery would be one too many.
func TestStopsMakeNoDeadLetters(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) {
			t.Parallel()
			virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
				js, _ := connect(t, startServer(t))
				s := relay.Stream{JetStream: js}
				must(t, s.Create(t.Context()))
				const total, accounts = 60, 6
				for i := range accounts {
					publishAs(t, js, fmt.Sprint("customer", i), total/accounts)
				}
				o := relay.ConsumeOptions{Stream: s, Name: "group", Account: relay.AllAccounts, Tries: 1, Ordered: ordered}
				var c consumed
				for range total {
					stopping := make(chan struct{})
					stop := c.consume(t, o, func(relay.Message[events.Event]) error { <-stopping; return nil })
					time.Sleep(100 * time.Millisecond) // a message is handled, and others of an ordered group wait
					time.AfterFunc(100*time.Millisecond, func() { close(stopping) })
					stop()
				}
				time.Sleep(10 * time.Minute)
				c.mu.Lock()
				defer c.mu.Unlock()
				if len(c.all) != total || len(c.dead) > 0 {
					t.Errorf("%d of %d were handled, %d are dead letters", len(c.all), total, len(c.dead))
				}
			})
		})
	}
}
