package emulator_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// invitation is a path about an invitation to the portal.
func (k *club) invitation(name string) string {
	return k.at("members/invitation/" + url.PathEscape(name) + "/")
}

// answerKey answers an invitation with its key.
func (k *club) answerKey(t *testing.T, u emulator.User, key, answer string) reply {
	t.Helper()
	return k.post(t, u, k.at("members/join/"+key+"/"+answer+"/"))
}

// invite puts an invitation there.
func (k *club) invite(email string, change ...func(*emulator.Invitation)) emulator.Invitation {
	v := emulator.Invitation{Profile: k.portal.ID, Email: email, Inviter: k.gus.ID, Role: emulator.Guest}
	for _, c := range change {
		c(&v)
	}
	return k.AddInvitation(v)
}

// states lists the addresses of the invitations to the portal with their states.
func (k *club) states(t *testing.T, state string) []string {
	t.Helper()
	path := k.at("members/invitations/list/")
	if state != "" {
		path += state + "/"
	}
	list, _ := k.as(t, k.gus, http.MethodGet, path).get("invitations").([]any)
	found := []string{}
	for _, v := range list {
		v := v.(map[string]any)
		found = append(found, v["invitee_email"].(string)+" "+v["state"].(string))
	}
	return found
}

func TestInviting(t *testing.T) {
	t.Parallel()
	k := newClub()
	got := k.add(t, k.gus, "New@example.test", "permissions", "guest", "message", "Come and see the portal.",
		"invitation_expires", "2026-06-15 12:00:00 UTC", "expires", "whenever", "notification", "x") // the last two are of members
	expect(t, got, 200, 0)
	id, _ := got.get("invitation.id").(string)
	want := hash{
		"id": id, "inviter": k.gus.ID, "invitee_email": "new@example.test", "invitee_uid": nil, "accepted_uid": nil,
		"inviter_actor": hash{
			"user_id": k.gus.ID, "kind": "api_key", "agent_name": nil, "name_source": nil, "credential_type": "api_key", "verified": false,
		},
		"entity_type": "share", "state": "pending", "consumed": false,
		"created": "2026-06-01 12:00:00 UTC", "updated": "2026-06-01 12:00:00 UTC", "expires": "2026-06-15 12:00:00 UTC",
	}
	sent, _ := got.get("invitation").(map[string]any)
	if share, _ := sent["share"].(map[string]any); share["id"] != k.portal.ID || share["title"] != "Portal" {
		t.Errorf("share %v", share)
	}
	delete(sent, "share") // which no other answer has
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("invitation (-want +got):\n%s", diff)
	}
	list, _ := k.as(t, k.gus, http.MethodGet, k.at("members/invitations/list/")).get("invitations").([]any)
	if diff := cmp.Diff([]any{want}, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	mails := k.Mails("new@example.test")
	if len(mails) != 1 || mails[0].Message != "Come and see the portal." || mails[0].Key == "" || k.hyphenated(mails[0].Invitation) != id {
		t.Errorf("mails %+v", mails)
	}
	if strings.Contains(got.Body, mails[0].Key) {
		t.Error("the key is for the guest alone")
	}
	row := k.row(t, k.gus, "new@example.test")
	if row["status"] != "pending" || row["permissions"] != "guest" || row["invite"].(map[string]any)["expires"] != "2026-06-15 12:00:00" {
		t.Errorf("pending member %v", row)
	}
}

// Inviting an address again is the same invitation on new terms.
func TestInvitingAgain(t *testing.T) {
	t.Parallel()
	k := newClub(func(o *emulator.Options) { o.Shares.InvitationLimit = 2 })
	first := k.add(t, k.gus, "new@example.test", "permissions", "guest")
	again := k.add(t, k.gus, "NEW@example.test", "permissions", "view")
	if first.get("invitation.id") != again.get("invitation.id") || k.row(t, k.gus, "new@example.test")["permissions"] != "view" {
		t.Errorf("%s, then %s", first.Body, again.Body)
	}
	if len(k.Mails("new@example.test")) != 2 {
		t.Errorf("mails %v", k.Mails("new@example.test"))
	}
	expect(t, k.add(t, k.gus, "second@example.test"), 200, 0)
	expect(t, k.add(t, k.gus, "third@example.test"), 412, 199905)
	expect(t, k.add(t, k.gus, "new@example.test"), 200, 0)
	expect(t, k.add(t, k.gus, k.eve.ID), 200, 0) // is no invitation
	expect(t, k.form(t, k.gus, http.MethodDelete, k.invitation("second@example.test")), 200, 0)
	expect(t, k.add(t, k.gus, "third@example.test"), 200, 0)
}

