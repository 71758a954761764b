package relay_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// apiRequests returns the number of requests to the API of JetStream so far.
func apiRequests(t *testing.T, ns *server.Server) uint64 {
	t.Helper()
	v, err := ns.Varz(nil)
	must(t, err)
	return v.JetStream.Stats.API.Total
}

// A holder without a checkpoint asks for the few messages of its profile, and not for those of
// others: after the loss of a node, all profiles ask at the same time.
func TestHolderAsksForFewMessages(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(2), startServer(t)
	first := p.start(t, ns, nil)
	p.add(p.profiles[1], 2)
	p.add(p.profiles[0], 4_000)
	p.add(p.profiles[1], 2)
	eventually(t, "all events", func() bool { return first.Stats().Published == 4_004 })
	first.stop()
	kv, err := first.js.KeyValue(t.Context(), "fastio-relay")
	must(t, err)
	must(t, kv.Purge(t.Context(), "checkpoint.workspace=2E"+string(p.profiles[1].ID)))
	before := apiRequests(t, ns)
	second := p.start(t, ns, nil)
	eventually(t, "the events that are stored", func() bool { return second.Stats().Duplicates == 4 })
	if n := apiRequests(t, ns) - before; n > 100 {
		t.Errorf("%d requests", n)
	}
}
