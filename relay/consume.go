package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
)

const opConsume = "relay.Consume"

// Headers of a dead letter, besides those of the message.
const (
	HeaderError    = "Fastio-Error"    // text of the last error
	HeaderSubject  = "Fastio-Subject"  // subject of the message
	HeaderSequence = "Fastio-Sequence" // sequence of the message in the stream
)

// formatPause is the time until a message of a newer format is delivered again.
const formatPause = time.Minute

// Message is a message of the stream.
type Message[T any] struct {
	Value    T // the body, usually an [events.Event]
	Subject  string
	ID       string // Nats-Msg-Id: the same for an event that is published again
	Epoch    uint64 // of the holder that published it
	Sequence uint64 // in the stream
	Try      int    // 1 for the first delivery
}

// ConsumeOptions are the options of [Consume]. The defaults are those of zero fields.
type ConsumeOptions struct {
	Stream Stream

	// Name of the durable consumer; required. Programs with the same name share the
	// messages, and a program that starts again continues where it ended. The other
	// fields that the server keeps are those of the program that used the name first.
	Name string

	Profiles    []api.Profile // whose events are consumed; default: all
	Concurrency int           // messages that are handled at the same time; default 1

	// Ordered delivers a message when the one before it is acknowledged or a dead
	// letter, over all programs with the same name. So the events of each profile are
	// handled in the order of the stream, one at a time. Concurrency must be 0 or 1.
	Ordered bool

	Tries   int           // deliveries of a message until it is a dead letter; default 5
	Backoff time.Duration // before the second delivery; doubles each time. Default: 1 second
	Longest time.Duration // backoff at most; default 1 minute

	// AckWait is the time after which the messages of a lost program are delivered
	// again. It does not limit the handler. Default: 30 seconds.
	AckWait time.Duration

	// OnError is called when a handler has failed. A dead letter is stored if dead.
	OnError func(ctx context.Context, subject string, err error, dead bool)
}

func (o ConsumeOptions) withDefaults() ConsumeOptions {
	o.Stream = o.Stream.withDefaults()
	o.Concurrency = cmp.Or(o.Concurrency, 1)
	o.Tries = cmp.Or(o.Tries, 5)
	o.Backoff = cmp.Or(o.Backoff, time.Second)
	o.Longest = cmp.Or(o.Longest, time.Minute)
	o.AckWait = cmp.Or(o.AckWait, 30*time.Second)
	return o
}

func (o ConsumeOptions) check() error {
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: opConsume, Field: field, Rule: rule, Got: got}
	}
	switch {
	case o.Name == "" || token(o.Name) != o.Name:
		return refuse("name", "must be letters, digits, hyphens and underscores", strconv.Quote(o.Name))
	case o.Concurrency < 0 || o.Ordered && o.Concurrency > 1:
		return refuse("concurrency", "must be positive, and 1 if ordered", strconv.Itoa(o.Concurrency))
	case o.Tries < 0:
		return refuse("tries", "must be positive", strconv.Itoa(o.Tries))
	case o.AckWait != 0 && o.AckWait < time.Second:
		return refuse("ack_wait", "must be at least 1s", o.AckWait.String())
	}
	return nil
}

// Consume calls handle for every message of the stream until ctx is done, and returns
// the error of ctx when the calls that run have returned. T is what the body is decoded
// into.
//
// Delivery is at least once: a message is acknowledged when handle has returned nil. It
// is delivered again after an error, with a backoff, and after the loss of the program.
// After the last try it is stored, with the error, in the stream of dead letters, which
// has the name of the stream and "-DEAD"; the subject is the prefix of the stream and
// "-dead", then the name of the consumer. So is a message that cannot be decoded, at once.
// Dead letters do not expire. Messages of a newer format than [Format] are delivered
// again later: update the consumers before the followers.
//
// Errors: [api.InputError] for an option; the error of NATS if stream and consumer
// cannot be opened, or if the connection was closed.
func Consume[T any](ctx context.Context, o ConsumeOptions, handle func(context.Context, Message[T]) error) error {
	if err := o.check(); err != nil {
		return err
	}
	c := &consumer{ConsumeOptions: o.withDefaults()}
	messages, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer messages.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, c.Concurrency)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case free <- struct{}{}:
		}
		msg, err := c.next(ctx, messages)
		if err != nil {
			return err
		}
		running.Go(func() {
			defer func() { <-free }()
			c.handle(ctx, msg, func(m meta) error {
				v := Message[T]{
					Subject: msg.Subject(), ID: msg.Headers().Get(jetstream.MsgIDHeader),
					Epoch: m.epoch, Sequence: m.Sequence.Stream, Try: m.try(),
				}
				if err := json.Unmarshal(msg.Data(), &v.Value); err != nil {
					return &decodeError{err}
				}
				return handle(ctx, v)
			})
		})
	}
}

// decodeError is an error that another try does not change.
type decodeError struct{ err error }

func (e *decodeError) Error() string { return "the message cannot be decoded: " + e.err.Error() }
func (e *decodeError) Unwrap() error { return e.err }

type meta struct {
	*jetstream.MsgMetadata
	epoch uint64
}

func (m meta) try() int { return int(min(m.NumDelivered, 1<<30)) }

type consumer struct {
	ConsumeOptions
}

