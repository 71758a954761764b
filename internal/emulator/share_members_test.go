package emulator_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// club is a board whose portal is Ada's. Gus administers the portal, Ivy belongs to the organization; Ben, Cleo, Fay
// and the others are outsiders to it.
type club struct {
	*board
	gus, ivy emulator.User
}

func newClub(change ...func(*emulator.Options)) *club {
	k := &club{board: newBoard(change...)}
	join := func(name string) emulator.User {
		u := k.AddUser(emulator.User{FirstName: name, LastName: "Reed", Email: strings.ToLower(name) + "@example.test"})
		k.keys[u.ID] = k.AddKey(emulator.Key{User: u.ID}).Token
		return u
	}
	k.gus, k.ivy = join("Gus"), join("Ivy")
	k.SetMember(k.org.ID, k.ivy.ID, emulator.Member)
	k.SetMember(k.portal.ID, k.ada.ID, emulator.Owner)
	k.SetMember(k.portal.ID, k.gus.ID, emulator.Admin)
	return k
}

func (k *club) at(path string) string { return "/share/" + k.portal.ID + "/" + path }

// member is a path about one member.
func (k *club) member(u emulator.User, what string) string {
	return k.at("member/" + u.ID + "/" + what + "/")
}

func (k *club) form(t *testing.T, u emulator.User, method, path string, fields ...string) reply {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return k.raw(t, k.keys[u.ID], method, path, "application/x-www-form-urlencoded", values.Encode())
}

func (k *club) raw(t *testing.T, token, method, path, contentType, body string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://emulator.test/api/current"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", contentType)
	return k.send(t, r)
}

func (k *club) post(t *testing.T, u emulator.User, path string, fields ...string) reply {
	t.Helper()
	return k.form(t, u, http.MethodPost, path, fields...)
}

// add adds a user or an e-mail address.
func (k *club) add(t *testing.T, by emulator.User, target string, fields ...string) reply {
	t.Helper()
	return k.post(t, by, k.at("members/"+url.PathEscape(target)+"/"), fields...)
}

// row is a member of the portal as somebody sees it.
func (k *club) row(t *testing.T, by emulator.User, name string) hash {
	t.Helper()
	row, _ := k.as(t, by, http.MethodGet, k.at("member/"+url.PathEscape(name)+"/details/")).get("member").(map[string]any)
	return row
}

// denyOutsiders sets the policies of the organization and of the portal.
func (k *club) denyOutsiders(org, share string) {
	o, h := k.org, k.portal
	o.ExternalInvites, h.ExternalInvites = org, share
	k.AddOrg(o)
	k.AddShare(h)
}

// told lists the names of the membership events of the portal and whom they are about, in the order of the log.
func (k *club) told(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, name := range []string{"added_member_to_share", "removed_member_from_share", "membership_updated"} {
		for _, e := range k.search(t, k.ada, "share_id", k.portal.ID, "event", name).events() {
			id, _ := e["user_id"].(string)
			names = append(names, name+" "+k.nameOf(id))
		}
	}
	return names
}

func (k *club) nameOf(id string) string {
	for _, u := range []emulator.User{k.ada, k.ben, k.cleo, k.dora, k.eve, k.fay, k.gus, k.ivy} {
		if u.ID == id {
			return u.FirstName
		}
	}
	return "somebody"
}

