package emulator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func TestWhereOneMayComment(t *testing.T) {
	t.Parallel()
	b := newBoard()
	trashed := b.AddNode(emulator.Node{Profile: b.room.ID, Trashed: true})
	beside := b.AddNode(emulator.Node{Profile: b.room.ID})
	owned := b.AddFileShare(emulator.FileShare{Node: b.plan.ID, Owner: b.fay.ID, CommentsEnabled: true})
	mute := b.AddShare(emulator.Share{Workspace: b.room.ID, NoComments: true})
	b.SetMember(mute.ID, b.fay.ID, emulator.Guest)
	closed := b.AddFileShare(emulator.FileShare{Node: b.plan.ID, Grants: []emulator.Grant{{User: b.eve.ID}}})
	public := b.AddFileShare(emulator.FileShare{Node: b.plan.ID, Access: "anyone_with_link", CommentsEnabled: true})
	registered := b.AddFileShare(emulator.FileShare{Node: b.plan.ID, Access: "any_registered", CommentsEnabled: true})
	guarded := b.AddFileShare(emulator.FileShare{Node: b.plan.ID, Access: "any_registered", CommentsEnabled: true, Password: "open sesame"})
	file := func(f emulator.FileShare) string { return "/comments/fileshare/" + f.ID + "/" + b.plan.ID + "/" }
	tests := map[string]struct {
		user       emulator.User
		path       string
		list, post int
	}{
		"a member on a node":           {b.ben, b.onPlan(), 200, 200},
		"a member on the workspace":    {b.ben, b.onRoom(), 200, 200},
		"hyphens in the id":            {b.ben, b.onRoom() + b.hyphenated(b.plan.ID) + "/", 200, 200},
		"a guest of the workspace":     {b.cleo, b.onPlan(), 200, 401},
		"a stranger":                   {b.eve, b.onPlan(), 401, 401},
		"a guest of the share":         {b.fay, b.onPhoto(), 200, 200},
		"a guest of a mute share":      {b.fay, "/comments/share/" + mute.ID + "/", 200, 401},
		"a member of a mute share":     {b.ben, "/comments/share/" + mute.ID + "/", 200, 200},
		"a recipient":                  {b.eve, b.onLink(), 200, 200},
		"a recipient by the other id":  {b.eve, "/comments/fileshare/" + b.link.IDAlt + "/" + b.plan.ID + "/", 200, 200},
		"the owner of a link":          {b.fay, file(owned), 200, 200},
		"a member by the link":         {b.ben, b.onLink(), 200, 200},
		"nobody's recipient":           {b.fay, b.onLink(), 401, 401},
		"comments off":                 {b.eve, file(closed), 401, 401},
		"anyone with the link":         {b.eve, file(public), 401, 401},
		"any registered":               {b.fay, file(registered), 200, 200},
		"a password missing":           {b.fay, file(guarded), 401, 401},
		"another node of a File Share": {b.eve, "/comments/fileshare/" + b.link.ID + "/" + beside.ID + "/", 404, 404},
		"a File Share without a node":  {b.eve, "/comments/fileshare/" + b.link.ID + "/", 406, 406},
		"an unknown File Share":        {b.eve, "/comments/fileshare/4999999999999999999/" + b.plan.ID + "/", 404, 404},
		"a node of another workspace":  {b.ada, b.onRoom() + b.chest.ID + "/", 404, 404},
		"a node in the trash":          {b.ben, b.onRoom() + trashed.ID + "/", 404, 404},
		"an unknown node":              {b.ben, b.onRoom() + object29 + "/", 404, 404},
		"a node id that is none":       {b.ben, b.onRoom() + "plan/", 406, 406},
		"an unknown workspace":         {b.ben, "/comments/workspace/4999999999999999999/", 404, 404},
		"a share as a workspace":       {b.ben, "/comments/workspace/" + b.portal.ID + "/", 404, 404},
		"an id that is none":           {b.ben, "/comments/workspace/room/", 406, 406},
		"an alias for a workspace":     {b.ben, "/comments/workspace/" + b.link.IDAlt + "/", 406, 406},
		"another kind of entity":       {b.ben, "/comments/org/" + b.org.ID + "/", 406, 406},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, b.list(t, test.user, test.path), test.list, 0)
			expect(t, b.post(t, test.user, test.path, hash{"body": "Hello"}), test.post, 0)
		})
	}
	t.Run("a password", func(t *testing.T) {
		t.Parallel()
		expect(t, b.post(t, b.fay, file(guarded), hash{"body": "Hello"}, "X-Ve-Password", "open sesame"), 200, 0)
		expect(t, b.post(t, b.fay, file(guarded), hash{"body": "Hello"}, "X-Ve-Password", "open"), 401, 0)
	})
	t.Run("scopes", func(t *testing.T) {
		t.Parallel()
		token := func(scope string) string {
			return b.AddKey(emulator.Key{User: b.ben.ID, Scopes: []string{scope}}).Token
		}
		send := func(scope, path string) reply {
			return b.post(t, b.ben, path, hash{"body": "Hello"}, "Authorization", "Bearer "+token(scope))
		}
		expect(t, send("workspace:"+b.room.ID+":rw", b.onPlan()), 200, 0)
		expect(t, send("workspace:"+b.room.ID+":rw", b.onLink()), 200, 0)
		expect(t, send("workspace:"+b.attic.ID+":rw", b.onPlan()), 403, 10754)
		expect(t, send("workspace:"+b.room.ID+":r", b.onLink()), 403, 10770)
		id := b.say(t, b.ben, b.onPlan(), "mine")
		readOnly := []string{"Authorization", "Bearer " + token("workspace:"+b.room.ID+":r")}
		expect(t, b.call(t, b.ben, http.MethodDelete, at(id, "delete"), nil, readOnly...), 403, 10770)
		expect(t, b.post(t, b.ben, at(id, "update"), hash{"body": "x"}, readOnly...), 403, 10770)
		if got := send("workspace:"+b.room.ID+":r", b.onPlan()); got.Status != 403 || got.reason() != "scope_write_required" {
			t.Errorf("read only: %s", got.Body)
		}
	})
	t.Run("operations", func(t *testing.T) {
		t.Parallel()
		b := newBoard()
		b.list(t, b.ben, b.onRoom())
		b.list(t, b.ben, b.onPlan())
		b.list(t, b.ben, b.onLink())
		b.say(t, b.ben, b.onRoom(), "x")
		b.say(t, b.ben, b.onPlan(), "x")
		b.say(t, b.ben, b.onLink(), "x")
		var ops []string
		for _, r := range b.Requests() {
			ops = append(ops, strings.TrimPrefix(r.Op, "comments."))
		}
		if diff := cmp.Diff(strings.Fields("List ListOnNode ListOnFileShare Create CreateOnNode CreateOnFileShare"), ops); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWhoSeesWhat(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    func(*emulator.Share)
		fay, cleo string
	}{
		"all":               {func(*emulator.Share) {}, "ada fay cleo", "ada fay cleo"},
		"hidden team":       {func(h *emulator.Share) { h.HideTeamComments = true }, "fay cleo", "fay cleo"},
		"hidden guests":     {func(h *emulator.Share) { h.HideGuestComments = true }, "ada fay", "ada cleo"},
		"each one's own":    {func(h *emulator.Share) { h.HideTeamComments, h.HideGuestComments = true, true }, "fay", "cleo"},
		"no comments by us": {func(h *emulator.Share) { h.NoComments = true }, "ada fay cleo", "ada fay cleo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoard()
			ids := map[string]string{}
			for _, u := range []emulator.User{b.ada, b.fay, b.cleo} {
				ids[u.ID] = b.say(t, u, b.onPhoto(), strings.ToLower(u.FirstName))
			}
			portal := b.portal
			test.change(&portal)
			b.AddShare(portal)
			for _, path := range []string{b.onPhoto(), b.onPortal()} {
				for _, see := range []struct {
					user emulator.User
					want string
				}{{b.fay, test.fay}, {b.cleo, test.cleo}, {b.ada, "ada fay cleo"}, {b.ben, "ada fay cleo"}} {
					got := b.list(t, see.user, path+"?include_total=1")
					if diff := cmp.Diff(strings.Fields(see.want), got.bodies()); diff != "" || got.get("total") != float64(len(got.bodies())) {
						t.Errorf("%s (-want +got):\n%s%s", see.user.FirstName, diff, got.Body)
					}
				}
			}
			want := 401
			if strings.Contains(test.fay, "ada") {
				want = 200
			}
			expect(t, b.list(t, b.fay, at(ids[b.ada.ID], "details")), want, 0)
			expect(t, b.list(t, b.dora, at(ids[b.ada.ID], "details")), 401, 0)
		})
	}
	t.Run("guests of a workspace", func(t *testing.T) {
		t.Parallel()
		b := newBoard()
		id := b.say(t, b.ben, b.onPlan(), "x")
		b.AddComment(emulator.Comment{Profile: b.room.ID, Node: b.plan.ID, User: b.cleo.ID, Body: "mine"})
		if got := b.list(t, b.cleo, b.onPlan()).bodies(); !cmp.Equal(got, []string{"mine"}) {
			t.Errorf("sees %v", got)
		}
		expect(t, b.list(t, b.cleo, at(id, "details")), 401, 0)
	})
}

