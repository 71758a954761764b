package api_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
)

func TestProfileOneOf(t *testing.T) {
	t.Parallel()
	refused := func(rule, got string) *api.InputError {
		return &api.InputError{Op: "notes.Read", Field: "in", Rule: rule, Got: got}
	}
	containers := []api.ProfileKind{api.ProfileKindWorkspace, api.ProfileKindShare}
	for name, tc := range map[string]struct {
		profile api.Profile
		kinds   []api.ProfileKind
		want    *api.InputError
	}{
		"serves the first kind":   {api.Workspace("w"), containers, nil},
		"serves the last kind":    {api.Share("s"), containers, nil},
		"serves any without list": {api.User(api.Me), nil, nil},
		"refuses another kind":    {api.Org("o"), containers, refused("must be a workspace or a share", "org")},
		"refuses the zero value":  {api.Profile{}, containers, refused("must be a workspace or a share", "")},
		"names one kind": {
			api.User("u"), []api.ProfileKind{api.ProfileKindOrg}, refused("must be an organization", "user"),
		},
		"names three kinds": {
			api.User("u"), append(containers, api.ProfileKindFileShare),
			refused("must be a workspace, a share or a File Share", "user"),
		},
		"refuses a blank ID": {api.Workspace(" "), containers, refused("must have an ID", "workspace without one")},
	} {
		err := tc.profile.OneOf("notes.Read", "in", tc.kinds...)
		if err == nil && tc.want == nil {
			continue
		}
		got, _ := errors.AsType[*api.InputError](err)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: OneOf (-want +got):\n%s", name, diff)
		}
	}
}

func TestProfileString(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]api.Profile{
		"workspace 4012345678901234567": api.Workspace("4012345678901234567"),
		"user me":                       api.User(api.Me),
		"fileshare 5":                   api.FileShare("5"),
		"":                              {},
	} {
		if got := p.String(); got != want {
			t.Errorf("String of %#v = %q, want %q", p, got, want)
		}
	}
}