func TestMemberRows(t *testing.T) {
	t.Parallel()
	k := newClub()
	ends := k.now.Add(24 * time.Hour)
	k.AddMembership(emulator.Membership{
		Profile: k.portal.ID, User: k.fay.ID, Role: emulator.View, Notify: "Do not notify me", Added: k.now.Add(-time.Hour), Expires: ends,
	})
	invited := k.AddInvitation(emulator.Invitation{Profile: k.portal.ID, Email: "New@example.test", Role: emulator.Guest})
	got := k.as(t, k.gus, http.MethodGet, k.at("members/list/"))
	rows := map[string]any{}
	list, _ := got.get("users").([]any)
	for _, row := range list {
		row := row.(map[string]any)
		rows[row["email_address"].(string)] = row
	}
	want := map[string]any{
		"ada@example.test": hash{
			"id": k.ada.ID, "account_type": "human", "email_address": "ada@example.test", "first_name": "Ada", "last_name": "Stone",
			"permissions": "owner", "status": "active",
			"member_added_at": "2026-06-01 12:00:00 UTC", "notify": nil, "expires": nil, "invite": nil,
		},
		k.fay.Email: hash{
			"id": k.fay.ID, "account_type": "human", "email_address": k.fay.Email, "first_name": "Fay", "last_name": "",
			"permissions": "view", "status": "active",
			"member_added_at": "2026-06-01 11:00:00 UTC", "notify": "Do not notify me", "expires": "2026-06-02 12:00:00 UTC", "invite": nil,
		},
		"new@example.test": hash{
			"id": list[len(list)-1].(map[string]any)["id"], "account_type": "human",
			"email_address": "new@example.test", "first_name": "new@example.test", "last_name": "",
			"permissions": "guest", "status": "pending", "member_added_at": nil, "notify": nil, "expires": nil,
			"invite": hash{"id": k.hyphenated(invited.ID), "created": "2026-06-01 12:00:00", "expires": nil},
		},
	}
	for address, row := range want {
		if diff := cmp.Diff(row, rows[address]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
	}
	if len(list) != 5 || got.get("pagination.total") != 5.0 {
		t.Errorf("%d rows, pagination %v", len(list), got.get("pagination"))
	}
	page := k.as(t, k.gus, http.MethodGet, k.at("members/list/"), "limit", "2", "offset", "4")
	if rows, _ := page.get("users").([]any); len(rows) != 1 || page.get("pagination.has_more") != false {
		t.Errorf("last page %s", page.Body)
	}
}

// Since when somebody is a member, and on what terms, is for the member and for admins.
func TestMemberTermsAreConfided(t *testing.T) {
	t.Parallel()
	k := newClub()
	for _, viewer := range []struct {
		user emulator.User
		of   emulator.User
		told bool
	}{{k.ada, k.fay, true}, {k.gus, k.fay, true}, {k.fay, k.fay, true}, {k.ben, k.fay, false}, {k.cleo, k.fay, false}} {
		row := k.row(t, viewer.user, viewer.of.ID)
		for _, name := range []string{"member_added_at", "notify", "expires", "invite"} {
			if _, there := row[name]; there != viewer.told {
				t.Errorf("%s sees %s of %s: %v, want %v", viewer.user.FirstName, name, viewer.of.FirstName, there, viewer.told)
			}
		}
		if row["invite"] != nil || row["status"] != "active" {
			t.Errorf("row %v", row)
		}
	}
	for _, name := range []string{"me", k.cleo.ID, "Cleo@example.test"} {
		if got := k.row(t, k.cleo, name)["id"]; got != k.cleo.ID {
			t.Errorf("%s is %v", name, got)
		}
	}
	expect(t, k.as(t, k.cleo, http.MethodGet, k.member(k.eve, "details")), 404, 199915)
	expect(t, k.as(t, k.eve, http.MethodGet, k.member(k.cleo, "details")), 401, 10545)
	expect(t, k.as(t, k.eve, http.MethodGet, k.at("members/list/")), 401, 10545)
}

func TestMemberWrapper(t *testing.T) {
	t.Parallel()
	for key, path := range map[string]string{"": "member.id", "user": "user.id", "-": "id"} {
		k := newClub(func(o *emulator.Options) { o.Shares.MemberKey = key })
		if got := k.as(t, k.ada, http.MethodGet, k.member(k.cleo, "details")).get(path); got != k.cleo.ID {
			t.Errorf("%q: %v", key, got)
		}
	}
}

func TestAddingAMember(t *testing.T) {
	t.Parallel()
	k := newClub()
	got := k.add(t, k.gus, k.eve.ID, "permissions", "guest", "notify_options", "Notify me in app", "expires", "2026-07-01 00:00:00 UTC",
		"message", "short", "invitation_expires", "soon") // the last two are of invitations
	expect(t, got, 200, 0)
	if got.get("invitation") != nil {
		t.Errorf("an invitation to an account: %s", got.Body)
	}
	row := k.row(t, k.gus, k.eve.ID)
	want := hash{"permissions": "guest", "notify": "Notify me in app", "expires": "2026-07-01 00:00:00 UTC", "member_added_at": "2026-06-01 12:00:00 UTC"}
	for name, value := range want {
		if row[name] != value {
			t.Errorf("%s is %v, want %v", name, row[name], value)
		}
	}
	expect(t, k.add(t, k.gus, k.dora.ID), 200, 0)
	if got := k.row(t, k.gus, k.dora.ID)["permissions"]; got != "member" {
		t.Errorf("without permissions somebody becomes %v", got)
	}
	expect(t, k.add(t, k.gus, k.dora.ID, "permissions", "view"), 200, 0)
	if got := k.row(t, k.gus, k.dora.ID)["permissions"]; got != "view" {
		t.Errorf("somebody added again is %v", got)
	}
	if got := k.told(t); !cmp.Equal(got, []string{"added_member_to_share Eve", "added_member_to_share Dora", "membership_updated Dora"}) {
		t.Errorf("events %q", got)
	}
}

// A forced notification mails again, though not within a minute of the last mail.
func TestForcedNotification(t *testing.T) {
	t.Parallel()
	k := newClub()
	mails := func() int { return len(k.Mails("eve@example.test")) }
	for _, step := range []struct {
		after  time.Duration
		fields []string
		mails  int
	}{
		{0, nil, 1},
		{time.Hour, nil, 1},
		{0, []string{"notification", "force"}, 2},
		{59 * time.Second, []string{"notification", "force"}, 2},
		{time.Second, []string{"notification", "force"}, 3},
	} {
		k.now = k.now.Add(step.after)
		expect(t, k.add(t, k.gus, k.eve.ID, step.fields...), 200, 0)
		if mails() != step.mails {
			t.Errorf("%v %v: %d mails, want %d", step.after, step.fields, mails(), step.mails)
		}
	}
	expect(t, k.add(t, k.gus, k.eve.ID, "notification", "again"), 406, 0, "notification invalid")
}

func TestRefusedMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by           func(k *club) emulator.User
		target       func(k *club) string
		fields       []string
		status, code int
		failures     []string
	}{
		"an owner's role":          {fields: []string{"permissions", "owner"}, status: 406, code: 199901},
		"an empty role":            {fields: []string{"permissions", ""}, status: 406, failures: []string{"permissions invalid"}},
		"the owner":                {target: func(k *club) string { return k.ada.ID }, status: 406, code: 199902},
		"the owner by mail":        {target: func(k *club) string { return "ADA@example.test" }, status: 406, code: 199902},
		"oneself":                  {target: func(k *club) string { return k.gus.ID }, status: 406, code: 199903},
		"oneself by mail":          {target: func(k *club) string { return "gus@example.test" }, status: 406, code: 199903},
		"no address":               {target: func(*club) string { return "eve" }, status: 406, failures: []string{"email_or_user invalid"}},
		"a stranger's id":          {target: func(*club) string { return "4012345678901234567" }, status: 404, code: 199002},
		"a date alone":             {fields: []string{"expires", "2026-07-01"}, status: 406, failures: []string{"expires invalid"}},
		"an end that has passed":   {fields: []string{"expires", "2026-06-01 12:00:00 UTC"}, status: 406, failures: []string{"expires invalid"}},
		"a notification of sorts":  {fields: []string{"notify_options", "loudly"}, status: 406, failures: []string{"notify_options invalid"}},
		"by a guest":               {by: func(k *club) emulator.User { return k.cleo }, status: 401, code: 10545},
		"by a member of the room":  {by: func(k *club) emulator.User { return k.ben }, status: 401, code: 10545},
		"by somebody from outside": {by: func(k *club) emulator.User { return k.eve }, status: 401, code: 10545},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newClub()
			by, target := k.gus, k.dora.ID
			if c.by != nil {
				by = c.by(k)
			}
			if c.target != nil {
				target = c.target(k)
			}
			expect(t, k.add(t, by, target, c.fields...), c.status, c.code, c.failures...)
			if got := k.row(t, k.ada, k.dora.ID); got != nil {
				t.Errorf("added all the same: %v", got)
			}
		})
	}
}

