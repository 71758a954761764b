package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/workspaces"
)

func Example() {
	client, err := fastio.New(fastiotest.New().ClientOptions()...) // a fake of the platform
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	get := func() {
		_, err := client.Workspaces.Get(ctx, "marketing")
		if errors.Is(err, api.ErrNotFound) {
			fmt.Println("there is no such workspace")
		}
		if refusal, ok := errors.AsType[*api.Error](err); ok {
			fmt.Println("status", refusal.Status, "of", refusal.Op)
		}
	}
	get()
	// Output:
	// there is no such workspace
	// status 404 of workspaces.Get
}

// answers is a fake of the platform: the JSON of its answers by operation.
type answers map[string]string

func (a answers) Call(_ context.Context, r *api.Request, out any, _ ...api.CallOption) error {
	answer, ok := a[r.Op]
	if !ok {
		return &api.Error{Op: r.Op, Status: http.StatusNotFound}
	}
	return json.Unmarshal([]byte(answer), out)
}

func (answers) Open(_ context.Context, r *api.Request, _ ...api.CallOption) (*http.Response, error) {
	return nil, errors.New(r.Op + " has no answer")
}

// A Service of any area over a Client of the test, in place of an interface to fake.
func ExampleClient() {
	fake := answers{"workspaces.Get": `{"workspace": {"id": "4012345678901234567", "name": "Design"}}`}
	service := workspaces.New(fake)
	ctx := context.Background()
	workspace, err := service.Get(ctx, "design")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(workspace.Name)
	fmt.Println(service.Archive(ctx, "design"))
	// Output:
	// Design
	// fastio: workspaces.Archive: Not Found (status 404)
}
