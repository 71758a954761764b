package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
)

const opConsume = "relay.Consume"

// formatPause is the time until a message of a newer format is delivered again.
const formatPause = time.Minute

// Message is a message of the stream.
type Message[T any] struct {
	Value    T // the body, usually an [events.Event]
	Subject  string
	Account  string // of [Accounts]; "" for profiles that a [Follower] follows
	ID       string // Nats-Msg-Id: the same for an event that is published again
	Epoch    uint64 // of the holder that published it
	Sequence uint64 // in the stream
	Try      int    // 1 for the first delivery
}

// ConsumeOptions are the options of [Consume]. The defaults are those of zero fields.
type ConsumeOptions struct {
	Stream Stream

	// Name of the group; required. Programs with the same name share the messages, and a
	// program that starts again continues where it ended. See [Stream.Groups].
	Name string

	// Account whose events are consumed, one of [Accounts]; [AllAccounts] means every one.
	// Default: the events of profiles that a [Follower] follows.
	Account string

	// Profiles whose events are consumed; default: all. They are those of the group:
	// a program with other ones changes them for all its programs, from the position of
	// the group in the stream on.
	Profiles []api.Profile

	Concurrency int // calls of the handler at the same time; default 1
	Batch       int // messages in a call at most, of [ConsumeBatches]; default 100

	// Ordered delivers an event when the one before it of the same profile is
	// acknowledged or a dead letter, over all programs with the same name. Profiles belong to 16
	// partitions, by their hashes: one event of a partition is handled at a time, and one that is
	// slow or tried again delays the other profiles of its partition. Each partition has a durable
	// consumer of a copy of the stream, which is created when it is first needed and takes as much
	// disk: its name is that of the stream and "-ORDERED".
	// Batch must be 0 or 1. A group that is not Ordered cannot become so, nor the reverse.
	//
	// A call of Consume does not handle an event again after it has settled a later one of
	// the profile. Another program can be given one again that it has not handled itself,
	// after a NATS server was paused or lost while it led the consumer. When the position of
	// a consumer was set back, start the programs again.
	Ordered bool

	// Tries is the number of deliveries of a message until it is a dead letter, also to
	// programs that ended while they handled it. A message that has arrived when ctx is done is
	// handled if this is its last try, and otherwise given back. Default: 5.
	Tries int

	// Backoff is the longest pause before the second delivery, and doubles with each
	// further one up to Longest. The pauses are random. Default: 1 second and 1 minute.
	Backoff, Longest time.Duration

	// AckWait is the time after which the messages of a lost program are delivered
	// again. It does not limit the handler. A program can make that of the group longer
	// but not shorter, because other programs that run rely on it. Default: that of the group, 30 seconds
	// for a new one.
	AckWait time.Duration

	// OnError is called when a handler has failed: a dead letter is stored if dead. It is
	// also called, without a subject, when stream or consumers cannot be opened, which is
	// then tried again.
	OnError func(ctx context.Context, subject string, err error, dead bool)

	// Hooks observe the calls of the handler with OnHandle.
	Hooks api.MessageHooks
}

// AllAccounts is the [ConsumeOptions.Account] of programs that consume the events of all
// accounts. The first part of a subject after the prefix of the Stream is the account.
const AllAccounts = "*"

// scope returns the part of the subjects that names the account.
func (o ConsumeOptions) scope() string {
	switch o.Account {
	case "":
		return ""
	case AllAccounts:
		return "*."
	default:
		return token(o.Account) + "."
	}
}

// validAccount reports whether Account is a value that the group can have.
func (o ConsumeOptions) validAccount() bool {
	return o.Account == "" || o.Account == AllAccounts || checkAccountName(opConsume, o.Account) == nil
}

// withDefaults returns the options with the defaults of those that are zero.
func (o ConsumeOptions) withDefaults() ConsumeOptions {
	o.Stream = o.Stream.withDefaults()
	o.Concurrency = cmp.Or(o.Concurrency, 1)
	o.Tries = cmp.Or(o.Tries, 5)
	o.Backoff = cmp.Or(o.Backoff, time.Second)
	o.Longest = cmp.Or(o.Longest, time.Minute)
	return o
}

