package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// OpPublish is the operation of a failure to store events, in an [api.RetryEvent].
const OpPublish = "relay.Publish"

const (
	maxBatch   = 250
	maxQueue   = maxBatch
	firstPause = 20 * time.Millisecond
	maxPause   = 2 * time.Second
)

// message is an event that is not yet stored.
type message struct {
	id, subject string
	body        []byte
	header      http.Header     // of a hook; may be nil
	end         func(err error) // of a hook, called when the message is stored or given up; may be nil
}

// fence is the message of the stream that holds the epoch of a profile: the number of times
// that a holder has claimed it.
type fence struct {
	stream   Stream
	messages jetstream.Stream
	subject  string
	epoch    uint64 // 0 until it is claimed
	term     uint64 // number of the view in which the replica holds the profile
	sequence uint64
}

// fenceRecord is the body of the message that holds the epoch of a profile.
type fenceRecord struct {
	Version int    `json:"v"`
	Epoch   uint64 `json:"epoch"`
	Term    uint64 `json:"term,omitzero"`
	Replica string `json:"replica"`
}

// read returns what the message with the epoch holds, and its sequence. Both are zero if there is
// none. If the stream does not exist, read creates it again and returns an error.
func (f *fence) read(ctx context.Context) (r fenceRecord, sequence uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msg, err := f.messages.GetLastMsgForSubject(ctx, f.subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return r, 0, nil
	}
	if err != nil {
		return r, 0, f.recreateIfMissing(ctx, err)
	}
	if err := jsonv2.Unmarshal(msg.Data, &r); err != nil {
		return r, 0, fmt.Errorf("the epoch in subject %s: %w", f.subject, err)
	}
	return r, msg.Sequence, nil
}

// claim writes the next epoch of a profile, with a term: the number of the view (the list of all replicas)
// in which the replica holds the profile. If the message with the present epoch has a higher term, there
// are two possible reasons. Either this replica does not hold the profile any more: checkHeld returns an
// error. Or the numbers of views have begun again, because the bucket was deleted or restored: claim goes
// on with the higher term, so that terms in the stream never fall.
func (f *fence) claim(ctx context.Context, replica string, checkHeld func(ctx context.Context) error) error {
	r, sequence, err := f.read(ctx)
	if err != nil {
		return err
	}
	isOfLaterView := r.Term > f.term
	if isOfLaterView {
		if err := checkHeld(ctx); err != nil {
			return err
		}
		f.term = r.Term
	}
	f.epoch = r.Epoch + 1
	return f.write(ctx, replica, sequence)
}

// recreateIfMissing creates the stream again if err says that it does not exist. It always returns
// an error, after which the caller tries again.
func (f *fence) recreateIfMissing(ctx context.Context, err error) error {
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	if _, failed := f.stream.open(ctx); failed != nil {
		return failed
	}
	return fmt.Errorf("stream %s is created again: %w", f.stream.Name, err)
}

// write stores the message with the epoch, provided that the latest such message has the
// sequence latest, 0 for none. From then on, the stream rejects the events of lower
// epochs. The message does not expire, and replaces the one before.
func (f *fence) write(ctx context.Context, replica string, latest uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := jsonv2.Marshal(fenceRecord{Version: 1, Epoch: f.epoch, Term: f.term, Replica: replica})
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: f.subject, Data: body, Header: nats.Header{
		jetstream.MsgTTLHeader: {"never"},
		jetstream.MsgRollup:    {jetstream.MsgRollupSubject}, // deletes the earlier messages of the subject
	}}
	ack, err := f.stream.JetStream.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(latest))
	if err != nil {
		return err
	}
	f.sequence = ack.Sequence
	return nil
}

// publisher stores the events of a profile in the stream, in order.
type publisher struct {
	*fence
	held         *holding
	replica      string
	profile      api.Profile
	scope        string // part of subjects: of an account
	idPrefix     string // of the messages of an account, which differs if it is added again; "" without an account
	onRetry      func(ctx context.Context, e api.RetryEvent)
	onDeadLetter func(ctx context.Context, err error)

	// checkAccount returns an error if the account was removed; nil without an account.
	checkAccount func(ctx context.Context) error

	hooks *api.MessageHooks
	reads chan struct{} // holds a value for each part of the stream that is being read

	alive  context.Context //nolint:containedctx // while the profile is held
	onLost func(cause error)

	last atomic.Uint64 // sequence of the last message that is known to be stored

	// Of the goroutine that publishes.
	known   map[string]bool // IDs of stored messages after last; nil means unknown
	size    int             // of the next batch at most
	replies *replies        // to fast batches; nil until the first

	mu      sync.Mutex
	queue   []message
	runs    bool // the goroutine that publishes
	pending int
	idle    chan struct{} // closed when pending is 0

	running sync.WaitGroup
	more    chan struct{} // holds a value if there may be messages in the queue
	room    chan struct{} // holds a value if there may be room in it

	counters
	total  *counters    // of all publishers, nil if that is not counted
	newest atomic.Int64 // creation of an event, in Unix seconds
}

