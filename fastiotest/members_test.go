package fastiotest_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest"
)

// A test puts members and invitations there, and reads the mail that goes out.
func TestMembersAndInvitations(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	s := fastiotest.New(func(o *fastiotest.Options) { o.Clock = func() time.Time { return now } })
	portal := s.AddShare(fastiotest.Share{Org: s.Org().ID, Title: "Portal"})
	eve := s.AddUser(fastiotest.User{FirstName: "Eve", Email: "eve@example.test"})
	member := s.AddMembership(fastiotest.Membership{
		Profile: portal.ID, User: eve.ID, Role: fastiotest.View, Notify: "Do not notify me",
		Expires: now.Add(time.Hour),
	})
	if !member.Added.Equal(now) || member.Role != fastiotest.View {
		t.Errorf("membership %+v", member)
	}
	v := s.AddInvitation(fastiotest.Invitation{
		Profile: portal.ID, Email: "New@example.test", Inviter: eve.ID,
		Message: "Come and see.",
	})
	if v.ID == "" || v.Key == "" || v.Email != "new@example.test" || v.Role != fastiotest.Member ||
		v.State != "pending" || !v.Created.Equal(now) {
		t.Errorf("invitation %+v", v)
	}
	want := []fastiotest.Mail{{
		To: "new@example.test", Profile: portal.ID, Invitation: v.ID, Key: v.Key,
		Message: "Come and see.", At: now,
	}}
	if diff := cmp.Diff(want, s.Mails("NEW@example.test")); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://fastio.test/api/current/share/"+string(portal.ID)+"/members/list/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token())
	resp, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct {
		Users []struct {
			Permissions string `json:"permissions"`
			Status      string `json:"status"`
		} `json:"users"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, u := range list.Users {
		rows[u.Permissions] = u.Status
	}
	if diff := cmp.Diff(map[string]string{"view": "active", "member": "pending"}, rows); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}