// check returns an [*api.InputError] for the first option that is not valid.
func (o ConsumeOptions) check() error {
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: opConsume, Field: "ConsumeOptions." + field, Rule: rule, Got: got}
	}
	switch {
	case o.Name == "" || token(o.Name) != o.Name:
		return refuse("Name", "must be letters, digits, hyphens and underscores", strconv.Quote(o.Name))
	case !o.validAccount():
		return refuse("Account", "must be the name of an account, or AllAccounts", strconv.Quote(o.Account))
	case o.Concurrency < 0:
		return refuse("Concurrency", "must not be negative", strconv.Itoa(o.Concurrency))
	case o.Batch < 0 || o.Ordered && o.Batch > 1:
		return refuse("Batch", "must not be negative, and at most 1 if ordered", strconv.Itoa(o.Batch))
	case o.Tries < 0:
		return refuse("Tries", "must not be negative", strconv.Itoa(o.Tries))
	case o.Backoff < 0:
		return refuse("Backoff", "must not be negative", o.Backoff.String())
	case o.Longest < 0:
		return refuse("Longest", "must not be negative", o.Longest.String())
	case o.AckWait != 0 && o.AckWait < time.Second:
		return refuse("AckWait", "must be at least 1s", o.AckWait.String())
	}
	return nil
}

// Consume calls handle for every message of the stream until ctx is done, and returns
// the error of ctx when the calls that run have returned. T is what the body is decoded
// into.
//
// Delivery is at least once: a message is acknowledged when handle has returned nil. It
// is delivered again after an error, with a backoff, and after the loss of the program.
// After the last try, or at once if it cannot be decoded, it is stored as a dead letter.
// Messages of a newer format than [Format] are delivered again later: update the consumers
// before the followers.
//
// The stream of dead letters has the name of the stream and "-DEAD". The subject is the
// prefix of the stream and "-dead", then the name of the consumer. Dead letters do not
// expire. They have the headers [HeaderError] to [HeaderSize]. They have the body of the
// message, unless NATS refuses the body and the headers together as too large.
//
// Errors: [*api.InputError] for an option that is not valid or that contradicts the existing
// group; the error of NATS if a consumer was deleted, if the connection was closed, or if stream
// and consumer cannot be opened for 30 seconds: until then, failures are reported to OnError.
func Consume[T any](ctx context.Context, o ConsumeOptions, handle func(context.Context, Message[T]) error) error {
	if o.Batch != 0 {
		return &api.InputError{Op: opConsume, Field: "ConsumeOptions.Batch", Rule: "requires ConsumeBatches", Got: strconv.Itoa(o.Batch)}
	}
	return consume(ctx, o, func(ctx context.Context, batch []Message[T]) error { return handle(ctx, batch[0]) })
}

// ConsumeBatches is like [Consume], but handle is called with the messages that are there,
// at least one. An error of handle is an error of all of them. Messages of a batch are in
// the order of the stream, apart from those that are delivered again. The last two tries of
// a message are calls with this one alone, so that a message that fails, or ends the program,
// does not make dead letters of the others.
func ConsumeBatches[T any](
	ctx context.Context, o ConsumeOptions, handle func(context.Context, []Message[T]) error,
) error {
	o.Batch = cmp.Or(o.Batch, 100)
	return consume(ctx, o, handle)
}

// consumer is a call of Consume.
type consumer[T any] struct {
	ConsumeOptions

	handle func(context.Context, []Message[T]) error
	events jetstream.Stream // of all events
	stream jetstream.Stream // of the consumers: for an ordered group, the copy of it
	places chan struct{}    // holds a value for each partition that is handled, at most Concurrency
}

