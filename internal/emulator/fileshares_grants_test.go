package emulator_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func (b *board) grants(t *testing.T, f emulator.FileShare) []any {
	t.Helper()
	p := b.as(t, b.ben, "GET", fileShare(f.ID, "grants"))
	list, isList := p.get("grants").([]any)
	if !isList {
		t.Fatal(p.Status, p.Body)
	}
	return list
}

func TestGrantsAnswerInThreeForms(t *testing.T) {
	t.Parallel()
	b := newBoard()
	f := b.shareFile(emulator.FileShare{Expires: b.now.AddDate(1, 0, 0)})
	path := fileShare(f.ID, "grants")
	bare := b.fill(t, b.ben, path, "user", b.eve.ID, "capability", "view")
	if bare.Status != 200 || bare.get("user") != nil || bare.get("grant") != nil {
		t.Error("by id: ", bare.Body)
	}
	if p := b.fill(t, b.ben, path, "email", "FAY@example.test", "capability", "edit"); p.get("grant.state") != "pending" {
		t.Error("Fay has another address: ", p.Body)
	}
	known := b.fill(t, b.ben, path, "email", "Dora@Example.test", "capability", "download")
	if diff := cmp.Diff(hash{"id": b.dora.ID}, known.get("user")); diff != "" {
		t.Error("by a registered address: ", known.Body)
	}
	later := b.fill(t, b.ben, path, "email", "later@example.test", "capability", "edit")
	pending := hash{
		"user": nil, "name": nil, "email": "later@example.test", "capability": "edit", "state": "pending",
		"created": "2026-06-01 12:00:00 UTC", "expires": "2027-06-01 12:00:00 UTC",
	}
	if diff := cmp.Diff(pending, later.get("grant")); diff != "" {
		t.Error("by an address nobody has: ", diff)
	}
	eve := hash{
		"user": b.eve.ID, "name": "Eve Stone", "email": "eve@example.test", "capability": "view", "state": "active",
		"created": "2026-06-01 12:00:00 UTC", "expires": "2027-06-01 12:00:00 UTC",
	}
	if list := b.grants(t, f); len(list) != 4 || !cmp.Equal(list[0], any(eve)) || !cmp.Equal(list[3], any(pending)) {
		t.Error(list)
	}
	if got := b.told(t); !slices.Equal(got, slices.Repeat([]string{"access_granted"}, 4)) {
		t.Error(got)
	}
}

func TestGrantsAreActivatedWithTheAccount(t *testing.T) {
	t.Parallel()
	b := newBoard()
	f := b.shareFile(emulator.FileShare{})
	b.fill(t, b.ben, fileShare(f.ID, "grants"), "email", "Later@example.test", "capability", "edit")
	late := b.AddUser(emulator.User{FirstName: "Late", Email: "later@example.test"})
	b.keys[late.ID] = b.AddKey(emulator.Key{User: late.ID}).Token
	if p := b.visit(t, late, fileShare(f.ID, "details")); p.get("fileshare.effective_capability") != "edit" {
		t.Error(p.Body)
	}
	list := b.grants(t, f)
	if row := list[0].(hash); len(list) != 1 || row["state"] != "active" || row["user"] != late.ID || row["email"] != "later@example.test" {
		t.Error(list)
	}
}

func TestGrantsAreChanged(t *testing.T) {
	t.Parallel()
	b := newBoard()
	f := b.shareFile(emulator.FileShare{})
	for _, level := range []string{"view", "edit", "edit", "download"} {
		b.fill(t, b.ben, fileShare(f.ID, "grants"), "user", b.eve.ID, "capability", level)
		if p := b.visit(t, b.eve, fileShare(f.ID, "details")); p.get("fileshare.effective_capability") != level {
			t.Errorf("%s: %s", level, p.Body)
		}
	}
	if list := b.grants(t, f); len(list) != 1 {
		t.Error(list)
	}
	if got := b.told(t); len(got) != 3 {
		t.Error("a grant that changes nothing is told of: ", got)
	}
}

func TestBadGrantsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBoard()
	path := fileShare(b.link.ID, "grants")
	tests := map[string]struct {
		pairs  []string
		failed []string
	}{
		"nobody":                  {[]string{"capability", "view"}, []string{"user invalid"}},
		"two":                     {[]string{"capability", "view", "user", b.fay.ID, "email", "x@example.test"}, []string{"user invalid"}},
		"an id that is none":      {[]string{"capability", "view", "user", "fay"}, []string{"user type_mismatch"}},
		"an address that is none": {[]string{"capability", "view", "email", "fay"}, []string{"email invalid"}},
		"no capability":           {[]string{"user", b.fay.ID}, []string{"capability missing"}},
		"a capability nobody has": {[]string{"user", b.fay.ID, "capability", "own"}, []string{"capability invalid"}},
		"nothing":                 {nil, []string{"user invalid", "capability missing"}},
	}
	for name, test := range tests {
		if p := b.fill(t, b.ben, path, test.pairs...); p.Status != 406 || !slices.Equal(p.failures(), test.failed) {
			t.Errorf("%s: %d %v", name, p.Status, p.failures())
		}
	}
	if p := b.fill(t, b.ben, path, "user", "4999999999999999999", "capability", "view"); p.Status != 404 {
		t.Error("a user nobody knows: ", p.Body)
	}
	if p := b.post(t, b.ben, path, hash{"user": b.fay.ID, "capability": "view"}); p.Status != 406 {
		t.Error("JSON: ", p.Body)
	}
}

