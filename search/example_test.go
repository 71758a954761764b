package search_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/search"
)

// Search a workspace by meaning, then one folder by keyword.
func Example() {
	s := fastiotest.New() // a fake of the platform
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Docks"})
	leases := s.AddNode(fastiotest.Node{Profile: room.ID, Name: "Leases", Kind: "folder"})
	s.AddNode(fastiotest.Node{
		Profile: room.ID, Parent: leases.ID, Kind: "note", Name: "dock 4.md", Content: "The lease ends on 31 May.",
	})
	s.AddNode(fastiotest.Node{
		Profile: room.ID, Parent: leases.ID, Kind: "note", Name: "dock 5.md",
		Content: "The crane is broken. The lease ends in autumn.",
	})
	s.AddNode(fastiotest.Node{Profile: room.ID, Kind: "note", Name: "meals.md", Content: "Soup on Monday."})

	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for hit, err := range client.Search.All(ctx, api.Workspace(room.ID), search.Query{Text: "broken crane"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(hit.Name, hit.MatchSource, hit.Snippet)
	}
	result, err := client.Search.Files(ctx, api.Workspace(room.ID), search.Query{
		Text: "lease", Within: []search.Scope{search.InFolder(leases.ID, 1)}, Limit: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Hits[0].Name, result.Pagination.Total, result.Gaps)
	// Output:
	// dock 5.md both The crane is broken. The lease ends in autumn.
	// dock 4.md 2 []
}

// A successful search reports its gaps.
func ExampleResult() {
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Docks", NoIntelligence: true})
	s.AddNode(fastiotest.Node{Profile: room.ID, Name: "lease of dock 4.pdf"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	result, err := client.Search.Files(context.Background(), api.Workspace(room.ID), search.Query{Text: "lease"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Hits[0].Name, result.Gaps)
	// Output:
	// lease of dock 4.pdf [semantic]
}