// consume handles the messages of a group until ctx is done, or until something fails
// that trying again cannot repair.
func consume[T any](ctx context.Context, o ConsumeOptions, handle func(context.Context, []Message[T]) error) error {
	if err := o.check(); err != nil {
		return err
	}
	c := &consumer[T]{ConsumeOptions: o.withDefaults(), handle: handle}
	c.places = make(chan struct{}, c.Concurrency)
	if err := c.retryTemporary(ctx, func() error { return c.open(ctx) }); err != nil {
		return err
	}
	if c.Ordered {
		return c.runOrdered(ctx)
	}
	var d *durable
	err := c.retryTemporary(ctx, func() (err error) {
		d, err = c.durable(ctx, c.Name, c.subjects())
		return err
	})
	if err != nil {
		return err
	}
	workers := newGroup(ctx)
	for range c.Concurrency {
		workers.Go(func(ctx context.Context) error { return c.run(ctx, d) })
	}
	return workers.Wait()
}

// retryTemporary calls f until it succeeds or has failed for good, and reports failures to
// OnError.
func (c *consumer[T]) retryTemporary(ctx context.Context, f func() error) error {
	return retryTemporary(ctx, func(err error) { c.reportFailure(ctx, "", err) }, f)
}

// group runs functions until one has failed.
type group struct {
	sync.WaitGroup

	ctx  context.Context //nolint:containedctx // of the functions
	fail context.CancelCauseFunc
}

// newGroup returns a group whose functions get a context that ends with ctx, or with
// the first error of one of them.
func newGroup(ctx context.Context) *group {
	g := &group{}
	g.ctx, g.fail = context.WithCancelCause(ctx)
	return g
}

// Go calls f, whose error ends the group.
func (g *group) Go(f func(ctx context.Context) error) {
	g.WaitGroup.Go(func() {
		if err := f(g.ctx); err != nil {
			g.fail(err)
		}
	})
}

// Wait waits for the functions and returns the first error.
func (g *group) Wait() error {
	g.WaitGroup.Wait()
	return context.Cause(g.ctx)
}

// pullTime is how long the server answers a request for messages. A missing heartbeat is
// noticed after this time.
const pullTime = 10 * time.Second

// run requests messages, one at a time or a batch, and handles them before it requests
// more, until ctx is done or the consumer does not exist any more.
func (c *consumer[T]) run(ctx context.Context, d *durable) error {
	messages, err := d.Messages(jetstream.PullMaxMessages(1), jetstream.PullExpiry(pullTime))
	if err != nil {
		return c.wrap(c.Name, err)
	}
	defer c.giveBack(ctx, d, messages)
	for ctx.Err() == nil {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil {
			if err == nil {
				c.deliver(ctx, d, []jetstream.Msg{msg}) // gives the message back, as ctx is done
			}
			return ctx.Err()
		}
		if errors.Is(err, jetstream.ErrNoHeartbeat) {
			_, err = d.Info(ctx)
			code := codeOf(err)
			isDeleted := code == jetstream.JSErrCodeConsumerNotFound || code == jetstream.JSErrCodeStreamNotFound
			if !isDeleted {
				continue // the connection or the leader was lost: the library recovers
			}
		}
		if err != nil {
			return c.wrap(c.Name, err)
		}
		batch := []jetstream.Msg{msg}
		if c.Batch > 1 {
			more, err := d.FetchNoWait(c.Batch - 1)
			if err == nil {
				for msg := range more.Messages() {
					batch = append(batch, msg)
				}
			}
		}
		c.deliver(ctx, d, batch)
	}
	return ctx.Err()
}

// giveBack ends a subscription. Messages that have arrived and are not handled go to deliver
// with a context that is done: deliver gives them back to the server, for another program,
// unless they are in their last try.
func (c *consumer[T]) giveBack(ctx context.Context, d *durable, messages jetstream.MessagesContext) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	messages.Drain()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(time.Second))
		if err != nil {
			break
		}
		c.deliver(ctx, d, []jetstream.Msg{msg})
	}
	messages.Stop()
}