// open creates the consumer and the stream of dead letters if necessary.
func (c *consumer) open(ctx context.Context) (jetstream.MessagesContext, error) {
	stream, err := c.Stream.open(ctx)
	if err != nil {
		return nil, err
	}
	_, err = c.Stream.JetStream.CreateStream(ctx, jetstream.StreamConfig{
		Name: c.Stream.Name + "-DEAD", Description: "messages that could not be handled",
		Subjects: []string{c.Stream.Prefix + "-dead.>"}, Replicas: c.Stream.Replicas,
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil, fmt.Errorf("fastio: %s: dead letters: %w", opConsume, err)
	}
	config := jetstream.ConsumerConfig{
		Durable: c.Name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.AckWait,
		FilterSubjects: c.subjects(),
	}
	if c.Ordered {
		config.MaxAckPending = 1
	}
	durable, err := stream.Consumer(ctx, c.Name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		durable, err = stream.CreateConsumer(ctx, config)
	}
	if errors.Is(err, jetstream.ErrConsumerExists) {
		durable, err = stream.Consumer(ctx, c.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("fastio: %s: consumer %s: %w", opConsume, c.Name, err)
	}
	messages, err := durable.Messages(jetstream.PullMaxMessages(c.Concurrency))
	if err != nil {
		return nil, fmt.Errorf("fastio: %s: consumer %s: %w", opConsume, c.Name, err)
	}
	return messages, nil
}

func (c *consumer) subjects() []string {
	if len(c.Profiles) == 0 {
		return []string{c.Stream.Prefix + ".*.*.*"}
	}
	var all []string
	for _, p := range c.Profiles {
		all = append(all, c.Stream.Prefix+"."+profileKey(p)+".*")
	}
	return all
}

// next returns the next message. Missing heartbeats mean that the connection or the
// leader was lost; the library recovers.
func (c *consumer) next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		switch {
		case err == nil:
			return msg, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, jetstream.ErrNoHeartbeat):
		default:
			return nil, fmt.Errorf("fastio: %s: %w", opConsume, err)
		}
	}
}

// handle calls one with a message, and acknowledges it or arranges the next try.
func (c *consumer) handle(ctx context.Context, msg jetstream.Msg, one func(meta) error) {
	m := meta{}
	var err error
	if m.MsgMetadata, err = msg.Metadata(); err != nil {
		c.failed(ctx, msg, err, false)
		return
	}
	if format, err := strconv.Atoi(cmp.Or(msg.Headers().Get(HeaderFormat), "1")); err != nil || format > Format {
		err := fmt.Errorf("format %q is newer than %d", msg.Headers().Get(HeaderFormat), Format)
		c.failed(ctx, msg, errors.Join(err, msg.NakWithDelay(formatPause)), false)
		return
	}
	if m.epoch, err = strconv.ParseUint(cmp.Or(msg.Headers().Get(HeaderEpoch), "0"), 10, 64); err == nil {
		err = c.whileWorking(msg, func() error { return one(m) })
	}
	_, undecodable := errors.AsType[*decodeError](err)
	switch {
	case err == nil:
		err = msg.Ack()
	case undecodable || m.try() >= c.Tries && ctx.Err() == nil:
		c.bury(ctx, msg, m, err)
		return
	case ctx.Err() != nil:
		err = msg.Nak() // for another program, at once
	default:
		err = errors.Join(err, msg.NakWithDelay(c.pause(m.try())))
	}
	if err != nil {
		c.failed(ctx, msg, err, false)
	}
}

// pause returns the backoff after a number of tries.
func (c *consumer) pause(tries int) time.Duration {
	pause := c.Backoff
	for range tries - 1 {
		if pause = 2 * pause; pause >= c.Longest {
			break
		}
	}
	return min(pause, c.Longest)
}

func (c *consumer) failed(ctx context.Context, msg jetstream.Msg, err error, dead bool) {
	if c.OnError != nil {
		c.OnError(ctx, msg.Subject(), err, dead)
	}
}

// whileWorking calls f and extends the time for the acknowledgement meanwhile.
func (c *consumer) whileWorking(msg jetstream.Msg, f func() error) error {
	done := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(done)
	wg.Go(func() {
		tick := time.NewTicker(c.AckWait / 3)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				_ = msg.InProgress() // the next one may succeed
			}
		}
	})
	return f()
}

// bury stores a dead letter and acknowledges its message.
func (c *consumer) bury(ctx context.Context, msg jetstream.Msg, m meta, cause error) {
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	sequence := strconv.FormatUint(m.Sequence.Stream, 10)
	letter := &nats.Msg{Subject: c.Stream.Prefix + "-dead." + c.Name, Data: msg.Data(), Header: nats.Header{
		HeaderError:    {strings.Join(strings.Fields(cause.Error()), " ")},
		HeaderSubject:  {msg.Subject()},
		HeaderSequence: {sequence},
	}}
	kept := maps.Clone(msg.Headers())
	maps.DeleteFunc(kept, func(name string, _ []string) bool { return !strings.HasPrefix(name, "Fastio-") })
	maps.Copy(kept, letter.Header)
	letter.Header = kept
	_, err := c.Stream.JetStream.PublishMsg(timed, letter, jetstream.WithMsgID(c.Name+"-"+sequence))
	if err != nil {
		err = errors.Join(cause, fmt.Errorf("storing the dead letter: %w", err), msg.NakWithDelay(c.Longest))
		c.failed(ctx, msg, err, false)
		return
	}
	c.failed(ctx, msg, errors.Join(cause, msg.Ack()), true)
}
