package show_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// A bar ends at 100 %. Its rate has no position that it began with.
func TestBar(t *testing.T) {
	t.Parallel()
	type step struct {
		after       time.Duration
		done, total int64
		want        string
	}
	for name, c := range map[string]struct {
		bar   func(out *strings.Builder) *show.Bar
		steps []step
		end   string
	}{
		"bytes": {func(out *strings.Builder) *show.Bar { return show.Bytes(out, "download") }, []step{
			{0, 120e3, 12e6, "\r  download   1 % |                              | 0.1 MB"},
			{50 * time.Millisecond, 3e6, 12e6, ""},
			{950 * time.Millisecond, 6e6, 12e6, "\r  download  50 % |███████████████               | 6.0 MB, 6.0 MB/s"},
			{time.Second, 11e6, 12e6, "\r  download  91 % |███████████████████████████   | 11.0 MB, 5.5 MB/s"},
			{0, 12e6, 12e6, ""},
		}, "\r  download 100 % |██████████████████████████████| 12.0 MB, 6.0 MB/s"},
		"resumed": {func(out *strings.Builder) *show.Bar { return show.Count(out, "read", "events", 1000) }, []step{
			{0, 1000, 2000, "\r  read  50 % |███████████████               | 1000 events"},
			{2 * time.Second, 2000, 2000, "\r  read 100 % |██████████████████████████████| 2000 events, 500 events/s"},
		}, "\r  read 100 % |██████████████████████████████| 2000 events, 500 events/s"},
		"total unknown": {func(out *strings.Builder) *show.Bar { return show.Count(out, "read", "events", 0) }, []step{
			{time.Second, 100, -1, "\r  read 100 events, 100 events/s"},
			{time.Second, 120, -1, "\r  read 120 events, 60 events/s "},
			{0, 121, -1, ""},
		}, "\r  read 121 events, 60 events/s"},
		"nothing": {func(out *strings.Builder) *show.Bar { return show.Bytes(out, "upload") }, []step{
			{0, 0, 0, "\r  upload 100 % |██████████████████████████████| 0.0 MB"},
		}, "\r  upload 100 % |██████████████████████████████| 0.0 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				bar := c.bar(&out)
				for _, s := range c.steps {
					time.Sleep(s.after)
					before := out.Len()
					bar.Set(s.done, s.total)
					if got := out.String()[before:]; got != s.want {
						t.Errorf("%d of %d:\ngot  %q\nwant %q", s.done, s.total, got, s.want)
					}
				}
				before := out.Len()
				bar.End()
				if got := strings.TrimRight(out.String()[before:], " \n"); got != strings.TrimRight(c.end, " ") {
					t.Errorf("at the end:\ngot  %q\nwant %q", got, c.end)
				}
			})
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	grace := s.AddUser(seed.User{FirstName: "Grace", LastName: "Hopper"})
	s.SetMember(room.ID, grace.ID, seed.Member)
	names, err := show.Names(t.Context(), s.Client(t), api.ID(room.ID))
	if err != nil || names[api.ID(grace.ID)] != "Grace Hopper" || names[api.ID(s.User().ID)] != "Ada Lovelace" {
		t.Errorf("got %v, %v", names, err)
	}
}

// Every program gives its clients a logger, so that long waits are visible on stderr.
func TestProgramsLogWaits(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	clients := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			made := strings.Contains(line, "fastio.New(") || strings.Contains(line, "fastio.FromEnv(")
			if !made || strings.HasSuffix(file, "_test.go") {
				continue
			}
			clients++
			if !strings.Contains(line, "fastio.WithLogger(slog.Default())") {
				t.Errorf("%s makes a client without a logger: %s", file, line)
			}
		}
	}
	if clients < 12 {
		t.Errorf("found %d clients", clients)
	}
}