// counters count messages.
type counters struct{ published, duplicates atomic.Uint64 }

// counts returns the numbers so far.
func (c *counters) counts() Counts { return Counts{c.published.Load(), c.duplicates.Load()} }

// newPublisher returns a publisher with an empty queue. The caller must set the fields
// alive and onLost.
func newPublisher(f *fence, held *holding) *publisher {
	p := &publisher{
		hooks: new(api.MessageHooks), fence: f, held: held, size: maxBatch, idle: make(chan struct{}),
		more: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	close(p.idle) // until an event is added
	return p
}

// add queues an event for run. It waits while the queue is full, and returns the error
// of ctx when that is done.
func (p *publisher) add(ctx context.Context, e *events.Event) error {
	body, err := jsonv2.Marshal(e, jsonv2.Deterministic(true))
	if err != nil {
		return fmt.Errorf("event %s: %w", e.ID, err)
	}
	id := e.ID.Plain()
	switch {
	case id == "": // the stream would drop all but the first event without an ID as duplicates
		id = digest(body)
	case len(id) > maxToken:
		id = digest([]byte(id))
	}
	m := message{
		id:      p.idPrefix + string(p.profile.Kind) + "-" + string(p.profile.ID) + "-" + id,
		subject: p.stream.subject(p.scope, p.profile, e.Category),
		body:    body,
	}
	m.observePublish(ctx, p.hooks, p.stream.Name)
	for !p.enqueue(m) {
		select {
		case <-p.room:
		case <-ctx.Done():
			reportEnd([]message{m}, ctx.Err())
			return ctx.Err()
		}
	}
	p.newest.Store(max(p.newest.Load(), e.Created.Unix()))
	return nil
}

// enqueue adds a message to the queue, unless that is full, and starts run unless it runs.
func (p *publisher) enqueue(m message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) >= maxQueue {
		return false
	}
	p.queue = append(p.queue, m)
	p.addPendingLocked(1)
	if !p.runs {
		p.runs = true
		p.running.Go(p.run)
	}
	signal(p.more)
	return true
}

// signal stores a value in a channel with room for one, unless it is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take returns the queued messages.
func (p *publisher) take() []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	batch := p.queue
	p.queue = nil
	signal(p.room) // add may wait for it
	return batch
}

// endIfEmpty reports whether run ends, because the queue is empty: the next message starts run
// again.
func (p *publisher) endIfEmpty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs = len(p.queue) > 0
	return !p.runs
}

// digest returns a short hash, for IDs and parts of subjects.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// addPending adds to the number of events that are not yet stored; n is negative for events
// that were stored.
func (p *publisher) addPending(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addPendingLocked(n)
}

// addPendingLocked adds n to the number of events that are not stored yet; idle is closed
// whenever that is 0. The caller holds p.mu.
func (p *publisher) addPendingLocked(n int) {
	if p.pending == 0 {
		p.idle = make(chan struct{})
	}
	p.pending += n
	if p.pending == 0 {
		close(p.idle)
	}
}

// unstored returns the number of events that were added and are not stored.
func (p *publisher) unstored() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pending
}

