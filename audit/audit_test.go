package audit_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/audit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/shares"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	address = "ben@example.com"
	invited = "eve@example.com"
)

// office is an emulator with an organization in which Ben has access to everything, to one
// workspace as its owner.
type office struct {
	*testing.T
	*fastiotest.Server

	client   *fastio.Client
	org      api.ID
	ben, own string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{T: t, Server: fastiotest.New()}
	org := o.AddOrg(seed.Org{Name: "Acme", Domain: "acme", Owner: o.User().ID}).ID
	o.org, o.client = api.ID(org), o.Client(t)
	o.ben = o.AddUser(seed.User{Email: address, FirstName: "Ben", LastName: "Ash"}).ID
	o.SetMember(org, o.ben, seed.Member)

	room := o.AddWorkspace(seed.Workspace{Org: org, Name: "Photos"}).ID
	o.own = o.AddWorkspace(seed.Workspace{Org: org, Name: "Drafts"}).ID
	old := o.AddWorkspace(seed.Workspace{Org: org, Name: "Old"}).ID
	o.SetMember(o.own, o.User().ID, seed.Admin)
	o.SetMember(o.own, o.ben, seed.Owner)
	portal := o.AddShare(seed.Share{Workspace: room, Title: "Portal"}).ID
	open := seed.Share{Workspace: room, Title: "Open", Access: string(shares.AccessAnyone)}
	o.AddShare(open)
	for _, place := range []string{room, portal, old} {
		o.SetMember(place, o.ben, seed.Member)
	}
	o.AddInvitation(seed.Invitation{Profile: room, Email: invited})
	node := o.AddNode(seed.Node{Profile: room, Name: "a.jpg", Content: "a"})
	o.AddFileShare(seed.FileShare{
		Node: node.ID, Owner: o.User().ID, Title: "a.jpg", Grants: []seed.Grant{{User: o.ben}, {Email: invited}},
	})
	if err := o.client.Workspaces.Archive(t.Context(), api.ID(old)); err != nil {
		t.Fatal(err)
	}
	return o
}

// access returns the rows as text, without those of the caller and without IDs.
func (o *office) access() (rows []string) {
	o.Helper()
	for a, err := range o.client.Audit.Access(o.Context(), o.org) {
		if err != nil {
			o.Fatal(err)
		}
		if string(a.User) != o.User().ID {
			rows = append(rows, textOf(a))
		}
	}
	return rows
}

func textOf(a *audit.Access) string {
	text := fmt.Sprintf("%s %s", a.Place.Kind, a.Title)
	if a.Archived {
		text += " (archived)"
	}
	if a.Err != nil {
		return text + ": " + a.Err.Error()
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s %s %s", text, a.Via, a.Role, a.EmailAddress), " ")
}

func TestAccessHasEveryPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		got := o.access()
		slices.Sort(got)
		want := []string{
			"fileshare a.jpg: grant download " + address,
			"fileshare a.jpg: invitation download " + invited,
			"org Acme: membership member " + address,
			"share Open: link " + string(shares.AccessAnyone),
			"share Portal: membership member " + address,
			"workspace Drafts: membership owner " + address,
			"workspace Old (archived): membership member " + address,
			"workspace Photos: invitation member " + invited,
			"workspace Photos: membership member " + address,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// A place that cannot be read is a row, and the rest follows.
func TestPlaceThatCannotBeReadIsARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		whole := len(o.access())
		for _, operation := range []seed.Op{
			op.MembersList, op.SharesListByWorkspace, op.FileSharesList, op.FileSharesGrantsList,
		} {
			o.Fail(seed.Fault{Op: operation, Count: 1, Status: http.StatusForbidden})
			rows := o.access()
			failed := slices.DeleteFunc(slices.Clone(rows), func(row string) bool {
				return !strings.Contains(row, "status 403")
			})
			if len(failed) != 1 || len(rows) < 4 || len(rows) > whole+1 {
				t.Errorf("%s: %d rows of %d, of which failed: %q", operation, len(rows), whole, failed)
			}
		}
	})
}

func TestOrganizationThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		n := 0
		for a, err := range o.client.Audit.Access(t.Context(), "4012345678901234567") {
			n++
			if a != nil || !errors.Is(err, api.ErrNotFound) {
				t.Errorf("got %v, %v", a, err)
			}
		}
		if n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

