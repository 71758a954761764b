package relay_test

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// deadLetters returns the stored dead letters, in order.
func deadLetters(t *testing.T, js jetstream.JetStream) (all []*jetstream.RawStreamMsg) {
	t.Helper()
	stream, err := js.Stream(t.Context(), "FASTIO-DEAD")
	if err != nil {
		t.Fatal(err)
	}
	for sequence := range stream.CachedInfo().State.LastSeq {
		msg, err := stream.GetMsg(t.Context(), sequence+1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, msg)
	}
	return all
}

func TestFollowerKeepsAnEventThatIsTooLargeAsDeadLetter(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 10)
	p.AddEvent(seed.Event{
		Name: "workspace_storage_file_added", Workspace: string(p.profiles[0].ID), ObjectName: strings.Repeat("x", 2<<20),
		Created: time.Now().Add(-time.Second),
	})
	reports := make(chan string, 10)
	hook := func(f *relay.Follower) {
		f.OnDeadLetter = func(_ context.Context, profile api.Profile, err error) {
			reports <- profile.String() + "|" + err.Error()
		}
	}
	f := p.start(t, ns, hook)
	want := regexp.MustCompile(`^(workspace.\d+)\|profile workspace.\d+: ` +
		`message (workspace-\d+-\w+) of (\d{7}) bytes: nats: maximum payload exceeded$`)
	var found []string
	select {
	case text := <-reports:
		found = want.FindStringSubmatch(text)
		if found == nil || found[1] != p.profiles[0].String() {
			t.Fatalf("the report is %q", text)
		}
	case <-time.After(time.Minute):
		t.Fatal("no dead letter is reported")
	}
	p.add(p.profiles[0], 5)
	eventually(t, "the events around it", func() bool { return count(t, f.js) == 15 })
	eventually(t, "the end of the log", func() bool {
		s := f.Status()[0]
		return s.DeadLetters == 1 && s.Pending == 0 && s.Err == nil && !s.CaughtUp.IsZero()
	})
	f.stop()
	kv, err := f.js.KeyValue(t.Context(), "fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Purge(t.Context(), "checkpoint.workspace=2E"+string(p.profiles[0].ID)); err != nil {
		t.Fatal(err)
	}
	f = p.start(t, ns, hook)
	eventually(t, "all events again", func() bool { return f.Stats().Duplicates == 16 })
	letters := deadLetters(t, f.js)
	if len(letters) != 1 || len(reports) != 0 {
		t.Fatalf("%d dead letters, %d further reports", len(letters), len(reports))
	}
	l := letters[0]
	if l.Subject != "fastio.events-dead.event."+found[2] || l.Header.Get(relay.HeaderID) != found[2] || len(l.Data) != 0 ||
		l.Header.Get(relay.HeaderSize) != found[3] || l.Header.Get(relay.HeaderSequence) != "" ||
		l.Header.Get(relay.HeaderSubject) != "fastio.events.workspace."+string(p.profiles[0].ID)+".workspace" ||
		!strings.Contains(l.Header.Get(relay.HeaderError), "maximum payload exceeded") {
		t.Errorf("the dead letter is %q %+v", l.Subject, l.Header)
	}
}

// A platform that sends long values must not end the connection to NATS for ever.
func TestFollowerStoresEventsWithLongValues(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 2)
	f := p.start(t, ns, func(f *relay.Follower) {
		f.Events = events.New(unlimited{p.Client(t, fastio.WithMiddleware(replaceBody(
			`("event_id":")|("category":")`, "${1}${2}"+strings.Repeat("x", 100_000))))}, &events.Options{Waker: p})
	})
	eventually(t, "2 events", func() bool { return count(t, f.js) == 2 })
}

func TestDeadLettersNameTheAccount(t *testing.T) {
	t.Parallel()
	s := newStream(t, 1)
	publish(t, s, "a=20b.workspace.1", 1)
	for _, account := range []string{"", relay.AllAccounts} {
		var c consumed
		c.consume(t, relay.ConsumeOptions{Stream: s, Name: "index" + strconv.Itoa(len(account)), Account: account, Tries: 1},
			func(relay.Message[events.Event]) error { return errors.New("no") })
		eventually(t, "a call", func() bool { return c.len() == 1 })
	}
	var letters []*jetstream.RawStreamMsg
	eventually(t, "two dead letters", func() bool { letters = deadLetters(t, s.JetStream); return len(letters) == 2 })
	if _, has := letters[0].Header[relay.HeaderAccount]; has || letters[1].Header.Get(relay.HeaderAccount) != "a b" {
		t.Errorf("the headers are %v and %v", letters[0].Header, letters[1].Header)
	}
}

func TestConsumeKeepsDeadLettersThatAreTooLargeWithoutBody(t *testing.T) {
	t.Parallel()
	js, _ := connect(t, startServer(t))
	stream := relay.Stream{JetStream: js}
	if err := stream.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	large := `{"event_id":"` + strings.Repeat("x", int(js.Conn().MaxPayload())-200) + `"}`
	for i, body := range []string{large, "{}", "{}"} {
		msg := &nats.Msg{Subject: "fastio.events.workspace.1.workspace", Data: []byte(body)}
		if _, err := js.PublishMsg(t.Context(), msg, jetstream.WithMsgID(strconv.Itoa(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	var c consumed
	c.consume(t, relay.ConsumeOptions{
		Stream: stream, Name: "index", Ordered: true, Tries: 2, Backoff: time.Millisecond,
	}, func(m relay.Message[events.Event]) error {
		if m.Sequence == 1 {
			return errors.New(strings.Repeat("no", 1000))
		}
		return nil
	})
	eventually(t, "all messages", func() bool { return c.len() == 4 })
	letters := deadLetters(t, js)
	if len(letters) != 1 {
		t.Fatalf("there are %d dead letters", len(letters))
	}
	l := letters[0]
	if l.Subject != "fastio.events-dead.index" || len(l.Data) != 0 || l.Header.Get(relay.HeaderID) != "1" ||
		l.Header.Get(relay.HeaderSize) != strconv.Itoa(len(large)) || l.Header.Get(relay.HeaderSequence) != "1" {
		t.Errorf("the dead letter is %q %+v", l.Subject, l.Header)
	}
}
