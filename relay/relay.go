// Package relay shares the work of [events.Service.Follow] over machines, with NATS
// JetStream.
//
//	follower := relay.Follower{Stream: relay.Stream{JetStream: js}, Events: client.Events, Profiles: profiles}
//	err := follower.Run(ctx)
//
// [Consume] handles the events. An [AccountFollower] follows the logs of the [Accounts] of a
// product whose customers sign in by themselves. [Limits] keeps the rate limits of a credential over all
// processes that use it, and [Tokens] the tokens of sign-ins.
//
// Any number of replicas run a [Follower] with the same profiles. Each profile has one
// holder, which follows its log and publishes the events to a stream. When a replica
// stops or is lost, others take over its profiles. It needs nats-server 2.14 or later.
//
// Profiles belong to 4,096 slots, by the hashes of their names, which the replicas divide
// evenly. A replica writes one heartbeat of 100 bytes three times in its lease, and nothing for
// what it holds. One that cannot write stops after four fifths of its lease, and the others take
// over its slots after all of it, or four thirds of it if the server does not expire it.
//
// # Delivery
//
// Every event is stored at least once, and once within the duplicate window of the
// stream: the Nats-Msg-Id of a message is made of the kind and ID of the profile and of
// the ID of the event, also when the event is published again. Whatever the window, a
// holder does not publish what the stream has after the checkpoint of the holder before.
//
// Each time another holder publishes events of a profile, its epoch grows. Before its first
// event, the holder writes the epoch to a message of the stream, and every message that it
// publishes requires that this is still the latest one: the server rejects the messages of a
// holder that has lost its lease, however late they arrive. Nor can it save the checkpoint of
// the profile after the next holder has.
//
// # Messages
//
// The subject of a message is the prefix of the [Stream], then the kind of the profile,
// its ID and the category of the event. Of an account, its name stands before the kind. The
// body is the event as JSON, with the names of the platform. The headers are Fastio-Format,
// the version of this format, and Fastio-Epoch.
package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// Headers of a message.
const (
	HeaderFormat = "Fastio-Format" // version of the format of the message
	HeaderEpoch  = "Fastio-Epoch"  // number of the holder that published it, of all that have published events of the profile
)

// Format is the version of the format of messages that this package writes. It reads
// lower versions too.
const Format = 1

// FullPolicy is what happens when the stream is full. Zero is FullWait.
type FullPolicy uint8

// Policies of a full stream.
const (
	FullWait    FullPolicy = iota // followers wait, and report it to OnRetry, until messages expire or are deleted
	FullDiscard                   // the oldest messages are deleted, handled or not
)

// Stream is where events and the state of followers are kept. All replicas and consumers
// must use equal values of Name, Prefix and Bucket. The defaults are those of zero fields.
//
// What does not exist is created. What exists is not changed: a [Follower] and Create
// refuse other settings in fields that are not zero. Change an existing stream or bucket
// with the tools of NATS.
type Stream struct {
	JetStream jetstream.JetStream // required; without a domain or prefix

	Name   string // of the stream; default "FASTIO"
	Prefix string // of the subjects; default "fastio.events"
	Bucket string // with heartbeats, checkpoints, limits and tokens; default "fastio-relay"

	Replicas   int           // of stream and bucket, 1 to 5; default 1
	MaxAge     time.Duration // after which a message is deleted; default 7 days, negative means never
	MaxBytes   int64         // size of the stream in bytes; default: no limit
	MaxMsgs    int64         // messages in the stream; default: no limit
	Full       FullPolicy    // what happens at MaxBytes or MaxMsgs; default [FullWait]
	Duplicates time.Duration // duplicate window, at most MaxAge; default 2 minutes
}

// withDefaults returns the stream with the defaults of the fields that are zero.
func (s Stream) withDefaults() Stream {
	s.Name = cmp.Or(s.Name, "FASTIO")
	s.Prefix = cmp.Or(s.Prefix, "fastio.events")
	s.Bucket = cmp.Or(s.Bucket, "fastio-relay")
	s.Replicas = cmp.Or(s.Replicas, 1)
	s.MaxAge = max(0, cmp.Or(s.MaxAge, 7*24*time.Hour)) // a negative age means no limit, which is 0 for NATS
	s.MaxBytes = cmp.Or(s.MaxBytes, -1)
	s.MaxMsgs = cmp.Or(s.MaxMsgs, -1)
	s.Duplicates = cmp.Or(s.Duplicates, 2*time.Minute)
	return s
}

