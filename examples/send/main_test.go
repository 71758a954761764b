package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/fileshares"
)

// The program as a whole, on a real socket.
func TestSendRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	var out, screen bytes.Buffer
	p := &program{out: &out, screen: &screen, password: api.NewSecret("correct horse")}
	if err := p.start(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "running against an emulator", "The sender shares mill.dat as ",
		"bo@example.com may change it",
		"The guest downloaded mill.dat: 12582912 bytes, version ", "The guest uploaded it: 12582931 bytes, version ",
		"the file has another version by now", "It has to be repeated on", "the file stays")
	for line := range strings.Lines(screen.String()) {
		if last := line[strings.LastIndex(line, "\r")+1:]; !strings.Contains(last, " 100 % |") {
			t.Errorf("a transfer does not end at 100 %%: %q", line)
		}
	}
	kit.Says(t, screen.String(), "download 100 %", "upload   100 %", " 12.6 MB")
	if strings.Contains(out.String()+screen.String(), "correct horse") {
		t.Errorf("the password is shown:\n%s", out.String())
	}
}

func TestGuestKeyRequired(t *testing.T) {
	t.Setenv("FASTIO_API_KEY", "sender")
	t.Setenv("FASTIO_SECOND_KEY", "")
	p := &program{out: io.Discard, workspace: "1", node: "2"}
	if err := p.start(t.Context()); err == nil || !strings.Contains(err.Error(), "set FASTIO_SECOND_KEY") {
		t.Errorf("got %v", err)
	}
}

// desk returns an emulator with a file, and the program.
func desk(t *testing.T) (*fastiotest.Server, *program, *bytes.Buffer) {
	t.Helper()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	file := s.AddNode(seed.Node{Profile: room.ID, Name: "plan.txt", Content: "A mill of brass.\n"})
	bo := s.AddUser(seed.User{Email: "bo@example.com"})
	out := new(bytes.Buffer)
	return s, &program{
		in: strings.NewReader(""), out: out, screen: io.Discard, password: api.NewSecret("correct horse"),
		sender: s.Client(t), guest: s.Client(t, fastio.WithToken(s.AddKey(seed.Key{User: bo.ID}).Token)),
		workspace: api.ID(room.ID), node: api.OpaqueID(file.ID), edit: appendLine,
	}, out
}

// links returns the existing File Shares.
func links(t *testing.T, p *program) []*fileshares.FileShare {
	t.Helper()
	page, err := p.sender.FileShares.List(t.Context(), p.workspace, nil)
	if err != nil {
		t.Fatal(err)
	}
	return page.FileShares
}

func TestSendReturnsTheChangedFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, p, _ := desk(t)
		p.edit = func(ctx context.Context, path string) error {
			got := links(t, p) //nolint:contextcheck // it has the test's
			if len(got) != 1 || !got[0].HasPassword || got[0].Access != fileshares.AccessNamedPeople ||
				got[0].Expires.IsZero() {
				t.Fatalf("there are the links %+v", got)
			}
			if _, err := p.guest.FileShares.Get(ctx, got[0].ID); !errors.Is(err, api.ErrForbidden) {
				t.Errorf("without the password the guest gets %v", err)
			}
			return appendLine(ctx, path)
		}
		if err := p.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := links(t, p); len(left) != 0 {
			t.Errorf("there are still the links %+v", left)
		}
		look := s.AddFileShare(seed.FileShare{Node: string(p.node), Owner: s.User().ID})
		versions, err := p.sender.FileShares.Versions.List(t.Context(), api.ID(look.ID))
		if err != nil || len(versions) != 2 {
			t.Errorf("the file has the versions %+v, %v", versions, err)
		}
		var text bytes.Buffer
		if _, err := p.sender.FileShares.DownloadTo(t.Context(), api.ID(look.ID), &text, nil); err != nil ||
			text.String() != "A mill of brass.\nRead and approved.\n" {
			t.Errorf("the file is %q, %v", text.String(), err)
		}
	})
}

func TestLinkIsDeletedAfterFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(s *fastiotest.Server, p *program)
		err    string
	}{
		"the guest is unknown": {func(s *fastiotest.Server, _ *program) {
			s.Fail(seed.Fault{Op: "account.Me", Count: 1, Status: 403})
		}, "account.Me"},
		"the grant is refused": {func(s *fastiotest.Server, _ *program) {
			s.Fail(seed.Fault{Op: "fileshares.Grants.Set", Count: 1, Status: 403})
		}, "fileshares.Grants.Set"},
		"the file is not served": {func(s *fastiotest.Server, _ *program) {
			s.Fail(seed.Fault{Op: "fileshares.Get", Count: 1, Status: 403})
		}, "fileshares.Get"},
		"the guest cannot change it": {func(_ *fastiotest.Server, p *program) {
			p.edit = func(context.Context, string) error { return os.ErrPermission }
		}, os.ErrPermission.Error()},
		"the upload is refused": {func(s *fastiotest.Server, _ *program) {
			s.Fail(seed.Fault{Op: "uploads.Start", Count: 1, Status: 409})
		}, "uploads.Put"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, p, out := desk(t)
				c.before(s, p)
				if err := p.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				kit.Says(t, out.String(), "The link is deleted")
				if left := links(t, p); len(left) != 0 {
					t.Errorf("there are still the links %+v", left)
				}
			})
		})
	}
}

// The user changes the file in a program of their own, or gives up.
func TestPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p, out := desk(t)
		if err := p.prompt(t.Context(), "plan.txt"); err != nil {
			t.Error(err)
		}
		kit.Says(t, out.String(), "Change plan.txt as you like")
		ctx, interrupt := context.WithCancel(t.Context())
		p.in = kit.Keyboard(func() {
			interrupt()
			<-t.Context().Done() // nothing is typed
		})
		p.edit = p.prompt
		if err := p.run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if left := links(t, p); len(left) != 0 {
			t.Errorf("there are still the links %+v", left)
		}
	})
}