func TestRefusedInvitations(t *testing.T) {
	t.Parallel()
	k := newClub()
	for name, c := range map[string]struct {
		by       emulator.User
		fields   []string
		status   int
		code     int
		failures []string
	}{
		"an owner's role":        {k.gus, []string{"permissions", "owner"}, 406, 199901, nil},
		"an unknown role":        {k.gus, []string{"permissions", "boss"}, 406, 0, []string{"permissions invalid"}},
		"a short message":        {k.gus, []string{"message", "Nine char"}, 406, 0, []string{"message invalid"}},
		"a long message":         {k.gus, []string{"message", strings.Repeat("ü", 256)}, 406, 0, []string{"message invalid"}},
		"ISO 8601":               {k.gus, []string{"invitation_expires", "2026-07-01T00:00:00Z"}, 406, 0, []string{"invitation_expires invalid"}},
		"a deadline that passed": {k.gus, []string{"invitation_expires", "2026-06-01 11:59:59 UTC"}, 406, 0, []string{"invitation_expires invalid"}},
		"by a guest":             {k.cleo, nil, 401, 10545, nil},
		"by a stranger":          {k.eve, nil, 401, 10545, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, k.add(t, c.by, "new@example.test", c.fields...), c.status, c.code, c.failures...)
		})
	}
	for _, message := range []string{strings.Repeat("ü", 10), strings.Repeat("ü", 255)} {
		expect(t, k.add(t, k.gus, "kin@example.test", "message", message), 200, 0)
	}
}

// The address of an account is invited as well, unless the platform adds accounts at once.
func TestInvitingAnAccount(t *testing.T) {
	t.Parallel()
	k := newClub()
	got := k.add(t, k.gus, "eve@example.test", "permissions", "guest")
	if got.get("invitation.invitee_uid") != k.eve.ID {
		t.Errorf("invitation %s", got.Body)
	}
	row := k.row(t, k.gus, k.eve.ID)
	if row["status"] != "pending" || row["first_name"] != "Eve" {
		t.Errorf("pending member %v", row)
	}
	expect(t, k.add(t, k.gus, k.eve.ID, "permissions", "guest"), 200, 0) // which settles the invitation
	if got := k.states(t, ""); !cmp.Equal(got, []string{"eve@example.test accepted"}) {
		t.Errorf("invitations %q", got)
	}
	if got := k.add(t, k.gus, "eve@example.test", "permissions", "view"); got.Status != 200 || got.get("invitation") != nil || k.row(t, k.gus, k.eve.ID)["permissions"] != "view" {
		t.Errorf("somebody who is in already: %s", got.Body)
	}
	k = newClub(func(o *emulator.Options) { o.Shares.AddByEmail = true })
	if got := k.add(t, k.gus, "eve@example.test", "permissions", "guest"); got.Status != 200 || got.get("invitation") != nil {
		t.Errorf("at once: %s", got.Body)
	}
	if row := k.row(t, k.gus, k.eve.ID); row["status"] != "active" {
		t.Errorf("member %v", row)
	}
}

