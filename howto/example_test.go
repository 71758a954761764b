package howto_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/howto"
)

// A question that is too short gets a clarification.
func Example() {
	s := fastiotest.New() // a fake of the platform
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	for _, question := range []string{"Help?", "How do I list metadata fields?"} {
		reply, err := client.HowTo.Ask(context.Background(), howto.Question{Text: question})
		if err != nil {
			log.Fatal(err)
		}
		switch r := reply.(type) {
		case *howto.Answer:
			fmt.Print(r.Text)
		case *howto.Clarification:
			fmt.Println("asked back:", len(r.Questions) > 0)
		}
	}
	// Output:
	// asked back: true
	// - Call `GET /current/workspace/{workspace_id}/metadata/fields/`.
}
