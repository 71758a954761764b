package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

func TestHello(t *testing.T) {
	platform := fastiotest.New()
	room := platform.AddWorkspace(seed.Workspace{Name: "Design"})
	platform.AddComment(seed.Comment{Profile: room.ID, User: platform.User().ID, Body: "Is that brass?"})
	server := httptest.NewServer(platform)
	defer server.Close()
	kit.Unconfigured(t)
	t.Setenv("FASTIO_BASE_URL", server.URL)
	t.Setenv("FASTIO_API_KEY", platform.Token())
	screen, err := os.Create(filepath.Join(t.TempDir(), "screen"))
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = screen
	main()
	os.Stdout = stdout
	if err := screen.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(screen.Name())
	if err != nil {
		t.Fatal(err)
	}
	kit.Says(t, string(out), "Design\n", "Ada Lovelace commented")
}