// JSON is refused wherever members and invitations are written.
func TestMembersTakeForms(t *testing.T) {
	t.Parallel()
	k := newClub()
	v := k.AddInvitation(emulator.Invitation{Profile: k.portal.ID, Email: "new@example.test"})
	for path, body := range map[string]string{
		k.at("members/" + k.eve.ID + "/"): `{"permissions":"guest"}`, k.member(k.cleo, "update"): `{"permissions":"guest"}`,
		k.at("members/join/"): `{"notify_options":"x"}`, k.at("members/invitation/" + v.ID + "/"): `{"permissions":"guest"}`,
		"/user/invitations/acceptall/": `{"invitation_key":"x"}`,
	} {
		expect(t, k.raw(t, k.keys[k.gus.ID], http.MethodPost, path, "application/json", body), 406, 199101)
	}
}

// What a credential may do limits what its user may.
func TestMemberScopes(t *testing.T) {
	t.Parallel()
	k := newClub()
	key := func(scope string) string {
		return k.AddKey(emulator.Key{User: k.ada.ID, Scopes: []string{scope}}).Token
	}
	readOnly, other := key("share:"+k.portal.ID+":r"), key("workspace:"+k.attic.ID+":rwa")
	v := k.AddInvitation(emulator.Invitation{Profile: k.portal.ID, Email: "new@example.test"})
	const form = "application/x-www-form-urlencoded"
	for _, call := range []struct{ method, path string }{
		{http.MethodPost, k.at("members/" + k.eve.ID + "/")},
		{http.MethodPost, k.member(k.cleo, "update")},
		{http.MethodDelete, k.at("members/" + k.cleo.ID + "/")},
		{http.MethodDelete, k.at("member/")},
		{http.MethodPost, k.at("members/join/")},
		{http.MethodPost, k.at("members/join/" + v.Key + "/accept/")},
		{http.MethodPost, k.at("members/invitation/" + v.ID + "/")},
		{http.MethodDelete, k.at("members/invitation/" + v.ID + "/")},
	} {
		if got := k.raw(t, readOnly, call.method, call.path, form, ""); got.Status != 403 || got.reason() != "scope_write_required" {
			t.Errorf("%s %s with a credential that reads: %d %s", call.method, call.path, got.Status, got.Body)
		}
		expect(t, k.raw(t, other, call.method, call.path, form, ""), 403, 10754)
	}
	expect(t, k.raw(t, readOnly, http.MethodPost, "/user/invitations/acceptall/", form, ""), 403, 10770)
}

