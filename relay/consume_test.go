package relay_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

// consumed is what a consumer was given.
type consumed struct {
	mu   sync.Mutex
	all  []relay.Message[events.Event]
	dead []string

	failed []error // without a message
}

func (c *consumed) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

// consume runs a consumer until the returned function is called.
func (c *consumed) consume(
	t *testing.T, o relay.ConsumeOptions, handle func(relay.Message[events.Event]) error,
) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	o.OnError = func(_ context.Context, subject string, err error, dead bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if subject == "" {
			c.failed = append(c.failed, err)
		}
		if dead {
			c.dead = append(c.dead, err.Error())
		}
	}
	go func() {
		done <- relay.Consume(ctx, o, func(_ context.Context, m relay.Message[events.Event]) error {
			c.mu.Lock()
			c.all = append(c.all, m)
			c.mu.Unlock()
			return handle(m)
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Consume returned %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func accept(relay.Message[events.Event]) error { return nil }

func TestConsumeDeliversEveryEvent(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(2), startServer(t)
	for _, w := range p.profiles {
		p.add(w, 100)
	}
	f := p.start(t, ns, nil)
	var first, second, one consumed
	o := relay.ConsumeOptions{Stream: f.Stream, Name: "index", Concurrency: 4}
	stop := first.consume(t, o, accept)
	eventually(t, "200 messages", func() bool { return first.len() == 200 })
	stop()
	second.consume(t, o, accept)
	one.consume(t, relay.ConsumeOptions{Stream: f.Stream, Name: "one", Profiles: p.profiles[:1]}, accept)
	p.add(p.profiles[1], 5)
	eventually(t, "5 messages", func() bool { return second.len() == 5 })
	eventually(t, "100 messages", func() bool { return one.len() == 100 })
	ids := map[string]bool{}
	for _, m := range slices.Concat(first.all, second.all) {
		if ids[m.ID] || m.Value.Name != "workspace_storage_file_added" || m.Epoch == 0 || m.Try != 1 {
			t.Errorf("the message %+v is repeated or wrong", m)
		}
		ids[m.ID] = true
	}
}

func TestConsumeTriesAgainAndKeepsDeadLetters(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 4)
	f := p.start(t, ns, nil)
	var c consumed
	c.consume(t, relay.ConsumeOptions{
		Stream: f.Stream, Name: "index", Ordered: true, Tries: 3, Backoff: time.Millisecond,
	}, func(m relay.Message[events.Event]) error {
		if m.Sequence == 3 || m.Sequence == 4 && m.Try < 3 {
			return errors.New(strings.Repeat("no\r\nindex ", 10_000)) // more than a header may have
		}
		return nil
	})
	eventually(t, "8 deliveries", func() bool { return c.len() == 8 })
	eventually(t, "a dead letter", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.dead) == 1
	})
	var order []string
	for _, m := range c.all {
		order = append(order, strconv.FormatUint(m.Sequence, 10)+"."+strconv.Itoa(m.Try))
	}
	if want := []string{"2.1", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3", "5.1"}; !slices.Equal(order, want) {
		t.Errorf("the deliveries are %v, want %v", order, want)
	}
	dead, err := f.js.Stream(t.Context(), "FASTIO-DEAD")
	if err != nil {
		t.Fatal(err)
	}
	letter, err := dead.GetMsg(t.Context(), 1)
	text := strings.Repeat("no index ", 10_000)[:1024]
	if err != nil || letter.Subject != "fastio.events-dead.index" || letter.Header.Get(relay.HeaderError) != text ||
		letter.Header.Get(relay.HeaderSequence) != "3" || len(letter.Data) == 0 {
		t.Errorf("the dead letter is %+v: %v", letter, err)
	}
}

// While a handler runs, the server has no request that it could refuse.
func TestConsumeEndsWhenItsConsumerIsDeleted(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 1)
	f := p.start(t, ns, nil)
	handling, deleted, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		o := relay.ConsumeOptions{Stream: f.Stream, Name: "index"}
		done <- relay.Consume(t.Context(), o, func(context.Context, relay.Message[events.Event]) error {
			close(handling)
			<-deleted
			return nil
		})
	}()
	<-handling
	if err := f.js.DeleteConsumer(t.Context(), "FASTIO", "index"); err != nil {
		t.Fatal(err)
	}
	close(deleted)
	select {
	case err := <-done:
		if !errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Errorf("Consume returned %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Consume has not returned")
	}
}

func TestConsumeKeepsOrderOfEachProfile(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(4), startServer(t)
	for _, w := range p.profiles {
		p.add(w, 50)
	}
	f := p.start(t, ns, nil)
	var mu sync.Mutex
	handled, running, most := map[string][]uint64{}, map[string]bool{}, 0
	total := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, all := range handled {
			n += len(all)
		}
		return n
	}
	handle := func(m relay.Message[events.Event]) error {
		mu.Lock()
		if running[m.Subject] {
			t.Errorf("two calls for %s at the same time", m.Subject)
		}
		running[m.Subject] = true
		most = max(most, len(running))
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		delete(running, m.Subject)
		if m.Sequence%10 == 0 && m.Try == 1 {
			return errors.New("once")
		}
		handled[m.Subject] = append(handled[m.Subject], m.Sequence)
		return nil
	}
	var c consumed
	o := relay.ConsumeOptions{
		Stream: f.Stream, Name: "index", Ordered: true, Concurrency: 3, Backoff: 10 * time.Millisecond, AckWait: time.Second,
	}
	stop := c.consume(t, o, handle)
	c.consume(t, o, handle)
	eventually(t, "80 messages", func() bool { return total() > 80 })
	stop()
	eventually(t, "200 messages", func() bool { return total() == 200 })
	if most < 2 {
		t.Error("no two profiles were handled at the same time")
	}
	for subject, all := range handled {
		if !slices.IsSorted(all) || len(all) != 50 {
			t.Errorf("%s: the order is %v", subject, all)
		}
	}
}

