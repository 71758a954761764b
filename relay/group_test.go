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

// newStream returns a stream with messages of one profile.
func newStream(t *testing.T, messages int) relay.Stream {
	t.Helper()
	js, _ := connect(t, startServer(t))
	s := relay.Stream{JetStream: js}
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, s, "workspace.1", messages)
	return s
}

// publish publishes messages of a profile.
func publish(t *testing.T, s relay.Stream, profile string, messages int) {
	t.Helper()
	for range messages {
		msg := &nats.Msg{Subject: "fastio.events." + profile + ".workspace", Data: []byte("{}")}
		if _, err := s.JetStream.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
}

// create creates the consumers of a group.
func create(t *testing.T, o relay.ConsumeOptions) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- relay.Consume(ctx, o, func(context.Context, relay.Message[events.Event]) error { return errors.New("not yet") })
	}()
	consumers := 1
	if o.Ordered {
		consumers = relay.Partitions
	}
	eventually(t, "the group", func() bool {
		groups, err := o.Stream.Groups(t.Context())
		isComplete := func(g relay.Group) bool { return g.Name == o.Name && g.Requests >= consumers }
		return err == nil && slices.ContainsFunc(groups, isComplete)
	})
	cancel()
	<-done
}

// lose delivers messages of a consumer to programs that are lost.
func lose(t *testing.T, s relay.Stream, stream, consumer string, messages, times int) {
	t.Helper()
	c, err := s.JetStream.Consumer(t.Context(), stream, consumer)
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		batch, err := c.Fetch(messages)
		if err != nil {
			t.Fatal(err)
		}
		for msg := range batch.Messages() {
			if err := msg.Nak(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// partitionOf returns the name of the consumer of a profile of the ordered group "index".
func partitionOf(profile string) string { return "index-" + strconv.Itoa(relay.PartitionOf(profile)) }

func sequences(c *consumed) (all []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.all {
		all = append(all, m.Sequence)
	}
	return all
}

func TestConsumeDoesNotCallTheHandlerAfterTheLastTry(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		s := newStream(t, 0)
		o := relay.ConsumeOptions{Stream: s, Name: "index", Ordered: ordered, Tries: 3, Profiles: []api.Profile{api.Workspace("1")}}
		create(t, o)
		publish(t, s, "workspace.1", 1)
		stream, name := "FASTIO", "index"
		if ordered {
			stream, name = "FASTIO-ORDERED", partitionOf("workspace.1")
		}
		lose(t, s, stream, name, 1, 3)
		publish(t, s, "workspace.1", 2)
		var c consumed
		c.consume(t, o, accept)
		eventually(t, "the other messages", func() bool { return c.len() == 2 })
		letters := deadLetters(t, s.JetStream)
		if len(letters) != 1 || letters[0].Header.Get(relay.HeaderSequence) != "1" ||
			letters[0].Header.Get(relay.HeaderError) != "no program has settled the message in 3 deliveries" {
			t.Errorf("the dead letters are %+v", letters)
		}
		if all := sequences(&c); !slices.Equal(all, []uint64{2, 3}) {
			t.Errorf("the handler was called with %v", all)
		}
	}
}

// One message that fails makes no dead letters of the others.
func TestConsumeBatchesHandlesMessagesAloneInTheirLastTries(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{0, 1, 2} { // tries of the whole batch that have ended the program
		s := newStream(t, 0)
		o := relay.ConsumeOptions{Stream: s, Name: "index", Tries: 3, Backoff: time.Millisecond}
		create(t, o)
		publish(t, s, "workspace.1", 5)
		lose(t, s, "FASTIO", "index", 5, lost)
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var handled []uint64
		var dead []string
		o.OnError = func(_ context.Context, _ string, err error, isDead bool) {
			mu.Lock()
			defer mu.Unlock()
			if isDead {
				dead = append(dead, err.Error())
			}
		}
		done := make(chan error, 1)
		go func() {
			done <- relay.ConsumeBatches(ctx, o, func(_ context.Context, batch []relay.Message[events.Event]) error {
				mu.Lock()
				defer mu.Unlock()
				if slices.ContainsFunc(batch, func(m relay.Message[events.Event]) bool { return m.Sequence == 3 }) {
					return errors.New("not 3")
				}
				for _, m := range batch {
					handled = append(handled, m.Sequence)
				}
				return nil
			})
		}()
		eventually(t, "4 messages and a dead letter", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(handled) == 4 && len(dead) == 1
		})
		cancel()
		<-done
		slices.Sort(handled)
		if !slices.Equal(handled, []uint64{1, 2, 4, 5}) || dead[0] != "not 3" {
			t.Errorf("handled %v, dead %v", handled, dead)
		}
	}
}

// A NATS server that was paused delivers again what was acknowledged meanwhile.
func TestOrderedConsumeDoesNotGoBack(t *testing.T) {
	t.Parallel()
	s := newStream(t, 5)
	var c consumed
	c.consume(t, relay.ConsumeOptions{Stream: s, Name: "index", Ordered: true}, accept)
	eventually(t, "5 messages", func() bool { return c.len() == 5 })
	stream, err := s.JetStream.Stream(t.Context(), "FASTIO-ORDERED")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.ResetConsumerToSequence(t.Context(), partitionOf("workspace.1"), 2); err != nil {
		t.Fatal(err)
	}
	publish(t, s, "workspace.1", 2)
	eventually(t, "7 messages", func() bool { return c.len() >= 7 })
	if all := sequences(&c); !slices.Equal(all, []uint64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("the handler was called with %v", all)
	}
	eventually(t, "nothing is left", func() bool {
		groups, err := s.Groups(t.Context())
		return err == nil && groups[0].Handling == 0 && groups[0].Pending == 0
	})
}

// The position is what the server has stored, not what was sent to it.
func TestOrderedConsumeWaitsForItsAcknowledgement(t *testing.T) {
	t.Parallel()
	ns := startServer(t)
	js, l := connect(t, ns)
	s := relay.Stream{JetStream: js}
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, s, "workspace.1", 1)
	var c consumed
	var release func()
	stop := c.consume(t, relay.ConsumeOptions{Stream: s, Name: "index", Ordered: true}, func(relay.Message[events.Event]) error {
		release = l.Hold()
		return nil
	})
	eventually(t, "an acknowledgement that wants a response", func() bool {
		return l.HoldsMatch(`PUB \$JS\.ACK\.FASTIO-ORDERED\.` + partitionOf("workspace.1") + `\.\S+ _INBOX\.\S+ 4\r\n\+ACK`)
	})
	release()
	stop()
}

