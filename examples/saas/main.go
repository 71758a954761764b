// Saas is a product with many customers. Each of them connects an account of Fast.io on a
// web page, sees its latest events there, and disconnects it again.
//
//	go run ./examples/saas
//
// starts an emulator of the platform with five invented customers, a NATS server and the
// product in one process, and prints the address of the page and how to sign in. Ctrl-C ends
// it. It needs no network and no account: the servers listen on the loopback interface.
//
//   - site.go has the pages, and the sign-in with a redirect, a state and PKCE.
//   - customers.go has what happens to a customer: connect, follow, disconnect.
//   - main.go has what a real product configures instead: the servers and the customers.
//
// The relay follows the logs of all customers, each with its own sign-in and within its own
// rate limits. The directory of the customers, their encrypted sign-ins and their events are
// in NATS, so that any number of processes can share the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// runDemo never returns nil: it ends when it is interrupted, or fails.
	if err := runDemo(ctx, (*demo).explain); !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// demo is the product with a platform, and invented customers who have a workspace each.
type demo struct {
	product  *product
	platform *fastiotest.Server
	owners   []seed.User
	rooms    []seed.Workspace // of the owners, in their order
}

// runDemo runs the product until ctx is done or a part fails, and returns that error, never
// nil. It calls started when the product can be used. The NATS server is only for this process.
func runDemo(ctx context.Context, started func(d *demo)) error {
	d := newDemo()
	web := httptest.NewServer(d.platform)
	defer web.Close()
	dir, err := os.MkdirTemp("", "saas")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	o := &server.Options{ServerName: "saas", DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir}
	ns, err := server.NewServer(o)
	if err != nil {
		return err
	}
	ns.Start()
	defer ns.WaitForShutdown()
	defer ns.Shutdown()
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	platform := strings.Replace(web.URL, "127.0.0.1", "localhost", 1) // another site than the page, as in production
	d.product, err = newProduct(ctx, platform, listener, relay.Stream{JetStream: js})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	started(d)
	go d.addFiles(ctx)
	return d.product.run(ctx)
}

// newDemo invents the customers: each is the owner of an organization with a workspace.
func newDemo() *demo {
	d := &demo{platform: fastiotest.New()}
	for _, name := range []string{"Anna", "Bo", "Chiara", "Dan", "Eve"} {
		owner := d.platform.AddUser(seed.User{FirstName: name, Email: strings.ToLower(name) + "@example.test"})
		org := d.platform.AddOrg(seed.Org{Name: name + " & Sons", Owner: owner.ID})
		d.owners = append(d.owners, owner)
		d.rooms = append(d.rooms, d.platform.AddWorkspace(seed.Workspace{Org: org.ID, Name: org.Name}))
	}
	return d
}

// addFiles adds a file to one workspace after the other until ctx is done.
func (d *demo) addFiles(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		i := n % len(d.rooms)
		d.platform.AddEvent(seed.Event{
			Name: string(events.NameWorkspaceStorageFileAdded), ObjectName: fmt.Sprintf("plan %d.pdf", n+1),
			Workspace: d.rooms[i].ID, CallingUser: d.owners[i].ID,
		})
		<-time.After(500 * time.Millisecond)
	}
}

// explain prints how to use the demo.
func (d *demo) explain() {
	fmt.Printf("Open %s and connect one of these customers:\n", d.product.home)
	for _, owner := range d.owners {
		fmt.Println(" ", owner.Email)
	}
	fmt.Printf("The password of each is: %s\nCtrl-C ends the demo.\n", seed.DefaultPassword)
}
