package relay_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

// The Follower against the loop that publishes without leases and fencing.
func BenchmarkFollow(b *testing.B) {
	const n = 20_000
	p := newPlatform(1)
	p.add(p.profiles[0], n)
	loop := func(b *testing.B, checkpoints bool) {
		b.Helper()
		for range b.N {
			js, _ := connect(b, startServer(b))
			stream := relay.Stream{JetStream: js}
			if err := stream.Create(b.Context()); err != nil {
				b.Fatal(err)
			}
			var o events.FollowOptions
			if checkpoints {
				o.Store = events.FileStore(b.TempDir())
			}
			errEnd, i := errors.New("end"), 0
			err := p.events(b).Follow(b.Context(), events.Query{Profile: p.profiles[0], Limit: 250},
				func(_ context.Context, e *events.Event) error {
					body, err := json.Marshal(e)
					if err != nil {
						return err
					}
					msg := &nats.Msg{Subject: "fastio.events.workspace.1.workspace", Data: body}
					msg.Header = nats.Header{"Nats-Msg-Id": {strconv.Itoa(i)}}
					if _, err := js.PublishMsgAsync(msg); err != nil {
						return err
					}
					if i++; i == n {
						return errEnd
					}
					return nil
				}, &o)
			if !errors.Is(err, errEnd) {
				b.Fatal(err)
			}
			<-js.PublishAsyncComplete()
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
	}
	b.Run("loop", func(b *testing.B) { loop(b, false) })
	b.Run("loop-checkpoints", func(b *testing.B) { loop(b, true) })
	b.Run("follower", func(b *testing.B) {
		for range b.N {
			js, _ := connect(b, startServer(b))
			f := relay.Follower{Stream: relay.Stream{JetStream: js}, Events: p.events(b), Profiles: p.profiles}
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			go func() { done <- f.Run(ctx) }()
			for f.Stats().Published < n {
				time.Sleep(time.Millisecond)
			}
			b.StopTimer()
			cancel()
			<-done
			b.StartTimer()
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
	})
}
