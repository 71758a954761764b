package relay

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// purge deletes the epochs of an account, so that a replica that has not heard of its end
// cannot store events, and, if asked, its events.
func (a Accounts) purge(ctx context.Context, name string, events bool) error {
	s := a.Stream.withDefaults()
	if err := s.purgeFrom(ctx, s.Name, s.accountEpochs(name)+".>"); err != nil || !events {
		return err
	}
	if err := s.purgeFrom(ctx, s.Name, a.Subject(name)); err != nil {
		return err
	}
	if err := s.purgeFrom(ctx, s.orderedName(), s.orderedPrefix()+".*."+token(name)+".>"); err != nil {
		return err
	}
	return s.purgeDead(ctx, name)
}

// purgeFrom deletes the messages with a subject from a stream, if that exists.
func (s Stream) purgeFrom(ctx context.Context, name, subject string) error {
	stream, err := s.JetStream.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// purgeDead deletes the dead letters of an account.
func (s Stream) purgeDead(ctx context.Context, account string) error {
	stream, err := s.JetStream.Stream(ctx, s.deadName())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	for sequence := uint64(1); err == nil; sequence++ {
		var m *jetstream.RawStreamMsg
		m, err = stream.GetMsg(ctx, sequence, jetstream.WithGetMsgSubject(s.Prefix+"-dead.>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			break
		}
		sequence = m.Sequence
		if s.accountOf(m.Header.Get(HeaderSubject)) == account {
			err = stream.DeleteMsg(ctx, sequence)
		}
	}
	return err
}
