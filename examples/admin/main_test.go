package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/shares"
)

// The program as a whole, on a real socket.
func TestAdminRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	var out bytes.Buffer
	if err := (&program{out: &out}).start(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "running against an emulator", "11 changes; -apply makes them.",
		"pay for it at https://go.fast.io/onboarding", "There is nothing to change.",
		"cleo@example.com  workspace acme-plans",
		"would remove ben@example.com (admin, membership) from org Acme Design",
		"ben@example.com has no access any more", "removed_member_from_org: Ada removed Ben from Acme Design",
		"removed_member_from_workspace: Ada removed Ben from acme-photos")
}

func TestInvalidUseIsRejected(t *testing.T) {
	t.Setenv("FASTIO_API_KEY", "key")
	for want, p := range map[string]*program{
		"-org":              {args: []string{"audit"}},
		"name a command":    {org: "acme-design", args: []string{"remove"}},
		"no such file":      {org: "acme-design", args: []string{"setup"}, file: "/none/team.csv"},
		"setup, audit, or ": {org: "acme-design"},
	} {
		if err := p.start(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestTeamFileIsChecked(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"":                              "line 1",
		"email,role\n":                  "line 1",
		"email,org\nben,admin\n":        `line 2: "ben"`,
		"email,org\nb@x.org,\nB@x.org,": `line 3: "B@x.org"`,
		"email,org\nb@x.org,guest\n":    `line 2, org: got the role "guest"`,
		"email,org,plans\nb@x.org,member,owner\n": `line 2, plans: got the role "owner"`,
		"email,org,plans\nb@x.org,member\n":       "wrong number of fields",
	} {
		if _, err := parseTeam(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", file, err, want)
		}
	}
}

// office is an emulator with an organization, and the program.
type office struct {
	*testing.T
	*program
	*fastiotest.Server

	org seed.Org
	out bytes.Buffer
}

func newOffice(t *testing.T, team string) *office {
	t.Helper()
	o := &office{T: t, Server: fastiotest.New()}
	o.org = o.AddOrg(seed.Org{Name: "Acme Design", Domain: "acme-design", Owner: o.User().ID})
	o.program = &program{
		out: &o.out, client: o.Client(t), org: "acme-design", file: filepath.Join(t.TempDir(), "team.csv"), apply: true,
	}
	o.write(team)
	return o
}

func (o *office) write(team string) {
	o.Helper()
	if err := os.WriteFile(o.file, []byte(team), 0o600); err != nil {
		o.Fatal(err)
	}
}

// does runs a command and returns what it printed.
func (o *office) does(args ...string) string {
	o.Helper()
	o.out.Reset()
	o.args = args
	if err := o.run(o.Context()); err != nil {
		o.Fatalf("%v: %v\n%s", args, err, o.out.String())
	}
	return o.out.String()
}

const smallTeam = "email,org,acme-plans\nben@example.com,admin,member\ncleo@example.com,,guest\n"

// Without -apply only reads are sent.
func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, smallTeam)
		o.AddUser(seed.User{Email: "ben@example.com"})
		o.does("setup")
		o.apply = false
		o.Forget()
		o.write("email,org,acme-plans,acme-new\nben@example.com,member,admin,admin\ndora@example.com,member,,\n")
		kit.Says(t, o.does("setup"), "would create the workspace acme-new", "would make ben@example.com member of",
			"would make ben@example.com admin of acme-plans", "would add dora@example.com to the organization as member",
			"would add ben@example.com to acme-new as admin", "5 changes; -apply makes them.")
		kit.Says(t, o.does("remove", "ben@example.com"), "would remove ben@example.com")
		for _, r := range o.Requests() {
			if r.Method != http.MethodGet {
				t.Errorf("%s %s was sent", r.Method, r.Path)
			}
		}
	})
}

// A setup that was interrupted is completed by the next one, which adds no person twice.
func TestInterruptedSetupIsCompleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, smallTeam)
		o.Fail(seed.Fault{Op: "members.Add", Skip: 2, Count: 1, Status: http.StatusForbidden})
		o.args = []string{"setup"}
		if err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), "add cleo@example.com to acme-plans") {
			t.Fatalf("got %v", err)
		}
		kit.Says(t, o.does("setup"), "add cleo@example.com to acme-plans as guest: done", "1 changes.")
		o.write(strings.ReplaceAll(smallTeam, "guest", "member"))
		kit.Says(t, o.does("setup"), "make cleo@example.com member of acme-plans: done", "1 changes.")
		kit.Says(t, o.does("setup"), "There is nothing to change.")
		if n := len(o.Mails("cleo@example.com")); n == 0 || n > 2 {
			t.Errorf("%d mails were sent", n)
		}
	})
}

// A person is removed from all that is shared from the organization. What cannot be removed is
// reported, and does not keep the rest.
func TestPersonIsRemovedEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, "email,org,acme-plans\nben@example.com,admin,member\n")
		ben := o.AddUser(seed.User{Email: "ben@example.com"})
		o.does("setup")
		room := o.AddWorkspace(seed.Workspace{Org: o.org.ID, Name: "Photos"}).ID
		own := o.AddWorkspace(seed.Workspace{Org: o.org.ID, Name: "Drafts"}).ID
		share := api.ID(o.AddShare(seed.Share{Workspace: room, Title: "Portal"}).ID)
		o.AddShare(seed.Share{Workspace: room, Title: "Open", Access: string(shares.AccessAnyone)})
		for _, id := range []api.ID{api.ID(room), share} {
			o.SetMember(string(id), ben.ID, seed.Member)
		}
		o.SetMember(own, o.User().ID, seed.Admin)
		o.SetMember(own, ben.ID, seed.Owner)
		node := o.AddNode(seed.Node{Profile: room, Name: "a.jpg", Content: "a"})
		o.AddFileShare(seed.FileShare{
			Node: node.ID, Owner: o.User().ID, Title: "a.jpg", Grants: []seed.Grant{{User: ben.ID}},
		})
		kit.Says(t, o.does("audit"), "anyone with the link  share Open", "ben@example.com       fileshare a.jpg")
		o.args = []string{"remove", "Ben@example.com"}
		err := o.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "workspace Drafts: the person is the owner") {
			t.Fatalf("got %v", err)
		}
		o.SetMember(own, ben.ID, seed.Member)
		kit.Says(t, o.does("remove", "ben@example.com"), "has no access any more", "removed_member_from_workspace")
		kit.Says(t, o.does("remove", "ben@example.com"), "There is nothing to change.")
		if said := o.does("audit"); strings.Contains(said, "ben@") {
			t.Errorf("left:\n%s", said)
		}
	})
}