// Where guests manage the invitations of a share, they may give what they have.
func TestGuestsInvite(t *testing.T) {
	t.Parallel()
	k := newClub()
	h := k.portal
	h.Invite = "guests"
	k.AddShare(h)
	expect(t, k.add(t, k.cleo, "new@example.test", "permissions", "guest"), 200, 0)
	expect(t, k.add(t, k.cleo, k.eve.ID, "permissions", "view"), 200, 0)
	expect(t, k.add(t, k.cleo, "other@example.test"), 406, 199904)
	expect(t, k.add(t, k.cleo, k.dora.ID, "permissions", "member"), 406, 199904)
	expect(t, k.add(t, k.cleo, k.fay.ID, "permissions", "view"), 401, 10545) // who is in is an admin's affair
	expect(t, k.as(t, k.cleo, http.MethodGet, k.at("members/invitations/list/")), 200, 0)
	expect(t, k.form(t, k.cleo, http.MethodDelete, k.at("members/invitation/new@example.test/")), 401, 10545)
}

func TestUpdatingAMember(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by           func(k *club) emulator.User
		of           func(k *club) emulator.User
		fields       []string
		status, code int
		failures     []string
		want         hash // of the row
	}{
		"raises a role":                 {fields: []string{"permissions", "admin"}, status: 200, want: hash{"permissions": "admin"}},
		"lowers a role":                 {fields: []string{"permissions", "view"}, status: 200, want: hash{"permissions": "view"}},
		"ignores the owner's role":      {fields: []string{"permissions", "owner"}, status: 200, want: hash{"permissions": "guest"}},
		"sets an end":                   {fields: []string{"expires", "2026-06-03 00:00:00 UTC"}, status: 200, want: hash{"expires": "2026-06-03 00:00:00 UTC"}},
		"reads no zone as UTC":          {fields: []string{"expires", "2026-06-03 00:00:00"}, status: 200, want: hash{"expires": "2026-06-03 00:00:00 UTC"}},
		"clears the end":                {fields: []string{"expires", ""}, status: 200, want: hash{"expires": nil}},
		"clears the end with null":      {fields: []string{"expires", "null"}, status: 200, want: hash{"expires": nil}},
		"leaves what it does not name":  {fields: []string{"notify_options", "Notify me in app"}, status: 200, want: hash{"notify": "Notify me in app", "expires": "2026-06-02 12:00:00 UTC", "permissions": "guest"}},
		"changes nothing":               {status: 200, want: hash{"expires": "2026-06-02 12:00:00 UTC", "permissions": "guest"}},
		"refuses an unknown role":       {fields: []string{"permissions", "king"}, status: 406, failures: []string{"permissions invalid"}},
		"refuses ISO 8601":              {fields: []string{"expires", "2026-06-03T00:00:00Z"}, status: 406, failures: []string{"expires invalid"}},
		"refuses an end that is past":   {fields: []string{"expires", "2026-05-03 00:00:00 UTC"}, status: 406, failures: []string{"expires invalid"}},
		"refuses unknown notifications": {fields: []string{"notify_options", "loudly"}, status: 406, failures: []string{"notify_options invalid"}},
		"refuses who is no member":      {of: func(k *club) emulator.User { return k.eve }, fields: []string{"permissions", "view"}, status: 404, code: 199915},
		"refuses guests":                {by: func(k *club) emulator.User { return k.cleo }, fields: []string{"permissions", "view"}, status: 401, code: 10545},
		"lets members say what to hear": {by: func(k *club) emulator.User { return k.fay }, fields: []string{"notify_options", "Do not notify me"}, status: 200, want: hash{"notify": "Do not notify me"}},
		"lets nobody promote oneself":   {by: func(k *club) emulator.User { return k.fay }, fields: []string{"permissions", "member"}, status: 401, code: 10545},
		"lets nobody extend oneself":    {by: func(k *club) emulator.User { return k.fay }, fields: []string{"expires", ""}, status: 401, code: 10545},
		"refuses admins the owner":      {of: func(k *club) emulator.User { return k.ada }, fields: []string{"permissions", "view"}, status: 401, code: 10545},
		"refuses owners to step down": {
			by: func(k *club) emulator.User { return k.ada }, of: func(k *club) emulator.User { return k.ada },
			fields: []string{"permissions", "admin"}, status: 406, code: 199913,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newClub()
			k.AddMembership(emulator.Membership{Profile: k.portal.ID, User: k.fay.ID, Role: emulator.Guest, Expires: k.now.Add(24 * time.Hour)})
			by, of := k.gus, k.fay
			if c.by != nil {
				by = c.by(k)
			}
			if c.of != nil {
				of = c.of(k)
			}
			expect(t, k.post(t, by, k.member(of, "update"), c.fields...), c.status, c.code, c.failures...)
			row := k.row(t, k.ada, of.ID)
			for name, value := range c.want {
				if row[name] != value {
					t.Errorf("%s is %v, want %v", name, row[name], value)
				}
			}
		})
	}
}

