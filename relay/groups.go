package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Metadata of durable consumers.
const (
	metadataGroup   = "fastio-group"   // [ConsumeOptions].Name
	metadataOrdered = "fastio-ordered" // "true" for [ConsumeOptions].Ordered
	metadataFormer  = "fastio-former"  // sequence up to which consumers of single profiles may have been used before
)

// Group is what the programs share that call [Consume] with the same name. It stays in the
// stream when they have ended, with its position. NATS allows 1,000 consumers of a stream
// by default. An Ordered group uses 16, of the copy of the stream for such groups. Delete
// groups that are no longer used with [Stream.DeleteGroup].
type Group struct {
	Name      string // [ConsumeOptions].Name, or that of a durable consumer of other programs
	Ordered   bool
	Consumers int       // durable consumers of the stream, or of its copy for Ordered groups
	Pending   uint64    // messages that were not delivered yet
	Handling  int       // messages that were delivered, and are not acknowledged
	Requests  int       // that wait for messages; 0 without Pending: no program uses the group
	Active    time.Time // the latest delivery or acknowledgement that NATS knows of
}

// Groups returns the groups of the stream, by name.
func (s Stream) Groups(ctx context.Context) ([]Group, error) {
	s = s.withDefaults()
	all, err := s.consumers(ctx)
	if err != nil {
		return nil, err
	}
	groups := map[string]Group{}
	for _, info := range all {
		name := groupOf(info)
		g := groups[name]
		g.Name, g.Ordered = name, info.Config.Metadata[metadataOrdered] == "true"
		g.Consumers++
		g.Pending += info.NumPending
		g.Handling += info.NumAckPending
		g.Requests += info.NumWaiting
		for _, last := range []*time.Time{info.Delivered.Last, info.AckFloor.Last} {
			if last != nil && last.After(g.Active) {
				g.Active = *last
			}
		}
		groups[name] = g
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b Group) int { return strings.Compare(a.Name, b.Name) }), nil
}

// DeleteGroup deletes the consumers of a group, and so its position in the stream. Programs of
// the group end with an error. Its dead letters stay.
//
// Errors: [jetstream.ErrConsumerNotFound] if there is no such group.
func (s Stream) DeleteGroup(ctx context.Context, name string) error {
	s = s.withDefaults()
	all, err := s.consumers(ctx)
	if err != nil {
		return err
	}
	found := false
	for _, info := range all {
		if groupOf(info) != name {
			continue
		}
		found = true
		if err := s.JetStream.DeleteConsumer(ctx, info.Stream, info.Name); err != nil {
			return fmt.Errorf("fastio: relay: consumer %s: %w", info.Name, err)
		}
	}
	if !found {
		return fmt.Errorf("fastio: relay: group %s: %w", name, jetstream.ErrConsumerNotFound)
	}
	return nil
}

// groupOf returns the name of the group of a consumer. For a consumer that another program
// has made, it is the name of the consumer.
func groupOf(info *jetstream.ConsumerInfo) string {
	if group := info.Config.Metadata[metadataGroup]; group != "" {
		return group
	}
	return info.Name
}

// consumers returns the durable consumers of the stream and of its copy for Ordered groups. The
// fields of s must have their defaults.
func (s Stream) consumers(ctx context.Context) (all []*jetstream.ConsumerInfo, err error) {
	if s.JetStream == nil {
		return nil, errNoJetStream
	}
	for _, name := range []string{s.Name, s.orderedName()} {
		stream, err := s.JetStream.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) && name == s.orderedName() {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("fastio: relay: stream %s: %w", name, err)
		}
		list := stream.ListConsumers(ctx)
		for info := range list.Info() {
			if info.Config.Durable != "" {
				all = append(all, info)
			}
		}
		if err := list.Err(); err != nil {
			return nil, fmt.Errorf("fastio: relay: the consumers of stream %s: %w", name, err)
		}
	}
	return all, nil
}
