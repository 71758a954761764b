package shares_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/shares"
)

func TestExternalInvites(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]shares.ExternalInvites{
		`"external_invites":"allowed"`: shares.ExternalInvitesAllowed,
		`"external_invites":"denied"`:  shares.ExternalInvitesDenied,
		`"external_invites":null`:      shares.ExternalInvitesInherit, `"title":"x"`: "",
		`"external_invites":"asked"`: "asked",
	} {
		s, _ := answering(`{"share":{"id":"5",` + answer + `}}`)
		if got, err := s.Get(t.Context(), portal, nil); err != nil || got.ExternalInvites != want {
			t.Errorf("%s is %v, %v", answer, got, err)
		}
	}
}

// What internal/contract does not decode.
func TestDecoded(t *testing.T) {
	t.Parallel()
	s, _ := answering(`{"share":{"id":"5"},"owner":{"profile_pic":"p"},"org":{"logo":"l"},"nodes":null,"users":7}`)
	public, err := s.GetPublic(t.Context(), portal, nil)
	want := &shares.Public{
		Share: &shares.Share{ID: "5"}, Owner: &shares.User{ProfilePic: "p"}, Org: &shares.Org{Logo: "l"},
	}
	if diff := cmp.Diff(want, public); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	s, _ = answering(`{"quickshare":{"id":"q","limit_exceeded":true}}`)
	quick, err := s.QuickShares.Get(t.Context(), link)
	if diff := cmp.Diff(&shares.QuickShare{ID: "q", LimitExceeded: true}, quick); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	const invitation = `"invitation":{"id":"i1","accepted_uid":"3","invitation_key":"k3y"}`
	for members, want := range map[string]*shares.Added{
		invitation:          {Invitation: &shares.Invitation{ID: "i1", AcceptedID: "3", Key: api.NewSecret("k3y")}},
		`"invitation":null`: {},
		`"user":{"id":"3"}`: {},
	} {
		s, _ := answering(`{"result":true,` + members + `}`)
		got, err := s.Members.Add(t.Context(), portal, "new@example.com", shares.AddRequest{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", members, err, diff)
		}
	}
}

func TestAnswersWithoutAResultAreErrors(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`{"result":true}`, `{"result":true,"share":null,"invitation":null}`} {
		s, _ := answering(answer)
		for name, err := range map[string]error{
			"Get":               second(s.Get(t.Context(), portal, nil)),
			"Members.Get":       second(s.Members.Get(t.Context(), portal, ada)),
			"TransferOwnership": second(s.Members.TransferOwnership(t.Context(), portal, ada, portal)),
			"GetMine":           second(s.Invitations.GetMine(t.Context(), api.NewSecret("i1"))),
		} {
			if err == nil {
				t.Errorf("%s: %s is no error", name, answer)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hour := time.Now().Add(time.Hour)
		for answer, want := range map[string]*shares.Token{
			`"auth_token":"a","expires_in":3600`:           {Secret: api.NewSecret("a"), Expiry: hour},
			`"token":"b","expires_in":9223372036854775807`: {Secret: api.NewSecret("b")},
			`"jwt":"c"`: {Secret: api.NewSecret("c")},
			`"jwt":"c","token":"b","auth_token":"a","expires_in":0`: {Secret: api.NewSecret("a")},
			`"auth_token":null,"expires_in":3600`:                   nil,
			`"session":"d"`:                                         nil,
		} {
			s, _ := answering("{" + answer + "}")
			password, err1 := s.AuthPassword(t.Context(), portal, api.NewSecret("0p3n"))
			guest, err2 := s.AuthGuest(t.Context(), portal)
			if (err1 == nil) != (want != nil) || (err2 == nil) != (want != nil) {
				t.Errorf("%s: got %v and %v", answer, err1, err2)
			}
			if diff := cmp.Diff([]*shares.Token{want, want}, []*shares.Token{password, guest}); diff != "" {
				t.Errorf("%s (-want +got)\n%s", answer, diff)
			}
		}
	})
}

// With a Markdown output there is no token.
func TestTokensAsText(t *testing.T) {
	t.Parallel()
	var text string
	s, _ := answering("")
	if got, err := s.AuthGuest(t.Context(), portal, api.Markdown(&text)); err != nil || !got.Secret.IsZero() {
		t.Errorf("%v, %v", got, err)
	}
}

// A name that is taken is no error.
func TestCheckName(t *testing.T) {
	t.Parallel()
	down := &api.Error{Status: http.StatusServiceUnavailable}
	for name, tc := range map[string]struct {
		err  error
		free bool
		want error
	}{
		"free":  {nil, true, nil},
		"taken": {&api.Error{Status: http.StatusNotAcceptable, Text: "In use."}, false, nil},
		"not liked": {
			&api.Error{Status: http.StatusNotAcceptable, Params: []api.ParamError{{Name: "name", Kind: api.ParamKindInvalid}}},
			false, nil,
		},
		"not liked by an older server": {&api.Error{Status: http.StatusBadRequest}, false, nil},
		"not known":                    {down, false, down},
	} {
		if free, err := failing(tc.err).CheckName(t.Context(), "q4pack"); free != tc.free || !errors.Is(err, tc.want) {
			t.Errorf("%s: %t, %v", name, free, err)
		}
	}
}

// Iterators go through all pages, from where they are told to.
func TestIterators(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	collect := func(key, rows string, walk func(s *shares.Service) (int, error)) {
		t.Helper()
		s := &server{answer: `{"` + key + `":` + rows + `,"pagination":{"total":2,"limit":500,"offset":0,"has_more":false}}`}
		if n, err := walk(shares.New(s)); n != 2 || err != nil {
			t.Errorf("%s: %d rows, %v", key, n, err)
		}
		if n := len(s.got); n != 1 || s.got[0].Query.Get("limit") != "500" {
			t.Errorf("%s: %d requests, %v", key, n, s.got)
		}
	}
	const two = `[{"id":"1"},{"id":"2"}]`
	collect("shares", two, func(s *shares.Service) (int, error) { return count(s.All(ctx)) })
	collect("shares", two, func(s *shares.Service) (int, error) { return count(s.AllByWorkspace(ctx, room, nil)) })
	collect("shares", two, func(s *shares.Service) (int, error) { return count(s.AllMine(ctx, nil)) })
	collect("users", two, func(s *shares.Service) (int, error) { return count(s.Members.All(ctx, portal)) })
	collect("invitations", two, func(s *shares.Service) (int, error) { return count(s.Invitations.AllMine(ctx)) })
	collect("quickshares", two, func(s *shares.Service) (int, error) { return count(s.QuickShares.All(ctx, room)) })

	pages := &paged{}
	n, err := count(
		shares.New(pages).AllByWorkspace(ctx, room, &shares.ListOptions{Limit: 2, Offset: 1, Archived: new(true)}),
	)
	if diff := cmp.Diff(
		[]string{"archived=true&limit=2&offset=1", "archived=true&limit=2&offset=3"}, pages.asked,
	); diff != "" || n != 2 || err != nil {
		t.Errorf("%d rows, %v (-want +got)\n%s", n, err, diff)
	}
}

func count[T any](seq func(yield func(T, error) bool)) (int, error) {
	n := 0
	for _, err := range seq {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// paged is a Client with a list of two pages.
type paged struct {
	server

	asked []string
}

func (p *paged) Call(_ ctx, r *api.Request, out any) error {
	p.asked = append(p.asked, r.Query.Encode())
	more := strconv.FormatBool(len(p.asked) < 2)
	return json.Unmarshal([]byte(`{"shares":[{"id":"1"}],"pagination":{"limit":2,"has_more":`+more+`}}`), out)
}

// A retry that no longer finds what it deletes has succeeded.
func TestRepeatedDeletions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	gone := &api.Error{Status: http.StatusNotFound, Attempts: 2}
	never := &api.Error{Status: http.StatusNotFound, Attempts: 1}
	wrong := &api.Error{Status: http.StatusNotFound, Code: 9992, Attempts: 2}
	for name, try := range map[string]func(s *shares.Service) error{
		"a share":      func(s *shares.Service) error { return s.Delete(ctx, portal, portal) },
		"a member":     func(s *shares.Service) error { return s.Members.Remove(ctx, portal, ada) },
		"the caller":   func(s *shares.Service) error { return s.Leave(ctx, portal) },
		"an invite":    func(s *shares.Service) error { return s.Invitations.Delete(ctx, portal, "i1") },
		"a QuickShare": func(s *shares.Service) error { return s.QuickShares.Revoke(ctx, room, node) },
	} {
		if err := try(failing(gone)); err != nil {
			t.Errorf("%s, deleted by an attempt before: %v", name, err)
		}
		if err := try(failing(never)); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("%s that never was: %v", name, err)
		}
		if err := try(failing(wrong)); !errors.Is(err, api.ErrUnsupported) {
			t.Errorf("%s, on a server without the call: %v", name, err)
		}
	}
}