// A membership ends with its time, unless it was extended.
func TestMembershipsEnd(t *testing.T) {
	t.Parallel()
	k := newClub()
	for _, u := range []emulator.User{k.fay, k.cleo} {
		expect(t, k.post(t, k.gus, k.member(u, "update"), "expires", "2026-06-01 13:00:00 UTC"), 200, 0)
	}
	expect(t, k.post(t, k.gus, k.member(k.cleo, "update"), "expires", "2026-06-01 14:00:00 UTC"), 200, 0)
	k.now = k.now.Add(time.Hour)
	expect(t, k.as(t, k.fay, http.MethodGet, k.at("members/list/")), 401, 10545)
	expect(t, k.as(t, k.cleo, http.MethodGet, k.at("members/list/")), 200, 0)
	k.now = k.now.Add(time.Hour)
	expect(t, k.as(t, k.cleo, http.MethodGet, k.at("members/list/")), 401, 10545)
	if got := k.told(t); !slices.Contains(got, "removed_member_from_share Fay") {
		t.Errorf("events %q", got)
	}
}

func TestRemovingAMember(t *testing.T) {
	t.Parallel()
	k := newClub()
	v := k.AddInvitation(emulator.Invitation{Profile: k.portal.ID, Email: "new@example.test"})
	remove := func(by emulator.User, name string) reply {
		return k.form(t, by, http.MethodDelete, k.at("members/"+url.PathEscape(name)+"/"))
	}
	expect(t, remove(k.cleo, k.fay.ID), 401, 10545)
	expect(t, remove(k.gus, k.ada.ID), 406, 199913)
	expect(t, remove(k.gus, k.eve.ID), 404, 199915)
	expect(t, remove(k.gus, k.fay.ID), 200, 0)
	expect(t, remove(k.gus, k.fay.ID), 404, 199915)
	expect(t, remove(k.gus, "new@example.test"), 200, 0)
	expect(t, k.post(t, k.eve, k.at("members/join/"+v.Key+"/accept/")), 404, 199916)
	if got := k.told(t); !cmp.Equal(got, []string{"removed_member_from_share Fay"}) {
		t.Errorf("events %q", got)
	}
}