func TestAnsweringWithTheKey(t *testing.T) {
	t.Parallel()
	k := newClub()
	v := k.invite("new@example.test", func(v *emulator.Invitation) { v.Expires, v.Notify = k.now.Add(time.Hour), "Notify me in app" })
	other := k.AddShare(emulator.Share{Workspace: k.attic.ID, Title: "Other"})
	expect(t, k.answerKey(t, k.eve, v.Key, "maybe"), 406, 0, "answer invalid")
	expect(t, k.answerKey(t, k.eve, "nothing", "accept"), 404, 199916)
	expect(t, k.answerKey(t, k.eve, v.ID, "accept"), 404, 199916)
	expect(t, k.post(t, k.eve, "/share/"+other.ID+"/members/join/"+v.Key+"/accept/"), 404, 199916)
	expect(t, k.answerKey(t, k.eve, v.Key, "accept"), 200, 0)
	expect(t, k.answerKey(t, k.eve, v.Key, "accept"), 406, 199910)
	expect(t, k.answerKey(t, k.eve, v.Key, "decline"), 406, 199910)
	row := k.row(t, k.gus, k.eve.ID)
	if row["status"] != "active" || row["permissions"] != "guest" || row["notify"] != "Notify me in app" {
		t.Errorf("member %v", row)
	}
	shown := k.as(t, k.gus, http.MethodGet, k.at("members/invitations/list/accepted/")).get("invitations.0").(map[string]any)
	if shown["accepted_uid"] != k.eve.ID || shown["consumed"] != true || shown["invitee_uid"] != nil {
		t.Errorf("invitation %v", shown)
	}
	if got := k.told(t); !cmp.Equal(got, []string{"added_member_to_share Eve"}) {
		t.Errorf("events %q", got)
	}

	v = k.invite("second@example.test")
	expect(t, k.answerKey(t, k.dora, v.Key, "decline"), 200, 0)
	expect(t, k.answerKey(t, k.dora, v.Key, "accept"), 406, 199910)
	if k.row(t, k.gus, "second@example.test") != nil || k.row(t, k.gus, k.dora.ID) != nil {
		t.Error("who declined is still expected")
	}

	v = k.invite("third@example.test", func(v *emulator.Invitation) { v.Expires = k.now.Add(time.Hour) })
	k.now = k.now.Add(time.Hour)
	expect(t, k.answerKey(t, k.dora, v.Key, "accept"), 406, 199909)
	if got := k.states(t, "pending"); !cmp.Equal(got, []string{"third@example.test pending"}) {
		t.Errorf("pending %q", got)
	}
}

// Who is a member already keeps the higher role.
func TestAcceptingLess(t *testing.T) {
	t.Parallel()
	k := newClub()
	expect(t, k.answerKey(t, k.gus, k.invite("a@example.test").Key, "accept"), 200, 0)
	expect(t, k.answerKey(t, k.fay, k.invite("b@example.test", func(v *emulator.Invitation) { v.Role = emulator.Admin }).Key, "accept"), 200, 0)
	for _, u := range []emulator.User{k.gus, k.fay} {
		if got := k.row(t, k.ada, u.ID)["permissions"]; got != "admin" {
			t.Errorf("%s is %v", u.FirstName, got)
		}
	}
}

func TestListingInvitations(t *testing.T) {
	t.Parallel()
	k := newClub()
	k.invite("a@example.test")
	k.invite("b@example.test", func(v *emulator.Invitation) { v.State = "declined" })
	k.invite("c@example.test", func(v *emulator.Invitation) { v.State = "accepted" })
	k.AddInvitation(emulator.Invitation{Profile: k.room.ID, Email: "d@example.test"})
	for state, want := range map[string][]string{
		"":         {"a@example.test pending", "b@example.test declined", "c@example.test accepted"},
		"pending":  {"a@example.test pending"},
		"declined": {"b@example.test declined"},
		"accepted": {"c@example.test accepted"},
	} {
		if got := k.states(t, state); !cmp.Equal(got, want) {
			t.Errorf("%q: %q, want %q", state, got, want)
		}
	}
	expect(t, k.as(t, k.gus, http.MethodGet, k.at("members/invitations/list/revoked/")), 406, 0, "state invalid")
	expect(t, k.as(t, k.cleo, http.MethodGet, k.at("members/invitations/list/")), 401, 10545)
	expect(t, k.as(t, k.eve, http.MethodGet, k.at("members/invitations/list/")), 401, 10545)
}