func TestConsumeChangesItsGroupOrRefuses(t *testing.T) {
	t.Parallel()
	s := newStream(t, 0)
	first := relay.ConsumeOptions{Stream: s, Name: "index", AckWait: 2 * time.Second, Profiles: []api.Profile{api.Workspace("1")}}
	create(t, first)
	create(t, relay.ConsumeOptions{Stream: s, Name: "ordered", Ordered: true, Profiles: first.Profiles})
	_, err := s.JetStream.CreateConsumer(t.Context(), "FASTIO", jetstream.ConsumerConfig{
		Durable: "others", AckPolicy: jetstream.AckExplicitPolicy, Metadata: map[string]string{"fastio-group": "another"},
	})
	if err != nil {
		t.Fatal(err)
	}
	consumer := func() jetstream.ConsumerConfig {
		c, err := s.JetStream.Consumer(t.Context(), "FASTIO", "index")
		if err != nil {
			t.Fatal(err)
		}
		return c.CachedInfo().Config
	}
	longer := first
	longer.AckWait = time.Minute
	create(t, longer)
	if wait := consumer().AckWait; wait != time.Minute {
		t.Errorf("the AckWait is %v", wait)
	}
	own := first
	own.AckWait = 0
	create(t, own)
	if wait := consumer().AckWait; wait != time.Minute {
		t.Errorf("the AckWait is %v", wait)
	}
	for field, o := range map[string]relay.ConsumeOptions{
		"AckWait": first,
		"Name":    {Stream: s, Name: "others"},
	} {
		refused(t, field, o)
	}
	refused(t, "Ordered", relay.ConsumeOptions{Stream: s, Name: "index", Ordered: true})
	refused(t, "Ordered", relay.ConsumeOptions{Stream: s, Name: "ordered", Profiles: first.Profiles})
	more := own
	more.Profiles = append(more.Profiles, api.Workspace("2"))
	var c consumed
	c.consume(t, more, accept)
	eventually(t, "the other filter", func() bool { return len(consumer().FilterSubjects) == 2 })
	publish(t, s, "workspace.1", 1)
	publish(t, s, "workspace.2", 5)
	publish(t, s, "workspace.3", 1)
	eventually(t, "6 messages", func() bool { return c.len() == 6 })
}

func refused(t *testing.T, field string, o relay.ConsumeOptions) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := relay.Consume(ctx, o, func(context.Context, relay.Message[events.Event]) error { return nil })
	if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "ConsumeOptions."+field || !strings.Contains(err.Error(), "group") {
		t.Errorf("%s: the error is %v", field, err)
	}
}

func TestConsumeStartsWhenNATSIsBack(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		ns := startServer(t)
		js, _ := connect(t, ns)
		if err := (relay.Stream{JetStream: js}).Create(t.Context()); err != nil {
			t.Fatal(err)
		}
		publish(t, relay.Stream{JetStream: js}, "workspace.1", 1)
		late, l := connect(t, ns)
		l.Cut()
		var c consumed
		c.consume(t, relay.ConsumeOptions{Stream: relay.Stream{JetStream: late}, Name: "index", Ordered: ordered}, accept)
		eventually(t, "a failure", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.failed) > 0
		})
		l.Restore()
		eventually(t, "a message", func() bool { return c.len() == 1 })
	}
}
