package rclone_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/config"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	_ "github.com/fastio-go/fastio/rclone"
)

// A program lists a folder of a workspace by the remote of a configuration.
func Example() {
	server := fastiotest.New()
	room := server.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	plans := server.AddNode(seed.Node{Profile: room.ID, Kind: "folder", Name: "plans"})
	server.AddNode(seed.Node{Profile: room.ID, Parent: plans.ID, Name: "loom.txt", Content: "Two looms."})
	web := httptest.NewServer(server)
	defer web.Close()
	config.LoadedData().SetValue("fastio", "type", "fastio")
	config.LoadedData().SetValue("fastio", "url", web.URL)
	config.LoadedData().SetValue("fastio", "api_key", server.Token())

	ctx := context.Background()
	remote, err := fs.NewFs(ctx, "fastio:analytical/design/plans")
	if err != nil {
		fmt.Println(err)
		return
	}
	entries, err := remote.List(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range entries {
		fmt.Println(e.Remote(), e.Size())
	}
	// Output: loom.txt 10
}
