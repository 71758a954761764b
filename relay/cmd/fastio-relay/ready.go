package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/relay"
)

// confirmation is when a replica has last written to NATS, and its latest error.
type confirmation struct {
	at  time.Time // zero before the first write
	err error
}

// reasons returns why the replica is not ready, which means that it cannot publish. Both the follower
// and the probe write to NATS. An outage of the platform does not count, because it would stop a
// rollout.
func (p *program) reasons(probe *prober, follower confirmation, now time.Time) (all []string) {
	if err := p.nats.problem(); err != nil {
		all = append(all, err.Error())
	}
	if err := p.nats.health(); err != nil {
		all = append(all, "the NATS server in the process cannot write: "+err.Error())
	}
	probedAt, probeErr := probe.result()
	latest := later(follower.at, probedAt)
	switch {
	case follower.at.IsZero(): // follower.err first: for example, another replica has the name
		all = append(all, because("the replica is not registered", follower.err, probeErr))
	case now.Sub(latest) > p.patience: // probeErr first: it is newer, as the probe writes when the follower does not
		all = append(all, because("nothing was written to NATS since "+latest.Format(time.TimeOnly), probeErr, follower.err))
	}
	return all
}

// because returns a text with the first error that is not nil.
func because(text string, errs ...error) string {
	for _, err := range errs {
		if err != nil {
			return text + ": " + err.Error()
		}
	}
	return text
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// unpublished returns an error if this replica stores nothing: all profiles that it holds have a
// failure, and one of the failures is not of the platform and began before the time since.
func unpublished(states []relay.ProfileStatus, since time.Time) error {
	var failure error
	for _, p := range states {
		if p.Err == nil {
			if p.Held {
				return nil
			}
			continue
		}
		_, refused := errors.AsType[*api.Error](p.Err)
		isOfPlatform := refused || p.Op == opFollow // a search has failed
		if isOfPlatform {
			continue
		}
		if p.Since.Before(since) {
			failure = fmt.Errorf("nothing is stored: %s: %w", nameOf(p.Profile), p.Err)
		}
	}
	return failure
}

// problems returns what an operator should know although the replica is ready.
func (now *condition) problems(errs ...error) (all []string) {
	if !now.Platform {
		all = append(all, "the platform does not respond")
	}
	if now.refused != 0 {
		all = append(all, fmt.Sprintf("the platform has refused the latest search with status %d", now.refused))
	}
	if now.Wait > 0 {
		all = append(all, fmt.Sprintf("searches wait for a rate limit, the last for %.0f s", now.Wait))
	}
	if now.offset.Abs() > mostOffset {
		all = append(all, fmt.Sprintf("the clock differs by %s from that of the platform", now.offset.Round(time.Second)))
	}
	if now.stream.consumers > mostConsumers {
		all = append(all, fmt.Sprintf("the stream has %d consumers, of 1,000 that NATS allows", now.stream.consumers))
	}
	for _, err := range errs {
		if err != nil {
			all = append(all, err.Error())
		}
	}
	return all
}

// explain adds to an error of a request what NATS has said about it: a request without
// permission only times out, and a closed connection has a reason of its own.
func (n *connection) explain(err error) error {
	refusal := n.latestRefusal()
	switch {
	case err == nil:
	case n.IsClosed() && n.LastError() != nil:
		return fmt.Errorf("%w: NATS has closed the connection: %w", err, n.LastError())
	case refusal != nil && !errors.Is(err, refusal):
		return fmt.Errorf("%w: %w", err, refusal)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%w: JetStream is turned off or has no leader", err)
	}
	return err
}

// prober writes a key into the bucket when the follower has not written for some time,
// as with long leases. So the replica notices when NATS stores nothing.
type prober struct {
	stream relay.Stream
	key    string
	every  time.Duration

	tried, written time.Time
	failed         error
}

// newProber returns a prober whose writes show within the time of patience whether NATS can be written.
func (p *program) newProber() prober { return prober{stream: p.stream, every: p.patience / 3} }

// run writes a key if neither the follower, whose last write was at confirmed, nor the
// prober has tried to write for the time p.every.
func (p *prober) run(ctx context.Context, confirmed, now time.Time) {
	if now.Sub(later(confirmed, p.tried)) < p.every {
		return
	}
	if p.key == "" {
		p.key = "probe." + rand.Text()
	}
	p.tried = now
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	subject := "$KV." + p.stream.Bucket + "." + p.key
	_, p.failed = p.stream.JetStream.Publish(ctx, subject, nil, jetstream.WithMsgTTL(time.Minute))
	if p.failed == nil {
		p.written = now
	}
}

// result returns when the prober last wrote, and why the latest try has failed, nil if
// it has not.
func (p *prober) result() (written time.Time, failed error) { return p.written, p.failed }
