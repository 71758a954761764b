package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

// publishMany publishes one message of each of the profiles 1 to n.
func publishMany(t *testing.T, js jetstream.JetStream, n int) {
	t.Helper()
	for i := range n {
		_, err := js.PublishAsync(fmt.Sprintf("fastio.events.workspace.%d.workspace", i+1), []byte("{}"))
		must(t, err)
		if i%1000 == 999 {
			<-js.PublishAsyncComplete()
		}
	}
	<-js.PublishAsyncComplete()
}

// goroutines returns the number of goroutines that have a label.
func goroutines(t *testing.T, label string) (n int) {
	t.Helper()
	var b bytes.Buffer
	must(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
	for _, m := range regexp.MustCompile(`(?m)^(\d+) @.*\n# labels: .*"`+label+`"`).FindAllStringSubmatch(b.String(), -1) {
		count, err := strconv.Atoi(m[1])
		must(t, err)
		n += count
	}
	return n
}

func TestOrderedConsumeHasTheSameSizeForAllNumbersOfProfiles(t *testing.T) {
	t.Parallel()
	const profiles = 10_000
	ns := startServer(t)
	js, _ := connect(t, ns)
	s := relay.Stream{JetStream: js}
	must(t, s.Create(t.Context()))
	publishMany(t, js, profiles)
	reader, _ := connect(t, ns)
	before := reader.Conn().NumSubscriptions()
	var c consumed
	pprof.Do(t.Context(), pprof.Labels("group", "ordered-"+t.Name()), func(context.Context) {
		o := relay.ConsumeOptions{Stream: relay.Stream{JetStream: reader}, Name: "index", Ordered: true, Concurrency: 64}
		c.consume(t, o, accept) //nolint:contextcheck // the context is that of the test
	})
	most, subscriptions := 0, 0
	eventually(t, "all events", func() bool {
		most = max(most, goroutines(t, "ordered-"+t.Name()))
		subscriptions = max(subscriptions, reader.Conn().NumSubscriptions()-before)
		return c.len() == profiles
	})
	groups, err := s.Groups(t.Context())
	must(t, err)
	t.Logf("%d goroutines, %d subscriptions, groups %+v", most, subscriptions, groups)
	// Two goroutines more are those of the call of Consume.
	if most < relay.Partitions || most > 64+2 || subscriptions > 64 || len(groups) != 1 || groups[0].Consumers > 64 {
		t.Errorf("%d goroutines, %d subscriptions, groups %+v", most, subscriptions, groups)
	}
}

// Filters of profiles require that this package computes the partition as NATS does.
func TestOrderedConsumeOfSomeProfiles(t *testing.T) {
	t.Parallel()
	js, _ := connect(t, startServer(t))
	s := relay.Stream{JetStream: js}
	must(t, s.Create(t.Context()))
	publishMany(t, js, 100)
	o := relay.ConsumeOptions{Stream: s, Name: "index", Ordered: true}
	for i := range 50 {
		o.Profiles = append(o.Profiles, api.Workspace(api.ID(strconv.Itoa(2*i+1))))
	}
	var c consumed
	stop := c.consume(t, o, accept)
	eventually(t, "50 events", func() bool { return c.len() == 50 })
	stop()
	all := sequences(&c)
	slices.Sort(all)
	for i, sequence := range all {
		if sequence != uint64(2*i+1) {
			t.Fatalf("the handler was called with %v", all)
		}
	}
}

func TestOrderedConsumeDelaysThePartitionOfASlowProfileOnly(t *testing.T) {
	t.Parallel()
	s := newStream(t, 2) // of workspace 1
	var same, other string
	for i := 2; same == "" || other == ""; i++ {
		profile := "workspace." + strconv.Itoa(i)
		if relay.PartitionOf(profile) == relay.PartitionOf("workspace.1") {
			same = profile
		} else {
			other = profile
		}
	}
	publish(t, s, same, 1)
	publish(t, s, other, 20)
	var c consumed
	slow := make(chan struct{})
	o := relay.ConsumeOptions{Stream: s, Name: "index", Ordered: true, Concurrency: 2, AckWait: time.Second}
	c.consume(t, o, func(m relay.Message[events.Event]) error {
		if m.Sequence == 1 {
			<-slow
		}
		return nil
	})
	eventually(t, "the events of the other partition", func() bool { return c.len() == 21 })
	if all := sequences(&c); slices.Contains(all, 2) || slices.Contains(all, 3) {
		t.Errorf("the handler was called with %v", all)
	}
	close(slow)
	eventually(t, "all events", func() bool { return c.len() == 23 })
}

// formerGroup makes the consumer that a group of an earlier version had for a profile, with
// messages that it has settled.
func formerGroup(t *testing.T, s relay.Stream, profile string, settled int) jetstream.Consumer {
	t.Helper()
	c, err := s.JetStream.CreateConsumer(t.Context(), "FASTIO", jetstream.ConsumerConfig{
		Durable: "index-" + strings.ReplaceAll(profile, ".", "-"), AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1,
		FilterSubject: "fastio.events." + profile + ".*",
		Metadata:      map[string]string{"fastio-group": "index", "fastio-ordered": "true"},
	})
	must(t, err)
	for range settled {
		msg, err := c.Next()
		must(t, err)
		must(t, msg.DoubleAck(t.Context()))
	}
	return c
}

func TestOrderedConsumeGoesOnFromTheGroupOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	s := newStream(t, 3)
	publish(t, s, "workspace.2", 3)
	publish(t, s, "workspace.3", 3)
	one := formerGroup(t, s, "workspace.1", 2)
	two := formerGroup(t, s, "workspace.2", 3) // of workspace 3 nothing was handled
	running, err := one.Messages(jetstream.PullMaxMessages(1))
	must(t, err)
	held, err := running.Next()
	must(t, err)
	failed := make(chan string, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	var mu sync.Mutex
	var handled []uint64
	o := relay.ConsumeOptions{Stream: s, Name: "index", Ordered: true, Backoff: time.Millisecond}
	o.OnError = func(_ context.Context, subject string, err error, _ bool) { failed <- subject + ": " + err.Error() }
	go func() {
		done <- relay.Consume(ctx, o, func(_ context.Context, m relay.Message[events.Event]) error {
			mu.Lock()
			defer mu.Unlock()
			handled = append(handled, m.Sequence)
			return nil
		})
	}()
	text := <-failed
	if !strings.Contains(text, "workspace.1") || !strings.Contains(text, "programs of an earlier version use the group") {
		t.Errorf("the failure is %q", text)
	}
	must(t, held.DoubleAck(t.Context()))
	running.Stop()
	publish(t, s, "workspace.1", 2)
	eventually(t, "the events that were not handled", func() bool { mu.Lock(); defer mu.Unlock(); return len(handled) >= 5 })
	cancel()
	<-done
	slices.Sort(handled)
	if !slices.Equal(handled, []uint64{7, 8, 9, 10, 11}) {
		t.Errorf("the handler was called with %v", handled)
	}
	info, err := two.Info(t.Context())
	must(t, err)
	if info.Config.InactiveThreshold != 7*24*time.Hour {
		t.Errorf("the consumer of the earlier version is kept for %v", info.Config.InactiveThreshold)
	}
}

func TestOrderedGroupCanHaveTheNameOfAConsumerOfAnotherGroup(t *testing.T) {
	t.Parallel()
	s := newStream(t, 1)
	formerGroup(t, s, "workspace.1", 0)
	o := relay.ConsumeOptions{Stream: s, Name: "index-workspace-1", Ordered: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := relay.Consume(ctx, o, func(context.Context, relay.Message[events.Event]) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The sequences of a new stream begin again.
func TestOrderedConsumeReadsAStreamThatWasCreatedAgain(t *testing.T) {
	t.Parallel()
	s := newStream(t, 5)
	o := relay.ConsumeOptions{Stream: s, Name: "index", Ordered: true}
	var before, after consumed
	stop := before.consume(t, o, accept)
	eventually(t, "5 events", func() bool { return before.len() == 5 })
	stop()
	must(t, s.JetStream.DeleteStream(t.Context(), "FASTIO"))
	must(t, s.Create(t.Context()))
	publish(t, s, "workspace.1", 2)
	after.consume(t, o, accept)
	eventually(t, "2 events", func() bool { return after.len() == 2 })
}

// slowToCreate is a JetStream that finds no stream. Directly after that, createMeanwhile
// creates the stream and its ordered copy, as another program would.
type slowToCreate struct {
	jetstream.JetStream
	createMeanwhile func()
}

func (js *slowToCreate) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := js.JetStream.Stream(ctx, name)
	if create := js.createMeanwhile; create != nil {
		js.createMeanwhile = nil
		create()
	}
	return s, err
}

func TestOrderedCopyOfAnotherProgramStays(t *testing.T) {
	t.Parallel()
	js, _ := connect(t, startServer(t))
	var c consumed
	slow := &slowToCreate{js, func() {
		s := relay.Stream{JetStream: js}
		must(t, s.Create(t.Context()))
		publish(t, s, "workspace.1", 1)
		c.consume(t, relay.ConsumeOptions{Stream: s, Name: "index", Ordered: true}, accept)
		eventually(t, "an event", func() bool { return c.len() == 1 })
	}}
	must(t, relay.Stream{JetStream: slow}.Create(t.Context()))
	publish(t, relay.Stream{JetStream: js}, "workspace.1", 1)
	eventually(t, "2 events", func() bool { return c.len() == 2 })
}

func TestOrderedConsumeRefusesAStreamBehindItsCopy(t *testing.T) {
	t.Parallel()
	s := newStream(t, 5)
	o := relay.ConsumeOptions{Stream: s, Name: "index", Ordered: true}
	var c consumed
	stop := c.consume(t, o, accept)
	eventually(t, "5 events", func() bool { return c.len() == 5 })
	stop()
	config, err := s.JetStream.Stream(t.Context(), "FASTIO")
	must(t, err)
	must(t, s.JetStream.DeleteStream(t.Context(), "FASTIO"))
	_, err = s.JetStream.CreateStream(t.Context(), config.CachedInfo().Config)
	must(t, err)
	err = relay.Consume(t.Context(), o, func(context.Context, relay.Message[events.Event]) error { return nil })
	if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "ConsumeOptions.Stream" {
		t.Errorf("the error is %v", err)
	}
}

// orderModel is what is known of the events of all profiles while programs come and go.
type orderModel struct {
	mu        sync.Mutex
	published map[string][]uint64 // sequences, by subject
	settled   map[string]int      // events that were handled, by subject
	repeated  int
	wrong     []string
}

// handle records a call of a handler, which fails sometimes.
func (o *orderModel) handle(m relay.Message[events.Event], p *orderProgram) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.killed {
		return errors.New("killed")
	}
	all, settled := o.published[m.Subject], o.settled[m.Subject]
	at, found := slices.BinarySearch(all, m.Sequence)
	switch {
	case !found:
		return errors.New("the publisher does not know its sequence yet")
	case at > settled:
		o.wrong = append(o.wrong, fmt.Sprintf("event %d of %s before %d", at, m.Subject, settled))
	case at < settled-1 || at < settled && p.handled[m.Subject] > at:
		o.wrong = append(o.wrong, fmt.Sprintf("event %d of %s after %d", at, m.Subject, settled-1))
	case at < settled:
		o.repeated++
	}
	if rand.IntN(10) == 0 {
		return errors.New("by chance")
	}
	o.settled[m.Subject] = max(settled, at+1)
	p.handled[m.Subject] = at + 1
	return nil
}

// left returns the number of events that were not handled.
func (o *orderModel) left() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for subject, all := range o.published {
		n += len(all) - o.settled[subject]
	}
	return n
}

// orderProgram is a program of an ordered group.
type orderProgram struct {
	killed  bool           // guarded by the mutex of the model
	handled map[string]int // by subject
	link    *link
	nc      *nats.Conn
	cancel  context.CancelFunc
	done    chan struct{}
}

// start starts a program.
func (o *orderModel) start(t *testing.T, ns *server.Server) *orderProgram {
	t.Helper()
	js, l := connect(t, ns)
	p := &orderProgram{handled: map[string]int{}, link: l, nc: js.Conn(), done: make(chan struct{})}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(t.Context())
	options := relay.ConsumeOptions{
		Stream: relay.Stream{JetStream: js}, Name: "index", Ordered: true, Concurrency: 8, AckWait: time.Second, Tries: 1000,
		Backoff: time.Millisecond, Longest: 20 * time.Millisecond,
	}
	go func() {
		defer close(p.done)
		_ = relay.Consume(ctx, options, func(_ context.Context, m relay.Message[events.Event]) error { return o.handle(m, p) })
	}()
	return p
}

// stop stops a program: by its context, or as a kill does.
func (p *orderProgram) stop(o *orderModel, kill bool) {
	if kill {
		o.mu.Lock()
		p.killed = true
		o.mu.Unlock()
		p.link.Cut()
		p.nc.Close()
	}
	p.cancel()
	<-p.done
}

func TestOrderedConsumeKeepsTheOrderWhileProgramsComeAndGo(t *testing.T) {
	t.Parallel()
	ns := startServer(t)
	js, _ := connect(t, ns)
	must(t, relay.Stream{JetStream: js}.Create(t.Context()))
	o := &orderModel{published: map[string][]uint64{}, settled: map[string]int{}}
	programs := []*orderProgram{o.start(t, ns), o.start(t, ns)}
	kills := 0
	for round := range orderRounds {
		for range 200 {
			subject := "fastio.events.workspace." + strconv.Itoa(rand.IntN(200)) + ".workspace"
			ack, err := js.Publish(t.Context(), subject, []byte("{}"))
			must(t, err)
			o.mu.Lock()
			o.published[subject] = append(o.published[subject], ack.Sequence)
			o.mu.Unlock()
		}
		victim := rand.IntN(len(programs))
		switch {
		case len(programs) < 2 || round%3 == 0 && len(programs) < 5:
			programs = append(programs, o.start(t, ns))
		default:
			kill := round%2 == 0
			if kill {
				kills++
			}
			programs[victim].stop(o, kill)
			programs = slices.Delete(programs, victim, victim+1)
		}
	}
	if len(programs) == 0 {
		programs = append(programs, o.start(t, ns))
	}
	eventually(t, "all events", func() bool { return o.left() == 0 })
	for _, p := range programs {
		p.stop(o, false)
	}
	t.Logf("%d kills, %d events handled again", kills, o.repeated)
	if len(o.wrong) > 0 {
		t.Errorf("%d calls out of order: %s", len(o.wrong), o.wrong[:min(5, len(o.wrong))])
	}
}