func TestGrantsAreRevoked(t *testing.T) {
	t.Parallel()
	b := newBoard()
	f := b.shareFile(emulator.FileShare{Grants: []emulator.Grant{{User: b.eve.ID}, {User: b.dora.ID}, {Email: "later@example.test"}}})
	path := fileShare(f.ID, "grants")
	revoke := func(query string) reply { return b.call(t, b.ben, "DELETE", path+query, nil) }
	for _, step := range []struct {
		query string
		left  int
	}{
		{"?user=" + b.eve.ID, 2},
		{"?user=" + b.eve.ID, 2}, // again
		{"?user=4999999999999999999", 2},
		{"?email=DORA@example.test", 1},
		{"?email=nobody@example.test", 1},
		{"?email=Later@example.test", 0},
	} {
		if p := revoke(step.query); p.Status != 200 || len(b.grants(t, f)) != step.left {
			t.Errorf("%s: %d, %d left", step.query, p.Status, len(b.grants(t, f)))
		}
	}
	if got := b.told(t); !slices.Equal(got, slices.Repeat([]string{"access_revoked"}, 3)) {
		t.Error(got)
	}
	for _, query := range []string{"", "?user=" + b.eve.ID + "&email=eve@example.test", "?user=eve"} {
		if p := revoke(query); p.Status != 406 {
			t.Errorf("%q: %d", query, p.Status)
		}
	}
	f = b.shareFile(emulator.FileShare{Grants: []emulator.Grant{{User: b.eve.ID}}})
	p := b.call(t, b.ben, "DELETE", fileShare(f.ID, "grants"), "user="+b.eve.ID, "Content-Type", formType)
	if p.Status != 406 || len(b.grants(t, f)) != 1 {
		t.Error("a body is read: ", p.Status)
	}
	if p := b.visit(t, b.eve, fileShare(f.ID, "details")); p.Status != 200 {
		t.Error(p.Body)
	}
	b.call(t, b.ben, "DELETE", fileShare(f.ID, "grants")+"?user="+b.eve.ID, nil)
	if p := b.visit(t, b.eve, fileShare(f.ID, "details")); p.Status != 401 {
		t.Error("what was revoked is there: ", p.Body)
	}
}

func TestGrantsEnd(t *testing.T) {
	t.Parallel()
	b := newBoard()
	f := b.shareFile(emulator.FileShare{Grants: []emulator.Grant{{User: b.eve.ID, Expires: b.now.Add(time.Minute)}}})
	before := b.visit(t, b.eve, fileShare(f.ID, "details")).Status
	b.now = b.now.Add(time.Minute)
	if after := b.visit(t, b.eve, fileShare(f.ID, "details")).Status; before != 200 || after != 401 {
		t.Error(before, after)
	}
}

// A grant ends by itself or with its File Share, whichever is first.
func TestGrantsEndWithTheFileShare(t *testing.T) {
	t.Parallel()
	b := newBoard()
	first, last := b.now.AddDate(0, 1, 0), b.now.AddDate(0, 2, 0)
	for name, test := range map[string]struct {
		link, grant time.Time
		want        any
	}{
		"neither ends":             {time.Time{}, time.Time{}, nil},
		"the link does":            {first, time.Time{}, "2026-07-01 12:00:00 UTC"},
		"the grant does":           {time.Time{}, first, "2026-07-01 12:00:00 UTC"},
		"the link does before it":  {first, last, "2026-07-01 12:00:00 UTC"},
		"it does before the link":  {last, first, "2026-07-01 12:00:00 UTC"},
		"both do at the same time": {last, last, "2026-08-01 12:00:00 UTC"},
	} {
		f := b.shareFile(emulator.FileShare{Expires: test.link, Grants: []emulator.Grant{{User: b.eve.ID, Expires: test.grant}}})
		if got := b.grants(t, f)[0].(hash)["expires"]; got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestGrantsAreListedUpToAThousand(t *testing.T) {
	t.Parallel()
	b := newBoard()
	var grants []emulator.Grant
	for i := range 1002 {
		grants = append(grants, emulator.Grant{Email: strconv.Itoa(i) + "@example.test"})
	}
	f := b.shareFile(emulator.FileShare{Grants: grants})
	if n := len(b.grants(t, f)); n != 1000 {
		t.Error(n)
	}
}