// remove removes a person and returns the rows and the last error.
func (o *office) remove(person api.Person, options *audit.RemoveOptions) (rows []string, err error) {
	o.Helper()
	for r, err := range o.client.Audit.RemovePerson(o.Context(), o.org, person, options) {
		if err != nil {
			return rows, err
		}
		text := textOf(&r.Access)
		if r.Removed {
			text = "removed " + text
		}
		rows = append(rows, text)
	}
	return rows, nil
}

func TestPersonIsRemovedFromEveryPlace(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(o *office) api.Person{
		"by address": func(*office) api.Person { return "Ben@Example.com" },
		"by ID":      func(o *office) api.Person { return api.Person(o.ben) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				person := by(o)
				before := o.access()
				planned, err := o.remove(person, &audit.RemoveOptions{DryRun: true})
				if len(planned) != 6 || err != nil {
					t.Errorf("a dry run: %q, %v", planned, err)
				}
				if diff := cmp.Diff(before, o.access()); diff != "" {
					t.Errorf("a dry run has changed\n%s", diff)
				}
				rows, err := o.remove(person, nil)
				left, ok := errors.AsType[*audit.LeftError](err)
				if !ok || len(left.Left) != 1 || left.Left[0].Title != "Drafts" || !strings.Contains(err.Error(), `"Drafts"`) {
					t.Errorf("an owner: %v", err)
				}
				if len(rows) != 6 || rows[5] != "removed org Acme: membership member "+address {
					t.Errorf("got %q", rows)
				}
				owner := func(row string) bool { return strings.Contains(row, audit.ErrOwner.Error()) }
				if !slices.ContainsFunc(rows, owner) {
					t.Errorf("no row of the owner in %q", rows)
				}
				o.SetMember(o.own, o.User().ID, seed.Owner)
				o.SetMember(o.own, o.ben, seed.Member)
				for _, want := range []int{1, 0} {
					if rows, err := o.remove(person, nil); len(rows) != want || err != nil {
						t.Errorf("again: %q, %v", rows, err)
					}
				}
				if slices.ContainsFunc(o.access(), func(row string) bool { return strings.Contains(row, address) }) {
					t.Errorf("left: %q", o.access())
				}
			})
		})
	}
}

func TestInvitationsAreRevoked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		if rows, err := o.remove(invited, nil); len(rows) != 2 || err != nil {
			t.Errorf("%q, %v", rows, err)
		}
		if slices.ContainsFunc(o.access(), func(row string) bool { return strings.Contains(row, invited) }) {
			t.Errorf("left: %q", o.access())
		}
	})
}

// A removal that fails is a row, and the others follow.
func TestFailedRemovalKeepsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.SetMember(o.own, o.User().ID, seed.Owner)
		o.SetMember(o.own, o.ben, seed.Member)
		o.Fail(seed.Fault{Op: op.MembersRemove, Count: 1, Status: http.StatusForbidden})
		rows, err := o.remove(address, nil)
		left, ok := errors.AsType[*audit.LeftError](err)
		if len(rows) != 6 || !ok || len(left.Left) != 1 {
			t.Errorf("%q, %v", rows, err)
		}
		o.Fail(seed.Fault{Op: op.SharesListByWorkspace, Status: http.StatusForbidden})
		_, err = o.remove(address, nil)
		if left, ok := errors.AsType[*audit.LeftError](err); !ok || left.Left[0].Err == nil {
			t.Errorf("with places that cannot be read: %v", err)
		}
	})
}

// Only the platform itself can say that a membership is gone.
func TestOddNotFoundRemovesNoMember(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]seed.Fault{
		"of a proxy":             {Status: http.StatusNotFound, Body: "<html>not here</html>"},
		"of an unknown endpoint": {Status: http.StatusNotFound, Code: codes.NoEndpoint},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				odd.Op = op.MembersRemove
				o.Fail(odd)
				rows, err := o.remove(address, nil)
				left, ok := errors.AsType[*audit.LeftError](err)
				isMember := func(row string) bool {
					return strings.HasPrefix(row, "removed") && strings.Contains(row, ": membership")
				}
				if !ok || len(left.Left) != 5 || slices.ContainsFunc(rows, isMember) {
					t.Errorf("%q, %v", rows, err)
				}
			})
		})
	}
}

