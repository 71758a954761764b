package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
)

const (
	maxKnown   = 100_000 // IDs; with more, the duplicate window must recognize those that are published again
	maxReads   = 256     // parts of the stream that a replica reads at the same time
	leastRange = 4       // sequences of a part at least
	fewIDs     = 8       // that are read one after the other, before parts
)

// readKnownIDs sets p.known, if it is nil, to the IDs of the messages that were stored after the sequence
// p.last. An earlier holder of the profile may have published them after its last checkpoint, or this holder may
// have got no response to them. It reads the first few messages one by one. If there are more, it
// reads parts of the others at the same time. It uses no consumer, because a stream can have only a limited
// number of them, and asks the leader: other servers may not have the latest messages yet.
func (p *publisher) readKnownIDs(ctx context.Context) error {
	if p.known != nil {
		return nil
	}
	filter := p.stream.Prefix + "." + p.scope + profileKey(p.profile) + ".*"
	known, left, err := p.readFew(ctx, filter)
	hasMore := !left.isEmpty()
	if err == nil && hasMore {
		known, err = p.readIDs(ctx, filter, left, known)
	}
	if err != nil {
		return fmt.Errorf("reading the stream: %w", p.recreateIfMissing(ctx, err))
	}
	p.known = known
	return nil
}

// sequences are those of a part of the stream, from next to last.
type sequences struct{ next, last uint64 }

// isEmpty reports whether there is no sequence.
func (s sequences) isEmpty() bool { return s.next > s.last }

// readFew reads the IDs of messages with the subjects of filter that were stored after the sequence
// p.last: that of the newest one, and those of at most fewIDs of the others, oldest first. Left are the
// sequences that it has not read. It reads one message at a time, because all profiles read at once when
// a node of NATS is lost, and a server drops requests beyond 10,000.
func (p *publisher) readFew(ctx context.Context, filter string) (known map[string]bool, left sequences, err error) {
	none := sequences{next: 1, last: 0}
	if !p.startRead(ctx) {
		return nil, none, context.Cause(ctx)
	}
	defer p.endRead()
	known = map[string]bool{}
	newest, err := p.messages.GetLastMsgForSubject(ctx, filter)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return known, none, nil
	}
	if err != nil {
		return nil, none, err
	}
	stored := p.last.Load()
	if stored == newest.Sequence { // nothing was stored since then
		return known, none, nil
	}
	left = sequences{stored + 1, newest.Sequence - 1} // the newest message is read already
	if stored > newest.Sequence {                     // the stream was created again: its sequences have begun at 1
		left.next = 1
	}
	known[newest.Header.Get(jetstream.MsgIDHeader)] = true
	for n := 0; n < fewIDs && !left.isEmpty(); n++ {
		msg, err := p.readNext(ctx, filter, left.next)
		if err != nil {
			return nil, none, err
		}
		known[msg.Header.Get(jetstream.MsgIDHeader)] = true
		left.next = msg.Sequence + 1
	}
	return known, left, nil
}

// readIDs adds the IDs of the messages of a range of sequences to known, and returns known. If there are
// more than maxKnown IDs, it returns none: only the stream then drops duplicates, within its duplicate
// window. Parts of the range are read at the same time. A part for which no response arrives in time is
// requested again; the first such delay is reported to p.onRetry.
func (p *publisher) readIDs(
	ctx context.Context, filter string, all sequences, known map[string]bool,
) (map[string]bool, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	found := func(id string) {
		mu.Lock()
		defer mu.Unlock()
		known[id] = true
		if len(known) > maxKnown {
			stop(errTooMany)
		}
	}
	late := sync.OnceFunc(func() {
		p.onRetry(ctx, api.RetryEvent{Op: OpPublish, Attempt: 1, Err: errLate})
	})
	size := max(leastRange, (all.last-all.next)/maxReads+1)
	var parts sync.WaitGroup
	for from := all.next; from <= all.last && p.startRead(ctx); from += size {
		parts.Go(func() {
			defer p.endRead()
			if err := p.readPart(ctx, filter, sequences{from, min(from+size-1, all.last)}, found, late); err != nil {
				stop(err) // the other parts are not needed any more
			}
		})
	}
	parts.Wait()
	err := context.Cause(ctx)
	if errors.Is(err, errTooMany) {
		return map[string]bool{}, nil
	}
	return known, err
}

var (
	errTooMany = errors.New("too many messages")
	errLate    = errors.New("reading the stream: no response in time")
)

// readPart calls found with the IDs of the messages of a part of the stream. It calls
// late when a response did not arrive in time, before it sends the request again.
func (p *publisher) readPart(
	ctx context.Context, filter string, part sequences, found func(id string), late func(),
) error {
	for !part.isEmpty() {
		msg, err := p.readNext(ctx, filter, part.next)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil { // what is read already is not read again
			late()
			continue
		}
		if err != nil {
			return err
		}
		if msg.Sequence <= part.last {
			found(msg.Header.Get(jetstream.MsgIDHeader))
		}
		part.next = msg.Sequence + 1
	}
	return nil
}

// readNext returns the first message of a subject from a sequence on.
func (p *publisher) readNext(ctx context.Context, filter string, sequence uint64) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return p.messages.GetMsg(ctx, sequence, jetstream.WithGetMsgSubject(filter))
}

// startRead waits until the replica may read another part of the stream; the caller calls endRead after
// the read. It returns false if ctx is done first.
func (p *publisher) startRead(ctx context.Context) bool {
	select {
	case p.reads <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// endRead lets another part of the stream be read.
func (p *publisher) endRead() { <-p.reads }