func TestFileShareComments(t *testing.T) {
	t.Parallel()
	b := newBoard(func(o *emulator.Options) { o.Comments.Limit = 3 })
	ours := b.say(t, b.ben, b.onPlan(), "ours")
	theirs := b.say(t, b.eve, b.onLink(), "theirs")
	members := b.say(t, b.ben, b.onLink(), "a member's")
	got := b.list(t, b.eve, b.onLink()+"?include_total=true")
	if diff := cmp.Diff([]string{"theirs", "a member's"}, got.bodies()); diff != "" || got.get("total") != 2.0 || got.get("remaining") != 1.0 {
		t.Errorf("to a recipient (-want +got):\n%s%s", diff, got.Body)
	}
	if got.get("comments.0.can_edit") != true || got.get("comments.1.can_reply") != true || got.get("comments.1.can_delete") != false {
		t.Errorf("a recipient's rights: %s", got.Body)
	}
	if got.get("comments.0.scope_id") != b.link.ID || strings.Contains(got.Body, b.room.ID) {
		t.Errorf("a recipient learns of the workspace: %s", got.Body)
	}
	got = b.list(t, b.ben, b.onPlan()+"?include_total=true")
	if diff := cmp.Diff([]string{"ours", "theirs", "a member's"}, got.bodies()); diff != "" || got.get("total") != 3.0 || got.get("remaining") != 2.0 {
		t.Errorf("to a member (-want +got):\n%s%s", diff, got.Body)
	}
	for i := range 3 {
		row := fmt.Sprintf("comments.%d.", i)
		foreign := i > 0
		for _, right := range []string{"can_edit", "can_delete", "can_reply"} {
			if got.get(row+right) != !foreign {
				t.Errorf("row %d: %s is %v", i, right, got.get(row+right))
			}
		}
		if (got.get(row+"scope_id") == b.link.ID) != foreign || got.get(row+"profile_id") != b.room.ID {
			t.Errorf("row %d: %s", i, got.Body)
		}
	}
	if got := b.list(t, b.ben, b.onRoom()).bodies(); !cmp.Equal(got, []string{"ours"}) {
		t.Errorf("the whole workspace: %v", got)
	}
	expect(t, b.list(t, b.eve, at(ours, "details")), 401, 0)
	expect(t, b.list(t, b.fay, at(theirs, "details")), 401, 115069)
	if got := b.list(t, b.ada, at(theirs, "details")); got.get("comment.can_reply") != false {
		t.Errorf("read-only by id: %s", got.Body)
	}
	expect(t, b.post(t, b.ben, at(members, "update"), hash{"body": "edited"}), 200, 0)
	expect(t, b.post(t, b.eve, at(theirs, "update"), hash{"body": "edited"}), 200, 0)
	expect(t, b.post(t, b.eve, b.onLink(), hash{"comment_id": theirs, "body": "again"}), 200, 0)
	expect(t, b.post(t, b.ben, at(theirs, "update"), hash{"body": "x"}), 401, 0)
}

func TestPlanAndSpam(t *testing.T) {
	t.Parallel()
	b := newBoard(func(o *emulator.Options) { o.Comments.Limit, o.Comments.SpamWord = 2, "Casino" })
	expect(t, b.post(t, b.ben, b.onPlan(), hash{"body": "visit the CASINO"}), 406, 0)
	id := b.say(t, b.ben, b.onPlan(), "1")
	if got := b.list(t, b.ben, b.onPlan()); got.get("allowed") != true || got.get("remaining") != 1.0 {
		t.Errorf("%s", got.Body)
	}
	b.say(t, b.ada, b.onRoom(), "2")
	expect(t, b.post(t, b.ben, b.onPlan(), hash{"body": "3"}), 406, 0)
	expect(t, b.post(t, b.ben, at(id, "update"), hash{"body": "1, again"}), 200, 0)
	if got := b.list(t, b.ben, b.onPlan()); got.get("allowed") != false || got.get("remaining") != 0.0 {
		t.Errorf("%s", got.Body)
	}
	b.say(t, b.fay, b.onPhoto(), "elsewhere")
	b.call(t, b.ben, http.MethodDelete, at(id, "delete"), nil)
	b.say(t, b.ben, b.onPlan(), "3")
}
