package comments_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Ask a colleague about a page, reply, and read the thread.
func Example() {
	s := fastiotest.New() // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	plan := api.OpaqueID(s.AddNode(seed.Node{Profile: room.ID, Name: "plan.pdf"}).ID)
	charles := api.ID(s.AddUser(seed.User{FirstName: "Charles"}).ID)
	s.SetMember(room.ID, string(charles), seed.Member)

	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	onPlan := comments.OnNode(api.Workspace(design), plan)
	question, err := client.Comments.Create(ctx, onPlan, comments.CreateRequest{
		Body:      comments.Mention(charles, "Charles") + ", is this right?",
		Reference: comments.PageAnchor(7, "net 30 days"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("notified:", len(question.Mentions))
	_, err = client.Comments.Create(ctx, onPlan, comments.CreateRequest{Body: "It is. Ship it!", ParentID: question.ID})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Comments.React(ctx, question.ID, "👍"); err != nil {
		log.Fatal(err)
	}
	for c, err := range client.Comments.All(ctx, onPlan, nil) {
		if err != nil {
			log.Fatal(err)
		}
		text := comments.PlainText(c.Body)
		switch {
		case c.ParentID != "":
			fmt.Println("  -", text)
		case c.Reference != nil:
			fmt.Println("- on page", c.Reference.Page, text, c.Reactions)
		}
	}
	// Output:
	// notified: 1
	// - on page 7 @Charles, is this right? map[👍:1]
	//   - It is. Ship it!
}

// Anchor a comment to a time in a video. The platform refuses a body that is too long.
func ExampleService_Create() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	on := comments.On(api.Workspace(design))
	_, err = client.Comments.Create(context.Background(), on, comments.CreateRequest{
		Body:      strings.Repeat("Cut! ", 200),
		Reference: comments.VideoAnchor(81250*time.Millisecond, &comments.Region{X: 0.5, Y: 0.5, Width: 0.2, Height: 0.2}),
	})
	if errors.Is(err, api.ErrInvalid) {
		fmt.Println("say it in 500 characters")
	}
	// Output:
	// say it in 500 characters
}
