package fastio_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// A refusal is an error row of the platform's documents: the operation, why it is
// refused, a request for which it is, and what a program can tell of it. Rows that a
// program cannot tell apart are in alike.
type refusal struct {
	operation, cause string
	request          string // who, method, path, and a form or JSON, in that order
	want             string // as signs writes it
	given            func(w *refusing)
}

// refusing is the platform that a refusal is asked of, and who asks.
type refusing struct {
	*testing.T
	*fastiotest.Server
	clients map[string]*fastio.Client
	vars    *strings.Replacer // for what is known only when the row runs; nil for nothing
}

const (
	refusalsBen = "3217654321098765432"
	refusalsEve = "3317654321098765432"
)

func newRefusing(t *testing.T) *refusing {
	t.Helper()
	s := fastiotest.New(func(o *fastiotest.Options) { o.TurnPace, o.IndexPace = -1, -1 })
	ada := s.User().ID
	s.AddUser(fastiotest.User{ID: refusalsBen, Email: "ben@example.test"})
	s.AddUser(fastiotest.User{ID: refusalsEve, Email: "eve@example.test"})
	s.AddOrg(fastiotest.Org{ID: coverOrg, Domain: "difference", Name: "Difference Works", Owner: ada})
	s.AddWorkspace(fastiotest.Workspace{ID: coverWorkspace, Org: coverOrg, Name: "Design"})
	s.SetMember(coverWorkspace, ada, fastiotest.Owner)
	for _, profile := range []api.ProfileID{coverOrg, coverWorkspace} {
		s.SetMember(profile, refusalsBen, fastiotest.Member)
	}
	elsewhere := s.AddWorkspace(fastiotest.Workspace{Org: coverOrg, Name: "Elsewhere"})
	as := func(k fastiotest.Key) *fastio.Client { return s.Client(t, fastio.WithToken(s.AddKey(k).Token)) }
	return &refusing{T: t, Server: s, clients: map[string]*fastio.Client{
		"ada":    s.Client(t),                           // an owner
		"ben":    as(fastiotest.Key{User: refusalsBen}), // a member
		"eve":    as(fastiotest.Key{User: refusalsEve}), // a stranger
		"ghost":  as(fastiotest.Key{User: ada, Revoked: true}),
		"narrow": as(fastiotest.Key{User: ada, Scopes: []string{"workspace:" + string(elsewhere.ID) + ":rwa"}}),
		"reader": as(fastiotest.Key{User: ada, Scopes: []string{"org:*:r", "workspace:*:r", "share:*:r"}}),
	}}
}

// ask sends what a row says. Nobody sends no token, and "Bearer x" that one.
func (w *refusing) ask(request string) error {
	if w.vars != nil {
		request = w.vars.Replace(request)
	}
	r := &api.Request{Op: "refusal", Replay: api.ReplayOnce}
	if credential, rest, own := strings.Cut(request, "; "); own {
		r.Credential, request = api.Secret(credential), "ada "+rest
	}
	parts := strings.SplitN(request, " ", 4)
	if parts[0] == "nobody" {
		parts[0], r.Auth = "ada", api.AuthNone
	}
	path, query, _ := strings.Cut(parts[2], "?")
	r.Method, r.Path = parts[1], api.Path(path)
	var err error
	if r.Query, err = url.ParseQuery(query); err != nil {
		w.Fatal(err)
	}
	if len(parts) > 3 {
		r.Body = w.body(parts[3])
	}
	client := w.clients[parts[0]]
	if client == nil {
		w.Fatalf("nobody is called %q", parts[0])
	}
	return client.Call(w.Context(), r, nil)
}

func (w *refusing) body(text string) api.Body {
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return jsonText(text)
	}
	form, err := url.ParseQuery(text)
	if err != nil {
		w.Fatal(err)
	}
	return api.Form(form)
}

// jsonText is a body of JSON, or of what should be.
type jsonText string

func (b jsonText) Encode() (contentType string, content []byte, err error) {
	return "application/json", []byte(b), nil
}

// broken has the platform fail inside, for which there is no other cause.
func broken(op string, status int) func(w *refusing) {
	return func(w *refusing) { w.Fail(fastiotest.Fault{Op: op, Status: status}) }
}

