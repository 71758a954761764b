package relay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Headers of a dead letter, besides those of the message.
const (
	HeaderError    = "Fastio-Error"    // text of the last error, its first 1024 bytes
	HeaderSubject  = "Fastio-Subject"  // subject of the message
	HeaderAccount  = "Fastio-Account"  // account of the event, as of [Message]; none for profiles without one
	HeaderSequence = "Fastio-Sequence" // sequence of the message in the stream; none if it could not be stored there
	HeaderID       = "Fastio-Id"       // [Message.ID]
	HeaderSize     = "Fastio-Size"     // bytes of the body, if it is left out because it is too large
)

const maxErrorText = 1024 // bytes: a header that is too long is refused with its message

// codeHeaderTooLarge is the error code of JetStream for headers of more than 64 kB.
const codeHeaderTooLarge jetstream.ErrorCode = 10097

// tooLarge reports whether a message was refused because of its size.
func tooLarge(err error) bool {
	code := codeOf(err)
	return errors.Is(err, nats.ErrMaxPayload) || code == jetstream.JSErrCodeStreamMessageExceedsMaximum || code == codeHeaderTooLarge
}

// openDead creates the stream of dead letters if it does not exist. The fields of s must
// have their defaults.
func (s Stream) openDead(ctx context.Context) error {
	_, err := s.JetStream.CreateStream(ctx, jetstream.StreamConfig{
		Name: s.deadName(), Description: "messages that could not be handled",
		Subjects: []string{s.Prefix + "-dead.>"}, Replicas: s.Replicas,
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("fastio: relay: stream %s: %w", s.deadName(), err)
	}
	return nil
}

func (s Stream) deadName() string { return s.Name + "-DEAD" }

// deadLetter is a message for the stream of dead letters.
type deadLetter struct {
	subject string // after that of all dead letters
	cause   error
	header  nats.Header // of a message with a body
	body    []byte
}

// accountHeader returns the values of [HeaderAccount].
func accountHeader(account string) []string {
	if account == "" {
		return nil
	}
	return []string{strings.ToValidUTF8(account, "?")}
}

// storeDead stores a dead letter. If it is too large for the stream, it is stored without its body,
// with the size of the body in a header. After an error, its caller must try again: if the stream was
// deleted, it is created again for the next try.
func (s Stream) storeDead(ctx context.Context, d deadLetter, o jetstream.PublishOpt) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	text := strings.Join(strings.Fields(d.cause.Error()), " ") // a header has one line
	d.header.Set(HeaderError, strings.ToValidUTF8(text[:min(len(text), maxErrorText)], ""))
	letter := &nats.Msg{Subject: s.Prefix + "-dead." + d.subject, Header: d.header, Data: d.body}
	_, err := s.JetStream.PublishMsg(ctx, letter, o)
	if tooLarge(err) {
		d.header.Set(HeaderSize, strconv.Itoa(len(d.body)))
		letter.Data = nil
		_, err = s.JetStream.PublishMsg(ctx, letter, o)
	}
	if errors.Is(err, jetstream.ErrNoStreamResponse) { // the stream may have been deleted
		err = errors.Join(err, s.openDead(ctx))
	}
	if err != nil {
		return fmt.Errorf("storing the dead letter: %w", err)
	}
	return nil
}