// A profile that appears while NATS cannot be reached is consumed when it can be.
func TestOrderedConsumeOutlivesOutage(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(2), startServer(t)
	both := p.profiles
	p.profiles = both[:1]
	p.add(both[0], 1)
	p.start(t, ns, nil)
	js, l := connect(t, ns)
	var c consumed
	c.consume(t, relay.ConsumeOptions{Stream: relay.Stream{JetStream: js}, Name: "index", Ordered: true}, accept)
	eventually(t, "a message", func() bool { return c.len() == 1 })
	l.Cut()
	p.profiles = both[1:]
	p.add(both[1], 1)
	p.start(t, ns, nil)
	l.Restore()
	eventually(t, "the message of the new profile", func() bool { return c.len() == 2 })
}

func TestConsumeBatches(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 50)
	f := p.start(t, ns, nil)
	eventually(t, "50 events", func() bool { return count(t, f.js) == 50 })
	bad := &nats.Msg{Subject: "fastio.events.workspace.1.workspace", Data: []byte("[")}
	if _, err := f.js.PublishMsg(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	tries, sizes, dead := map[string]int{}, []int{}, 0
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- relay.ConsumeBatches(ctx, relay.ConsumeOptions{
			Stream: f.Stream, Name: "index", Batch: 20, Backoff: time.Millisecond,
			OnError: func(_ context.Context, _ string, _ error, isDead bool) {
				mu.Lock()
				defer mu.Unlock()
				if isDead {
					dead++
				}
			},
		}, func(_ context.Context, batch []relay.Message[events.Event]) error {
			mu.Lock()
			defer mu.Unlock()
			sizes = append(sizes, len(batch))
			for _, m := range batch {
				tries[m.ID] = m.Try
			}
			if len(sizes) == 1 {
				return errors.New("all of them")
			}
			return nil
		})
	}()
	eventually(t, "50 messages, 20 of them twice, and a dead letter", func() bool {
		mu.Lock()
		defer mu.Unlock()
		twice := 0
		for _, try := range tries {
			if try == 2 {
				twice++
			}
		}
		return len(tries) == 50 && twice == 20 && dead == 1
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if slices.Max(sizes) != 20 {
		t.Errorf("the sizes of the batches are %v", sizes)
	}
}

func TestConsumeHoldsMessagesWhileTheyAreHandled(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 3)
	f := p.start(t, ns, nil)
	var c consumed
	c.consume(t, relay.ConsumeOptions{Stream: f.Stream, Name: "index", AckWait: time.Second},
		func(relay.Message[events.Event]) error {
			time.Sleep(1500 * time.Millisecond)
			return nil
		})
	eventually(t, "3 messages", func() bool { return c.len() == 3 })
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.all {
		if m.Try != 1 {
			t.Errorf("message %d is delivered %d times", m.Sequence, m.Try)
		}
	}
}

func TestConsumeKeepsMessagesOfOtherFormats(t *testing.T) {
	t.Parallel()
	js, _ := connect(t, startServer(t))
	stream := relay.Stream{JetStream: js}
	if err := stream.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"2", "1"} {
		msg := &nats.Msg{Subject: "fastio.events.workspace.1.workspace", Data: []byte("[")}
		msg.Header = nats.Header{relay.HeaderFormat: {format}}
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	var c consumed
	c.consume(t, relay.ConsumeOptions{Stream: stream, Name: "index"}, accept)
	eventually(t, "a dead letter", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.dead) == 1
	})
	s, err := js.Stream(t.Context(), "FASTIO")
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := s.Consumer(t.Context(), "index")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "one message left", func() bool {
		info, err := consumer.Info(t.Context())
		return err == nil && info.NumAckPending == 1 && info.NumPending == 0
	})
	if c.len() != 0 {
		t.Errorf("the handler was called with %+v", c.all)
	}
}

func TestConsumeRefusesInvalidOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]relay.ConsumeOptions{
		"Name":        {Name: "a.b"},
		"Concurrency": {Name: "a", Concurrency: -1},
		"Batch":       {Name: "a", Batch: 2},
		"Tries":       {Name: "a", Tries: -1},
		"Backoff":     {Name: "a", Backoff: -1},
		"Longest":     {Name: "a", Longest: -1},
		"AckWait":     {Name: "a", AckWait: time.Millisecond},
	} {
		err := relay.Consume(t.Context(), o, func(context.Context, relay.Message[events.Event]) error { return nil })
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "ConsumeOptions."+name {
			t.Errorf("the error for %s is %v", name, err)
		}
	}
}
