// Hello prints what happened to the signed-in user.
//
//	FASTIO_API_KEY=... go run ./examples/hello
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

func main() {
	client, err := fastio.FromEnv() // FASTIO_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	me, err := client.Account.Me(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range client.Events.All(ctx, events.Query{Profile: api.User(me.ID)}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Created, event.Description)
	}
}
