package relay_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

// backup is what "nats stream backup" keeps of a stream: its settings and state, and its data, with
// its consumers.
type backup struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
	data   [][]byte
}

// request sends a request to the JetStream API. It fails the test if the response is an error.
func request(t *testing.T, nc *nats.Conn, subject string, body, out any) {
	t.Helper()
	data, err := json.Marshal(body)
	must(t, err)
	m, err := nc.Request(subject, data, 10*time.Second)
	must(t, err)
	var failure struct {
		Error json.RawMessage `json:"error"`
	}
	must(t, json.Unmarshal(m.Data, &failure))
	if failure.Error != nil {
		t.Fatalf("%s: %s", subject, failure.Error)
	}
	must(t, json.Unmarshal(m.Data, out))
}

// takeBackup does what "nats stream backup" does.
func takeBackup(t *testing.T, nc *nats.Conn, stream string) (b backup) {
	t.Helper()
	inbox := nats.NewInbox()
	chunks, err := nc.SubscribeSync(inbox)
	must(t, err)
	defer func() { must(t, chunks.Unsubscribe()) }()
	request(t, nc, "$JS.API.STREAM.SNAPSHOT."+stream, map[string]any{"deliver_subject": inbox}, &b)
	for {
		m, err := chunks.NextMsg(10 * time.Second)
		must(t, err)
		if len(m.Data) == 0 {
			return b
		}
		b.data = append(b.data, bytes.Clone(m.Data))
		if m.Reply != "" {
			must(t, m.Respond(nil))
		}
	}
}

// restore does what "nats stream restore" does.
func (b backup) restore(t *testing.T, nc *nats.Conn, stream string) {
	t.Helper()
	var target struct {
		Subject string `json:"deliver_subject"`
	}
	request(t, nc, "$JS.API.STREAM.RESTORE."+stream, b, &target)
	for _, chunk := range b.data {
		_, err := nc.Request(target.Subject, chunk, 10*time.Second)
		must(t, err)
	}
	m, err := nc.Request(target.Subject, nil, 10*time.Second)
	must(t, err)
	if bytes.Contains(m.Data, []byte(`"error"`)) {
		t.Fatalf("restoring %s: %s", stream, m.Data)
	}
}

// streamsOfTheGuide returns the streams in the order in which the guide saves or restores them.
func streamsOfTheGuide(t *testing.T, command string) (all []string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	must(t, err)
	for _, m := range regexp.MustCompile(`nats stream `+command+` +(?:backup/)?(\S+)`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, strings.TrimSpace(m[1]))
	}
	return all
}

// What was stored before the backup is there afterwards, what came later is stored again from the
// checkpoints, and the groups go on where they were at the backup.
func TestRelayGoesOnFromABackup(t *testing.T) {
	t.Parallel()
	order := streamsOfTheGuide(t, "backup")
	if want := []string{"FASTIO-ORDERED", "KV_fastio-relay", "FASTIO", "FASTIO-DEAD"}; !slices.Equal(order, want) ||
		!slices.Equal(streamsOfTheGuide(t, "restore"), want) {
		t.Fatalf("the guide saves %q and restores %q", order, streamsOfTheGuide(t, "restore"))
	}
	p := newProduct(t)
	c := p.customer("Acme")
	must(t, p.Add(t.Context(), c.account("acme")))
	short := func(f *relay.AccountFollower) { f.Lease = 3 * time.Second }
	replica := p.start(t, short)
	p.log(c, 10)
	p.waitFor(t, "acme", 10)
	o := relay.ConsumeOptions{Stream: p.Stream, Name: "index", Account: "acme", Ordered: true}
	var before, after consumed
	stop := before.consume(t, o, func(relay.Message[events.Event]) error { return nil })
	eventually(t, "10 events", func() bool { return before.len() == 10 })
	stop()
	var saved []backup
	for i, name := range order {
		saved = append(saved, takeBackup(t, p.js.Conn(), name))
		if i == 0 { // events arrive meanwhile
			p.log(c, 5)
			p.waitFor(t, "acme", 15)
		}
	}
	p.log(c, 5)
	p.waitFor(t, "acme", 20)
	replica.stop()

	p.ns = startServer(t) // another machine
	p.Stream.JetStream, _ = connect(t, p.ns)
	p.js = p.Stream.JetStream
	for i, name := range order {
		saved[i].restore(t, p.js.Conn(), name)
	}
	p.start(t, short) // it begins when the lease that was saved has expired
	p.log(c, 5)
	p.waitFor(t, "acme", 25)
	o.Stream = p.Stream
	after.consume(t, o, func(relay.Message[events.Event]) error { return nil })
	eventually(t, "the events after the backup", func() bool { return after.len() == 15 })
	seen := map[string]bool{}
	for _, m := range slices.Concat(before.all, after.all) {
		seen[m.ID] = true
	}
	if len(seen) != 25 {
		t.Errorf("the group has handled %d of 25 events", len(seen))
	}
}
