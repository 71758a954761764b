package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

const (
	maxBatch   = 250
	maxQueue   = 1000
	firstPause = 20 * time.Millisecond
	maxPause   = 2 * time.Second
)

// message is an event that is not yet stored.
type message struct {
	id, subject string
	body        []byte
}

// fence is the message of the stream that holds the epoch of a profile.
type fence struct {
	stream   Stream
	messages jetstream.Stream
	subject  string
	epoch    uint64
	sequence uint64
}

// fenceRecord is the body of that message.
type fenceRecord struct {
	Version int    `json:"v"`
	Epoch   uint64 `json:"epoch"`
	Replica string `json:"replica"`
}

// read returns the epoch in the stream and the sequence of its message, 0 if there is
// none.
func (f *fence) read(ctx context.Context) (epoch, sequence uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msg, err := f.messages.GetLastMsgForSubject(ctx, f.subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	var r fenceRecord
	if err := json.Unmarshal(msg.Data, &r); err != nil {
		return 0, 0, fmt.Errorf("the epoch in subject %s: %w", f.subject, err)
	}
	return r.Epoch, msg.Sequence, nil
}

// write replaces the message if its sequence is after. From then on, the stream rejects
// the messages of lower epochs. The message does not expire.
func (f *fence) write(ctx context.Context, replica string, after uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := json.Marshal(fenceRecord{Version: 1, Epoch: f.epoch, Replica: replica})
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: f.subject, Data: body, Header: nats.Header{
		jetstream.MsgTTLHeader: {"never"},
		jetstream.MsgRollup:    {jetstream.MsgRollupSubject},
	}}
	ack, err := f.stream.JetStream.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(after))
	if err != nil {
		return err
	}
	f.sequence = ack.Sequence
	return nil
}

// publisher stores the events of a profile in the stream, in order.
type publisher struct {
	*fence
	lease   *lease
	replica string
	profile api.Profile
	retry   func(ctx context.Context, e api.RetryEvent)

	queue chan message

	mu      sync.Mutex
	pending int
	idle    chan struct{} // closed when pending is 0

	published, duplicates atomic.Uint64
	newest                atomic.Int64 // creation of an event, in Unix seconds
}

func newPublisher(f *fence, l *lease) *publisher {
	p := &publisher{fence: f, lease: l, queue: make(chan message, maxQueue), idle: make(chan struct{})}
	close(p.idle)
	return p
}

// add queues an event. It waits while the queue is full.
func (p *publisher) add(ctx context.Context, e *events.Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.ID, err)
	}
	m := message{
		id:      string(p.profile.Kind) + "-" + string(p.profile.ID) + "-" + e.ID.Plain(),
		subject: p.stream.subject(p.profile, e.Category),
		body:    body,
	}
	p.count(1)
	select {
	case p.queue <- m:
		p.newest.Store(max(p.newest.Load(), e.Created.Unix()))
		return nil
	case <-ctx.Done():
		p.count(-1)
		return ctx.Err()
	}
}

func (p *publisher) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == 0 {
		p.idle = make(chan struct{})
	}
	if p.pending += n; p.pending == 0 {
		close(p.idle)
	}
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

// run stores the queued events until ctx is done or the lease is lost. What is queued
// while a batch is sent is the next batch.
func (p *publisher) run(ctx context.Context) error {
	for {
		var batch []message
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-p.queue:
			batch = append(batch, m)
		}
		for len(batch) < maxBatch && len(p.queue) > 0 {
			batch = append(batch, <-p.queue)
		}
		if err := p.store(ctx, batch); err != nil {
			return err
		}
	}
}

// store sends messages until the stream has stored them all.
func (p *publisher) store(ctx context.Context, batch []message) error {
	pause := firstPause
	for attempt := 1; len(batch) > 0; {
		done, err := p.send(ctx, batch)
		batch = batch[done:]
		p.count(-done)
		if done > 0 {
			attempt, pause = 1, firstPause
		}
		if conflicts(err) {
			err = p.verify(ctx, err)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, errLost) || ctx.Err() != nil {
			return err
		}
		if p.retry != nil {
			p.retry(ctx, api.RetryEvent{Op: "relay.Publish", Attempt: attempt, Wait: pause, Err: err})
		}
		attempt++
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, maxPause)
	}
	return nil
}

