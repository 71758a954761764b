package relay_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
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
					body, err := jsonv2.Marshal(e)
					if err != nil {
						return err
					}
					msg := &nats.Msg{Subject: "fastio.events.workspace.1.workspace", Data: body}
					msg.Header = nats.Header{"Nats-Msg-Id": {strconv.Itoa(i)}}
					if _, err := js.PublishMsgAsync(msg); err != nil {
						return err
					}
					i++
					if i == n {
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

// One to four replicas, each with its own connection and client, on 40 profiles.
func BenchmarkReplicas(b *testing.B) {
	const profiles, each = 40, 500
	p := newPlatform(profiles)
	for _, w := range p.profiles {
		p.add(w, each)
	}
	for _, replicas := range []int{1, 2, 4} {
		b.Run(strconv.Itoa(replicas), func(b *testing.B) {
			began := cpuTime()
			for range b.N {
				ns := startServer(b)
				ctx, cancel := context.WithCancel(b.Context())
				var all []*relay.Follower
				var running sync.WaitGroup
				for range replicas {
					js, _ := connect(b, ns)
					f := &relay.Follower{Stream: relay.Stream{JetStream: js}, Events: p.events(b), Profiles: p.profiles}
					all = append(all, f)
					running.Go(func() { _ = f.Run(ctx) })
				}
				for published := uint64(0); published < profiles*each; {
					time.Sleep(time.Millisecond)
					published = 0
					for _, f := range all {
						published += f.Stats().Published
					}
				}
				b.StopTimer()
				cancel()
				running.Wait()
				b.StartTimer()
			}
			b.ReportMetric(float64(profiles*each*b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric((cpuTime()-began)*1e6/float64(profiles*each*b.N), "cpu-µs/event")
		})
	}
}

// The memory of a profile at rest, with what the NATS server in the process keeps of it.
func BenchmarkMemory(b *testing.B) {
	const profiles = 400
	p := newPlatform(profiles)
	for _, w := range p.profiles {
		p.add(w, 20)
	}
	for range b.N {
		js, _ := connect(b, startServer(b))
		before := memory()
		f := relay.Follower{Stream: relay.Stream{JetStream: js}, Events: p.events(b), Profiles: p.profiles}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		for f.Stats().Published < 20*profiles {
			time.Sleep(time.Millisecond)
		}
		b.ReportMetric(float64(memory()-before)/profiles/1024, "KiB/profile")
		cancel()
		<-done
	}
}

// memory returns the bytes of objects and of stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}
