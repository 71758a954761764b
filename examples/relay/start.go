package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

const (
	rooms     = 12
	replicas  = 3
	addEvery  = 100 * time.Millisecond
	drawEvery = 500 * time.Millisecond
	drainTime = 30 * time.Second // for the last events: a takeover and some searches
	natsStart = 30 * time.Second // in which the NATS server accepts connections
)

// demo is the process of start.
type demo struct {
	dir      string
	board    *board
	platform *fastiotest.Server
	rooms    []seed.Workspace
	nc       *nats.Conn
	js       jetstream.JetStream
	state    *state
	fleet    *fleet
	ledger   *ledger
}

// startDemo runs the demo until ctx is done.
func startDemo(ctx context.Context, dir string, out io.Writer) error {
	if _, err := load(ctx, dir); err == nil {
		return errors.New("the demo runs already")
	}
	// A demo that was killed has left its directory.
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d := &demo{dir: dir, board: newBoard(out), fleet: newFleet(), ledger: newLedger()}
	noLimits := func(o *seed.Options) { o.Limits.Rules = []seed.Limit{} } // nil would mean the published limits
	d.platform = fastiotest.New(noLimits)
	web := httptest.NewServer(d.platform)
	defer web.Close()
	defer func() { _ = d.platform.Close() }()
	d.state = &state{Platform: web.URL, Token: d.platform.Token()}
	for i := range rooms {
		room := d.platform.AddWorkspace(seed.Workspace{Name: fmt.Sprintf("Room %d", i+1)})
		d.rooms = append(d.rooms, room)
		d.state.Profiles = append(d.state.Profiles, api.Workspace(api.ID(room.ID)))
	}
	stopNATS, err := d.startNATS()
	if err != nil {
		return err
	}
	defer stopNATS()
	if err := d.run(ctx); err != nil {
		return err
	}
	return d.verify()
}

// startNATS starts a NATS server, to which the processes of the replicas connect, and
// connects to it.
func (d *demo) startNATS() (stop func(), err error) {
	ns, err := server.NewServer(&server.Options{
		ServerName: "demo", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(d.dir, "nats"),
	})
	if err != nil {
		return nil, err
	}
	ns.Start()
	stop = func() {
		if d.nc != nil {
			d.nc.Close()
		}
		ns.Shutdown()
		ns.WaitForShutdown()
	}
	if !ns.ReadyForConnections(natsStart) {
		stop()
		return nil, errors.New("the NATS server does not start")
	}
	d.state.NATS = ns.ClientURL()
	d.nc, err = nats.Connect("", nats.InProcessServer(ns))
	if err == nil {
		d.js, err = jetstream.New(d.nc)
	}
	if err != nil {
		stop()
	}
	return stop, err
}

// run starts the replicas and calls watch, which adds events until ctx is done. When the last events
// are stored, the deferred calls stop the replicas, and then the reading of the stream.
func (d *demo) run(ctx context.Context) error {
	if err := (relay.Stream{JetStream: d.js}).Create(ctx); err != nil {
		return err
	}
	reports := make(chan *nats.Msg, 1000)
	sub, err := d.nc.ChanSubscribe(reportSubject, reports)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := d.state.save(d.dir); err != nil {
		return err
	}
	lasting := context.WithoutCancel(ctx) // the last events are stored and read after ctx is done
	reading, stopReading := context.WithCancel(lasting)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer stopReading() // when no replica stores events any more
	failed := make(chan error, 1)
	reader.Go(func() {
		err := d.ledger.read(reading, d.js)
		if reading.Err() == nil {
			failed <- err
		}
	})
	var processes sync.WaitGroup // of the replicas
	defer processes.Wait()
	for i := range replicas {
		input, err := d.startReplica(lasting, fmt.Sprintf("replica-%d", i+1), &processes)
		if err != nil {
			return err
		}
		defer func() { _ = input.Close() }() // ends the replica
	}
	return d.watch(ctx, reports, failed)
}

// startReplica starts a process, which ends when its input is closed. Processes waits for its end.
func (d *demo) startReplica(ctx context.Context, name string, processes *sync.WaitGroup) (input io.Closer, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, child, name) //nolint:gosec // it is this program
	cmd.Stderr = d.board
	input, err = cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	processes.Go(func() { _ = cmd.Wait() }) // a process that was killed is shown as lost
	return input, nil
}

