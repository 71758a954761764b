package api_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
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
