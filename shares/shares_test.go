package shares_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/shares"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	room   = api.ProfileID("4012345678901234567")
	portal = api.ProfileID("5123456789012345678")
	ada    = api.ProfileID("3000000000000000001")
	link   = api.OpaqueID("Q2ABC-1defg")
	node   = api.OpaqueID("2RII2-9kqzf")
)

func noon() time.Time {
	return time.Date(2126, 12, 31, 13, 0, 0, 999_999_999, time.FixedZone("CET", 3600))
}

func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hour := time.Now().Add(time.Hour)
		for answer, want := range map[string]*api.LinkToken{
			`"auth_token":"a","expires_in":3600`:                    {Secret: api.NewSecret("a"), Expiry: hour},
			`"token":"b","expires_in":9223372036854775807`:          {Secret: api.NewSecret("b")},
			`"jwt":"c","token":"b","auth_token":"a","expires_in":0`: {Secret: api.NewSecret("a")},
			`"auth_token":null,"expires_in":3600`:                   nil,
			`"session":"d"`:                                         nil,
		} {
			s := shares.New(stub.Answer("{" + answer + "}"))
			password, err1 := s.AuthPassword(t.Context(), portal, api.NewSecret("0p3n"))
			guest, err2 := s.AuthGuest(t.Context(), portal)
			if (err1 == nil) != (want != nil) || (err2 == nil) != (want != nil) {
				t.Errorf("%s: got %v and %v", answer, err1, err2)
			}
			if diff := cmp.Diff([]*api.LinkToken{want, want}, []*api.LinkToken{password, guest}); diff != "" {
				t.Errorf("%s (-want +got)\n%s", answer, diff)
			}
		}
	})
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
			&api.Error{
				Status: http.StatusNotAcceptable,
				Params: []api.ParamError{{Name: "name", Kind: api.ParamKindInvalid}},
			},
			false, nil,
		},
		"not liked by an older server": {&api.Error{Status: http.StatusBadRequest}, false, nil},
		"not known":                    {down, false, down},
	} {
		free, err := shares.New(stub.Fail(tc.err)).CheckName(t.Context(), "q4pack")
		if free != tc.free || !errors.Is(err, tc.want) {
			t.Errorf("%s: %t, %v", name, free, err)
		}
	}
}

// A retry that no longer finds what it deletes has succeeded.
func TestRepeatedDeletions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	gone := &api.Error{Status: http.StatusNotFound, Attempts: 2}
	never := &api.Error{Status: http.StatusNotFound, Attempts: 1}
	wrong := &api.Error{Status: http.StatusNotFound, Code: 9992, Attempts: 2}
	for name, try := range map[string]func(s *shares.Service) error{
		"a share":      func(s *shares.Service) error { return s.Delete(ctx, portal) },
		"a member":     func(s *shares.Service) error { return s.Members.Remove(ctx, portal, ada) },
		"the caller":   func(s *shares.Service) error { return s.Leave(ctx, portal) },
		"an invite":    func(s *shares.Service) error { return s.Invitations.Delete(ctx, portal, "i1") },
		"a QuickShare": func(s *shares.Service) error { return s.QuickShares.Revoke(ctx, room, node) },
	} {
		for err, want := range map[error]error{gone: nil, never: api.ErrNotFound, wrong: api.ErrUnsupported} {
			if got := try(shares.New(stub.Fail(err))); !errors.Is(got, want) {
				t.Errorf("%s after %+v: %v", name, err, got)
			}
		}
	}
}

// Rule 9 of CONTRIBUTING.md. The rules that File Shares have as well are tested in
// internal/contract.
func TestMissingSharesHaveOneError(t *testing.T) {
	t.Parallel()
	const never = `{"result":false,"error":{"code":10,"text":"It is not available."}`
	var said []string
	for _, answer := range []string{never + "}", never + `,"expired":true}`} {
		s := fastiotest.New()
		s.Fail(fastiotest.Fault{
			Op: "shares.GetPublic", Status: http.StatusNotFound, Body: answer, ContentType: "application/json",
		})
		_, err := s.Client(t).Shares.GetPublic(t.Context(), portal)
		if !errors.Is(err, api.ErrNotFound) {
			t.Fatalf("%s: %v", answer, err)
		}
		said = append(said, err.Error())
	}
	if said[0] != said[1] {
		t.Errorf("they differ: %q", said)
	}
}