func TestUpdatingAnInvitation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by           func(k *club) emulator.User
		name         string // instead of the address
		before       string // state
		fields       []string
		status, code int
		failures     []string
		want         hash // of the invitation
	}{
		"changes the role":              {fields: []string{"permissions", "admin"}, status: 200},
		"sets the deadline":             {fields: []string{"expires", "2026-06-03 00:00:00 UTC"}, status: 200, want: hash{"expires": "2026-06-03 00:00:00 UTC"}},
		"reads no zone as UTC":          {fields: []string{"expires", "2026-06-03 00:00:00"}, status: 200, want: hash{"expires": "2026-06-03 00:00:00 UTC"}},
		"keeps the deadline":            {fields: []string{"expires", ""}, status: 200, want: hash{"expires": "2026-06-02 12:00:00 UTC"}},
		"declines":                      {fields: []string{"state", "declined"}, status: 200, want: hash{"state": "declined"}},
		"sends again":                   {fields: []string{"state", "pending"}, status: 200, want: hash{"state": "pending"}},
		"opens what was declined":       {before: "declined", fields: []string{"state", "pending"}, status: 200, want: hash{"state": "pending"}},
		"accepts for who is to come":    {fields: []string{"state", "accepted"}, status: 200, want: hash{"state": "accepted", "consumed": false}},
		"refuses what was declined":     {before: "declined", fields: []string{"permissions", "view"}, status: 406, code: 199910},
		"refuses an unknown state":      {fields: []string{"state", "revoked"}, status: 406, failures: []string{"state invalid"}},
		"refuses an unknown role":       {fields: []string{"permissions", "x"}, status: 406, failures: []string{"permissions invalid"}},
		"refuses an owner":              {fields: []string{"permissions", "owner"}, status: 406, code: 127022},
		"refuses an owner to the owner": {by: func(k *club) emulator.User { return k.ada }, fields: []string{"permissions", "owner"}, status: 406, code: 199901},
		"refuses a passed deadline":     {fields: []string{"expires", "2026-05-03 00:00:00 UTC"}, status: 406, failures: []string{"expires invalid"}},
		"refuses ISO 8601":              {fields: []string{"expires", "2026-07-03T00:00:00Z"}, status: 406, failures: []string{"expires invalid"}},
		"refuses null as a deadline":    {fields: []string{"expires", "null"}, status: 406, failures: []string{"expires invalid"}},
		"refuses notifications":         {fields: []string{"notify_options", "x"}, status: 406, failures: []string{"notify_options invalid"}},
		"refuses an unknown one":        {name: "nobody@example.test", status: 404, code: 199916},
		"refuses those of others":       {name: "room@example.test", status: 404, code: 199916},
		"refuses guests":                {by: func(k *club) emulator.User { return k.cleo }, status: 401, code: 10545},
		"refuses strangers":             {by: func(k *club) emulator.User { return k.eve }, status: 401, code: 10545},
		"refuses the members' portal":   {by: func(k *club) emulator.User { return k.ben }, status: 401, code: 10545},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newClub()
			k.AddInvitation(emulator.Invitation{Profile: k.room.ID, Email: "room@example.test"})
			v := k.invite("new@example.test", func(v *emulator.Invitation) { v.State, v.Expires = c.before, k.now.Add(24*time.Hour) })
			by, path := k.gus, k.invitation(v.ID)
			if c.by != nil {
				by = c.by(k)
			}
			if c.name != "" {
				path = k.invitation(c.name)
			}
			got := k.post(t, by, path, c.fields...)
			expect(t, got, c.status, c.code, c.failures...)
			for name, value := range c.want {
				if got.get("invitation."+name) != value {
					t.Errorf("%s is %v, want %v", name, got.get("invitation."+name), value)
				}
			}
			sent := 1
			if slices.Contains(c.fields, "pending") {
				sent = 2
			}
			if mails := k.Mails("new@example.test"); len(mails) != sent {
				t.Errorf("%d mails, want %d", len(mails), sent)
			}
		})
	}
}

// A role above one's own is refused with a code of its own, and nothing of the call takes effect.
func TestInvitationAboveTheCaller(t *testing.T) {
	t.Parallel()
	k := newClub()
	h := k.portal
	h.Invite = "guests"
	k.AddShare(h)
	v := k.invite("new@example.test")
	expect(t, k.post(t, k.cleo, k.invitation(v.ID), "permissions", "member", "expires", "2026-06-03 00:00:00 UTC"), 406, 127022)
	if row := k.row(t, k.gus, "new@example.test"); row["permissions"] != "guest" || row["invite"].(map[string]any)["expires"] != nil {
		t.Errorf("pending member %v", row)
	}
	for _, state := range []string{"accepted", "declined"} {
		expect(t, k.post(t, k.cleo, k.invitation(v.ID), "state", state), 401, 10545)
	}
	expect(t, k.post(t, k.cleo, k.invitation(v.ID), "state", "pending", "permissions", "view"), 200, 0)
	if row := k.row(t, k.gus, "new@example.test"); row["permissions"] != "view" {
		t.Errorf("pending member %v", row)
	}
	higher := k.invite("boss@example.test", func(v *emulator.Invitation) { v.Role = emulator.Admin })
	expect(t, k.post(t, k.cleo, k.invitation(higher.ID), "permissions", "view"), 401, 10545)
}