func TestInvalidPersonIsRejected(t *testing.T) {
	t.Parallel()
	for _, person := range []api.Person{"", "me", "Ben", "12"} {
		o := newOffice(t)
		o.Forget()
		_, err := o.remove(person, nil)
		if _, ok := errors.AsType[*api.InputError](err); !ok || len(o.Requests()) > 0 {
			t.Errorf("%q: %v, %d requests", person, err, len(o.Requests()))
		}
	}
}

func TestAccessOnOneLine(t *testing.T) {
	t.Parallel()
	place := audit.Access{Place: api.Workspace("4"), Title: "Plans\n"}
	named, unnamed, failed, open := place, place, place, place
	named.Name, named.EmailAddress, named.User, named.Role, named.Via = "Ben", address, "5", "member", audit.ViaMembership
	unnamed.EmailAddress, unnamed.Role, unnamed.Via = address, "guest", audit.ViaInvitation
	failed.Err = errors.New("no access")
	open.Role, open.Via = "anyone", audit.ViaLink
	for want, a := range map[string]*audit.Access{
		"<nil>": nil,
		`workspace 4 "Plans\n": "Ben" 5, member by membership`:           &named,
		`workspace 4 "Plans\n": "` + address + `" , guest by invitation`: &unnamed,
		`workspace 4 "Plans\n": no access`:                               &failed,
		`workspace 4 "Plans\n": anyone`:                                  &open,
	} {
		if got := a.String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestCallerIsNotRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		for _, person := range []string{o.User().ID, o.User().Email, strings.ToUpper(o.User().Email)} {
			rows, err := o.remove(api.Person(person), nil)
			if _, ok := errors.AsType[*api.InputError](err); !ok || len(rows) > 0 {
				t.Errorf("%s: %q, %v", person, rows, err)
			}
		}
	})
}

// The platform lists the first 1,000 grants of a File Share only.
func TestManyGrantsAreNotTakenForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		room := o.AddWorkspace(seed.Workspace{Org: string(o.org), Name: "Many"}).ID
		node := o.AddNode(seed.Node{Profile: room, Name: "b.jpg", Content: "b"})
		var grants []seed.Grant
		for i := range 1001 {
			grants = append(grants, seed.Grant{Email: fmt.Sprintf("user%04d@example.com", i)})
		}
		o.AddFileShare(seed.FileShare{Node: node.ID, Owner: o.User().ID, Title: "b.jpg", Grants: grants})
		_, err := o.remove("user1000@example.com", nil)
		if left, ok := errors.AsType[*audit.LeftError](err); !ok || left.Left[0].Title != "b.jpg" {
			t.Errorf("got %v", err)
		}
	})
}

// A link that anyone may open is named in the report, also one without a title.
func TestFileShareWithoutTitleHasTheNameOfItsFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		room := o.AddWorkspace(seed.Workspace{Org: string(o.org), Name: "Links"}).ID
		node := o.AddNode(seed.Node{Profile: room, Name: "c.jpg", Content: "c"})
		link := fileshares.CreateRequest{NodeID: api.OpaqueID(node.ID), Access: fileshares.AccessAnyoneWithLink}
		if _, err := o.client.FileShares.Create(t.Context(), api.ID(room), link); err != nil {
			t.Fatal(err)
		}
		if got := o.access(); !slices.Contains(got, "fileshare c.jpg: link anyone_with_link") {
			t.Errorf("got %q", got)
		}
	})
}

// The platform shows invitations to administrators only; to others the invited person looks
// like a member who is pending.
func TestInvitationThatIsHiddenIsNotRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &office{T: t, Server: fastiotest.New()}
		owner := o.AddUser(seed.User{Email: "owner@example.com"}).ID
		org := o.AddOrg(seed.Org{Name: "Acme", Domain: "acme", Owner: owner}).ID
		room := o.AddWorkspace(seed.Workspace{Org: org, Name: "Photos"}).ID
		o.org, o.client = api.ID(org), o.Client(t)
		for _, place := range []string{org, room} {
			o.SetMember(place, owner, seed.Owner)
			o.SetMember(place, o.User().ID, seed.Member)
		}
		o.AddInvitation(seed.Invitation{Profile: room, Email: invited})
		if got := o.access(); !slices.Contains(got, "workspace Photos: invitation member "+invited) {
			t.Errorf("got %q", got)
		}
		rows, err := o.remove(invited, nil)
		if _, ok := errors.AsType[*audit.LeftError](err); !ok || len(rows) != 1 || strings.HasPrefix(rows[0], "removed") {
			t.Errorf("%q, %v", rows, err)
		}
	})
}