// verify returns errLost if the stream has a higher epoch, and otherwise the error for a
// retry. It writes the epoch again if its message was deleted.
func (p *publisher) verify(ctx context.Context, cause error) error {
	epoch, sequence, err := p.read(ctx)
	switch {
	case err != nil:
		return err
	case epoch > p.epoch:
		return errLost
	case epoch == p.epoch:
		p.sequence = sequence
		return cause // the message before this one may still be under way in the cluster
	}
	if !p.lease.valid() {
		return errLost
	}
	if _, err := p.lease.find(ctx); err != nil {
		return err
	}
	return p.write(ctx, p.replica, sequence)
}

// send stores messages and returns how many of them, from the first, are stored.
func (p *publisher) send(ctx context.Context, batch []message) (done int, err error) {
	if len(batch) > 1 && p.messages.CachedInfo().Config.Replicas == 1 {
		return p.sendAsync(ctx, batch)
	}
	if len(batch) > 1 {
		err := p.sendBatch(ctx, batch)
		if err == nil {
			p.published.Add(uint64(len(batch)))
			return len(batch), nil
		}
		if codeOf(err) == 0 || conflicts(err) {
			return 0, err
		}
		// The batch holds a duplicate or does not fit into the stream: as many as possible.
	}
	for done < len(batch) {
		if err := p.sendOne(ctx, batch[done]); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

func (p *publisher) header(m message) nats.Header {
	return nats.Header{
		jetstream.MsgIDHeader: {m.id},
		HeaderFormat:          {strconv.Itoa(Format)},
		HeaderEpoch:           {formatEpoch(p.epoch)},
	}
}

func (p *publisher) sendOne(ctx context.Context, m message) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msg := &nats.Msg{Subject: m.subject, Header: p.header(m), Data: m.body}
	ack, err := p.stream.JetStream.PublishMsg(ctx, msg,
		jetstream.WithExpectLastSequenceForSubject(p.sequence, p.subject))
	if err == nil {
		p.acknowledged(ack)
	}
	return err
}

func (p *publisher) acknowledged(ack *jetstream.PubAck) {
	if ack.Duplicate {
		p.duplicates.Add(1)
	} else {
		p.published.Add(1)
	}
}

// sendAsync sends messages without waiting for each. A stream with several replicas
// rejects all but the first of them: their requirement has the same subject.
func (p *publisher) sendAsync(ctx context.Context, batch []message) (done int, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var sent []jetstream.PubAckFuture
	for _, m := range batch {
		msg := &nats.Msg{Subject: m.subject, Header: p.header(m), Data: m.body}
		future, failure := p.stream.JetStream.PublishMsgAsync(msg,
			jetstream.WithExpectLastSequenceForSubject(p.sequence, p.subject))
		if failure != nil {
			err = failure
			break
		}
		sent = append(sent, future)
	}
	for _, future := range sent {
		select {
		case ack := <-future.Ok():
			p.acknowledged(ack)
			done++
		case err := <-future.Err():
			return done, err
		case <-ctx.Done():
			return done, ctx.Err()
		}
	}
	return done, err
}

// sendBatch stores all messages or none. The requirement of the first one is that of
// the whole batch.
func (p *publisher) sendBatch(ctx context.Context, batch []message) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	conn, id := p.stream.JetStream.Conn(), rand.Text()
	for i, m := range batch {
		msg := &nats.Msg{Subject: m.subject, Header: p.header(m), Data: m.body}
		msg.Header["Nats-Batch-Id"] = []string{id}
		msg.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(i + 1)}
		if i == 0 {
			msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(p.sequence, 10)}
			msg.Header[jetstream.ExpectedLastSubjSeqSubjHeader] = []string{p.subject}
		}
		if i < len(batch)-1 {
			if err := conn.PublishMsg(msg); err != nil {
				return err
			}
			continue
		}
		msg.Header["Nats-Batch-Commit"] = []string{"1"}
		reply, err := conn.RequestMsgWithContext(ctx, msg)
		if err != nil {
			return err
		}
		return checkAck(reply.Data, id)
	}
	return nil
}

// checkAck returns the error in the response to a batch.
func checkAck(data []byte, id string) error {
	var ack struct {
		Error *jetstream.APIError `json:"error"`
		Batch string              `json:"batch"`
	}
	if err := json.Unmarshal(data, &ack); err != nil {
		return fmt.Errorf("response to a batch: %w", err)
	}
	if ack.Error != nil {
		return ack.Error
	}
	if ack.Batch != id {
		return errors.New("the stream did not store the batch as a whole")
	}
	return nil
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