func TestLeaving(t *testing.T) {
	t.Parallel()
	k := newClub()
	leave := func(u emulator.User) reply { return k.form(t, u, http.MethodDelete, k.at("member/")) }
	expect(t, leave(k.ada), 406, 199913)
	expect(t, leave(k.ben), 401, 10545) // who is here by the workspace alone
	expect(t, leave(k.eve), 401, 10545)
	expect(t, leave(k.fay), 200, 0)
	expect(t, leave(k.fay), 401, 10545)
}

func TestJoining(t *testing.T) {
	t.Parallel()
	const members, org = "Only members of the Share or Workspace", "Members of the Share, Workspace or Org"
	for name, c := range map[string]struct {
		access       string
		by           func(k *club) emulator.User
		fields       []string
		status, code int
		role         any
	}{
		"lets members of the workspace in":    {access: members, by: func(k *club) emulator.User { return k.ben }, status: 200, role: "member"},
		"takes the notification options":      {access: members, by: func(k *club) emulator.User { return k.ben }, fields: []string{"notify_options", "Notify me in app"}, status: 200, role: "member"},
		"keeps who is in":                     {access: members, by: func(k *club) emulator.User { return k.fay }, status: 200, role: "guest"},
		"refuses the organization":            {access: members, by: func(k *club) emulator.User { return k.ivy }, status: 401, code: 10545},
		"lets the organization in":            {access: org, by: func(k *club) emulator.User { return k.ivy }, status: 200, role: "member"},
		"lets guests of the workspace in":     {access: org, by: func(k *club) emulator.User { k.SetMember(k.room.ID, k.eve.ID, emulator.Guest); return k.eve }, status: 200, role: "member"},
		"refuses everybody else":              {access: org, by: func(k *club) emulator.User { return k.eve }, status: 401, code: 10545},
		"is not for shares of the registered": {access: "Anyone with a registered account", by: func(k *club) emulator.User { return k.ben }, status: 406, code: 199908},
		"is not for public shares":            {access: "Anyone with the link", by: func(k *club) emulator.User { return k.ben }, status: 406, code: 199908},
		"refuses unknown notifications":       {access: members, by: func(k *club) emulator.User { return k.ben }, fields: []string{"notify_options", "x"}, status: 406},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newClub()
			h := k.portal
			h.Access = c.access
			k.AddShare(h)
			by := c.by(k)
			expect(t, k.post(t, by, k.at("members/join/"), c.fields...), c.status, c.code)
			if got := k.row(t, k.ada, by.ID)["permissions"]; got != c.role {
				t.Errorf("the role is %v, want %v", got, c.role)
			}
		})
	}
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	k := newClub()
	k.AddMembership(emulator.Membership{Profile: k.portal.ID, User: k.fay.ID, Role: emulator.Guest, Expires: k.now.Add(24 * time.Hour)})
	got := k.post(t, k.ada, k.member(k.fay, "transfer_ownership"))
	expect(t, got, 200, 0)
	want := hash{
		"profile_id": k.portal.ID, "profile_type": "share", "previous_owner": k.ada.ID, "new_owner": k.fay.ID,
		"transferred_at": "2026-06-01 12:00:00 UTC",
	}
	if diff := cmp.Diff(want, got.get("ownership")); diff != "" {
		t.Errorf("ownership (-want +got):\n%s", diff)
	}
	for u, role := range map[emulator.User]string{k.ada: "admin", k.fay: "owner"} {
		if got := k.row(t, k.ada, u.ID); got["permissions"] != role || got["expires"] != nil {
			t.Errorf("%s is %v", u.FirstName, got)
		}
	}
	if got := k.told(t); !cmp.Equal(got, []string{"membership_updated Fay", "membership_updated Ada"}) {
		t.Errorf("events %q", got)
	}
	audit := k.search(t, k.ada, "share_id", k.portal.ID, "event", "ownership_transferred", "visibility", "external_audit_log").events()
	if len(audit) != 1 || audit[0]["profile_type"] != "share" || audit[0]["from_user"] != k.ada.ID || audit[0]["to_user"] != k.fay.ID {
		t.Errorf("audit log %v", audit)
	}
	if mails := k.Mails(k.fay.Email); len(mails) != 0 {
		t.Errorf("mails %v", mails)
	}
	expect(t, k.post(t, k.ada, k.member(k.fay, "transfer_ownership")), 401, 199914)
}

