// Guide follows the event logs of all workspaces with two replicas, which share them, and
// handles each event in a third place.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

func main() {
	js, stopNATS, err := startNATS()
	if err != nil {
		log.Fatal(err)
	}
	defer stopNATS()
	ctx, stop := context.WithCancel(context.Background())
	var replicas sync.WaitGroup
	defer replicas.Wait()
	defer stop()
	for _, name := range []string{"replica-1", "replica-2"} { // each would be on a machine of its own
		replicas.Go(func() {
			err := follow(ctx, js, name)
			if ctx.Err() == nil {
				log.Fatal(name, ": ", err)
			}
		})
	}
	if err := index(ctx, js); err != nil {
		log.Fatal(err)
	}
}

// follow is a replica: it publishes the events of its share of the workspaces.
func follow(ctx context.Context, js jetstream.JetStream, name string) error {
	stream := relay.Stream{JetStream: js}
	limits, err := relay.NewLimits(ctx, relay.LimitsOptions{Stream: stream, Name: "me"}) // shared by the replicas
	if err != nil {
		return err
	}
	defer limits.Close()
	client, err := fastio.FromEnv(fastio.WithLimiter(limits)) // FASTIO_API_KEY
	if err != nil {
		return err
	}
	var profiles []api.Profile
	for workspace, err := range client.Workspaces.All(ctx, nil) {
		if err != nil {
			return err
		}
		profiles = append(profiles, api.Workspace(workspace.ID))
	}
	follower := relay.Follower{Stream: stream, Events: client.Events, Profiles: profiles, Name: name}
	return follower.Run(ctx)
}

// index handles the first 400 events. Other programs with the name of its group would share the
// events.
func index(ctx context.Context, js jetstream.JetStream) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	handled := map[api.OpaqueID]bool{}
	o := relay.ConsumeOptions{Stream: relay.Stream{JetStream: js}, Name: "index"}
	err := relay.Consume(ctx, o, func(_ context.Context, m relay.Message[events.Event]) error {
		handled[m.Value.ID] = true // an event may come twice
		if len(handled) == 400 {
			stop()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		return err
	}
	fmt.Println(len(handled), "events are handled")
	return nil
}

// startNATS starts a NATS server in this process. Replicas on several machines use a NATS server
// that runs as its own process.
func startNATS() (js jetstream.JetStream, stop func(), err error) {
	dir, err := os.MkdirTemp("", "nats")
	if err != nil {
		return nil, nil, err
	}
	ns, err := server.NewServer(&server.Options{JetStream: true, StoreDir: dir, DontListen: true, NoSigs: true})
	if err != nil {
		return nil, nil, err
	}
	ns.Start()
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		return nil, nil, err
	}
	js, err = jetstream.New(nc)
	if err != nil {
		return nil, nil, err
	}
	return js, func() {
		nc.Close()
		ns.Shutdown()
		ns.WaitForShutdown()
		_ = os.RemoveAll(dir)
	}, nil
}
