package fileshares_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/fileshares"
)

// Share a file with one person, who downloads and replaces it.
func Example() {
	ctx := context.Background()
	s := fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = -1 }) // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	file := api.OpaqueID(s.AddNode(seed.Node{Profile: room.ID, Name: "plan.txt", Content: "A mill of brass."}).ID)
	bo := s.AddUser(seed.User{Email: "bo@example.com"})

	owner, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	password := api.NewSecret("correct horse")
	link, err := owner.FileShares.Create(ctx, design, fileshares.CreateRequest{
		NodeID: file, Access: fileshares.AccessNamedPeople, Password: password,
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = owner.FileShares.Grants.Set(ctx, link.ID, "bo@example.com", fileshares.CapabilityEdit)
	if err != nil {
		log.Fatal(err)
	}

	guest, err := fastio.New(append(s.ClientOptions(), fastio.WithToken(s.AddKey(seed.Key{User: bo.ID}).Token))...)
	if err != nil {
		log.Fatal(err)
	}
	unlock := api.WithLinkPassword(password)
	var text bytes.Buffer
	got, err := guest.FileShares.DownloadTo(ctx, api.ID(link.PublicID), &text, nil, unlock)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Name, got.Bytes, text.String())

	better := strings.Replace(text.String(), "brass", "iron", 1)
	node, err := guest.FileShares.Replace(ctx, link.ID, fileshares.ReplaceRequest{
		Content: strings.NewReader(better), Size: int64(len(better)), IfVersion: got.Version,
	}, unlock)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(node.Name, node.Size, node.Version != got.Version)
	// Output:
	// plan.txt 16 A mill of brass.
	// plan.txt 15 true
}

// A conflict has the version that the file has in the meantime.
func ExampleService_Replace() {
	ctx := context.Background()
	s := fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = -1 })
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	file := s.AddNode(seed.Node{Profile: room.ID, Name: "plan.txt", Content: "A mill."})
	link := s.AddFileShare(seed.FileShare{Node: file.ID, Owner: s.User().ID})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	read, err := client.FileShares.Get(ctx, api.ID(link.ID))
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"A mill of brass.", "A mill of iron."} {
		_, err := client.FileShares.Replace(ctx, api.ID(link.ID), fileshares.ReplaceRequest{
			Content: strings.NewReader(text), Size: int64(len(text)), IfVersion: read.File.Version,
		})
		conflict, ok := errors.AsType[*api.VersionConflictError](err)
		fmt.Println(err == nil, ok && conflict.Current != read.File.Version, errors.Is(err, api.ErrConflict))
	}
	// Output:
	// true false false
	// false true true
}

// Other areas take the numeric ID of a File Share.
func ExampleService_All() {
	ctx := context.Background()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	file := s.AddNode(seed.Node{Profile: room.ID, Name: "plan.txt", Content: "A mill."})
	s.AddFileShare(seed.FileShare{Node: file.ID, Owner: s.User().ID, Title: "The plan", CommentsEnabled: true})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	for link, err := range client.FileShares.All(ctx, design, nil) {
		if err != nil {
			log.Fatal(err)
		}
		if _, err := client.Comments.Create(
			ctx, comments.OnNode(api.FileShare(link.ID), link.File.ID), comments.CreateRequest{Body: "Which metal?"},
		); err != nil {
			log.Fatal(err)
		}
		said, err := client.Comments.List(ctx, comments.OnNode(api.FileShare(link.ID), link.File.ID), nil)
		if err != nil {
			log.Fatal(err)
		}
		token, err := client.Realtime.SocketToken(ctx, api.FileShare(link.ID))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(link.Title, link.File.Name, said.Comments[0].Body, !token.Value.IsZero())
	}
	// Output:
	// The plan plan.txt Which metal? true
}
