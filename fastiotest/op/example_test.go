package op_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// A search fails once, and is repeated by the client.
func Example() {
	server := fastiotest.New()
	server.Fail(seed.Fault{Op: op.EventsSearch, Status: http.StatusServiceUnavailable, Count: 1})
	client, err := fastio.New(server.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Events.Search(context.Background(), events.Query{Profile: api.Org(api.ID(server.Org().ID))})
	fmt.Println(len(server.Requests()), err)
	// Output: 2 <nil>
}
