package rclone_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/config"
	"github.com/rclone/rclone/fs/object"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	fastio "github.com/fastio-go/fastio/rclone"
	"github.com/fastio-go/fastio/storage"
)

// The lock of the configuration must not be that of the user.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rclone")
	if err == nil {
		err = config.SetConfigPath(filepath.Join(dir, "rclone.conf"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Tests run in parallel, and rclone loads its configuration and copies the default
	// transport without a lock: both are complete before.
	_ = config.LoadedData()
	http.DefaultClient.CloseIdleConnections() //nolint:forbidigo // it sends nothing
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// platform is an emulator with one workspace, design.
type platform struct {
	*fastiotest.Server
	room seed.Workspace
	url  string
	gate atomic.Int64 // requests that are still served; the others are refused
}

const open = 1 << 40 // a gate that refuses nothing

func newPlatform(t *testing.T, change ...func(o *seed.Options)) *platform {
	t.Helper()
	change = append([]func(o *seed.Options){func(o *seed.Options) {
		o.Uploads.Pace, o.Storage.IndexPace = -1, -1
		o.Limits.Rules = []seed.Limit{}
	}}, change...)
	p := &platform{Server: fastiotest.New(change...)}
	p.room = p.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	p.gate.Store(open)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.gate.Add(-1) < 0 {
			w.WriteHeader(http.StatusBadRequest) // nothing is retried
			return
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// remote returns the Fs of a path, with options such as "versions=true".
func (p *platform) remote(t *testing.T, root string, options ...string) *fastio.Fs {
	t.Helper()
	f, err := p.newFs(t, root, options...)
	if err != nil {
		t.Fatal(err)
	}
	return f.(*fastio.Fs)
}

func (p *platform) newFs(t *testing.T, root string, options ...string) (fs.Fs, error) {
	t.Helper()
	options = append(options, "url='"+p.url+"'", "api_key="+p.Token())
	return fs.NewFs(t.Context(), ":fastio,"+strings.Join(options, ",")+":"+root)
}

// add adds a file of another user.
func (p *platform) add(parent, name, content string) seed.Node {
	return p.AddNode(seed.Node{Profile: p.room.ID, Parent: parent, Name: name, Content: content})
}

func (p *platform) folder(name string) seed.Node {
	return p.AddNode(seed.Node{Profile: p.room.ID, Kind: "folder", Name: name})
}

// tree returns the files of the workspace and what is in them, read without the backend.
func (p *platform) tree(t *testing.T) map[string]string {
	t.Helper()
	client := p.Client(t)
	in := api.Workspace(api.ID(p.room.ID))
	files := map[string]string{}
	for e, err := range client.Storage.Walk(t.Context(), in, api.Root, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Node.Type == storage.NodeTypeFolder {
			continue
		}
		var content bytes.Buffer
		if _, err := client.Storage.DownloadTo(t.Context(), in, e.Node.ID, &content, nil); err != nil {
			t.Fatal(err)
		}
		files[e.Path] = content.String()
	}
	return files
}

// wantTree requires the files of the workspace.
func (p *platform) wantTree(t *testing.T, want map[string]string) {
	t.Helper()
	if got := p.tree(t); !maps.Equal(got, want) {
		t.Errorf("the workspace has\n%v, want\n%v", got, want)
	}
}

// put uploads a file.
func put(ctx context.Context, f fs.Fs, remote, content string) (fs.Object, error) {
	src := object.NewStaticObjectInfo(remote, time.Now(), int64(len(content)), true, nil, nil)
	return f.Put(ctx, strings.NewReader(content), src)
}

// get returns a file.
func get(t *testing.T, f fs.Fs, remote string) fs.Object {
	t.Helper()
	o, err := f.NewObject(t.Context(), remote)
	if err != nil {
		t.Fatalf("%s: %v", remote, err)
	}
	return o
}

// content returns the content of a file, or a part of it.
func content(t *testing.T, o fs.Object, options ...fs.OpenOption) string {
	t.Helper()
	r, err := o.Open(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err = r.Close(); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names returns the names in a folder, sorted; those of folders end in a slash.
func names(t *testing.T, f fs.Fs, dir string) []string {
	t.Helper()
	entries, err := f.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, entry := range entries {
		name := path.Base(entry.Remote())
		if _, ok := entry.(fs.Directory); ok {
			name += "/"
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func wantNames(t *testing.T, f fs.Fs, dir string, want ...string) {
	t.Helper()
	if got := names(t, f, dir); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("folder %q has %q, want %q", dir, got, want)
	}
}
