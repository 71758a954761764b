// Transfer uploads a large file to a workspace, or downloads it from there. It may be
// killed at any moment: started again, it continues with what is missing.
//
//	go run ./examples/transfer -put video.mov
//	go run ./examples/transfer -get video.mov -dir copy
//
// Without configuration it does both with an emulator of its own, and is killed in each.
// With FASTIO_API_KEY set, and FASTIO_BASE_URL if need be, it runs against the real
// service, in the first workspace of the user.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

func main() {
	file := flag.String("put", "", "the file to upload")
	name := flag.String("get", "", "the name of the file to download")
	dir := flag.String("dir", ".", "the directory to download to")
	sessions := flag.String("sessions", ".", "the directory with what the next run needs to continue an upload")
	flag.Parse()
	show.Main(func(ctx context.Context) error {
		client, err := fastio.FromEnv(fastio.WithLogger(slog.Default()))
		if errors.Is(err, fastio.ErrNoToken) {
			return demonstrate(ctx, os.Stdout, os.Stderr)
		}
		if err != nil {
			return err
		}
		defer client.CloseIdleConnections()
		workspace, err := show.First(ctx, client)
		bar := show.Bytes(os.Stderr, "transfer")
		if err == nil && *file != "" {
			err = put(ctx, client, api.Workspace(workspace), *file, *sessions, bar)
		}
		if err == nil && *name != "" {
			err = get(ctx, client, api.Workspace(workspace), *name, *dir, bar)
		}
		bar.End()
		return err
	})
}

// put uploads a file, or the rest of it after an interruption.
func put(ctx context.Context, client *fastio.Client, in api.Profile, file, sessions string, bar *show.Bar) error {
	_, err := client.Uploads.File(ctx, uploads.Target{Profile: in}, file, &uploads.FileOptions{
		Sessions: uploads.FileStore(sessions), OnProgress: bar.On,
	})
	return err
}

// get downloads a file to dir, or the rest of it after an interruption. DownloadFile compares the hash.
func get(ctx context.Context, client *fastio.Client, in api.Profile, name, dir string, bar *show.Bar) error {
	node, err := client.Storage.Find(ctx, in, api.Root, name)
	if err != nil {
		return err
	}
	_, err = client.Storage.DownloadFile(ctx, in, node.ID, dir, &storage.DownloadOptions{OnProgress: bar.On})
	return err
}