// wrap adds the name of a durable consumer to an error.
func (c *consumer[T]) wrap(name string, err error) error {
	return fmt.Errorf("fastio: %s: consumer %s: %w", opConsume, name, err)
}

// delivery is a message that is being handled.
type delivery struct {
	jetstream.Msg

	meta    *jetstream.MsgMetadata
	subject string // in the stream of all events
}

// try returns how often the message was delivered, this time included.
func (d delivery) try() int { return int(min(d.meta.NumDelivered, 1<<30)) }

// confirm acknowledges the message, and waits until the server has stored the
// acknowledgement.
func (d delivery) confirm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	return d.DoubleAck(ctx)
}

// deliver calls the handler with the messages that can be decoded, and settles all
// messages: each is acknowledged, or left for a later try, or becomes a dead letter. When ctx is done, it
// gives the messages back, except in their last try: with another delivery, a message would become a dead
// letter that was not handled.
//
// Messages of a batch are handled together, except in their last two tries: in these they are
// handled one by one, because the handling of one message may end the program. The messages after
// it are then not handled in this try. So the last try has the order of the batch, and the one before
// it the reverse order: each other message comes before the harmful one in one of the two. If that is
// the second of three messages, the last but one try handles the third, and the last try the first.
// The first try handles all together, even if it is one of the last two because Tries is 1 or 2.
func (c *consumer[T]) deliver(ctx context.Context, from *durable, all []jetstream.Msg) {
	stop := from.keepInProgress(ctx, all)
	defer stop()
	if c.Ordered { // more goroutines than Concurrency call deliver: one for each partition
		defer c.takePlace(ctx, all[0])()
	}
	var together, last, lastButOne []handled[T]
	for _, msg := range all {
		h, mustHandle := c.examine(ctx, from, msg)
		if !mustHandle {
			continue
		}
		isAlone := len(all) == 1 // it is handled alone in any case
		isFirstTry, isBeforeLastTwo := h.try() == 1, h.try() < c.Tries-1
		switch {
		case isAlone || isFirstTry || isBeforeLastTwo:
			together = append(together, h)
		case h.try() < c.Tries:
			lastButOne = append(lastButOne, h)
		default:
			last = append(last, h)
		}
	}
	c.call(ctx, from, together)
	for i := range last {
		c.call(ctx, from, last[i:i+1])
	}
	for i := range slices.Backward(lastButOne) {
		c.call(ctx, from, lastButOne[i:i+1])
	}
}

// takePlace waits for a place, and returns a function that gives it back. When ctx is done, it waits only
// for a message in its last try, which is handled all the same.
func (c *consumer[T]) takePlace(ctx context.Context, msg jetstream.Msg) (giveBack func()) {
	meta, err := msg.Metadata()
	if isLastTry := err == nil && (delivery{Msg: msg, meta: meta}).try() >= c.Tries; isLastTry {
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case c.places <- struct{}{}:
		return func() { <-c.places }
	case <-ctx.Done(): // c.call gives the message back without calling the handler
		return func() {}
	}
}

// handled is a message for the handler.
type handled[T any] struct {
	delivery

	message Message[T]
}

// examine decodes a message. If the handler must not be called with it, examine settles
// the message and returns false: it was handled already, cannot be decoded, or has no
// tries left.
func (c *consumer[T]) examine(ctx context.Context, from *durable, msg jetstream.Msg) (h handled[T], mustHandle bool) {
	meta, err := msg.Metadata()
	if err != nil { // the message is not one of JetStream
		c.reportFailure(ctx, msg.Subject(), err)
		return h, false
	}
	h.delivery = delivery{msg, meta, c.Stream.plainSubject(msg.Subject())}
	if c.Ordered && c.settleIfHandled(ctx, from, h.delivery) {
		return h, false
	}
	h.message, err = decode[T](h.delivery)
	if err != nil {
		c.refuseUndecodable(ctx, from, h.delivery, err)
		return h, false
	}
	h.message.Account = c.Stream.accountOf(h.subject)
	if h.try() > c.Tries {
		c.bury(ctx, from, h.delivery, fmt.Errorf("no program has settled the message in %d deliveries", h.try()-1))
		return h, false
	}
	return h, true
}

