package storage_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/uploads"
)

// Read the text of a file as an AI does, and replace the file while it is locked, unless
// it has changed since its text was extracted.
func Example_edit() {
	s := fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = -1 }) // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	plan := s.AddNode(seed.Node{Profile: room.ID, Name: "plan.txt", Content: "Wheels: 24"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, in, file := context.Background(), api.Workspace(api.ID(room.ID)), api.OpaqueID(plan.ID)
	if _, err := client.Storage.WaitIndexed(ctx, in, file); err != nil { // a new file has no text for some seconds
		log.Fatal(err)
	}
	text, err := client.Storage.Texts.Get(ctx, in, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	if text.Version == "" { // IfVersion would not compare anything
		log.Fatal("the version of the text is unknown")
	}
	for _, chunk := range text.Chunks {
		fmt.Println(chunk.Text)
	}
	for _, better := range []string{"Wheels: 25", "Wheels: 26"} {
		err := client.Storage.WithLock(ctx, in, file, nil, func(ctx context.Context) error {
			target := uploads.Target{Profile: in, File: file, IfVersion: text.Version}
			_, err := client.Uploads.ReaderAt(ctx, target, text.Name, strings.NewReader(better), int64(len(better)), nil)
			return err
		})
		fmt.Printf("%s stored: %t, conflict: %t\n", better, err == nil, errors.Is(err, api.ErrConflict))
	}
	lock, err := client.Storage.Locks.Get(ctx, in, file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("locked:", lock.Info != nil)
	// Output:
	// Wheels: 24
	// Wheels: 25 stored: true, conflict: false
	// Wheels: 26 stored: false, conflict: true
	// locked: false
}
