package shares_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/shares"
)

// Create a portal with a password, open it as a visitor without an account, and delete
// it.
func Example() {
	s := fastiotest.New() // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Books"})
	books := api.ID(room.ID)
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	portal, err := client.Shares.Create(ctx, books, shares.CreateRequest{
		Title: "Q4 pack", CustomName: "q4pack", Access: shares.AccessAnyone,
		Password:         api.NewSecret("0p3n s3sam3"),
		DownloadSecurity: shares.DownloadSecurityMedium,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(portal.URL())
	s.AddNode(seed.Node{Profile: string(portal.ID), Name: "q4.pdf"})

	visitor, err := fastio.New(fastio.WithBaseURL("http://fastio.localhost"),
		fastio.WithHTTPClient(&http.Client{Transport: s}))
	if err != nil {
		log.Fatal(err)
	}
	token, err := visitor.Shares.AuthPassword(ctx, portal.ID, api.NewSecret("0p3n s3sam3"))
	if err != nil {
		log.Fatal(err)
	}
	public, err := visitor.Shares.GetPublic(ctx, portal.ID, api.WithLinkToken(token))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(token.Secret)
	fmt.Println(public.Share.Title, public.Share.Level, public.Nodes[0].Name)

	if err := client.Shares.Delete(ctx, portal.ID); err != nil {
		log.Fatal(err)
	}
	_, err = client.Shares.Get(ctx, portal.ID)
	fmt.Println(errors.Is(err, api.ErrNotFound))
	// Output:
	// https://go.fast.io/shared/q4pack
	// [redacted]
	// Q4 pack public q4.pdf
	// true
}

// An update sets or clears the fields that it has.
func ExampleService_Update() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Books"})
	books := api.ID(room.ID)
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	portal, err := client.Shares.Create(ctx, books, shares.CreateRequest{
		Title: "Q4 pack", Description: "All that belongs to it.", Access: shares.AccessAnyone,
		Password: api.NewSecret("0p3n s3sam3"),
	})
	if err != nil {
		log.Fatal(err)
	}
	err = client.Shares.Update(ctx, portal.ID, shares.UpdateRequest{
		Title: api.Set("Q1 pack"), Password: api.Null[api.Secret](), GuestChatEnabled: new(true),
	})
	if err != nil {
		log.Fatal(err)
	}
	now, err := client.Shares.Get(ctx, portal.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s %t %t\n", now.Title, now.Description, now.Password.IsZero(), *now.GuestChatEnabled)

	// An empty value does not clear a field.
	err = client.Shares.Update(ctx, portal.ID, shares.UpdateRequest{Description: api.Set("")})
	fmt.Println(err)
	// Output:
	// Q1 pack: All that belongs to it. true true
	// fastio: shares.Update: UpdateRequest.Description must be 10 to 500 characters, got 0
}
