package ai_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Ask a question about the files of a workspace, then another about one file.
func Example() {
	s := fastiotest.New() // a fake of the platform
	docks := s.AddWorkspace(seed.Workspace{Name: "Docks"})
	lease := s.AddNode(
		seed.Node{Profile: docks.ID, Name: "lease.txt", Content: "The lease of Dock 4 ends on 31 May."},
	)

	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, workspace := context.Background(), api.Workspace(api.ID(docks.ID))
	turn, err := client.AI.Ask(ctx, workspace, ai.Question{Text: "When does the lease end?"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Answer)
	for i, citation := range turn.Citations {
		fmt.Printf("[%d] %s\n", i+1, citation.Name)
	}
	turn, err = client.AI.Ask(ctx, workspace, ai.Question{
		Text: "Of which dock?", Subjects: []ai.Reference{ai.File(api.OpaqueID(lease.ID))},
	}, &ai.AskOptions{Thread: turn.ThreadID})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("turn", turn.Seq, turn.Status)
	// Output:
	// From the files of Docks:
	//
	// The lease of Dock 4 ends on 31 May. [1]
	// [1] lease.txt
	// turn 2 complete
}

// The answer is printed while it is written. A program that was interrupted resumes
// with the IDs of the turn.
func ExampleService_Ask() {
	s := fastiotest.New()
	s.Script(seed.Script{Text: "The Dock 4 lease, on 31 May."})
	docks := s.AddWorkspace(seed.Workspace{Name: "Docks"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, crash := context.WithCancel(context.Background())
	question := ai.Question{Text: "Which lease ends first?"}
	_, err = client.AI.Ask(ctx, api.Workspace(api.ID(docks.ID)), question, &ai.AskOptions{
		OnTurn: func(_ context.Context, _ *ai.Turn) { crash() },
	})
	interrupted, ok := errors.AsType[*ai.TurnError](err)
	if !ok {
		fmt.Println(err)
		return
	}
	show := &ai.AskOptions{Text: os.Stdout}
	thread, last := interrupted.ThreadID, interrupted.TurnID
	_, err = client.AI.Resume(context.Background(), api.Workspace(api.ID(docks.ID)), thread, last, show)
	fmt.Println(err)
	// Output:
	// The Dock 4 lease, on 31 May.<nil>
}