// A pending member is updated like another, by an admin.
func TestUpdatingAPendingMember(t *testing.T) {
	t.Parallel()
	k := newClub()
	k.invite("new@example.test")
	id, _ := k.row(t, k.gus, "new@example.test")["id"].(string)
	update := k.at("member/" + id + "/update/")
	expect(t, k.post(t, k.cleo, update, "permissions", "view"), 401, 10545)
	expect(t, k.post(t, k.gus, update, "permissions", "view", "notify_options", "Notify me in app"), 200, 0)
	if row := k.row(t, k.gus, id); row["permissions"] != "view" || row["notify"] != "Notify me in app" {
		t.Errorf("pending member %v", row)
	}
}

// An admin's acceptance makes the account a member at once, or as soon as there is one.
func TestAcceptingForAGuest(t *testing.T) {
	t.Parallel()
	k := newClub()
	k.invite("eve@example.test")
	got := k.post(t, k.gus, k.invitation("eve@example.test"), "state", "accepted")
	if got.get("invitation.accepted_uid") != k.eve.ID || got.get("invitation.consumed") != true {
		t.Errorf("invitation %s", got.Body)
	}
	if row := k.row(t, k.gus, k.eve.ID); row["status"] != "active" {
		t.Errorf("member %v", row)
	}
	expect(t, k.post(t, k.gus, k.invitation("eve@example.test"), "state", "pending"), 406, 199910)

	k.invite("new@example.test")
	expect(t, k.post(t, k.gus, k.invitation("new@example.test"), "state", "accepted"), 200, 0)
	k.signUp(t, "New@example.test")
	if row := k.row(t, k.gus, "new@example.test"); row["status"] != "active" || row["permissions"] != "guest" {
		t.Errorf("member %v", row)
	}
}

// signUp opens an account.
func (k *club) signUp(t *testing.T, email string) {
	t.Helper()
	expect(t, k.post(t, emulator.User{}, "/user/", "email_address", email, "password", "a long password", "tos_agree", "true"), 200, 0)
}

func TestSigningUpJoins(t *testing.T) {
	t.Parallel()
	k := newClub()
	v := k.invite("new@example.test")
	k.AddInvitation(emulator.Invitation{Profile: k.attic.ID, Email: "new@example.test"})
	k.invite("new@example.test", func(v *emulator.Invitation) { v.State = "declined" })
	k.signUp(t, "new@example.test")
	if row := k.row(t, k.gus, "new@example.test"); row["status"] != "active" || row["permissions"] != "guest" || row["first_name"] == "new@example.test" {
		t.Errorf("member %v", row)
	}
	expect(t, k.answerKey(t, k.eve, v.Key, "accept"), 406, 199910)
	if got := k.search(t, k.ada, "workspace_id", k.attic.ID, "event", "added_member_to_workspace").events(); len(got) != 1 {
		t.Errorf("events of the workspace %v", got)
	}
}

func TestDeletingAnInvitation(t *testing.T) {
	t.Parallel()
	k := newClub()
	v := k.invite("new@example.test")
	expect(t, k.form(t, k.cleo, http.MethodDelete, k.invitation(v.ID)), 401, 10545)
	expect(t, k.form(t, k.gus, http.MethodDelete, k.invitation(k.hyphenated(v.ID))), 200, 0)
	expect(t, k.form(t, k.gus, http.MethodDelete, k.invitation(v.ID)), 404, 199916)
	expect(t, k.answerKey(t, k.eve, v.Key, "accept"), 404, 199916)
	if k.row(t, k.gus, "new@example.test") != nil {
		t.Error("the pending member is still there")
	}
	k.invite("new@example.test")
	expect(t, k.form(t, k.gus, http.MethodDelete, k.invitation("new@example.test")), 200, 0)
}

