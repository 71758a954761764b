package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
)

const defaultAckWait = 30 * time.Second

// durable is a durable consumer.
type durable struct {
	jetstream.Consumer

	// Of a partition of an Ordered group.
	settled uint64            // sequence of the last message that this program has settled
	former  uint64            // sequence up to which programs of an earlier version may have settled messages
	floors  map[string]uint64 // what they have settled, by profile
}

// keepInProgress extends the time in which messages must be acknowledged, again and again, until
// stop is called. It goes on when ctx is done: a handler that runs then may need more time.
func (d *durable) keepInProgress(ctx context.Context, all []jetstream.Msg) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		for sleep(ctx, d.CachedInfo().Config.AckWait/3) == nil {
			for _, msg := range all {
				_ = msg.InProgress() // the next one may succeed
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// durable returns the durable consumer of that name, with the options of c, and creates it
// if necessary.
func (c *consumer[T]) durable(ctx context.Context, name string, subjects []string) (*durable, error) {
	want := jetstream.ConsumerConfig{
		Durable: name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: cmp.Or(c.AckWait, defaultAckWait),
		FilterSubjects: subjects, Metadata: map[string]string{metadataGroup: c.Name},
	}
	if c.Ordered {
		want.MaxAckPending, want.Metadata[metadataOrdered] = 1, "true"
	}
	found, err := c.stream.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		found, err = c.create(ctx, want)
	}
	if errors.Is(err, jetstream.ErrConsumerExists) { // another program was faster
		found, err = c.stream.Consumer(ctx, name)
	}
	if err != nil {
		return nil, c.wrap(name, err)
	}
	found, err = c.adjust(ctx, found, want)
	if err != nil {
		return nil, err
	}
	return &durable{Consumer: found}, nil
}

// create creates a consumer. Programs of an earlier version had a consumer for each profile of an
// ordered group, and may have handled messages already. The new consumer gets these again: handledBefore
// recognizes them. It looks for them up to the sequence that is recorded here, the latest of the stream.
func (c *consumer[T]) create(ctx context.Context, want jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	if c.Ordered {
		former, err := c.formerSequence(ctx)
		if err != nil {
			return nil, err
		}
		want.Metadata[metadataFormer] = strconv.FormatUint(former, 10)
	}
	return c.stream.CreateConsumer(ctx, want)
}

// adjust gives an existing consumer the wanted settings. It returns an [*api.InputError]
// if that would break another group or the programs that use the consumer.
func (c *consumer[T]) adjust(
	ctx context.Context, found jetstream.Consumer, want jetstream.ConsumerConfig,
) (jetstream.Consumer, error) {
	has := found.CachedInfo().Config
	group := has.Metadata[metadataGroup] // "" if another program made the consumer
	isOrdered := has.MaxAckPending == 1  // one message at a time
	switch {
	case group != "" && group != c.Name:
		return nil, refuseOption("Name", "is that of a consumer of group "+group, has.Durable)
	case has.AckPolicy != jetstream.AckExplicitPolicy:
		return nil, refuseOption("Name", "is that of a consumer with acknowledgement "+has.AckPolicy.String(), has.Durable)
	case c.Ordered != isOrdered:
		return nil, c.refuseOrder()
	case c.AckWait != 0 && c.AckWait < has.AckWait:
		rule := fmt.Sprintf("must not be less than that of the existing group, %v: programs that run may rely on it", has.AckWait)
		return nil, refuseOption("AckWait", rule, c.AckWait.String())
	}
	if c.AckWait == 0 {
		want.AckWait = has.AckWait
	}
	isAdjusted := has.AckWait == want.AckWait && group == c.Name && sameFilter(has, want)
	if isAdjusted {
		return found, nil
	}
	if former, ok := has.Metadata[metadataFormer]; ok { // create has recorded it, and runOrdered needs it
		want.Metadata[metadataFormer] = former
	}
	has.AckWait, has.Metadata = want.AckWait, want.Metadata
	has.FilterSubject, has.FilterSubjects = "", want.FilterSubjects // the server accepts only one of the two
	updated, err := c.stream.UpdateConsumer(ctx, has)
	if err != nil {
		return nil, c.wrap(has.Durable, err)
	}
	return updated, nil
}

// sameFilter reports whether two consumers have the same subjects.
func sameFilter(a, b jetstream.ConsumerConfig) bool {
	subjects := func(c jetstream.ConsumerConfig) []string {
		if c.FilterSubject != "" {
			return []string{c.FilterSubject}
		}
		return slices.Sorted(slices.Values(c.FilterSubjects))
	}
	return slices.Equal(subjects(a), subjects(b))
}

// checkOrder returns an [*api.InputError] if the group exists with the other value of Ordered. A group
// that is not ordered has one consumer, with its name. An ordered group has one for each partition, in
// the copy of the stream.
func (c *consumer[T]) checkOrder(ctx context.Context) error {
	stream, name := c.Stream.Name, c.Name // c is ordered: it looks for the consumer of an unordered group
	if !c.Ordered {                       // it looks for one of an ordered group
		stream, name = c.Stream.orderedName(), c.partitionName(0)
	}
	found, err := c.Stream.JetStream.Consumer(ctx, stream, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return c.wrap(name, err)
	}
	isOfGroup := groupOf(found.CachedInfo()) == c.Name // another group can have a consumer of that name
	if isOfGroup {
		return c.refuseOrder()
	}
	return nil
}

// refuseOrder returns the error for a group that exists with another value of Ordered.
func (c *consumer[T]) refuseOrder() error {
	rule := fmt.Sprintf("must be that of the existing group %s: delete it, or use another name", c.Name)
	return refuseOption("Ordered", rule, strconv.FormatBool(c.Ordered))
}

// refuseOption returns the error for an option of [ConsumeOptions].
func refuseOption(field, rule, got string) error {
	return &api.InputError{Op: opConsume, Field: "ConsumeOptions." + field, Rule: rule, Got: strings.TrimSpace(got)}
}