// settleIfHandled settles a message of an ordered group that was handled before, by this program or
// by one of an earlier version, and reports whether it did. When ctx is done before it knows that,
// it gives the message back for another program, and returns true, too.
func (c *consumer[T]) settleIfHandled(ctx context.Context, from *durable, d delivery) bool {
	wasSettledHere := d.meta.Sequence.Stream <= from.settled // messages are settled in the order of their sequences
	if wasSettledHere {
		// NATS has lost the acknowledgement. That is reported: another program would have handled the message again.
		c.reportFailure(ctx, d.subject, errors.Join(errSettled, d.confirm(ctx)))
		return true
	}
	wasHandled, err := c.handledBefore(ctx, from, d)
	switch {
	case err != nil: // ctx is done
		c.settle(ctx, from, d, err)
	case wasHandled:
		if err := d.confirm(ctx); err != nil {
			c.reportFailure(ctx, d.subject, err)
		}
	}
	return wasHandled || err != nil
}

// errSettled means that NATS has delivered a message again that was settled.
var errSettled = errors.New("the message was delivered again after a later one, and is acknowledged again")

// call calls the handler with a batch, and settles each message by the result. When ctx is done, it gives the
// messages back without calling the handler, except in their last try: they would become dead letters that were
// not handled. Either all messages of a batch are in their last try, or none.
func (c *consumer[T]) call(ctx context.Context, from *durable, batch []handled[T]) {
	if len(batch) == 0 {
		return
	}
	if isLastTry := batch[0].try() >= c.Tries; isLastTry && ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	err := ctx.Err()
	if err == nil {
		messages := make([]Message[T], len(batch))
		for i, h := range batch {
			messages[i] = h.message
		}
		handling, ended := observeHandle(ctx, &c.ConsumeOptions, func() []http.Header { return headersOf(batch) })
		err = c.handle(handling, messages)
		ended(err)
	}
	for _, h := range batch {
		c.settle(ctx, from, h.delivery, err)
	}
}

// headersOf returns the headers of messages.
func headersOf[T any](batch []handled[T]) []http.Header {
	headers := make([]http.Header, len(batch))
	for i, h := range batch {
		headers[i] = http.Header(h.Headers())
	}
	return headers
}

// errNewer means that a message has a newer format.
var errNewer = errors.New("the format of the message is newer than " + strconv.Itoa(Format))

// decode returns the message of a delivery. Except for errNewer, its errors are
// permanent: another try would fail in the same way.
func decode[T any](d delivery) (m Message[T], err error) {
	format, err := strconv.Atoi(cmp.Or(d.Headers().Get(HeaderFormat), "1"))
	if err != nil {
		return m, fmt.Errorf("the format of the message: %w", err)
	}
	if format > Format {
		return m, errNewer
	}
	m = Message[T]{
		Subject: d.subject, ID: d.Headers().Get(jetstream.MsgIDHeader), Sequence: d.meta.Sequence.Stream, Try: d.try(),
	}
	m.Epoch, err = strconv.ParseUint(cmp.Or(d.Headers().Get(HeaderEpoch), "0"), 10, 64)
	if err != nil {
		return m, fmt.Errorf("the epoch of the message: %w", err)
	}
	if err := jsonv2.Unmarshal(d.Data(), &m.Value); err != nil {
		return m, fmt.Errorf("the message cannot be decoded: %w", err)
	}
	return m, nil
}

// refuseUndecodable leaves a message of a newer format to programs that can decode it,
// and stores any other one as a dead letter.
func (c *consumer[T]) refuseUndecodable(ctx context.Context, from *durable, d delivery, err error) {
	if errors.Is(err, errNewer) {
		c.reportFailure(ctx, d.subject, errors.Join(err, d.NakWithDelay(formatPause)))
		return
	}
	c.bury(ctx, from, d, err)
}

