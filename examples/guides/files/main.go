// Files uploads a folder to the first workspace, replaces a file in it safely, downloads the
// folder, and moves it to the trash.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/uploads"
)

func main() {
	client, err := fastio.FromEnv() // FASTIO_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for workspace, err := range client.Workspaces.All(ctx, nil) {
		if err == nil {
			err = transfer(ctx, client, api.Workspace(workspace.ID))
		}
		if err != nil {
			log.Fatal(err)
		}
		break // the first one is enough
	}
}

// transfer uploads the folder mills, replaces a file on the server, downloads the folder as copy, and deletes it there.
func transfer(ctx context.Context, client *fastio.Client, in api.Profile) error {
	if err := os.MkdirAll("mills/photos", 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"mills/plan.txt": "A mill of brass.", "mills/photos/wheel.txt": "A wheel."} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	up, err := client.Uploads.Dir(ctx, uploads.Target{Profile: in, Path: "mills/"}, "mills", nil)
	if err != nil {
		return err
	}
	fmt.Println("uploaded:", up.Done)

	folder, err := client.Storage.Find(ctx, in, api.Root, "mills")
	if err != nil {
		return err
	}
	plan, err := client.Storage.Find(ctx, in, folder.ID, "plan.txt")
	if err != nil {
		return err
	}
	better := "A mill of iron."
	unchanged := uploads.Target{Profile: in, File: plan.ID, IfVersion: plan.Version} // else an api.ErrConflict
	_, err = client.Uploads.ReaderAt(ctx, unchanged, plan.Name, strings.NewReader(better), int64(len(better)), nil)
	if err != nil {
		return err
	}

	down, err := client.Storage.DownloadDir(ctx, in, folder.ID, "copy", nil)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join("copy", "plan.txt"))
	if err != nil {
		return err
	}
	fmt.Printf("downloaded: %d, plan.txt: %s\n", down.Done, text)
	return client.Storage.Delete(ctx, in, folder.ID)
}
