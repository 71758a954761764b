package relay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

// startGuideServer starts a NATS server with the customer and the product of the guide, and a user
// that may do everything.
func startGuideServer(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	must(t, err)
	_, section, _ := strings.Cut(string(text), "## Many customers")
	blocks := strings.Split(section, "```conf\n")
	if len(blocks) != 3 {
		t.Fatal("the guide has no permissions of a customer and of the product")
	}
	customer, _, _ := strings.Cut(blocks[1], "\n```")
	program, _, _ := strings.Cut(blocks[2], "\n```")
	conf := strings.NewReplacer("$ACME_PASSWORD", "acme", "$PRODUCT_PASSWORD", "product").Replace(customer + "\n" + program)
	dir := t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	conf = "listen: \"127.0.0.1:-1\"\njetstream { store_dir: \"" + filepath.ToSlash(dir) + "\" }\n" +
		"accounts { FASTIO { jetstream: enabled, users: [ { user: all, password: all }\n" + conf + "\n] } }\n"
	must(t, os.WriteFile(file, []byte(conf), 0o600))
	o, err := server.ProcessConfigFile(file)
	must(t, err)
	o.NoSigs, o.NoLog = true, true
	ns, err := server.NewServer(o)
	must(t, err)
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return ns.Addr().String()
}