// signs are what a program can branch on: the status, the code if it is one that the
// documents name, the word and the reason of the error, and the fields that were refused.
func signs(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return fmt.Sprintf("%T %v", err, err)
	}
	said := []string{strconv.Itoa(e.Status)}
	if e.Code != 0 && e.Code/1000 != inventedCodes {
		said = append(said, "code "+strconv.FormatInt(e.Code, 10))
	}
	for _, word := range []string{e.Name, e.Reason, e.Feature} {
		if word != "" {
			said = append(said, word)
		}
	}
	for _, p := range e.Params {
		said = append(said, p.Name+":"+string(p.Kind))
	}
	return strings.Join(said, " ")
}

// inventedCodes are the thousands of the codes that the emulator gives where the
// documents name none.
const inventedCodes = 1010

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, row := range refusals() {
		t.Run(row.operation+"/"+row.cause, func(t *testing.T) {
			t.Parallel()
			w := newRefusing(t)
			if row.given != nil {
				row.given(w)
			}
			if got := signs(w.ask(row.request)); got != row.want {
				t.Errorf("%s\n is refused with %s\n           want %s", row.request, got, row.want)
			}
		})
	}
}

// Rows of one operation tell the same only if alike has them together.
func TestRefusalsAreToldApart(t *testing.T) {
	t.Parallel()
	together := map[string][]string{} // by operation and what they tell
	for _, row := range refusals() {
		key := row.operation + ": " + row.want
		together[key] = append(together[key], row.cause)
	}
	got := map[string][]string{}
	for key, causes := range together {
		if len(causes) > 1 {
			slices.Sort(causes)
			got[key] = causes
		}
	}
	if diff := cmp.Diff(alike(), got); diff != "" {
		t.Errorf("rows that tell the same (-listed +found):\n%s", diff)
	}
}

func refusals() []refusal {
	return slices.Concat(eventRefusals())
}

// alike has the rows that a program cannot tell apart: they share a status and have
// neither params nor a documented code of their own.
func alike() map[string][]string {
	return map[string][]string{
		"events.Search: 401 code 10011":                      {"dead token", "no token"},
		"events.Search: 406 code 10022 workspace_id:invalid": {"parent with another filter", "profile of the wrong kind"},
	}
}

func eventRefusals() []refusal {
	const (
		search = " GET /current/events/search/?"
		design = "workspace_id=" + coverWorkspace
	)
	return []refusal{
		{"events.Search", "no profile filter or parent", "ada" + search + "limit=5", "406 code 10021 org_id:missing", nil},
		{"events.Search", "created-min after created-max", "ada" + search + design + "&created-min=2026-02-01+00:00:00&created-max=2026-01-01+00:00:00", "406 code 10022 created-max:invalid", nil},
		{"events.Search", "parent with another filter", "ada" + search + design + "&parent_event_id=" + coverEvent, "406 code 10022 workspace_id:invalid", nil},
		{"events.Search", "cursor with an offset", "ada" + search + design + "&cursor=x&offset=5", "406 code 10022 offset:invalid cursor:invalid", nil},
		{"events.Search", "foreign cursor", "ada" + search + design + "&cursor=x", "406 code 10022 cursor:invalid", nil},
		{"events.Search", "no datetime", "ada" + search + design + "&created-min=yesterday", "406 code 10022 created-min:invalid", nil},
		{"events.Search", "profile of the wrong kind", "ada" + search + "workspace_id=" + coverOrg, "406 code 10022 workspace_id:invalid", nil},
		{"events.Search", "audit by user", "ada" + search + "user_id=" + refusalsBen + "&visibility=external_audit_log", "401", nil},
		{"events.Search", "outside the token's scope", "narrow" + search + design, "403 code 10754", nil},
		{"events.Search", "token that is not admin-capable", "reader" + search + design + "&visibility=external_audit_log", "403 code 10767 scope_admin_required", nil},
		{"events.Search", "audit by a member", "ben" + search + design + "&visibility=external_audit_log", "403 compliance_access_required", nil},
		{"events.Search", "internal failure", "ada" + search + design, "500", broken("events.Search", 500)},
		{"events.Search", "no token", "nobody" + search + design, "401 code 10011", nil},
		{"events.Search", "dead token", "ghost" + search + design, "401 code 10011", nil},
		{"events.Search", "wrong method", "ada POST /current/events/search/ x=1", "405", nil},
	}
}