// settle acknowledges a message if its handler has returned nil, and otherwise
// arranges the next try, or stores a dead letter after the last one.
func (c *consumer[T]) settle(ctx context.Context, from *durable, d delivery, err error) {
	switch {
	case err == nil:
		err = c.acknowledge(ctx, from, d)
	case ctx.Err() != nil:
		err = d.Nak() // another program gets the message at once
	case d.try() >= c.Tries:
		c.bury(ctx, from, d, err)
		return
	default:
		err = errors.Join(err, d.NakWithDelay(backoff{c.Backoff, c.Longest}.pause(d.try())))
	}
	if err != nil {
		c.reportFailure(ctx, d.subject, err)
	}
}

// acknowledge acknowledges a message. If the group is ordered, it waits until the
// server has confirmed the acknowledgement.
func (c *consumer[T]) acknowledge(ctx context.Context, from *durable, d delivery) error {
	if !c.Ordered {
		return d.Ack()
	}
	from.settled = d.meta.Sequence.Stream // for settleIfHandled, in case the acknowledgement is lost
	return d.confirm(ctx)
}

// open opens the stream, creates the stream of dead letters if necessary, and checks
// that an existing group has the same value of Ordered.
func (c *consumer[T]) open(ctx context.Context) (err error) {
	c.events, err = c.Stream.open(ctx)
	if err != nil {
		return err
	}
	if err := c.Stream.openDead(ctx); err != nil {
		return err
	}
	if err := c.checkOrder(ctx); err != nil {
		return err
	}
	c.stream = c.events
	if c.Ordered {
		c.stream, err = c.Stream.openOrdered(ctx, c.events)
	}
	return err
}

// subjects returns the subject filters of the profiles.
func (c *consumer[T]) subjects() []string {
	if len(c.Profiles) == 0 {
		return []string{c.Stream.Prefix + "." + c.scope() + "*.*.*"} // kind, ID and category
	}
	all := make([]string, len(c.Profiles))
	for i, p := range c.Profiles {
		all[i] = c.Stream.Prefix + "." + c.scope() + profileKey(p) + ".*"
	}
	return all
}

// reportFailure calls OnError. The message, if there is one, is delivered again.
func (c *consumer[T]) reportFailure(ctx context.Context, subject string, err error) {
	if c.OnError != nil {
		const dead = false
		c.OnError(ctx, subject, err, dead)
	}
}

// reportDead calls OnError for a message that has become a dead letter.
func (c *consumer[T]) reportDead(ctx context.Context, subject string, err error) {
	if c.OnError != nil {
		const dead = true
		c.OnError(ctx, subject, err, dead)
	}
}

// bury stores a dead letter and acknowledges its message. If it cannot be stored, the
// message comes again after the longest pause.
func (c *consumer[T]) bury(ctx context.Context, from *durable, d delivery, cause error) {
	sequence := strconv.FormatUint(d.meta.Sequence.Stream, 10)
	letter := deadLetter{subject: c.Name, cause: cause, body: d.Data(), header: nats.Header{
		HeaderSubject:  {d.subject},
		HeaderAccount:  accountHeader(c.Stream.accountOf(d.subject)),
		HeaderSequence: {sequence},
		HeaderID:       {d.Headers().Get(jetstream.MsgIDHeader)},
		HeaderFormat:   d.Headers()[HeaderFormat],
		HeaderEpoch:    d.Headers()[HeaderEpoch],
	}}
	if err := c.Stream.storeDead(ctx, letter, jetstream.WithMsgID(c.Name+"-"+sequence)); err != nil {
		c.reportFailure(ctx, d.subject, errors.Join(cause, err, d.NakWithDelay(c.Longest)))
		return
	}
	c.reportDead(ctx, d.subject, errors.Join(cause, c.acknowledge(ctx, from, d)))
}