// Create creates the stream and the bucket if they do not exist. [Follower.Run] does the
// same.
//
// Errors: [*api.InputError] if the stream or the bucket exists with other settings than those
// of the fields that are not zero, or with another policy of a full stream.
func (s Stream) Create(ctx context.Context) error {
	d := s.withDefaults()
	stream, err := d.open(ctx)
	if err != nil {
		return err
	}
	if err := s.verify(stream.CachedInfo().Config); err != nil {
		return err
	}
	kv, err := d.bucket(ctx)
	if err != nil {
		return err
	}
	return s.verifyBucket(ctx, kv)
}

var errNoJetStream = errors.New("fastio: relay: Stream.JetStream must not be nil")

// open returns the stream, which it creates if necessary. It requires defaults.
func (s Stream) open(ctx context.Context) (jetstream.Stream, error) {
	if s.JetStream == nil {
		return nil, errNoJetStream
	}
	stream, err := s.JetStream.Stream(ctx, s.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = s.deleteOldCopy(ctx) // the ordered copy that may be left from a deleted stream s.Name
		if err != nil {
			return nil, fmt.Errorf("fastio: relay: stream %s: %w", s.orderedName(), err)
		}
		stream, err = s.JetStream.CreateStream(ctx, s.config())
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another program was faster
			stream, err = s.JetStream.Stream(ctx, s.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fastio: relay: stream %s: %w", s.Name, err)
	}
	c := stream.CachedInfo().Config
	if !c.AllowRollup || !c.AllowMsgTTL || !c.AllowAtomicPublish || !c.AllowBatchPublish {
		const rule = "must have AllowRollup, AllowMsgTTL, AllowAtomicPublish and AllowBatchPublish"
		return nil, &api.InputError{Op: "relay", Field: "Stream", Rule: rule, Got: s.Name}
	}
	if !slices.Contains(c.Subjects, s.Prefix+".>") {
		rule := fmt.Sprintf("must be that of stream %s, which has the subjects %s", s.Name, strings.Join(c.Subjects, ", "))
		return nil, &api.InputError{Op: "relay", Field: "Stream.Prefix", Rule: rule, Got: s.Prefix}
	}
	return stream, nil
}

// deleteOldCopy deletes the ordered copy of an earlier stream that does not exist any more.
// The copy would skip the messages of a new stream, whose sequences begin at 1 again. A copy
// beside a stream stays: another program has created both meanwhile.
func (s Stream) deleteOldCopy(ctx context.Context) error {
	_, err := s.JetStream.Stream(ctx, s.orderedName())
	if err == nil {
		_, err = s.JetStream.Stream(ctx, s.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			err = s.JetStream.DeleteStream(ctx, s.orderedName())
		}
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) { // another program may have deleted the copy
		return nil
	}
	return err
}

// config returns the configuration of a new stream.
func (s Stream) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               s.Name,
		Description:        "events of the Fast.io platform",
		Subjects:           []string{s.Prefix + ".>"},
		Replicas:           s.Replicas,
		MaxAge:             s.MaxAge,
		MaxBytes:           s.MaxBytes,
		MaxMsgs:            s.MaxMsgs,
		Discard:            s.Full.discard(),
		Duplicates:         s.Duplicates,
		AllowRollup:        true,
		AllowMsgTTL:        true,
		AllowAtomicPublish: true,
		AllowBatchPublish:  true,
	}
}

// discard returns the policy of the stream for new messages when it is full.
func (p FullPolicy) discard() jetstream.DiscardPolicy {
	if p == FullDiscard {
		return jetstream.DiscardOld
	}
	return jetstream.DiscardNew
}

// verify returns an [*api.InputError] if a field of s differs from the setting of the
// stream that exists. Fields that are zero are not compared, except for Full: with another
// policy, events would be lost without an error. It also refuses a stream with AllowDirect
// and several copies: a server that is behind could then answer which events are stored.
func (s Stream) verify(c jetstream.StreamConfig) error {
	d := s.withDefaults()
	if c.AllowDirect && c.Replicas > 1 {
		const rule = "must not have AllowDirect: a server that is behind would tell which events are stored"
		return &api.InputError{Op: "relay", Field: "Stream", Rule: rule, Got: d.Name}
	}
	for _, setting := range []struct {
		field    string
		differs  bool
		has, got any
	}{
		{"Replicas", s.Replicas != 0 && s.Replicas != c.Replicas, c.Replicas, s.Replicas},
		{"MaxAge", s.MaxAge != 0 && d.MaxAge != c.MaxAge, c.MaxAge, d.MaxAge}, // a negative age is 0 in both
		{"MaxBytes", s.MaxBytes != 0 && s.MaxBytes != c.MaxBytes, c.MaxBytes, s.MaxBytes},
		{"MaxMsgs", s.MaxMsgs != 0 && s.MaxMsgs != c.MaxMsgs, c.MaxMsgs, s.MaxMsgs},
		{"Duplicates", s.Duplicates != 0 && s.Duplicates != c.Duplicates, c.Duplicates, s.Duplicates},
		{"Full", d.Full.discard() != c.Discard, "policy " + c.Discard.String(), "policy " + d.Full.discard().String()},
	} {
		if setting.differs {
			return refuseSetting(setting.field, "stream "+d.Name, setting.has, setting.got)
		}
	}
	return nil
}

