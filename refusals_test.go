package fastio_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
	refusalsBen      = "3217654321098765432"
	refusalsEve      = "3317654321098765432"
	refusalsGil      = "3417654321098765432"
	refusalsNobody   = "3917654321098765432" // whom nobody has added
	refusalsOther    = "4229876543210987654" // a workspace without members
	refusalsFolder   = "2f01d3r0fdr4w1ng5b3ta12345678"
	refusalsPosted   = "2100m1nth3p0rta1b3ta123456789" // in the share
	refusalsNothing  = "2n0th1ngh3r3b3ta1234567890123"
	refusalsPassword = "e4gl3"
)

func newRefusing(t *testing.T, change ...func(o *fastiotest.Options)) *refusing {
	t.Helper()
	quick := func(o *fastiotest.Options) { o.AI.TurnPace, o.Storage.IndexPace = -1, -1 }
	s := fastiotest.New(append([]func(o *fastiotest.Options){quick}, change...)...)
	ada := s.User().ID
	for name, user := range map[string]api.ProfileID{"ben": refusalsBen, "eve": refusalsEve, "gil": refusalsGil} {
		s.AddUser(fastiotest.User{ID: user, Email: name + "@example.test"})
	}
	s.AddOrg(fastiotest.Org{ID: coverOrg, Domain: "difference", Name: "Difference Works", Owner: ada})
	s.AddWorkspace(fastiotest.Workspace{ID: coverWorkspace, Org: coverOrg, Name: "Design"})
	s.AddWorkspace(fastiotest.Workspace{ID: refusalsOther, Org: coverOrg, Name: "Elsewhere"})
	s.AddShare(fastiotest.Share{ID: coverShare, Workspace: coverWorkspace, Title: "Portal", Creator: ada})
	s.SetMember(coverWorkspace, ada, fastiotest.Owner)
	for _, profile := range []api.ProfileID{coverOrg, coverWorkspace} {
		s.SetMember(profile, refusalsBen, fastiotest.Member)
	}
	s.SetMember(coverShare, refusalsGil, fastiotest.Guest)
	s.AddNode(fastiotest.Node{ID: coverNode, Profile: coverWorkspace, Name: "Mill.pdf", Creator: ada})
	s.AddNode(fastiotest.Node{ID: coverMill, Profile: coverWorkspace, Kind: "note", Name: "Mill.md", Content: "It grinds.", Creator: ada})
	s.AddNode(fastiotest.Node{ID: refusalsFolder, Profile: coverWorkspace, Kind: "folder", Name: "Drawings", Creator: ada})
	s.AddNode(fastiotest.Node{ID: refusalsPosted, Profile: coverShare, Name: "Loom.pdf", Creator: ada})
	s.AddComment(fastiotest.Comment{ID: coverComment, Profile: coverWorkspace, Node: coverNode, User: ada, Body: "Numbers."})
	s.AddEvent(fastiotest.Event{ID: coverEvent, Name: "workspace_storage_file_added", Workspace: coverWorkspace, CallingUser: ada})
	as := func(k fastiotest.Key) *fastio.Client {
		return s.Client(t, fastio.WithToken(s.AddKey(k).Token), fastio.WithRetry(fastio.Retry{Attempts: 1}))
	}
	return &refusing{T: t, Server: s, clients: map[string]*fastio.Client{
		"ada":    as(fastiotest.Key{User: ada}),         // an owner
		"ben":    as(fastiotest.Key{User: refusalsBen}), // a member
		"gil":    as(fastiotest.Key{User: refusalsGil}), // a guest of the share
		"eve":    as(fastiotest.Key{User: refusalsEve}), // a stranger
		"ghost":  as(fastiotest.Key{User: ada, Revoked: true}),
		"narrow": as(fastiotest.Key{User: ada, Scopes: []string{"workspace:" + refusalsOther + ":rwa"}}),
		"reader": as(fastiotest.Key{User: ada, Scopes: []string{"org:*:r", "workspace:*:r", "share:*:r"}}),
	}}
}

// ask sends what a row says. Nobody sends no token, "Bearer x; ada" that one, and
// "ada+x" the password x of a link.
func (w *refusing) ask(request string) error {
	if w.vars != nil {
		request = w.vars.Replace(request)
	}
	r := &api.Request{Op: "refusal", Replay: api.ReplayOnce}
	if credential, rest, own := strings.Cut(request, "; "); own {
		r.Credential, request = api.NewSecret(credential), rest
	}
	parts := strings.SplitN(request, " ", 4)
	who, password, _ := strings.Cut(parts[0], "+")
	parts[0], r.Password = who, api.NewSecret(password)
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

// broken has the platform fail inside, for which there is no other cause. The code
// is that of the documents, or 0.
func broken(op string, status int, code int64) func(w *refusing) {
	return func(w *refusing) { w.Fail(fastiotest.Fault{Op: op, Status: status, Code: code}) }
}

// under is the platform with other options.
func under(change func(o *fastiotest.Options)) func(w *refusing) {
	return func(w *refusing) { *w = *newRefusing(w.T, change) }
}

// spent is the platform where another program of ada's made the one call of an
// operation that an hour has room for. Whether it was refused does not matter.
func spent(op, request string) func(w *refusing) {
	return func(w *refusing) {
		under(func(o *fastiotest.Options) {
			o.Limits.Rules = []fastiotest.Limit{{Ops: []string{op}, Max: 1, Size: time.Hour}}
		})(w)
		_ = w.ask("reader" + request)
	}
}

// lacking is the platform on a plan without a feature.
func lacking(feature string) func(w *refusing) {
	return under(func(o *fastiotest.Options) { o.Lacks = []string{feature} })
}

// where fills in what is known only now: names in braces, each with its value.
func (w *refusing) where(pairs ...string) { w.vars = strings.NewReplacer(pairs...) }

// signs are what a program can branch on: the status, the code if it is one that the
// documents name, the word and the reason of the error, and the fields that were refused.
func signs(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return fmt.Sprintf("%T %v", err, err)
	}
	said := []string{strconv.Itoa(e.Status)}
	if e.Code != 0 && !invented(e.Code) {
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

// invented reports whether a code is one of those that the emulator gives where
// the documents have none.
func invented(code int64) bool { return code/1000 == 199 }

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, row := range refusals() {
		t.Run(row.operation+"/"+row.cause, func(t *testing.T) {
			t.Parallel()
			w := newRefusing(t)
			if row.given != nil {
				row.given(w)
			}
			w.Forget()
			err := w.ask(row.request)
			if got := signs(err); got != row.want {
				t.Errorf("%s\n is refused with %s\n           want %s", row.request, got, row.want)
			}
			if e, ok := errors.AsType[*api.Error](err); ok && e.Code > 999_999 { // the platform's have six digits at most
				t.Errorf("%s is refused with code %d", row.request, e.Code)
			}
			if sent := w.Requests(); len(sent) > 0 && sent[0].Op != row.operation && sent[0].Op != "" {
				t.Errorf("%s is a call of %s", row.request, sent[0].Op)
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
	return slices.Concat(
		conventionRefusals(), oauthRefusals(), // 000
		commentRefusals(), eventRefusals(), pollRefusals(), realtimeRefusals(), // 001
		agentRefusals(), noteRefusals(), fileRefusals(), searchRefusals(), fieldRefusals(), howToRefusals(), // 002
		shareRefusals(), memberRefusals(), linkRefusals(), accountRefusals(), // 002, and accounts of all
	)
}