// dial connects as a user.
func dial(t *testing.T, address, user string, o ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect("nats://"+user+":"+user+"@"+address, append(o, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must(t, err)
	return js
}

// publishAs stores events of an account as a replica does.
func publishAs(t *testing.T, js jetstream.JetStream, account string, n int) {
	t.Helper()
	for i := range n {
		_, err := js.Publish(t.Context(), "fastio.events."+account+".workspace.1.workspace", fmt.Appendf(nil, `{"event_id": "e%d"}`, i))
		must(t, err)
	}
}

// The customer of the guide can read its own events, and nothing else.
func TestCustomerOfTheGuideReadsItsOwnEvents(t *testing.T) {
	t.Parallel()
	address := startGuideServer(t)
	all := dial(t, address, "all")
	must(t, relay.Stream{JetStream: all}.Create(t.Context()))
	publishAs(t, all, "acme", 3)
	publishAs(t, all, "other", 3)
	js := dial(t, address, "acme", nats.CustomInboxPrefix("_INBOX_acme"))
	mine := jetstream.ConsumerConfig{
		Durable: "acme", FilterSubject: "fastio.events.acme.>", AckPolicy: jetstream.AckExplicitPolicy,
	}
	consumer, err := js.CreateOrUpdateConsumer(t.Context(), "FASTIO", mine)
	must(t, err)
	batch, err := consumer.Fetch(10, jetstream.FetchMaxWait(time.Second))
	must(t, err)
	n := 0
	for m := range batch.Messages() {
		must(t, m.DoubleAck(t.Context()))
		n++
	}
	if n != 3 {
		t.Errorf("%d of 3 events", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // NATS does not answer what it refuses
	defer cancel()
	foreign, everything, several := mine, mine, mine
	foreign.FilterSubject, everything.FilterSubject, several.FilterSubject = "fastio.events.other.>", "", ""
	several.FilterSubjects = []string{"fastio.events.acme.>", "fastio.events.other.>"}
	tries := map[string]func() error{
		"a stream": func() error { _, err := js.Stream(ctx, "FASTIO"); return err },
		"an event": func() error {
			_, err := js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET.FASTIO", []byte(`{"seq": 5}`))
			return err
		},
		"an event by a direct request": func() error {
			_, err := js.Conn().RequestWithContext(ctx, "$JS.API.DIRECT.GET.FASTIO", []byte(`{"seq": 5}`))
			return err
		},
		"credentials": func() error { _, err := js.KeyValue(ctx, "fastio-relay"); return err },
		"publishing": func() error {
			_, err := js.Publish(ctx, "fastio.events.other.workspace.1.workspace", nil)
			return err
		},
	}
	for what, c := range map[string]jetstream.ConsumerConfig{"another account": foreign, "all": everything, "several": several} {
		tries["a consumer of "+what] = func() error { _, err := js.CreateOrUpdateConsumer(ctx, "FASTIO", c); return err }
	}
	var wg sync.WaitGroup
	for what, try := range tries {
		wg.Go(func() {
			if try() == nil {
				t.Errorf("the customer can use %s", what)
			}
		})
	}
	wg.Wait()
	replies, err := js.Conn().SubscribeSync("_INBOX.>")
	must(t, err)
	must(t, js.Conn().Flush())
	_, err = all.Stream(t.Context(), "FASTIO")
	must(t, err)
	if m, err := replies.NextMsg(300 * time.Millisecond); err == nil {
		t.Errorf("the customer reads the reply %s", m.Subject)
	}
}

// The permissions of the guide suffice to add, change and delete accounts, and not to publish events.
func TestProductOfTheGuideManagesAccounts(t *testing.T) {
	t.Parallel()
	address, ctx := startGuideServer(t), t.Context()
	all := dial(t, address, "all")
	must(t, relay.Stream{JetStream: all}.Create(ctx))
	var c consumed
	o := relay.ConsumeOptions{Stream: relay.Stream{JetStream: all}, Name: "index", Account: "acme", Ordered: true, Tries: 1}
	stop := c.consume(t, o, func(relay.Message[events.Event]) error { return errors.New("no") })
	publishAs(t, all, "acme", 2)
	eventually(t, "2 dead letters", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.dead) == 2 })
	stop()
	product := dial(t, address, "product")
	accounts := relay.Accounts{Stream: relay.Stream{JetStream: product}, Keys: newKeys()}
	account := relay.Account{Name: "acme", APIKey: api.NewSecret("key"), Profiles: []api.Profile{api.Workspace("4012345678901234567")}}
	must(t, accounts.Add(ctx, account))
	must(t, accounts.Update(ctx, account))
	must(t, accounts.Pause(ctx, "acme"))
	_, err := accounts.Status(ctx, "acme")
	must(t, err)
	must(t, accounts.Delete(ctx, "acme", &relay.DeleteOptions{Purge: true}))
	if letters := deadLettersLeft(t, all); letters != 0 {
		t.Errorf("%d dead letters are left", letters)
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := product.Publish(short, "fastio.events.acme.workspace.1.workspace", nil); err == nil {
		t.Error("the product can publish events")
	}
}

// deadLettersLeft returns the number of dead letters.
func deadLettersLeft(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	stream, err := js.Stream(t.Context(), "FASTIO-DEAD")
	must(t, err)
	return stream.CachedInfo().State.Msgs
}

// Consume reads the events of one account, or of all.
func TestConsumeOfAnAccount(t *testing.T) {
	t.Parallel()
	js, _ := connect(t, startServer(t))
	stream := relay.Stream{JetStream: js}
	must(t, stream.Create(t.Context()))
	publishAs(t, js, "acme", 3)
	publishAs(t, js, "other", 3)
	_, err := js.Publish(t.Context(), "fastio.events.workspace.1.workspace", []byte(`{"event_id": "x"}`))
	must(t, err)
	for name, o := range map[string]struct {
		relay.ConsumeOptions
		want int
	}{
		"one":     {relay.ConsumeOptions{Account: "acme"}, 3},
		"ordered": {relay.ConsumeOptions{Account: "acme", Ordered: true}, 3},
		"every":   {relay.ConsumeOptions{Account: relay.AllAccounts}, 6},
		"all":     {relay.ConsumeOptions{Account: relay.AllAccounts, Ordered: true}, 6},
		"none":    {relay.ConsumeOptions{}, 1},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var got []string
		o.Stream, o.Name = stream, name
		done := make(chan error, 1)
		go func() {
			done <- relay.Consume(ctx, o.ConsumeOptions, func(_ context.Context, m relay.Message[events.Event]) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, m.Account+" "+m.Subject)
				return nil
			})
		}()
		eventually(t, name, func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= o.want })
		cancel()
		<-done
		if name == "none" && got[0] != " fastio.events.workspace.1.workspace" || len(got) != o.want || o.Account == "acme" && slices.ContainsFunc(got, func(s string) bool { return !strings.HasPrefix(s, "acme fastio.events.acme.") }) {
			t.Errorf("%s: got %q", name, got)
		}
	}
	for _, o := range []relay.ConsumeOptions{{Account: "org"}, {Account: " "}} {
		o.Stream, o.Name = stream, "x"
		err := relay.Consume(t.Context(), o, func(context.Context, relay.Message[events.Event]) error { return nil })
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "ConsumeOptions.Account" {
			t.Errorf("%q: the error is %v", o.Account, err)
		}
	}
}