func TestMyInvitations(t *testing.T) {
	t.Parallel()
	k := newClub()
	mine := k.invite("Eve@example.test")
	k.AddInvitation(emulator.Invitation{Profile: k.attic.ID, Email: "eve@example.test"})
	keyed := k.invite("alias@example.test")
	k.invite("eve@example.test", func(v *emulator.Invitation) { v.State = "declined" })
	of := func(query ...string) []string {
		got := k.as(t, k.eve, http.MethodGet, "/user/invitations/list/", query...)
		list, _ := got.get("invitations").([]any)
		found := []string{}
		for _, v := range list {
			v := v.(map[string]any)
			found = append(found, v["invitee_email"].(string)+" "+v["entity_type"].(string))
		}
		if got.get("pagination") == nil {
			t.Errorf("no pagination: %s", got.Body)
		}
		return found
	}
	for _, c := range []struct {
		query []string
		want  []string
	}{
		{nil, []string{"eve@example.test share", "eve@example.test workspace"}},
		{[]string{"limit", "1", "offset", "1"}, []string{"eve@example.test workspace"}},
		{[]string{"invitation_key", keyed.Key}, []string{"eve@example.test share", "eve@example.test workspace", "alias@example.test share"}},
		{[]string{"invitation_key", "x"}, []string{"eve@example.test share", "eve@example.test workspace"}},
	} {
		if got := of(c.query...); !cmp.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.query, got, c.want)
		}
	}
	one := func(name string) reply { return k.as(t, k.eve, http.MethodGet, "/user/invitation/"+name+"/details/") }
	for _, name := range []string{mine.ID, k.hyphenated(mine.ID), mine.Key, keyed.Key} {
		if got := one(name); got.get("invitation.entity_type") != "share" || got.get("invitation.share") != nil {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	expect(t, one(keyed.ID), 404, 199916)
	expect(t, one("nothing"), 404, 199916)
}

func TestAcceptingAll(t *testing.T) {
	t.Parallel()
	k := newClub()
	k.invite("eve@example.test")
	k.AddInvitation(emulator.Invitation{Profile: k.attic.ID, Email: "eve@example.test", Role: emulator.Member})
	keyed := k.AddInvitation(emulator.Invitation{Profile: k.room.ID, Email: "alias@example.test"})
	late := k.AddInvitation(emulator.Invitation{Profile: k.org.ID, Email: "eve@example.test", Expires: k.now})
	expect(t, k.post(t, k.eve, "/user/invitations/acceptall/", "invitation_key", keyed.Key), 200, 0)
	expect(t, k.as(t, k.eve, http.MethodGet, k.at("members/list/")), 200, 0)
	for _, id := range []string{k.attic.ID, k.room.ID} {
		expect(t, k.as(t, k.eve, http.MethodGet, "/workspace/"+id+"/details/"), 200, 0)
	}
	left := k.as(t, k.eve, http.MethodGet, "/user/invitations/list/")
	if left.get("invitations.0.id") != k.hyphenated(late.ID) || left.get("pagination.total") != 1.0 {
		t.Errorf("left %s", left.Body)
	}
	expect(t, k.post(t, k.eve, "/user/invitations/acceptall/"), 406, 199909) // what is left cannot be
	expect(t, k.post(t, k.dora, "/user/invitations/acceptall/"), 200, 0)
}

func TestAcceptingAllWithinAScope(t *testing.T) {
	t.Parallel()
	k := newClub()
	for _, id := range []string{k.room.ID, k.attic.ID} {
		k.AddInvitation(emulator.Invitation{Profile: id, Email: "eve@example.test"})
	}
	scoped := k.AddKey(emulator.Key{User: k.eve.ID, Scopes: []string{"workspace:" + k.room.ID + ":rw"}}).Token
	expect(t, k.raw(t, scoped, http.MethodPost, "/user/invitations/acceptall/", "application/x-www-form-urlencoded", ""), 200, 0)
	expect(t, k.as(t, k.eve, http.MethodGet, "/workspace/"+k.room.ID+"/details/"), 200, 0)
	left := k.as(t, k.eve, http.MethodGet, "/user/invitations/list/")
	if left.get("pagination.total") != 1.0 {
		t.Errorf("left %s", left.Body)
	}
}

// deed is a call that somebody makes.
type deed struct {
	by           emulator.User
	method, path string
	fields       []string
}

func (k *club) posting(by emulator.User, path string, fields ...string) deed {
	return deed{by, http.MethodPost, path, fields}
}

// Policies stand against everything that widens what outsiders may do, and against nothing else.
func TestOutsiderPolicies(t *testing.T) {
	t.Parallel()
	adding := func(k *club, target string, fields ...string) deed {
		return k.posting(k.gus, k.at("members/"+url.PathEscape(target)+"/"), fields...)
	}
	changing := func(k *club, u emulator.User, fields ...string) deed {
		return k.posting(k.gus, k.member(u, "update"), fields...)
	}
	revising := func(k *club, fields ...string) deed {
		return k.posting(k.gus, k.invitation("old@example.test"), fields...)
	}
	answering := func(k *club, u emulator.User, role emulator.Role, answer string) deed {
		v := k.invite("a@example.test", func(v *emulator.Invitation) { v.Role = role })
		return k.posting(u, k.at("members/join/"+v.Key+"/"+answer+"/"))
	}
	const soon, late = "2026-06-01 13:00:00 UTC", "2026-07-01 00:00:00 UTC"
	for name, c := range map[string]struct {
		call   func(k *club) deed
		widens bool
	}{
		"inviting an address":             {func(k *club) deed { return adding(k, "new@example.test") }, true},
		"inviting an outsider":            {func(k *club) deed { return adding(k, "dora@example.test") }, true},
		"inviting one of us":              {func(k *club) deed { return adding(k, "ivy@example.test") }, false},
		"adding an outsider":              {func(k *club) deed { return adding(k, k.dora.ID) }, true},
		"adding one of us":                {func(k *club) deed { return adding(k, k.ivy.ID) }, false},
		"adding who is in by the room":    {func(k *club) deed { return adding(k, k.ben.ID, "permissions", "member") }, false},
		"adding who is in as more":        {func(k *club) deed { return adding(k, k.ben.ID, "permissions", "admin") }, true},
		"adding a member as more":         {func(k *club) deed { return adding(k, k.fay.ID, "permissions", "member") }, true},
		"adding a member as less":         {func(k *club) deed { return adding(k, k.fay.ID, "permissions", "view") }, false},
		"promoting an outsider":           {func(k *club) deed { return changing(k, k.fay, "permissions", "member") }, true},
		"demoting an outsider":            {func(k *club) deed { return changing(k, k.fay, "permissions", "view") }, false},
		"extending an outsider":           {func(k *club) deed { return changing(k, k.cleo, "expires", late) }, true},
		"clearing the end of an outsider": {func(k *club) deed { return changing(k, k.cleo, "expires", "null") }, true},
		"ending an outsider sooner":       {func(k *club) deed { return changing(k, k.cleo, "expires", soon) }, false},
		"less and longer":                 {func(k *club) deed { return changing(k, k.cleo, "permissions", "view", "expires", "") }, true},
		"other notifications":             {func(k *club) deed { return changing(k, k.fay, "notify_options", "Notify me in app") }, false},
		"removing an outsider":            {func(k *club) deed { return deed{k.gus, http.MethodDelete, k.at("members/" + k.fay.ID + "/"), nil} }, false},
		"sending again":                   {func(k *club) deed { return revising(k, "state", "pending") }, true},
		"a higher invitation":             {func(k *club) deed { return revising(k, "permissions", "member") }, true},
		"a later deadline":                {func(k *club) deed { return revising(k, "expires", late) }, true},
		"a lower invitation":              {func(k *club) deed { return revising(k, "permissions", "view") }, false},
		"an earlier deadline":             {func(k *club) deed { return revising(k, "expires", soon) }, false},
		"declining":                       {func(k *club) deed { return revising(k, "state", "declined") }, false},
		"accepting for a guest":           {func(k *club) deed { return revising(k, "state", "accepted") }, true},
		"accepting with the key":          {func(k *club) deed { return answering(k, k.dora, emulator.Guest, "accept") }, true},
		"accepting as one of us":          {func(k *club) deed { return answering(k, k.ivy, emulator.Guest, "accept") }, false},
		"accepting what one has":          {func(k *club) deed { return answering(k, k.fay, emulator.Guest, "accept") }, false},
		"accepting more than one has":     {func(k *club) deed { return answering(k, k.fay, emulator.Admin, "accept") }, true},
		"declining with the key":          {func(k *club) deed { return answering(k, k.dora, emulator.Guest, "decline") }, false},
		"accepting all": {func(k *club) deed {
			k.invite("dora@example.test")
			return k.posting(k.dora, "/user/invitations/acceptall/")
		}, true},
		"joining from the room": {func(k *club) deed { return k.posting(k.ben, k.at("members/join/")) }, false},
		"joining from the room as more": {func(k *club) deed {
			k.SetMember(k.room.ID, k.eve.ID, emulator.Guest)
			return k.posting(k.eve, k.at("members/join/"))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, policy := range []struct {
				org, share, reason string
				code               int
			}{
				{"", "", "", 0},
				{"allowed", "allowed", "", 0},
				{"denied", "", "external_invites_denied", 199906},
				{"denied", "allowed", "external_invites_denied", 199906},
				{"denied", "denied", "external_invites_denied", 199906},
				{"", "denied", "external_invites_object_denied", 199907},
				{"allowed", "denied", "external_invites_object_denied", 199907},
			} {
				k := newClub()
				k.AddMembership(emulator.Membership{Profile: k.portal.ID, User: k.cleo.ID, Role: emulator.Guest, Expires: k.now.Add(2 * time.Hour)})
				k.invite("old@example.test", func(v *emulator.Invitation) { v.Expires = k.now.Add(2 * time.Hour) })
				k.denyOutsiders(policy.org, policy.share)
				it := c.call(k)
				got := k.form(t, it.by, it.method, it.path, it.fields...)
				switch {
				case !c.widens || policy.reason == "":
					expect(t, got, 200, 0)
				case got.Status != 403 || got.code() != policy.code || got.reason() != policy.reason:
					t.Errorf("%+v: %d %s", policy, got.Status, got.Body)
				}
			}
		})
	}
}

// What the policy refuses leaves the invitation as it was.
func TestRefusedRedemption(t *testing.T) {
	t.Parallel()
	k := newClub()
	v := k.invite("new@example.test")
	k.denyOutsiders("denied", "")
	expect(t, k.answerKey(t, k.dora, v.Key, "accept"), 403, 199906)
	expect(t, k.post(t, k.gus, k.invitation(v.ID), "state", "accepted", "permissions", "view"), 403, 199906)
	k.signUp(t, "new@example.test")
	row := k.row(t, k.gus, "new@example.test")
	if row["status"] != "pending" || row["permissions"] != "guest" {
		t.Errorf("pending member %v", row)
	}
	k.denyOutsiders("", "")
	expect(t, k.answerKey(t, k.dora, v.Key, "accept"), 200, 0)
}

const invitingSeed = `{
  "users":       [{"id": "ada", "email": "ada@example.test"}, {"id": "eve", "email": "eve@example.test"}, {"id": "off", "disabled": true}],
  "orgs":        [{"id": "acme", "domain": "acme", "owner": "ada", "external_invites": "denied"}],
  "workspaces":  [{"id": "design", "org_id": "acme"}],
  "shares":      [{"id": "portal", "workspace_id": "design", "title": "Portal", "custom_name": "portal"}],
  "members":     [{"profile_id": "portal", "user_id": "eve", "role": "view", "notify": "Do not notify me",
                   "added": "2026-01-01T00:00:00Z", "expires": "2026-12-01T00:00:00Z"}],
  "invitations": [{"key": "secret", "profile_id": "portal", "email": "eve@example.test", "inviter": "ada", "role": "guest",
                   "message": "Come and see.", "notify": "Notify me in app", "created": "2026-02-01T00:00:00Z",
                   "expires": "2026-12-01T00:00:00Z"}],
  "keys":        [{"token": "all", "user_id": "ada"}, {"token": "hers", "user_id": "eve"}, {"token": "none", "user_id": "off"}]
}`

func TestLoadInvitations(t *testing.T) {
	t.Parallel()
	w := &world{Server: emulator.New(emulator.Options{Clock: func() time.Time { return epoch }, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})}
	if err := w.Load(strings.NewReader(invitingSeed)); err != nil {
		t.Fatal(err)
	}
	row := w.with(t, "hers", http.MethodGet, "/share/portal/member/me/details/").get("member").(map[string]any)
	if row["permissions"] != "view" || row["notify"] != "Do not notify me" ||
		row["member_added_at"] != "2026-01-01 00:00:00 UTC" || row["expires"] != "2026-12-01 00:00:00 UTC" {
		t.Errorf("member %v", row)
	}
	v := w.with(t, "hers", http.MethodGet, "/user/invitation/secret/details/").get("invitation").(map[string]any)
	if v["created"] != "2026-02-01 00:00:00 UTC" || v["expires"] != "2026-12-01 00:00:00 UTC" || v["inviter"] == nil {
		t.Errorf("invitation %v", v)
	}
	expect(t, w.with(t, "hers", http.MethodPost, "/share/portal/members/join/secret/accept/"), 403, 199906)
	expect(t, w.with(t, "none", http.MethodGet, "/user/me/details/"), 401, 10011)
}
