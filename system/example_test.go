package system_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
)

func Example() {
	s := fastiotest.New() // a fake of the platform
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	health, err := client.System.Ping(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(health.Service)
	// Output:
	// fast.io
}