func TestRefusedTransfers(t *testing.T) {
	t.Parallel()
	k := newClub()
	k.AddInvitation(emulator.Invitation{Profile: k.portal.ID, Email: "dora@example.test"})
	off := k.AddUser(emulator.User{FirstName: "Off", Disabled: true})
	k.SetMember(k.portal.ID, off.ID, emulator.Admin)
	for name, c := range map[string]struct {
		by, to       emulator.User
		status, code int
		reason       string
	}{
		"to the workspace":        {k.ada, k.ben, 406, 199911, "successor_not_member"},
		"to who has not come yet": {k.ada, k.dora, 406, 199911, "successor_not_member"},
		"by an admin":             {k.gus, k.fay, 401, 199914, ""},
	} {
		got := k.post(t, c.by, k.member(c.to, "transfer_ownership"))
		if got.Status != c.status || got.code() != c.code || got.reason() != c.reason {
			t.Errorf("%s: %d %d %q", name, got.Status, got.code(), got.reason())
		}
	}
	writes := k.AddKey(emulator.Key{User: k.ada.ID, Scopes: []string{"share:" + k.portal.ID + ":rw"}}).Token
	got := k.raw(t, writes, http.MethodPost, k.member(k.fay, "transfer_ownership"), "application/x-www-form-urlencoded", "")
	if got.Status != 403 || got.reason() != "scope_admin_required" || got.get("error.params.credential_type") != "api_key" {
		t.Errorf("without the scope: %s", got.Body)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if got := k.form(t, k.ada, method, k.member(k.fay, "transfer_ownership")); got.Status != 405 || got.Header.Get("Allow") != http.MethodPost {
			t.Errorf("%s: %d %v", method, got.Status, got.Header)
		}
	}
}

// The same call completes a transfer that stopped half-way; one to somebody else has to wait for that.
func TestHalfTransfers(t *testing.T) {
	t.Parallel()
	k := newClub(func(o *emulator.Options) { o.Shares.HalfTransfers, o.Shares.TransferConflicts = 1, 1 })
	if got := k.post(t, k.ada, k.member(k.fay, "transfer_ownership")); got.Status != 409 || got.reason() != "transfer_in_progress" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	expect(t, k.post(t, k.ada, k.member(k.fay, "transfer_ownership")), 500, 199917)
	for _, u := range []emulator.User{k.ada, k.fay} {
		if got := k.row(t, k.gus, u.ID)["permissions"]; got != "owner" {
			t.Errorf("half-way %s is %v", u.FirstName, got)
		}
	}
	if got := k.told(t); len(got) != 0 {
		t.Errorf("events %q", got)
	}
	if got := k.post(t, k.ada, k.member(k.gus, "transfer_ownership")); got.Status != 409 || got.reason() != "transfer_in_progress" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	got := k.post(t, k.ada, k.member(k.fay, "transfer_ownership"))
	expect(t, got, 200, 0)
	if k.row(t, k.gus, k.ada.ID)["permissions"] != "admin" || got.get("ownership.new_owner") != k.fay.ID {
		t.Errorf("completed: %s", got.Body)
	}
}

// An account that is switched off can do nothing.
func TestDisabledAccount(t *testing.T) {
	t.Parallel()
	k := newClub()
	u := k.gus
	u.Disabled = true
	k.AddUser(u)
	expect(t, k.as(t, k.gus, http.MethodGet, k.at("members/list/")), 401, 10011)
}
