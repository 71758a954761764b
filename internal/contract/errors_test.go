package contract_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// Calls that make other calls, and calls that use local files, return errors that name
// the SDK once and repeat no operation and no phrase.
func TestErrorsSayNothingTwice(t *testing.T) {
	t.Parallel()
	read := errors.New("the disk is unplugged")
	for want, call := range map[string]func(f *failing) error{
		"fastio: ai.Ask: waiting for the turn: context deadline exceeded": func(f *failing) error {
			return f.ask(&ai.AskOptions{CancelTurn: true, Text: io.Discard})
		},
		"fastio: ai.Turns.Wait: waiting for the turn: context deadline exceeded": func(f *failing) error {
			return f.ask(nil)
		},
		"fastio: events.Search: You may not see these events.": func(f *failing) error {
			f.Fail(seed.Fault{Op: "events.Search", Status: 403, Text: "You may not see these events."})
			return f.client.Events.Follow(f.Context(), events.Query{Profile: f.room},
				func(context.Context, *events.Event) error { return nil }, nil)
		},
		"fastio: realtime.Subscribe: the platform refuses the changes of": func(f *failing) error {
			f.Fail(seed.Fault{Status: 403, Text: "No changes for you."})
			_, err := f.client.Realtime.Subscribe(f.Context(), f.room, nil)
			return err
		},
		"fastio: storage.Many: 1 nodes failed, 0 were skipped: storage.Delete: ": func(f *failing) error {
			return storage.Many(f.Context(), []api.OpaqueID{missingNode}, func(ctx context.Context, id api.OpaqueID) error {
				return f.client.Storage.Delete(ctx, f.room, id)
			})
		},
		"fastio: 1 entries have failed; \"a\": uploads.": func(f *failing) error {
			f.write("a")
			f.Fail(seed.Fault{Op: "uploads.Batch", Status: 400})
			f.Fail(seed.Fault{Op: "uploads.Start", Status: 400})
			_, err := f.client.Uploads.Dir(f.Context(), f.target(), f.dir, nil)
			return err
		},
		"fastio: uploads.ReaderAt: whether the file was stored is not known: uploads.": func(f *failing) error {
			f.Fail(seed.Fault{Op: "uploads.Start", Status: 502})
			_, err := f.client.Uploads.ReaderAt(f.Context(), f.target(), "a", strings.NewReader("a"), 1, nil)
			return err
		},
		"fastio: uploads.Reader: reading the content: the disk is unplugged": func(f *failing) error {
			_, err := f.client.Uploads.Reader(f.Context(), f.target(), "a", iotest.ErrReader(read), nil, nil)
			return err
		},
		"fastio: uploads.File: stat ": func(f *failing) error {
			_, err := f.client.Uploads.File(f.Context(), f.target(), f.missing(), nil)
			return err
		},
		"fastio: uploads.Dir: open ": func(f *failing) error {
			_, err := f.client.Uploads.Dir(f.Context(), f.target(), f.missing(), nil)
			return err
		},
		"fastio: fileshares.Replace: stat ": func(f *failing) error {
			_, err := f.client.FileShares.ReplaceFile(f.Context(), fileShareID, f.missing(), fileshares.ReplaceRequest{})
			return err
		},
		"fastio: storage.DownloadFile: ": func(f *failing) error {
			_, err := f.client.Storage.DownloadFile(f.Context(), f.room, f.node, filepath.Join(f.missing(), "a"), nil)
			return err
		},
		"fastio: storage.DownloadDir: mkdir ": func(f *failing) error {
			f.write("a")
			_, err := f.client.Storage.DownloadDir(f.Context(), f.room, api.Root, filepath.Join(f.dir, "a"), nil)
			return err
		},
		"fastio: oauth.SignOut: the token was not removed from the store: oauth: ": func(f *failing) error {
			return oauth.SignOut(f.Context(), oauth.Config{Store: brokenStore{}})
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				err := call(newFailing(t))
				if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "fastio: ") != 1 {
					t.Fatalf("got  %v\nwant %s...", err, want)
				}
				phrases := strings.Split(err.Error(), ": ")
				slices.Sort(phrases)
				if len(slices.Compact(slices.Clone(phrases))) != len(phrases) {
					t.Errorf("this says something twice: %v", err)
				}
			})
		})
	}
}

// failing is a platform whose turns and calls fail.
type failing struct {
	*testing.T
	*fastiotest.Server

	client *fastio.Client
	room   api.Profile
	node   api.OpaqueID
	dir    string
}

func newFailing(t *testing.T) *failing {
	t.Helper()
	s := fastiotest.New(func(o *seed.Options) { o.AI.TurnPace = time.Hour })
	room := s.AddWorkspace(seed.Workspace{Name: "Design"}).ID
	node := api.OpaqueID(s.AddNode(seed.Node{Profile: room, Name: "mill.txt", Content: "brass"}).ID)
	client := s.Client(t, fastio.WithRetry(fastio.RetryPolicy{Attempts: 1}))
	return &failing{T: t, Server: s, client: client, room: api.Workspace(api.ID(room)), node: node, dir: t.TempDir()}
}

func (f *failing) target() uploads.Target { return uploads.Target{Profile: f.room, Folder: api.Root} }

func (f *failing) missing() string { return filepath.Join(f.dir, "missing") }

func (f *failing) write(name string) {
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte("brass"), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *failing) ask(o *ai.AskOptions) error {
	ctx, stop := context.WithTimeout(f.Context(), time.Minute)
	defer stop()
	_, err := f.client.AI.Ask(ctx, f.room, ai.Question{Text: "When?"}, o)
	return err
}

// brokenStore is a store that another process uses.
type brokenStore struct{}

var errBusy = errors.New("fastio: oauth: the account is busy")

func (brokenStore) Load(context.Context, string) ([]byte, error) { return nil, errBusy }

func (brokenStore) Lock(context.Context, string) (oauth.Record, error) { return nil, errBusy }