// watch adds events until ctx is done, and shows what happens until all events are
// stored, or drainTime is over.
func (d *demo) watch(ctx context.Context, reports <-chan *nats.Msg, failed <-chan error) error {
	add, draw := time.NewTicker(addEvery), time.NewTicker(drawEvery)
	defer add.Stop()
	defer draw.Stop()
	d.board.say("without rate limits, which would make the table slow")
	d.board.say("the demo runs; Ctrl-C ends it. In another terminal: go run ./examples/relay kill replica-2")
	stopped := ctx.Done()     // nil when no more events are added
	var late <-chan time.Time // the end of drainTime; nil while events are added
	n := 0                    // events that were added
	for {
		select {
		case <-stopped:
			stopped, late = nil, time.After(drainTime)
			add.Stop()
			d.board.say("no more events are added; waiting for the last ones")
		case <-late:
			return nil // verify finds what is missing
		case err := <-failed:
			return err
		case <-add.C:
			n++
			d.add(n)
		case msg := <-reports:
			var r report
			if err := json.Unmarshal(msg.Data, &r); err != nil {
				return err
			}
			d.announce(d.fleet.record(r, time.Now()))
		case now := <-draw.C:
			d.announce(d.fleet.changes(now))
			b := d.ledger.balance(now)
			d.board.draw(d.table(b, now), d.sum(b))
			if stopped == nil && b.waiting == 0 {
				return nil
			}
		}
		if ids := d.fleet.processes(); !maps.Equal(ids, d.state.Replicas) {
			d.state.Replicas = ids
			if err := d.state.save(d.dir); err != nil {
				return err
			}
		}
	}
}

// announce prints lines about what has happened.
func (d *demo) announce(news []string) {
	for _, text := range news {
		d.board.say(text)
	}
}

// add adds event number n of the demo, to one workspace after the other.
func (d *demo) add(n int) {
	room := api.ID(d.rooms[n%len(d.rooms)].ID)
	d.ledger.add(room, func() api.OpaqueID {
		e := seed.Event{Name: string(events.NameWorkspaceStorageFileAdded), Workspace: string(room)}
		e.ObjectName = fmt.Sprintf("plan %d.pdf", n)
		return api.OpaqueID(d.platform.AddEvent(e).ID)
	})
}

// table returns the lines of the table, at most 80 characters each.
func (d *demo) table(b balance, now time.Time) []string {
	lines := []string{fmt.Sprintf("%-12s %-24s %8s %8s", "WORKSPACE", "HOLDER", "STORED", "LAG")}
	held := d.fleet.current()
	for _, room := range d.rooms {
		id, lag := api.ID(room.ID), "–"
		holder := cmp.Or(held[id], "none")
		last := d.fleet.replicas[d.fleet.holders[id]] // the latest known holder
		if held[id] == "" && last != nil && last.lost {
			holder = last.Name + " (lost)"
		}
		if age := b.lag[id]; age > 0 {
			lag = fmt.Sprintf("%.1f s", age.Seconds())
		}
		lines = append(lines, fmt.Sprintf("%-12s %-24.24s %8d %8s", room.Name, holder, b.counts[id], lag))
	}
	lines = append(lines, "", fmt.Sprintf("%-24s %8s %8s %8s", "REPLICA", "FOLLOWS", "STORED", "REPEATED"))
	for _, name := range d.fleet.names() {
		r := d.fleet.replicas[name]
		line := fmt.Sprintf("%-24.24s %8d %8d %8d", name, len(r.Held), r.Stored, r.Dropped)
		if r.lost || r.Stopped {
			line = fmt.Sprintf("%-24.24s %s for %.0f s", name, r.status(), now.Sub(r.heard).Seconds())
		}
		lines = append(lines, line)
	}
	return append(lines, "", total(b))
}

// sum returns a line with what the table shows.
func (d *demo) sum(b balance) string {
	var parts []string
	for _, name := range d.fleet.names() {
		parts = append(parts, name+" "+d.fleet.replicas[name].status())
	}
	return total(b) + "; " + strings.Join(parts, ", ")
}

// total returns the sums of the ledger as one line.
func total(b balance) string {
	return fmt.Sprintf("%d events stored, %d on their way (%.1f s at most), %d stored twice",
		b.stored, b.waiting, b.oldest.Seconds(), b.twice)
}

// verify returns an error unless the stream has stored every event exactly once.
func (d *demo) verify() error {
	b := d.ledger.balance(time.Now())
	if b.waiting+b.twice+b.unknown > 0 {
		return fmt.Errorf("%d events are missing, %d are stored twice, %d were never added",
			b.waiting, b.twice, b.unknown)
	}
	d.board.say(fmt.Sprintf("all %d events are stored, none of them twice", b.stored))
	return nil
}
