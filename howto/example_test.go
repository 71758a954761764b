package howto_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/howto"
)

func Example() {
	s := fastiotest.New() // a fake of the platform
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	reply, err := client.HowTo.Ask(ctx, howto.Question{Text: "How do I list metadata fields?"})
	if err != nil {
		log.Fatal(err)
	}
	switch r := reply.(type) {
	case *howto.Answer:
		fmt.Print(r.Text)
	case *howto.Clarification:
		fmt.Println(r.Questions)
	}
	// Output:
	// - Call `GET /current/workspace/{workspace_id}/metadata/fields/`.
}