// verifyBucket returns an [*api.InputError] if the bucket that exists has another number
// of Replicas than s, unless that is zero.
func (s Stream) verifyBucket(ctx context.Context, kv jetstream.KeyValue) error {
	if s.Replicas == 0 {
		return nil
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return fmt.Errorf("fastio: relay: bucket %s: %w", kv.Bucket(), err)
	}
	if has := status.Config().Replicas; has != s.Replicas {
		return refuseSetting("Replicas", "bucket "+kv.Bucket(), has, s.Replicas)
	}
	return nil
}

// refuseSetting returns the error for a field that differs from the setting of an
// existing stream or bucket, which of names.
func refuseSetting(field, of string, has, got any) error {
	rule := fmt.Sprintf("must be that of the existing %s, %v: change one of them", of, has)
	return &api.InputError{Op: "relay", Field: "Stream." + field, Rule: rule, Got: fmt.Sprint(got)}
}

// bucket returns the bucket, which it creates if necessary. The fields of s must have their
// defaults.
func (s Stream) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	if s.JetStream == nil {
		return nil, errNoJetStream
	}
	kv, err := s.JetStream.KeyValue(ctx, s.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = s.JetStream.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:         s.Bucket,
			Description:    "heartbeats, checkpoints, rate limits and tokens of github.com/fastio-go/fastio/relay",
			Replicas:       s.Replicas,
			LimitMarkerTTL: markerTTL,
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			kv, err = s.JetStream.KeyValue(ctx, s.Bucket)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fastio: relay: bucket %s: %w", s.Bucket, err)
	}
	return kv, nil
}

// markerTTL is how long the bucket keeps the information that a key has expired.
const markerTTL = time.Minute

// subject returns the subject of an event. Its scope is that of an account, or "".
func (s Stream) subject(scope string, p api.Profile, category events.Category) string {
	if len(category) > maxToken { // the platform may send any text, but a subject of 4 kB ends the connection
		category = events.Category(digest([]byte(category)))
	}
	return s.Prefix + "." + scope + profileKey(p) + "." + token(string(category))
}

const maxToken = 128 // bytes of an ID or category; longer ones are replaced by their hash

// epochSubject returns the subject of the message with the epoch of a profile. It has
// one part less than those of events.
func (s Stream) epochSubject(p api.Profile) string {
	return s.Prefix + ".epoch." + string(p.Kind) + "-" + token(string(p.ID))
}

// profileKey returns the part of keys and subjects that names a profile.
func profileKey(p api.Profile) string { return string(p.Kind) + "." + token(string(p.ID)) }

// token returns text as one part of a subject or of a key. Other bytes than letters,
// digits, hyphens and underscores are written as =XX.
func token(text string) string {
	if text == "" {
		return "="
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		if c == '-' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// untoken returns the text of a part that token has made.
func untoken(part string) (string, error) {
	if part == "=" {
		return "", nil
	}
	text, err := url.PathUnescape(strings.ReplaceAll(part, "=", "%"))
	if err != nil {
		return part, fmt.Errorf("the name in %q: %w", part, err)
	}
	return text, nil
}

// codeOf returns the error code of the server, 0 if it sent none.
func codeOf(err error) jetstream.ErrorCode {
	e, ok := errors.AsType[jetstream.JetStreamError](err)
	if !ok || e.APIError() == nil {
		return 0
	}
	return e.APIError().ErrorCode
}

// conflicts reports whether a write was refused because the key or subject does not have
// the required revision: another process has written it.
func conflicts(err error) bool {
	switch codeOf(err) {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return true
	default:
		return errors.Is(err, jetstream.ErrKeyExists)
	}
}

// formatEpoch returns an epoch as it is written into headers and checkpoints.
func formatEpoch(epoch uint64) string { return strconv.FormatUint(epoch, 10) }
