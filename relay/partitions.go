package relay

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
)

// Ordered groups read a copy of the stream, a mirror that NATS keeps, whose subjects have the
// partition of the profile before the subject of the event: fastio.events-ordered.3.workspace...
// It is the hash of the profile, as NATS computes it. Sequences are those of the stream. So a
// group has one consumer for each partition, of which one message at a time is handled, whatever
// the number of profiles.

// partitions is the number of parts of the profiles. It is a constant of the copy.
const partitions = 16

// orderedName returns the name of the copy of the stream.
func (s Stream) orderedName() string { return s.Name + "-ORDERED" }

// orderedPrefix returns the beginning of its subjects.
func (s Stream) orderedPrefix() string { return s.Prefix + "-ordered" }

// orderedConfig returns the configuration of the copy of a stream. The parts of a subject after the
// prefix are the account, if there is one, the kind and the ID of the profile, and the category. The
// copy has the partition before them, which NATS computes from all but the category.
func (s Stream) orderedConfig(of jetstream.StreamConfig) jetstream.StreamConfig {
	const three = ".{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}" // the parts of the source with these numbers
	partition := func(parts string) string {
		return fmt.Sprintf("%s.{{partition(%d,%s)}}", s.orderedPrefix(), partitions, parts)
	}
	c := jetstream.StreamConfig{
		Name: s.orderedName(), Description: "events of stream " + s.Name + " for ordered groups",
		Mirror: &jetstream.StreamSource{Name: s.Name, SubjectTransforms: []jetstream.SubjectTransformConfig{
			{Source: s.Prefix + ".*.*.*", Destination: partition("1,2") + three},
			{Source: s.Prefix + ".*.*.*.*", Destination: partition("1,2,3") + three + ".{{wildcard(4)}}"},
		}},
		Replicas: of.Replicas, MaxAge: of.MaxAge, Storage: of.Storage, MaxBytes: -1, MaxMsgs: -1,
	}
	// A copy that is full drops old messages. So it has no bounds if the stream rejects new ones instead.
	if of.Discard == jetstream.DiscardOld {
		c.MaxBytes, c.MaxMsgs = of.MaxBytes, of.MaxMsgs
	}
	return c
}

// openOrdered returns the copy of a stream, which it creates if necessary.
func (s Stream) openOrdered(ctx context.Context, of jetstream.Stream) (jetstream.Stream, error) {
	stream, err := s.JetStream.Stream(ctx, s.orderedName())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = s.JetStream.CreateStream(ctx, s.orderedConfig(of.CachedInfo().Config))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another program was faster
			stream, err = s.JetStream.Stream(ctx, s.orderedName())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fastio: relay: stream %s: %w", s.orderedName(), err)
	}
	now, err := of.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("fastio: relay: stream %s: %w", s.Name, err)
	}
	last, lastOfCopy := now.State.LastSeq, stream.CachedInfo().State.LastSeq
	isOfEarlierStream := lastOfCopy > last // the stream was deleted and created again, and the copy was not
	if isOfEarlierStream {
		const rule = "must not be behind its copy for ordered groups: delete the copy, which is created again"
		return nil, &api.InputError{
			Op: opConsume, Field: "ConsumeOptions.Stream", Rule: rule, Got: fmt.Sprintf("sequences %d and %d", last, lastOfCopy),
		}
	}
	return stream, nil
}

// partitionOf returns the partition of a profile, given the part of its subject before the category.
// As NATS does, it hashes this part without its dots.
func partitionOf(profile string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ReplaceAll(profile, ".", "")))
	return int(h.Sum32() % partitions)
}

// partitionSubjects returns the subject filters of a partition. A subject has the prefix, the number
// of the partition, the account if there is one, the kind and the ID of the profile, and the category.
func (c *consumer[T]) partitionSubjects(partition int) (all []string) {
	prefix := c.Stream.orderedPrefix() + "." + strconv.Itoa(partition) + "."
	if len(c.Profiles) == 0 {
		return []string{prefix + c.scope() + "*.*.*"}
	}
	for _, p := range c.Profiles {
		profile := c.scope() + profileKey(p)
		isInAny := c.Account == AllAccounts // the partition of a profile depends on the account
		if isInAny || partitionOf(profile) == partition {
			all = append(all, prefix+profile+".*")
		}
	}
	if len(all) == 0 {
		return []string{prefix + "none"} // no event has this subject; without a filter, the consumer would get all
	}
	return all
}

