package rclone_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rclone/rclone/fs"

	"github.com/fastio-go/fastio/api"
	fastio "github.com/fastio-go/fastio/rclone"
)

// runCommand runs a command, and returns its result as JSON.
func runCommand(t *testing.T, f *fastio.Fs, name string, opt map[string]string, arg ...string) string {
	t.Helper()
	result, err := f.Command(t.Context(), name, arg, opt)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLockCommands(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "a.txt", "x")
	f := p.remote(t, "design")
	var lock map[string]string
	if err := json.Unmarshal([]byte(runCommand(t, f, "lock", map[string]string{"duration": "10m"}, "a.txt")), &lock); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Command(t.Context(), "lock", []string{"a.txt"}, nil); err == nil {
		t.Error("the file was locked twice")
	}
	runCommand(t, f, "renew", lock, "a.txt")
	runCommand(t, f, "unlock", lock, "a.txt")
	runCommand(t, f, "lock", nil, "a.txt")
}

func TestTrashCommands(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "a.txt", "x")
	f := p.remote(t, "design")
	id := get(t, f, "a.txt").(fs.IDer).ID()
	if err := get(t, f, "a.txt").Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := runCommand(t, f, "trash", nil); !strings.Contains(got, id) {
		t.Errorf("the trash has %s, want %s", got, id)
	}
	runCommand(t, f, "restore", nil, id)
	wantNames(t, f, "", "a.txt")
	if err := get(t, f, "a.txt").Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	runCommand(t, f, "delete", nil, id)
	if got := runCommand(t, f, "trash", nil); got != "[]" {
		t.Errorf("the trash has %s", got)
	}
}

func TestVersionCommands(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	f := p.remote(t, "design")
	for _, text := range []string{"one", "two"} {
		if _, err := put(t.Context(), f, "a.txt", text); err != nil {
			t.Fatal(err)
		}
	}
	var versions []struct {
		ID      string `json:"ID"`
		Current bool   `json:"Current"`
	}
	if err := json.Unmarshal([]byte(runCommand(t, f, "versions", nil, "a.txt")), &versions); err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		if !v.Current {
			runCommand(t, f, "restore-version", nil, "a.txt", v.ID)
		}
	}
	if got := content(t, get(t, f, "a.txt")); len(versions) != 2 || got != "one" {
		t.Errorf("%d versions, the current one has %q", len(versions), got)
	}
}

func TestCleanUpEmptiesTheTrash(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "a.txt", "x")
	f := p.remote(t, "design")
	if err := get(t, f, "a.txt").Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.CleanUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := runCommand(t, f, "trash", nil); got != "[]" {
		t.Errorf("the trash has %s", got)
	}
}

func TestPublicLinkIsReadWithoutAnAccount(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "a.txt", "content")
	f := p.remote(t, "design")
	link, err := f.PublicLink(t.Context(), "a.txt", fs.DurationOff, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := status(t, link); got != http.StatusOK {
		t.Errorf("the link has status %d", got)
	}
	if _, err = f.PublicLink(t.Context(), "a.txt", fs.DurationOff, true); err != nil {
		t.Fatal(err)
	}
	if got := status(t, link); got != http.StatusNotFound {
		t.Errorf("the removed link has status %d", got)
	}
}

// A link whose time to live is less than a second ends.
func TestShortLinkExpires(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "a.txt", "content")
	if _, err := p.remote(t, "design").PublicLink(t.Context(), "a.txt", fs.Duration(time.Millisecond), false); err != nil {
		t.Fatal(err)
	}
	for link, err := range p.Client(t).FileShares.All(t.Context(), api.ID(p.room.ID), nil) {
		if err != nil || link.Expires.IsZero() {
			t.Errorf("got %+v, %v", link, err)
		}
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := new(http.Client).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

func TestAboutIsTheSizeOfTheWorkspace(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "a.txt", "content")
	usage, err := p.remote(t, "design").About(t.Context())
	if err != nil || usage.Used == nil || *usage.Used != 7 {
		t.Errorf("got %+v, %v, want 7 bytes", usage, err)
	}
}
