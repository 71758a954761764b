package relay

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// startTimeout is the time for which NATS may fail at the start. A stream whose leader was
// lost has another one within seconds.
const startTimeout = 30 * time.Second

// retryTemporary calls f until it succeeds, has failed for startTimeout, or its error is
// permanent, and returns the last error of f, or that of ctx when it is done. It calls
// failed with each other error before it tries again.
func retryTemporary(ctx context.Context, failed func(error), f func() error) error {
	began := time.Now()
	for try := 1; ; try++ {
		err := f()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || permanent(err) || time.Since(began) > startTimeout {
			return err
		}
		failed(err)
		if err := sleep(ctx, backoff{100 * time.Millisecond, maxPause}.pause(try)); err != nil {
			return err
		}
	}
}

// permanent reports whether a request would fail again for the same reason: it is refused,
// an option or what is stored is wrong, or the connection is closed.
func permanent(err error) bool {
	if e, ok := errors.AsType[jetstream.JetStreamError](err); ok && e.APIError() != nil {
		return e.APIError().Code < 500 // not a failure of the server
	}
	_, input := errors.AsType[*api.InputError](err)
	return input || errors.Is(err, errNoJetStream) || errors.Is(err, events.ErrCheckpointTaken) ||
		errors.Is(err, errCheckpointFormat) || errors.Is(err, nats.ErrConnectionClosed) ||
		errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrPermissionViolation)
}
