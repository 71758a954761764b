package ai_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Print an answer while it is written, stop another one, and list the conversations with
// their questions.
func Example_conversations() {
	s := fastiotest.New() // a fake of the platform
	docks := s.AddWorkspace(seed.Workspace{Name: "Docks"})
	s.AddNode(seed.Node{Profile: docks.ID, Name: "lease.txt", Content: "The lease of Dock 4 ends on 31 May."})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, in := context.Background(), api.Workspace(api.ID(docks.ID))
	show := &ai.AskOptions{Name: "Leases", Text: os.Stdout}
	turn, err := client.AI.Ask(ctx, in, ai.Question{Text: "When does the lease end?"}, show)
	if err != nil {
		log.Fatal(err)
	}
	stoppable, stop := context.WithCancel(ctx)
	_, err = client.AI.Ask(stoppable, in, ai.Question{Text: "And which leases did we have before?"}, &ai.AskOptions{
		Thread: turn.ThreadID, CancelTurn: true, OnEvent: func(context.Context, *ai.StreamEvent) { stop() },
	})
	fmt.Println("\n\nstopped:", err)
	for thread, err := range client.AI.Threads.All(ctx, in, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(thread.Name)
		for turn, err := range client.AI.Turns.All(ctx, in, thread.ID, nil) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(turn.Seq, turn.Question, turn.Status)
		}
	}
	// Output:
	// From the files of Docks:
	//
	// The lease of Dock 4 ends on 31 May. [1]
	//
	// stopped: fastio: ai.Ask: waiting for the turn: context canceled
	// Leases
	// 1 When does the lease end? complete
	// 2 And which leases did we have before? cancelled
}
