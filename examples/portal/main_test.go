package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/shares"
)

// The program as a whole, on a real socket.
func TestPortalRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	var out bytes.Buffer
	p := &program{in: strings.NewReader("\n"), out: &out, title: "Q4 pack", days: 14}
	if err := p.start(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "running against an emulator", "Q4 pack is open until 20", "medium security",
		"bo@example.com, pending",
		"https://go.fast.io/shared/", "The invitation of bo@example.com is deleted",
		"Q4 pack is deleted", "was sent an invitation")
}

// desk returns an emulator and the program.
func desk(
	t *testing.T, org seed.Org, change ...func(*seed.Options),
) (*fastiotest.Server, *program, *bytes.Buffer) {
	t.Helper()
	s := fastiotest.New(change...)
	org.Owner = s.User().ID
	org = s.AddOrg(org)
	out := new(bytes.Buffer)
	return s, &program{
		in: strings.NewReader(""), out: out, client: s.Client(t),
		workspace: api.ID(s.AddWorkspace(seed.Workspace{Org: org.ID, Name: "Books"}).ID),
		title:     "Q4 pack", guest: "bo@example.com", days: 14,
	}, out
}

// left returns the number of shares.
func left(t *testing.T, p *program) int {
	t.Helper()
	page, err := p.client.Shares.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Shares)
}

// The portal has the requested settings and an invitation until it is deleted.
func TestOpenAndRevoked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, p, _ := desk(t, seed.Org{Name: "Acme"})
		guest := s.AddUser(seed.User{Email: p.guest})
		bo := s.Client(t, fastio.WithToken(s.AddKey(seed.Key{User: guest.ID}).Token))
		p.in = kit.Keyboard(func() {
			mine, err := bo.Account.Invitations.List(t.Context(), nil)
			if err != nil || len(mine.Invitations) != 1 {
				t.Errorf("the guest has the invitations %+v, %v", mine, err)
			}
			page, err := p.client.Shares.List(t.Context(), nil, api.WithOutput(api.Full))
			if err != nil || len(page.Shares) != 1 {
				t.Errorf("there are the shares %+v, %v", page, err)
				return
			}
			portal := page.Shares[0]
			if open := time.Until(portal.Expires.Time); open != 14*24*time.Hour ||
				portal.DownloadSecurity != shares.DownloadSecurityMedium {
				t.Errorf("it is open for %v with %s security", open, portal.DownloadSecurity)
			}
		})
		if err := p.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		key := s.Mails(p.guest)[0].Key
		if _, err := bo.Account.Invitations.GetByKey(t.Context(), api.NewSecret(key)); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("the key of the invitation yields %v", err)
		}
		if n := left(t, p); n != 0 {
			t.Errorf("%d portals are left", n)
		}
	})
}

func TestPortalIsDeletedAfterFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		org    seed.Org
		change func(*seed.Options)
		before func(t *testing.T, s *fastiotest.Server, p *program, interrupt func())
		err    string // "" is none
		says   string
	}{
		"a guest who has an account is in at once": {
			change: func(o *seed.Options) { o.Shares.AddByEmail = true },
			before: func(_ *testing.T, s *fastiotest.Server, p *program, _ func()) {
				s.AddUser(seed.User{Email: p.guest})
			},
			says: "bo@example.com, active",
		},
		"a policy keeps guests out": {
			org:  seed.Org{Name: "Acme", ExternalInvites: "denied"},
			err:  "a policy of the organization excludes bo@example.com",
			says: "Q4 pack is deleted",
		},
		"the portal cannot be shown": {
			before: func(_ *testing.T, s *fastiotest.Server, _ *program, _ func()) {
				s.Fail(seed.Fault{Op: "shares.Get", Count: 1, Status: 403})
			},
			err: "shares.Get", says: "The invitation of bo@example.com is deleted",
		},
		"the invitation cannot be deleted": {
			before: func(_ *testing.T, s *fastiotest.Server, _ *program, _ func()) {
				s.Fail(seed.Fault{Op: "members.Invitations.Delete", Count: 1, Status: 403})
			},
			err: "members.Invitations.Delete", says: "Q4 pack is deleted",
		},
		"the program is interrupted": {
			//nolint:thelper // it is part of the test
			before: func(t *testing.T, _ *fastiotest.Server, p *program, interrupt func()) {
				p.in = kit.Keyboard(func() {
					interrupt()
					<-t.Context().Done() // nothing is typed
				})
			},
			says: "Q4 pack is deleted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				change := c.change
				if change == nil {
					change = func(*seed.Options) {}
				}
				s, p, out := desk(t, c.org, change)
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				if c.before != nil {
					c.before(t, s, p, interrupt)
				}
				err := p.run(ctx)
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				kit.Says(t, out.String(), c.says)
				if n := left(t, p); n != 0 {
					t.Errorf("%d portals are left", n)
				}
			})
		})
	}
}
