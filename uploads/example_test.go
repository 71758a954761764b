package uploads_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/uploads"
)

func Example() {
	server := fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = -1 })
	room := server.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	client, err := fastio.New(server.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, content := context.Background(), strings.NewReader("Brass and steel.")
	target := uploads.Target{Profile: api.Workspace(design), Path: "2026/parts/"}
	node, err := client.Uploads.ReaderAt(ctx, target, "mill.txt", content, content.Size(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(node.Name, node.Size)
	// Output: mill.txt 16
}
