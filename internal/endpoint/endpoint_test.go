package endpoint_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/endpoint"
)

func TestProfilesHavePathsByKind(t *testing.T) {
	t.Parallel()
	// A path without an ID requires only the kind.
	for want, got := range map[string]api.Route{
		"/current/user/assets/":        endpoint.AssetsTypes(api.Profile{Kind: api.ProfileKindUser}).Path,
		"/current/share/1/assets/":     endpoint.AssetsList(api.Share("1")).Path,
		"/current/org/a%2Fb/assets/c/": endpoint.AssetsDelete(api.Org("a/b"), "c").Path,
	} {
		if got.Err() != nil || got.String() != want {
			t.Errorf("got %s, %v; want %s", got, got.Err(), want)
		}
	}
}

func TestProfilesOfOtherKindsAreRefused(t *testing.T) {
	t.Parallel()
	const kinds, blank = "must be an organization, a workspace, a share or a user", "must not be blank or consist of dots"
	for in, want := range map[api.Profile]api.InputError{
		api.FileShare("1"): {Field: "in", Rule: kinds, Got: "fileshare"},
		api.Org(" "):       {Field: "in", Rule: "must have an ID", Got: "org without one"},
		api.Org("."):       {Field: "in", Wire: "org_id", Rule: blank, Got: `"."`},
		{}:                 {Field: "in", Rule: kinds},
	} {
		r := endpoint.AssetsList(in).Path
		e, ok := errors.AsType[*api.InputError](r.Err())
		if !ok {
			t.Fatalf("%v: got %s, %v", in, r, r.Err())
		}
		if diff := cmp.Diff(want, *e); diff != "" {
			t.Errorf("%v (-want +got)\n%s", in, diff)
		}
	}
	if e, ok := errors.AsType[*api.InputError](endpoint.AssetsTypes(api.FileShare("1")).Path.Err()); !ok ||
		e.Rule != kinds {
		t.Errorf("got %v", e)
	}
}
