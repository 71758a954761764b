package relay

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// purge deletes the epochs of an account and, with alsoEvents, its events, their copies for Ordered
// groups and its dead letters. The stream accepts an event only while the message with the epoch is
// there: so a replica that does not know yet of the removal of the account stores no more events.
func (a Accounts) purge(ctx context.Context, name string, alsoEvents bool) error {
	s := a.Stream.withDefaults()
	if err := s.purgeFrom(ctx, s.Name, s.accountEpochs(name)+".>"); err != nil || !alsoEvents {
		return err
	}
	if err := s.purgeFrom(ctx, s.Name, a.Subject(name)); err != nil {
		return err
	}
	copies := s.orderedPrefix() + ".*." + token(name) + ".>" // of any partition
	if err := s.purgeFrom(ctx, s.orderedName(), copies); err != nil {
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
	if err != nil {
		return err
	}
	for next := uint64(1); ; {
		letter, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(s.Prefix+"-dead.>")) // the first from next on
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil && s.accountOf(letter.Header.Get(HeaderSubject)) == account {
			err = stream.DeleteMsg(ctx, letter.Sequence)
		}
		if err != nil {
			return err
		}
		next = letter.Sequence + 1
	}
}
