package oauth_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
)

// A desktop program: it signs its user in through the browser, mentions a colleague, and
// shows comments and other changes as they happen. A second run needs no browser.
func Example_live() {
	platform := fastiotest.New() // a fake of the platform, its user and the browser
	server := httptest.NewServer(platform)
	defer server.Close()
	room := platform.AddWorkspace(seed.Workspace{Name: "Design"})
	grace := platform.AddUser(seed.User{FirstName: "Grace"})
	platform.SetMember(room.ID, grace.ID, seed.Member)
	dir, err := os.MkdirTemp("", "desktop")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := api.Workspace(api.ID(room.ID))
	config := oauth.Config{
		BaseURL: server.URL, ClientName: "Acme Watch", OpenBrowser: platform.SignIns.OpenBrowser,
		Store: oauth.FileStore{Path: filepath.Join(dir, "tokens"), Keys: oauth.KeyFile(filepath.Join(dir, "key"))},
	}
	source, _, err := oauth.LoginIfNeeded(ctx, config)
	if err != nil {
		log.Panic(err)
	}
	client, err := fastio.New(fastio.WithTokenSource(source))
	if err != nil {
		log.Panic(err)
	}
	changes, err := client.Realtime.Subscribe(ctx, in, nil)
	if err != nil {
		log.Panic(err)
	}
	defer func() { _ = changes.Close() }()
	mention := comments.CreateRequest{Body: comments.Mention(api.ID(grace.ID), "Grace") + ", is this right?"}
	if _, err := client.Comments.Create(ctx, comments.On(in), mention); err != nil {
		log.Panic(err)
	}
	for change, err := range changes.Changes() {
		if err != nil {
			log.Panic(err)
		}
		fmt.Println("changed:", change.Field)
		break
	}
	for comment, err := range client.Comments.Watch(ctx, comments.On(in), &comments.WatchOptions{Since: time.Now().Add(-time.Minute)}) {
		if err != nil {
			log.Panic(err)
		}
		fmt.Println("new comment:", comments.PlainText(comment.Body))
		break
	}
	config.OpenMode = oauth.OpenModeNone // the stored tokens suffice
	_, _, err = oauth.LoginIfNeeded(ctx, config)
	fmt.Println("second run and sign-out:", err, oauth.SignOut(ctx, config))
	// Output:
	// changed: comments
	// new comment: @Grace, is this right?
	// second run and sign-out: <nil> <nil>
}