// runOrdered handles the messages of each partition one after the other: the server delivers a
// message when the one before is settled.
func (c *consumer[T]) runOrdered(ctx context.Context) error {
	workers := newGroup(ctx)
	for i := range partitions {
		workers.Go(func(ctx context.Context) error {
			var d *durable
			err := c.retryTemporary(ctx, func() (err error) {
				d, err = c.durable(ctx, c.partitionName(i), c.partitionSubjects(i))
				return err
			})
			if err != nil {
				return err
			}
			// An earlier version had a consumer for each profile, and may have settled messages up to the sequence
			// former (0 if there was none). So handledBefore looks up for these messages how far the consumer of
			// their profile got, and keeps that in floors.
			d.former, _ = strconv.ParseUint(d.CachedInfo().Config.Metadata[metadataFormer], 10, 64)
			d.floors = map[string]uint64{}
			return c.run(ctx, d)
		})
	}
	return workers.Wait()
}

// partitionName returns the name of the consumer of a partition.
func (c *consumer[T]) partitionName(partition int) string {
	return c.Name + "-" + strconv.Itoa(partition)
}

// plainSubject returns the subject of an event in the stream, given its subject in the stream
// or in the copy.
func (s Stream) plainSubject(subject string) string {
	inCopy, isOfCopy := strings.CutPrefix(subject, s.orderedPrefix()+".")
	_, event, hasPartition := strings.Cut(inCopy, ".")
	if !isOfCopy || !hasPartition {
		return subject
	}
	return s.Prefix + "." + event
}

// accountOf returns the account of the subject of an event, "" if it has none.
func (s Stream) accountOf(subject string) string {
	parts := strings.Split(strings.TrimPrefix(subject, s.Prefix+"."), ".")
	hasAccount := len(parts) == 4 // account, kind and ID of the profile, category; the account may be left out
	if !hasAccount {
		return ""
	}
	name, err := untoken(parts[0])
	if err != nil { // another program has written the event
		return parts[0]
	}
	return name
}

// handledBefore reports whether an earlier version, which had a consumer for each profile, has settled a
// message. When this version began, from.former was the last sequence of the stream: later messages are
// not looked up. For an earlier message, the floor of its profile decides: it is the sequence up to which
// the earlier version has settled messages of the profile. While programs of the earlier version run,
// formerFloor fails, and handledBefore tries again.
func (c *consumer[T]) handledBefore(ctx context.Context, from *durable, d delivery) (bool, error) {
	sequence := d.meta.Sequence.Stream
	wasInEarlierVersion := sequence <= from.former
	if !wasInEarlierVersion {
		return false, nil
	}
	profile := d.subject[:strings.LastIndexByte(d.subject, '.')]
	floor, known := from.floors[profile]
	for try := 1; !known; try++ {
		var err error
		floor, err = c.formerFloor(ctx, strings.TrimPrefix(profile, c.Stream.Prefix+"."))
		if err == nil {
			from.floors[profile] = floor
			break
		}
		c.reportFailure(ctx, d.subject, err)
		if err := sleep(ctx, backoff{c.Backoff, maxPause}.pause(try)); err != nil {
			return false, err
		}
	}
	return sequence <= floor, nil
}

// formerFloor returns the sequence up to which an earlier version has settled the messages of a profile,
// 0 if it has settled none. That version had a consumer for each profile, whose ack floor is the result.
// While a program uses that consumer, the floor may still grow, and formerFloor returns errFormer. A
// consumer that is not in use is needed until the messages before its floor have expired: formerFloor
// lets NATS delete it then.
func (c *consumer[T]) formerFloor(ctx context.Context, profile string) (uint64, error) {
	// The requests are sent also when ctx is done: even then, deliver handles a message in its last try, and the floor
	// decides whether it was handled before.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	name := c.Name + "-" + strings.ReplaceAll(profile, ".", "-")
	found, err := c.events.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, c.wrap(name, err)
	}
	info := found.CachedInfo()
	// The group a-b with the profile c has the same name of a consumer as the group a with the profile b.c.
	isOfGroup := groupOf(info) == c.Name
	if !isOfGroup {
		return 0, nil
	}
	isInUse := info.NumWaiting+info.NumAckPending > 0 // programs wait for messages, or handle some
	if isInUse {
		return 0, c.wrap(name, errFormer)
	}
	if age := c.events.CachedInfo().Config.MaxAge; age > 0 && info.Config.InactiveThreshold == 0 {
		info.Config.InactiveThreshold = age // by then, all messages that are in the stream now have expired
		if _, err := c.events.UpdateConsumer(ctx, info.Config); err != nil {
			return 0, c.wrap(name, err)
		}
	}
	return info.AckFloor.Stream, nil
}

// errFormer means that a group is in use by programs of two versions.
var errFormer = errors.New("programs of an earlier version use the group, or have ended within its AckWait: stop them")

// formerSequence returns the sequence up to which consumers of an earlier version may have handled
// messages: the last one of the stream, 0 if the stream has no consumers.
func (c *consumer[T]) formerSequence(ctx context.Context) (uint64, error) {
	info, err := c.events.Info(ctx)
	if err != nil || info.State.Consumers == 0 {
		return 0, err
	}
	return info.State.LastSeq, nil
}
