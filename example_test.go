package fastio_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

func Example() {
	s := fastiotest.New() // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Marketing"})
	s.AddEvent(seed.Event{
		Name: "workspace_storage_file_added", Workspace: room.ID, Description: "Ada added logo.svg",
	})

	client, err := fastio.New(s.ClientOptions()...) // in a program: fastio.WithToken(token)
	if err != nil {
		fmt.Println(err)
		return
	}
	query := events.Query{Profile: api.Workspace(api.ID(room.ID))}
	for event, err := range client.Events.All(context.Background(), query) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(event.Description)
	}

	// Output:
	// Ada added logo.svg
}

// errors.Is distinguishes kinds of failure; errors.AsType gives details.
func Example_errors() {
	client, err := fastio.New(fastiotest.New().ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()

	_, err = client.Workspaces.Get(ctx, "marketing")
	fmt.Println("not found:", errors.Is(err, api.ErrNotFound))
	if refusal, ok := errors.AsType[*api.Error](err); ok {
		fmt.Println("status", refusal.Status, "of", refusal.Op)
	}

	_, err = client.Events.Search(ctx, events.Query{Profile: api.User(api.Me), Limit: 1000})
	fmt.Println("invalid:", errors.Is(err, api.ErrInvalid))
	fmt.Println(err)

	// Output:
	// not found: true
	// status 404 of workspaces.Get
	// invalid: true
	// fastio: events.Search: Query.Limit must be 1 to 250, got 1000
}

// An endpoint takes one statement, with or without a method.
func ExampleClient_Call() {
	s := fastiotest.New()
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, id := context.Background(), api.ID(s.Org().ID)
	var details struct {
		Org struct {
			Name string `json:"name"`
		} `json:"org"`
	}
	err = client.Call(ctx, api.Get("/current/org/{org_id}/details/", id), &details)
	fmt.Println(details.Org.Name, err)

	// Output:
	// Analytical Engines <nil>
}

// A wait that is longer than the program allows is an error.
func Example_limits() {
	s := fastiotest.New()
	s.Fail(seed.Fault{Status: http.StatusTooManyRequests, Params: map[string]any{"retry_after_seconds": 600}})

	client, err := fastio.New(append(s.ClientOptions(), fastio.WithMaxWait(time.Minute))...)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Account.Me(context.Background())
	if refusal, ok := errors.AsType[*api.Error](err); ok && errors.Is(err, api.ErrRateLimited) {
		fmt.Println("come back in", refusal.Rate.RetryAfter.Round(time.Minute))
	}

	// Output:
	// come back in 10m0s
}

// Middleware sees every attempt before it is signed.
func ExampleWithMiddleware() {
	count := func(next http.RoundTripper) http.RoundTripper {
		return middleware(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if call, ok := fastio.CallFromContext(r.Context()); ok && err == nil {
				fmt.Println(call.Op, call.Route, resp.StatusCode)
			}
			return resp, err
		})
	}
	client, err := fastio.New(append(fastiotest.New().ClientOptions(), fastio.WithMiddleware(count))...)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := client.Workspaces.Get(context.Background(), "marketing"); err != nil {
		fmt.Println("not found:", errors.Is(err, api.ErrNotFound))
	}

	// Output:
	// workspaces.Get /current/workspace/{workspace_id}/details/ 404
	// not found: true
}
