package relay_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// Three replicas, each with rate limits of its own, follow 30 logs. One of them is lost, and the
// others deliver what comes after that, and nothing twice.
func TestThreeReplicasOf30Logs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a lease")
	}
	platform := fastiotest.New(func(o *seed.Options) { o.Limits.Rules = []seed.Limit{} }) // as with three users
	ns := startServer(t)
	address := platform.Start(t)
	var profiles []api.Profile
	for i := range 30 {
		profiles = append(profiles, api.Workspace(api.ID(platform.AddWorkspace(seed.Workspace{Name: fmt.Sprint("Log ", i)}).ID)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var connections []*nats.Conn
	for i := range 3 {
		nc, err := nats.Connect("", nats.InProcessServer(ns))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		connections = append(connections, nc)
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		client, err := fastio.New(fastio.WithBaseURL(address), fastio.WithToken(platform.Token()))
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		name := fmt.Sprint("replica-", i)
		f := &relay.Follower{
			Stream: relay.Stream{JetStream: js}, Events: client.Events, Profiles: profiles, Name: name, Lease: 10 * time.Second,
		}
		running.Go(func() { _ = f.Run(ctx) })
	}
	js, err := jetstream.New(connections[2])
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	running.Go(func() {
		o := relay.ConsumeOptions{Stream: relay.Stream{JetStream: js}, Name: "index"}
		_ = relay.Consume(ctx, o, func(ctx context.Context, m relay.Message[events.Event]) error {
			select {
			case got <- string(m.Value.ID):
			case <-ctx.Done():
			}
			return ctx.Err()
		})
	})
	seen := map[string]bool{}
	for _, changed := range [][]api.Profile{profiles, profiles[:12]} {
		for _, p := range changed {
			platform.AddEvent(seed.Event{Name: "comment_created", Workspace: string(p.ID)})
		}
		for range changed {
			id := <-got
			if seen[id] {
				t.Errorf("the event %s was delivered twice", id)
			}
			seen[id] = true
		}
		t.Logf("%d events, %d refusals", len(seen), platform.Refusals())
		connections[0].Close() // as if its machine were lost: it can neither publish nor release its logs
	}
}
