package relay_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// followProfiles follows profiles until the context is done.
func followProfiles(ctx context.Context, js jetstream.JetStream, client *fastio.Client, profiles []api.Profile) error {
	follower := relay.Follower{Stream: relay.Stream{JetStream: js}, Events: client.Events, Profiles: profiles}
	err := follower.Run(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// search makes a search within the rate limits that all processes with the credential
// of the options share.
func search(ctx context.Context, js jetstream.JetStream, query events.Query, options []fastio.Option) error {
	limits, err := relay.NewLimits(ctx, relay.LimitsOptions{Stream: relay.Stream{JetStream: js}, Name: "indexer"})
	if err != nil {
		return err
	}
	defer limits.Close()
	client, err := fastio.New(append(options, fastio.WithLimiter(limits))...)
	if err != nil {
		return err
	}
	_, err = client.Events.Search(ctx, query)
	return err
}

// startNATS starts a server in the process.
func startNATS() (jetstream.JetStream, func()) {
	dir, err := os.MkdirTemp("", "relay")
	if err != nil {
		log.Fatal(err)
	}
	ns, err := server.NewServer(&server.Options{JetStream: true, StoreDir: dir, DontListen: true, NoSigs: true})
	if err != nil {
		log.Fatal(err)
	}
	ns.Start()
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		log.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		log.Fatal(err)
	}
	return js, func() {
		nc.Close()
		ns.Shutdown()
		ns.WaitForShutdown()
		os.RemoveAll(dir)
	}
}

func ExampleLimits() {
	js, stop := startNATS()
	defer stop()
	platform := fastiotest.New()
	query := events.Query{Profile: api.Org(api.ID(platform.Org().ID))}
	fmt.Println(search(context.Background(), js, query, platform.ClientOptions()))
	// Output: <nil>
}

func Example() {
	js, stop := startNATS()
	defer stop()
	platform := fastiotest.New()
	client, err := fastio.New(platform.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	room := platform.AddWorkspace(seed.Workspace{})
	platform.AddEvent(seed.Event{Name: "workspace_updated", Workspace: room.ID})

	messages, err := js.Conn().SubscribeSync("fastio.events.workspace.>")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- followProfiles(ctx, js, client, []api.Profile{api.Workspace(api.ID(room.ID))}) }()
	msg, err := messages.NextMsgWithContext(ctx)
	if err != nil {
		log.Fatal(err)
	}
	cancel()
	fmt.Println(msg.Header.Get(relay.HeaderFormat), <-done)
	// Output: 1 <nil>
}
