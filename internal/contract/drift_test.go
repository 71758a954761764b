package contract_test

import (
	"context"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	responses "github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/drift"
	"github.com/fastio-go/fastio/internal/stub"
)

// open are the ends of the paths of objects whose members have no type: of maps, and of
// values that are not decoded, since no document shows their form.
var open = []string{
	// maps
	"/capabilities", "/previews", "/reactions", "/chunks", "/properties", "/categories", "/users", "/activity",
	"search.Files/files", "storage.Texts.Search/nodes", "/would_refuse",

	// in an undocumented form
	"/accent_color", "/owner_defined", "/link_*", "/grants_preview/*", "fileshares.Grants.Set/user", "/progress",
	"metadata.Versions/versions/*", "metadata.Fields.Values/items/*", "/billable_members/*/workspaces/*",
	"comments.DeleteMany/results/*", "comments.DeleteMany/results/*/error",
	"/primary_action", "/ripley_seed", "/ripley_seed/subjects/*",
	"/references/*", "/references/*/file_details",
	"/policy_changes/*", "members.Add/invitation/share", "oauth.TokenScopes/scopes_detail/*",

	// of a response whose members are all undocumented
	"orgs.Billing.Credits/credits", "account.OrgLimits/limits",
	"workspaces.Limits/limits", "workspaces.Limits/limits/members", "workspaces.Limits/limits/shares",
}

// lookAt calls f with the result type of each request of a call and with its response.
func lookAt(t *testing.T, e *exchange, f func(out any)) {
	t.Helper()
	w := e.before
	if _, err := e.do(call{t.Context(), overCaller(&looking{body: e.answer.body, look: f}), &w}); err != nil {
		t.Errorf("%s: %v", e.name, err)
	}
}

// looking is a Caller that returns one body and calls look with each result.
type looking struct {
	stub.NotOpened
	body []byte
	look func(out any)
}

func (l *looking) Call(_ context.Context, _ *api.Request, out any, _ ...api.CallOption) error {
	l.look(out)
	if e, ok := out.(interface{ UnmarshalJSON(b []byte) error }); ok {
		return e.UnmarshalJSON(l.body)
	}
	return nil
}

// A client reports nothing of the responses of the emulator but what is in unmodeled.
func TestResponsesDriftInNothingUnlisted(t *testing.T) {
	t.Parallel()
	for area, calls := range live(t) {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, e := range calls {
					if !e.decoded() {
						continue
					}
					client := overNetwork(t, func(r *http.Request) (*http.Response, error) {
						return e.answer.response(r), nil
					}, fastio.WithToken("token"), fastio.WithDrift(func(d api.DriftEvent) {
						if !expected(d) {
							t.Errorf("%s: %+v", e.name, d)
						}
					}))
					w := e.before
					if _, err := e.do(call{t.Context(), client, &w}); err != nil {
						t.Errorf("%s: %v", e.name, err)
					}
				}
			})
		})
	}
}

// expected reports whether a difference is listed.
func expected(d api.DriftEvent) bool {
	return d.Kind == api.DriftKindUnknown && slices.Contains(unmodeled[d.Type], d.Member)
}

// Each object of each response that is decoded into a type can report a member that the type
// does not have.
func TestResultsReportUnknownMembers(t *testing.T) {
	t.Parallel()
	for _, calls := range live(t) {
		for _, e := range calls {
			if !e.decoded() {
				continue
			}
			all := slices.DeleteFunc(newer(e.answer.body), func(m mutation) bool { return m.isOpen(e.op) })
			lookAt(t, e, func(out any) {
				if payload, _, _ := responses.PayloadOf(out); payload == nil || payload == reflect.TypeFor[struct{}]() {
					return
				}
				for _, m := range all {
					if !m.reported(drift.Look(out, m.body)) {
						t.Errorf("%s: %s", e.name, strings.Join(m.at, "/"))
					}
				}
			})
		}
	}
}

// reported reports whether the unknown member of a mutation is found, or one around it.
func (m mutation) reported(s drift.Sight) bool {
	return slices.ContainsFunc(s.Differences, func(d drift.Difference) bool {
		return d.Kind == drift.KindUnknown && (d.Member == unknownMember || slices.Contains(m.at, d.Member))
	})
}

var number = regexp.MustCompile(`[0-9]+`)

// isOpen reports whether a mutation adds a member to an object in open.
func (m mutation) isOpen(op string) bool {
	at := number.ReplaceAllString(op+"/"+strings.Join(m.at, "/"), "*")
	return slices.ContainsFunc(open, func(end string) bool { return strings.HasSuffix(at, end) })
}

// frames are result types without an Extra. Their unknown members are reported by
// [fastio.WithDrift] only: an Extra would hold credentials, or in a Report of activity the
// changes that could not be read, which is an error.
var frames = []string{
	"activity.Report",
	"oauth.Authorization", "oauth.CompletedAuthorization", "oauth.Registration", "oauth.Token", "oauth.TwoFactorSetup",
}

// Each object of a result has an Extra, unless it is a page: a list of objects that have one.
func TestResultsKeepUnknownMembers(t *testing.T) {
	t.Parallel()
	looked := map[reflect.Type]bool{}
	for _, calls := range live(t) {
		for _, e := range calls {
			if e.result.value != nil {
				requireExtra(t, looked, reflect.TypeOf(e.result.value), e.name)
			}
		}
	}
}

// requireExtra checks the types in t that responses are decoded into: those with tags.
func requireExtra(t *testing.T, looked map[reflect.Type]bool, of reflect.Type, name string) {
	t.Helper()
	if looked[of] {
		return
	}
	looked[of] = true
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		requireExtra(t, looked, of.Elem(), name)
	case reflect.Struct:
		tagged := false
		for f := range of.Fields() {
			tagged = tagged || f.Tag.Get("json") != ""
			if f.IsExported() && !responses.IsInlined(f) {
				requireExtra(t, looked, f.Type, name)
			}
		}
		if tagged && !keeps(of) && !slices.Contains(frames, of.String()) {
			t.Errorf("%s: %s has no Extra", name, of)
		}
	default:
	}
}

// keeps reports whether a struct, or one that is inlined in it, has an Extra or a list of
// objects.
func keeps(of reflect.Type) bool {
	for f := range of.Fields() {
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Name == "Extra" || responses.IsRecords(inner) ||
			responses.IsInlined(f) && inner.Kind() == reflect.Struct && keeps(inner) {
			return true
		}
	}
	return false
}
