package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

const (
	child         = "replica" // the command of replicas that start has started
	lease         = 10 * time.Second
	reportSubject = "demo.replicas"
	reportEvery   = 200 * time.Millisecond
)

// report is the state of a replica, which it sends all the time.
type report struct {
	Name    string            `json:"name"`
	PID     int               `json:"pid"`
	Held    map[api.ID]uint64 `json:"held"` // epochs by workspace
	Stored  uint64            `json:"stored"`
	Dropped uint64            `json:"dropped"` // by the stream, which had them
	Stopped bool              `json:"stopped"` // the last report
}

// untilInputEnds returns a context that ends with the input, and not with a signal: at
// Ctrl-C the terminal sends a signal to all processes, but the replicas have to go on
// until the process of the command "start" has seen the last events. The input also ends
// when that process is killed.
func untilInputEnds(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return ctx
}

// join runs a replica in this terminal.
func join(ctx context.Context, dir, name string, out io.Writer) error {
	s, err := load(ctx, dir)
	if err != nil {
		return err
	}
	if id, ok := s.Replicas[name]; ok {
		return fmt.Errorf("%s runs already, as process %d", name, id)
	}
	fmt.Fprintf(out, "%s runs here, as process %d; Ctrl-C stops it\n", name, os.Getpid())
	return follow(ctx, dir, name, out)
}

// follow runs a replica until ctx is done. Reports are sent until the replica has
// ended, which is later than ctx. Its client sends searches as calls of a rate group
// without limits, so that the table of the demo is not slow.
func follow(ctx context.Context, dir, name string, out io.Writer) error {
	s, err := load(ctx, dir)
	if err != nil {
		return err
	}
	client, err := fastio.New(fastio.WithBaseURL(s.Platform), fastio.WithToken(s.Token), fastio.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	nc, err := nats.Connect(s.NATS, nats.MaxReconnects(3), nats.ReconnectWait(time.Second))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	logs := events.New(unlimited{client}, &events.Options{Waker: client.Realtime, Logger: client.Logger()})
	f := &relay.Follower{
		Stream: relay.Stream{JetStream: js}, Events: logs,
		Profiles: s.Profiles, Name: name, Lease: lease,
		Follow: events.FollowOptions{Interval: 2 * time.Second},
		OnError: func(_ context.Context, p api.Profile, err error) {
			fmt.Fprintf(os.Stderr, "%s does not follow %s: %v\n", name, p.ID, err)
		},
	}
	var reporting sync.WaitGroup
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	reporting.Go(func() { sendReports(running, f, nc, out) })
	err = f.Run(ctx)
	stop()
	reporting.Wait()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// sendReports sends reports until ctx is done, and one more that says so. It prints what changes.
func sendReports(ctx context.Context, f *relay.Follower, nc *nats.Conn, out io.Writer) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	held := -1 // the number of workspaces that was printed last; -1 before the first
	for {
		stats := f.Stats()
		r := report{
			Name: f.Name, PID: os.Getpid(), Held: map[api.ID]uint64{},
			Stored: stats.Published, Dropped: stats.Duplicates, Stopped: ctx.Err() != nil,
		}
		for _, h := range stats.Held {
			r.Held[h.Profile.ID] = h.Epoch
		}
		if len(r.Held) != held {
			held = len(r.Held)
			fmt.Fprintf(out, "it follows %d workspaces\n", held)
		}
		body, err := json.Marshal(r)
		if err == nil {
			err = errors.Join(nc.Publish(reportSubject, body), nc.Flush())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		if r.Stopped {
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// unlimited is a client without the rate limits of searches, which the emulator of the
// demo does not have either: 5 searches in 3 seconds would make a slow table.
type unlimited struct{ api.Client }

// Call sends a request in the rate group "demo", which has no limits.
func (c unlimited) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	free := *r
	free.Group = "demo"
	return c.Client.Call(ctx, &free, out, opts...)
}