// flush waits until all events that were added are stored.
func (p *publisher) flush(ctx context.Context) error {
	p.mu.Lock()
	idle := p.idle
	p.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// linger is how long the goroutine that publishes waits for more messages.
const linger = time.Second

// run stores the queued events, until the queue was empty for the time linger, or the lease
// has ended. What is queued while a batch is sent is the next batch.
func (p *publisher) run() {
	idle := time.NewTimer(linger)
	defer idle.Stop()
	for {
		select {
		case <-p.alive.Done():
			p.unsubscribe()
			reportEnd(p.take(), context.Cause(p.alive))
			return
		case <-idle.C:
			p.unsubscribe() // here, because another run may begin after endIfEmpty; sendFast subscribes again
			if p.endIfEmpty() {
				return
			}
		case <-p.more:
		}
		if err := p.store(p.alive, p.take()); err != nil {
			p.unsubscribe()
			p.onLost(err)
			reportEnd(p.take(), err)
			return
		}
		idle.Reset(linger)
	}
}

// unsubscribe ends the subscription to the replies to batches, if there is one.
func (p *publisher) unsubscribe() {
	if p.replies != nil {
		_ = p.replies.Unsubscribe()
		p.replies = nil
	}
}

// store sends messages until the stream has stored them all. It repeats after a pause,
// with no limit but ctx and the loss of the lease.
func (p *publisher) store(ctx context.Context, batch []message) error {
	for attempt := 1; len(batch) > 0; {
		done, err := p.send(ctx, batch)
		reportEnd(batch[:done], nil)
		batch = batch[done:]
		p.addPending(-done)
		if done > 0 {
			attempt = 1
		}
		if conflicts(err) {
			// verify never returns nil: after errLost store fails, after other errors it sends the batch again.
			err = p.verify(ctx, err)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, errLost) || ctx.Err() != nil {
			reportEnd(batch, err)
			return err
		}
		pause := backoff{firstPause, maxPause}.pause(attempt)
		p.onRetry(ctx, api.RetryEvent{Op: OpPublish, Attempt: attempt, Wait: pause, Err: err})
		attempt++
		if err := sleep(ctx, pause); err != nil {
			reportEnd(batch, err)
			return err
		}
	}
	return nil
}

// verify is called when the stream has rejected a message because of its epoch, with the error cause. It
// reads the present epoch of the profile. If this is higher than the epoch of the publisher, and of the same
// view (the list of all replicas; Term is its number), another replica holds the profile: verify returns
// errLost. Otherwise it returns cause or another error, after which the publisher tries again.
func (p *publisher) verify(ctx context.Context, cause error) error {
	r, sequence, err := p.read(ctx)
	if err != nil {
		return err
	}
	isOfView := r.Term == p.term
	switch {
	case isOfView && r.Epoch == p.epoch:
		// This publisher still holds the profile. The cluster also rejects a message while the one before it is
		// still under way.
		p.sequence = sequence
	case isOfView && r.Epoch > p.epoch:
		return errLost
	default: // deleted, lower, or of another view: check returns an error if the replica lost the profile
		if err := p.held.check(ctx); err != nil {
			return err
		}
		p.sequence = 0 // makes claimOnce claim again
	}
	return cause
}

// claimOnce writes the epoch, unless that was done. It is called before the first events, so that
// nothing is written for a profile without events.
func (p *publisher) claimOnce(ctx context.Context) error {
	if p.sequence != 0 { // that of the message with the epoch
		return nil
	}
	if p.checkAccount != nil {
		if err := p.checkAccount(ctx); err != nil {
			return err
		}
	}
	return p.claim(ctx, p.replica, p.held.check)
}

// send stores messages from the beginning of a batch. It returns how many messages, from the first, are
// in the stream now, also if they were there before. If the stream refuses what is sent, the next call
// sends half as much.
func (p *publisher) send(ctx context.Context, batch []message) (done int, err error) {
	if err := p.prepare(ctx); err != nil {
		return 0, err
	}
	const known, unknown = true, false // whether messages are known to be in the stream
	done = p.leading(batch, known)
	p.addDuplicates(uint64(done)) //nolint:gosec // not negative
	batch = batch[done:]
	size := min(p.leading(batch, unknown), p.size)
	if size == 0 {
		return done, nil
	}
	stored, err := p.sendBatch(ctx, batch[:size])
	return done + stored, p.adjust(size, stored, err)
}

// adjust prepares the next call of send by the result of a batch: its size, how many of its messages are
// stored, and its error. If it sets p.known to nil, prepare reads again which messages are stored. It
// returns the error, or nil if send is to be called again without a pause.
//
// If the stream refuses a batch, the reason may be one message that is too large or in the stream already.
// So the next batch is half as long; of a single message, the error is returned. After a conflict, the
// size stays: the epoch may have changed, which store verifies.
func (p *publisher) adjust(size, stored int, err error) error {
	isResponse := codeOf(err) != 0 // the stream has responded, with an error
	isRefused := isResponse && !conflicts(err) || errors.Is(err, nats.ErrMaxPayload)
	switch {
	case err == nil:
		p.size = min(2*p.size, maxBatch)
	case isRefused && size > 1:
		p.size, err = size/2, nil
		// If some are stored, the next batch begins with the refused message. If that is refused again, stored is 0.
		if stored == 0 { // a message may be in the stream already
			p.known = nil
		}
	case !isRefused: // without a response or after a conflict, messages may be stored, now or later
		p.known = nil
	}
	return err
}

// prepare writes the epoch, and reads which messages are stored,
// unless that was done.
func (p *publisher) prepare(ctx context.Context) error {
	if err := p.claimOnce(ctx); err != nil {
		return err
	}
	return p.readKnownIDs(ctx)
}

// sendBatch sends messages that are not known to be in the stream, and returns how many
// of them it has stored. An event that is too large for NATS is stored as a dead letter.
func (p *publisher) sendBatch(ctx context.Context, batch []message) (stored int, err error) {
	hasOneCopy := p.messages.CachedInfo().Config.Replicas == 1 // which sendFast requires
	switch {
	case len(batch) > 1 && hasOneCopy:
		return p.sendFast(ctx, batch)
	case len(batch) > 1:
		return p.sendAtomic(ctx, batch)
	}
	err = p.sendOne(ctx, batch[0])
	if tooLarge(err) {
		err = p.bury(ctx, batch[0], err)
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// leading returns the length of the longest beginning of a batch whose messages are
// all known to be in the stream or, if known is false, are all not known to be there.
func (p *publisher) leading(batch []message, known bool) int {
	n := slices.IndexFunc(batch, func(m message) bool { return p.known[m.id] != known })
	if n < 0 {
		return len(batch)
	}
	return n
}

// bury stores an event that is too large for NATS as a dead letter, unless it is
// stored already. It returns nil if it is stored.
func (p *publisher) bury(ctx context.Context, m message, cause error) error {
	cause = fmt.Errorf("profile %s: %w", p.profile, cause)
	letter := deadLetter{subject: "event." + token(m.id), cause: cause, body: m.body, header: nats.Header{
		HeaderSubject: {m.subject},
		HeaderAccount: accountHeader(p.stream.accountOf(m.subject)),
		HeaderID:      {m.id},
		HeaderFormat:  {strconv.Itoa(Format)},
		HeaderEpoch:   {formatEpoch(p.epoch)},
	}}
	err := p.stream.storeDead(ctx, letter, jetstream.WithExpectLastSequencePerSubject(0))
	if conflicts(err) { // the dead letter was stored before
		p.addDuplicates(1)
		return nil
	}
	if err == nil {
		p.onDeadLetter(ctx, cause)
	}
	return err
}

// addDuplicates counts events that the stream had before.
func (p *publisher) addDuplicates(n uint64) {
	p.duplicates.Add(n)
	if p.total != nil {
		p.total.duplicates.Add(n)
	}
}

// recordStored records that the stream has stored n messages, the last one with a
// sequence.
func (p *publisher) recordStored(sequence uint64, n int) {
	p.published.Add(uint64(n)) //nolint:gosec // not negative
	if p.total != nil {
		p.total.published.Add(uint64(n)) //nolint:gosec // not negative
	}
	p.last.Store(sequence)
	p.held.onWrite() // the Stats of the replica have the time of its last confirmed write
}

// message returns a message of NATS with the event m.
func (p *publisher) message(m message) *nats.Msg {
	msg := &nats.Msg{Subject: m.subject, Data: m.body, Header: nats.Header{
		jetstream.MsgIDHeader: {m.id},
		HeaderFormat:          {strconv.Itoa(Format)},
		HeaderEpoch:           {formatEpoch(p.epoch)},
	}}
	maps.Copy(msg.Header, m.header)
	return msg
}

// requireEpoch lets the stream reject the message if another replica has written a
// higher epoch.
func (p *publisher) requireEpoch(m *nats.Msg) {
	m.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(p.sequence, 10)}
	m.Header[jetstream.ExpectedLastSubjSeqSubjHeader] = []string{p.subject}
}

// sendOne stores a message that is not part of a batch.
func (p *publisher) sendOne(ctx context.Context, m message) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msg := p.message(m)
	p.requireEpoch(msg)
	ack, err := p.stream.JetStream.PublishMsg(ctx, msg)
	switch {
	case err != nil:
		return fmt.Errorf("message %s of %d bytes: %w", m.id, len(m.body), err)
	case ack.Duplicate:
		p.addDuplicates(1)
	default:
		p.recordStored(ack.Sequence, 1)
	}
	return nil
}

// Operations of a message of a fast batch.
const (
	fastStart = iota
	fastAppend
	fastCommit
)

// replies are messages to an inbox.
type replies struct {
	*nats.Subscription

	messages chan *nats.Msg
}

// subscribe subscribes to an inbox for the replies to fast batches. The subscription has room for the
// replies to two batches: those to each message, and the result. Without its own channel it would have
// room for 65,536, which takes 512 kB for each profile.
func subscribe(conn *nats.Conn) (*replies, error) {
	const perBatch = maxBatch + 1
	r := &replies{messages: make(chan *nats.Msg, 2*perBatch)}
	var err error
	r.Subscription, err = conn.ChanSubscribe(conn.NewInbox()+".>", r.messages)
	return r, err
}

// sendFast stores two or more messages as a fast batch, and returns how many are stored. The
// server rejects a message if another replica has written a higher epoch (see requireEpoch),
// and stores none after a rejected one. Only a stream with one copy can do this: with several
// copies, the requirements of messages that are under way conflict.
func (p *publisher) sendFast(ctx context.Context, batch []message) (done int, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	conn := p.stream.JetStream.Conn()
	if p.replies == nil {
		p.replies, err = subscribe(conn)
		if err != nil {
			return 0, err
		}
	}
	prefix := strings.TrimSuffix(p.replies.Subject, ">") + rand.Text()
	for i, m := range batch {
		operation := fastAppend
		switch i {
		case 0:
			operation = fastStart
		case len(batch) - 1:
			operation = fastCommit
		}
		msg := p.message(m)
		p.requireEpoch(msg)
		const flow = maxBatch // number of messages after which the server confirms that they arrived
		const gap = "fail"    // the server ends the batch if a message is lost
		number := i + 1
		msg.Reply = fmt.Sprintf("%s.%d.%s.%d.%d.$FI", prefix, flow, gap, number, operation)
		if err := conn.PublishMsg(msg); err != nil {
			return 0, err // messages before this one may be stored: see adjust
		}
	}
	done, err = p.waitForResult(ctx, prefix)
	return min(done, len(batch)), err // not more than were sent, whatever the server says
}

// waitForResult waits for the result of a fast batch, whose replies have the prefix.
// It returns how many of its messages, from the first, are stored.
func (p *publisher) waitForResult(ctx context.Context, prefix string) (done int, failure error) {
	for {
		var reply *nats.Msg
		select {
		case reply = <-p.replies.messages:
		case <-ctx.Done():
			return 0, cmp.Or(failure, ctx.Err())
		}
		if !strings.HasPrefix(reply.Subject, prefix) {
			continue // of an earlier batch
		}
		ack, err := parseAck(reply.Data)
		switch isResult := ack.Type == ""; {
		case isResult && err != nil:
			return 0, err
		case isResult:
			return p.recordResult(ack), failure
		case err != nil: // a message was rejected; the result follows
			failure = err
		case ack.Type == "gap":
			failure = errors.New("messages were lost on their way to the stream")
		}
	}
}

// recordResult records the result of a fast batch, and returns how many of its messages are in the
// stream.
func (p *publisher) recordResult(ack batchAck) int {
	stored := int(min(ack.Count, maxBatch)) // no batch has more, whatever the server says
	if ack.Sequence == 0 {                  // all are duplicates: they were in the stream before
		p.addDuplicates(ack.Count)
	} else {
		p.recordStored(ack.Sequence, stored)
	}
	return stored
}

// sendAtomic stores all messages or none, and returns their number or 0. The first
// message requires the epoch for the whole batch.
func (p *publisher) sendAtomic(ctx context.Context, batch []message) (done int, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	conn, id := p.stream.JetStream.Conn(), rand.Text()
	for i, m := range batch {
		msg := p.message(m)
		msg.Header["Nats-Batch-Id"] = []string{id}
		msg.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(i + 1)}
		if i == 0 {
			p.requireEpoch(msg)
		}
		if i < len(batch)-1 {
			if err := conn.PublishMsg(msg); err != nil {
				return 0, err
			}
			continue
		}
		msg.Header["Nats-Batch-Commit"] = []string{"1"}
		reply, err := conn.RequestMsgWithContext(ctx, msg)
		if err != nil {
			return 0, err
		}
		ack, err := parseAck(reply.Data)
		if err != nil {
			return 0, err
		}
		p.recordStored(ack.Sequence, len(batch))
	}
	return len(batch), nil
}

// batchAck is a response to a batch.
type batchAck struct {
	Error    *jetstream.APIError `json:"error"`
	Type     string              `json:"type"`  // of a message before the result of a fast batch
	Sequence uint64              `json:"seq"`   // of the last message that was stored, 0 if none was
	Count    uint64              `json:"count"` // of the messages of the batch that are stored
}

// parseAck decodes a response to a batch. If the stream reports an error in it, parseAck returns both,
// the response and that error.
func parseAck(data []byte) (ack batchAck, err error) {
	if err := jsonv2.Unmarshal(data, &ack); err != nil {
		return ack, fmt.Errorf("response to a batch: %w", err)
	}
	if ack.Error != nil {
		return ack, ack.Error
	}
	return ack, nil
}
