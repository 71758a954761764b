package relay_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// received returns the number of messages that a server has received, which are requests too.
func received(t *testing.T, ns *server.Server) int64 {
	t.Helper()
	v, err := ns.Varz(nil)
	must(t, err)
	return v.InMsgs
}

// A holder without a checkpoint asks for the few messages of its profile, and not for those of
// others: after the loss of a node, all profiles ask at the same time.
func TestHolderAsksForFewMessages(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(2), startServer(t)
	first := p.start(t, ns, nil)
	published := uint64(0)
	for _, add := range []struct{ profile, events int }{{1, 2}, {0, 4_000}, {1, 2}} {
		p.add(p.profiles[add.profile], add.events)
		published += uint64(add.events)
		eventually(t, "the events", func() bool { return first.Stats().Published == published })
	}
	first.stop()
	kv, err := first.js.KeyValue(t.Context(), "fastio-relay")
	must(t, err)
	must(t, kv.Purge(t.Context(), "checkpoint.workspace=2E"+string(p.profiles[1].ID)))
	before := received(t, ns)
	second := p.start(t, ns, nil)
	eventually(t, "the events that are stored", func() bool { return second.Stats().Duplicates == 4 })
	if n := received(t, ns) - before; n > 100 {
		t.Errorf("%d messages", n)
	}
}
