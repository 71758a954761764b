package fastio_test

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"flag"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/realtime"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
)

// The folders of testdata hold answers recorded from the emulator, and in
// variants the same answers in every other form the platform has been seen to
// use. Beside a fixture stands what the client makes of it, in a .want file.
//
//	go test -run 'TestRecord|TestVariants' -update .
//
// writes all of them again, but for the variants, which people write. Read the
// diff: it is the review.
var update = flag.Bool("update", false, "record testdata again")

func TestRecord(t *testing.T) { //nolint:paralleltest // those who read the files wait for it to end
	if !*update {
		return
	}
	for area, calls := range recordings() {
		synctest.Test(t, func(t *testing.T) { recordArea(t, area, calls) })
	}
}

func TestFixtures(t *testing.T) {
	t.Parallel()
	for area, calls := range recordings() {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			dir := os.DirFS("testdata/" + area)
			var outcomes map[string]string
			synctest.Test(t, func(t *testing.T) { outcomes = replayArea(t, dir, calls) })
			for _, name := range globbed(t, dir, "*.json") {
				name = strings.TrimSuffix(name, ".json")
				got, replayed := outcomes[name]
				if !replayed {
					t.Errorf("%s: no call of this test gets this answer", name)
				}
				compareWant(t, dir, name, name, got)
			}
		})
	}
}

func TestEveryEndpointHasAFixture(t *testing.T) {
	t.Parallel()
	open, recorded := openEndpoints(t), map[string]bool{}
	for _, calls := range recordings() {
		for _, c := range calls {
			recorded[c.op] = true
		}
	}
	for _, row := range endpoints(t) {
		for _, operation := range row.calls() {
			if !row.removed() && !open[row.key()] && !recorded[operation] {
				t.Errorf("no answer to %s is recorded", operation)
			}
		}
	}
}

// A variant is named after the fixture it is a variant of. It is read like that
// one, unless it has a .want file of its own, which -update fills: begin an empty
// one.
func TestVariants(t *testing.T) {
	t.Parallel()
	for area, calls := range recordings() {
		dir := os.DirFS("testdata/" + area)
		for _, file := range globbed(t, dir, "variants/*.json") {
			t.Run(strings.TrimSuffix(path.Base(file), ".json"), func(t *testing.T) {
				t.Parallel()
				variant := strings.TrimSuffix(file, ".json")
				twin := strings.TrimSuffix(path.Base(variant), path.Ext(variant))
				overlaid := fstest.MapFS{}
				for _, name := range globbed(t, dir, "*.json") {
					overlaid[name] = &fstest.MapFile{Data: content(t, dir, name)}
				}
				if overlaid[twin+".json"] == nil {
					t.Fatalf("there is no %s.json", twin)
				}
				overlaid[twin+".json"].Data = content(t, dir, file)
				want := twin
				if _, err := fs.Stat(dir, variant+".want"); err == nil {
					want = variant
				}
				var got string
				synctest.Test(t, func(t *testing.T) { got = replayArea(t, overlaid, calls)[twin] })
				if *update && want == variant {
					write(t, filepath.Join("testdata", area, variant+".want"), got)
				}
				compareWant(t, dir, variant, want, got)
			})
		}
	}
}

// unmodeled are the members of recorded answers that have no field: those of a
// type that keeps them under Extra by the name of the type, others by where they
// stand. The platform's documents describe none of them.
var unmodeled = map[string][]string{
	"": {
		"/status", "/current_api_version", // of every envelope
		"/format",                         // of a node: always "json"
		"/results", "/transactions/count", // how long the list beside it is
	},

	"fastio.Health":        {"current_api_version", "system"}, // no member of the status is published
	"account.User":         {"status", "two_factor"},
	"account.Org":          {"accent_color", "capabilities", "closed", "owner"},
	"account.Workspace":    {"accent_color", "background_color1", "background_color2", "logo", "owner", "owner_defined"},
	"account.Available":    {"current_api_version", "profiles", "status"}, // no member is published
	"account.Permit":       {"current_api_version", "status"},
	"account.Report":       {"credits", "current_api_version", "meter", "status", "usage"}, // no member is published
	"account.Subscription": {"current_api_version", "status"},
	"events.Event":         {"policy_changes"}, // promoted by one kind of event

	"search.Hit": {"ai", "created", "size", "version"}, // of a compound search, whose items are not published

	// What stands at the root has the envelope's members too.
	"ai.AutoTitle":            {"current_api_version", "status"},
	"metadata.Extraction":     {"current_api_version"},
	"oauth.AuthorizationInfo": {"current_api_version", "status"},
	"oauth.Key":               {"current_api_version", "status"},
	"oauth.Session":           {"current", "resource", "scope"},
	"oauth.TokenScopes":       {"current_api_version", "scopes_detail", "status"},
	"oauth.TwoFactorStatus":   {"current_api_version", "status"},

	"shares.Share": {"assets", "chat", "deleted", "platform", "search"}, // of no published form
}

// Every member of a recorded answer has a field, or is known to have none.
func TestModelsAreComplete(t *testing.T) {
	t.Parallel()
	found := map[string]map[string]string{} // type, member, a fixture that has it
	for area, calls := range recordings() {
		dir := os.DirFS("testdata/" + area)
		counts := map[string]int{}
		for _, c := range calls {
			name := c.fixture(counts)
			var f struct {
				Response struct {
					Status int            `json:"status"`
					Body   jsontext.Value `json:"body"`
				} `json:"response"`
			}
			if err := json.Unmarshal(content(t, dir, name+".json"), &f); err != nil {
				t.Fatal(err)
			}
			if f.Response.Body == nil || f.Response.Status != http.StatusOK || c.op == "system.Introspect" { // its answer is kept raw
				continue
			}
			for _, m := range unknownMembers(t, c, f.Response.Body) {
				if found[m.of] == nil {
					found[m.of] = map[string]string{}
				}
				found[m.of][m.name] = name
			}
		}
	}
	for of, members := range found {
		for member, name := range members {
			if !slices.Contains(unmodeled[of], member) {
				t.Errorf("%s: %s has no field for %s", name, of, member)
			}
		}
	}
	for of, members := range unmodeled {
		for _, member := range members {
			if found[of][member] == "" {
				t.Errorf("%s of %s is listed, but no fixture needs it to be", member, of)
			}
		}
	}
}

// member is one without a field, of a type that has an Extra or of none.
type member struct{ of, name string }

// unknownMembers decodes an answer as the call does and lists the members that
// ended nowhere but in an Extra.
func unknownMembers(t *testing.T, c recording, body jsontext.Value) []member {
	t.Helper()
	s := &strict{body: body}
	value, err := c.answered(t, s)
	if err != nil {
		t.Errorf("%s: %v", c.op, err)
	}
	if value == nil { // whoever asks for nothing needs no field
		return nil
	}
	return append(s.unknown, extras(reflect.ValueOf(value))...)
}

// opener is what a Service may need.
type opener interface {
	api.Caller
	api.Opener
}

// overCaller returns a Client without a transport.
func overCaller(s opener) *fastio.Client {
	return &fastio.Client{
		Account: account.New(s), Activity: activity.New(s), AI: ai.New(s), Comments: comments.New(s), Events: events.New(s),
		HowTo: howto.New(s), Metadata: metadata.New(s), OAuth: oauth.New(s), Realtime: realtime.New(s), Search: search.New(s),
		Shares: shares.New(s), Storage: storage.New(s), FileShares: fileshares.New(s),
	}
}

// answered makes the call over s.
func (r recording) answered(t *testing.T, s opener) (any, error) {
	t.Helper()
	if strings.HasPrefix(r.op, "system.") {
		return call.One[fastio.Health](t.Context(), s, &api.Request{Op: r.op, Path: api.Path("/current/ping/")}, "", nil)
	}
	return r.do(t.Context(), overCaller(s), &scene{cursor: "x", feed: "x", filter: "x", link: api.NewSecret("x"), login: loginScene{
		client: "x", request: "x", code: "x", refresh: api.NewSecret("x"), management: api.NewSecret("x"), limited: api.NewSecret("x"), session: "x", key: "x",
	}, chat: aiScene{"x", "x", "x", "x", "x", "x", "x"}, live: liveScene{api.NewSecret("x"), api.NewSecret("x")}, upload: "x", version: "x"}, api.Attempts(1))
}

// strict is a Caller that answers with one body and rejects what has no field.
type strict struct {
	body    jsontext.Value
	unknown []member
}

func (s *strict) Call(_ context.Context, _ *api.Request, out any) error {
	for {
		err := json.Unmarshal(s.body, out, json.RejectUnknownMembers(true))
		e, ok := errors.AsType[*json.SemanticError](err)
		if !ok || !errors.Is(e.Err, json.ErrUnknownName) {
			return err
		}
		s.unknown = append(s.unknown, member{"", regexp.MustCompile(`/\d+`).ReplaceAllString(string(e.JSONPointer), "/*")})
		s.body = without(s.body, e.JSONPointer)
	}
}

// extras lists what a value holds in fields for what has none.
func extras(v reflect.Value) []member {
	var all []member
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return extras(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, extras(v.Index(i))...)
		}
	case reflect.Struct:
		for field := range v.Type().Fields() {
			f := v.FieldByIndex(field.Index)
			if !strings.HasSuffix(field.Tag.Get("json"), ",unknown") {
				all = append(all, extras(f)...)
				continue
			}
			for _, key := range f.MapKeys() {
				all = append(all, member{v.Type().String(), key.String()})
			}
		}
	default:
	}
	return all
}

// without takes a member out of a JSON text.
func without(v jsontext.Value, at jsontext.Pointer) jsontext.Value {
	var root any
	if err := json.Unmarshal(v, &root); err != nil {
		panic(err)
	}
	holder := root
	tokens := slices.Collect(at.Tokens())
	for _, token := range tokens[:len(tokens)-1] {
		switch h := holder.(type) {
		case map[string]any:
			holder = h[token]
		case []any:
			i, _ := strconv.Atoi(token)
			holder = h[i]
		}
	}
	delete(holder.(map[string]any), tokens[len(tokens)-1])
	b, err := json.Marshal(root)
	if err != nil {
		panic(err)
	}
	return b
}

// recordArea makes the fixtures of one area, and what the client makes of them.
func recordArea(t *testing.T, area string, calls []recording) {
	t.Helper()
	dir := filepath.Join("testdata", area)
	for _, pattern := range []string{"*.json", "*.want"} {
		old, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range old {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := newScene()
	client := s.server.Client(t, fastio.WithHTTPClient(&http.Client{Transport: fastiotest.Record(dir, s.server)}))
	for name, outcome := range runAll(t, client, s, calls) {
		write(t, filepath.Join(dir, name+".want"), outcome)
	}
}

// replayArea runs the calls of an area against fixtures.
func replayArea(t *testing.T, fixtures fs.FS, calls []recording) map[string]string {
	t.Helper()
	client, err := fastio.New(fastiotest.ReplayFS(t, fixtures)...)
	if err != nil {
		t.Fatal(err)
	}
	return runAll(t, client, &scene{}, calls)
}

func runAll(t *testing.T, client *fastio.Client, s *scene, calls []recording) map[string]string {
	t.Helper()
	outcomes, counts := map[string]string{}, map[string]int{}
	for _, c := range calls {
		var answer api.Answer
		value, err := c.do(t.Context(), client, s, api.Raw(&answer))
		o := outcome{Status: answer.Status, Rate: rate{answer.Rate.Limit, answer.Rate.Remaining, ""}, Value: value, Err: err}
		if !answer.Rate.Reset.IsZero() {
			o.Rate.Reset = time.Until(answer.Rate.Reset).String()
		}
		outcomes[c.fixture(counts)] = render(o)
	}
	return outcomes
}

// outcome is what came of a call.
type outcome struct {
	Status int
	Rate   rate
	Value  any
	Err    error
}

type rate struct {
	Limit, Remaining int
	Reset            string // from now
}

func compareWant(t *testing.T, dir fs.FS, name, want, got string) {
	t.Helper()
	if diff := cmp.Diff(string(content(t, dir, want+".want")), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func globbed(t *testing.T, dir fs.FS, pattern string) []string {
	t.Helper()
	names, err := fs.Glob(dir, pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func content(t *testing.T, dir fs.FS, name string) []byte {
	t.Helper()
	b, err := fs.ReadFile(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// render spells a value with the names of its Go fields, so that two members
// that end in each other's field are seen. What is zero is left out.
func render(v any) string {
	var b strings.Builder
	renderValue(&b, reflect.ValueOf(v), "")
	return b.String() + "\n"
}

func renderValue(b *strings.Builder, v reflect.Value, indent string) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		err, failed := reflect.TypeAssert[error](v)
		v = v.Elem()
		if _, ours := err.(*api.Error); failed && !ours { //nolint:errorlint // it is shown as it is
			b.WriteString(strconv.Quote(err.Error()))
			return
		}
	}
	inner := indent + "\t"
	switch value := v.Interface().(type) {
	case time.Time:
		b.WriteString("(not compared)") // the one in an error depends on the day of the test
		return
	case api.Time:
		b.WriteString(value.UTC().Format(time.RFC3339Nano))
		return
	case []byte:
		renderText(b, string(value), inner)
		return
	case api.Secret:
		b.WriteString(value.String()) // a fixture does not hold it
		return
	case stdjson.RawMessage:
		b.Write(value)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		b.WriteString("{\n")
		for field := range v.Type().Fields() {
			raw := v.Type() == reflect.TypeFor[api.Error]() && field.Name == "Body" // differs where all else is the same
			if f := v.FieldByIndex(field.Index); field.IsExported() && !f.IsZero() && !raw {
				b.WriteString(inner + field.Name + ": ")
				renderValue(b, f, inner)
				b.WriteString("\n")
			}
		}
		b.WriteString(indent + "}")
	case reflect.Slice:
		b.WriteString("[\n")
		for i := range v.Len() {
			b.WriteString(inner)
			renderValue(b, v.Index(i), inner)
			b.WriteString("\n")
		}
		b.WriteString(indent + "]")
	case reflect.Map:
		b.WriteString("{\n")
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		for _, key := range keys {
			b.WriteString(inner + strconv.Quote(key.String()) + ": ")
			renderValue(b, v.MapIndex(key), inner)
			b.WriteString("\n")
		}
		b.WriteString(indent + "}")
	case reflect.String:
		renderText(b, v.String(), inner)
	default:
		b.WriteString(strings.TrimSpace(stringOf(v)))
	}
}

// renderText quotes a text, line by line if it has several.
func renderText(b *strings.Builder, text, indent string) {
	if strings.Count(text, "\n") < 2 {
		b.WriteString(strconv.Quote(text))
		return
	}
	for line := range strings.Lines(text) {
		b.WriteString("\n" + indent + strconv.Quote(line))
	}
}

func stringOf(v reflect.Value) string {
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return strconv.FormatBool(v.Bool())
}

// A recording is one call whose answer is a fixture.
type recording struct {
	op string
	do func(ctx context.Context, c *fastio.Client, s *scene, raw api.CallOption) (any, error)
}

// fixture returns the name that fastiotest.Record gives the answer: the first of
// an operation is events.Search, the next events.Search-2.
func (r recording) fixture(counts map[string]int) string {
	counts[r.op]++
	if n := counts[r.op]; n > 1 {
		return r.op + "-" + strconv.Itoa(n)
	}
	return r.op
}

// Names of the scene that calls mention.
const (
	sceneOrg       = api.ProfileID("4210987654321098765")
	sceneWorkspace = api.ProfileID("4219876543210987654")
	sceneUpload    = api.OpaqueID("eup10ad0fd3s1gnf1135b3ta12345")
	sceneChild     = api.OpaqueID("ech11d0fth3up10adb3ta12345678")
	sceneSignIn    = api.OpaqueID("es1gn1n0fad4b3ta1234567890xyz")
	sceneNowhere   = api.OpaqueID("en0wh3r3t0b3f0und123456789xyz")

	sceneDrawing   = api.OpaqueID("2f11e0fdr4w1ngs0fth3m111b3ta1")
	sceneFileShare = api.ProfileID("6217654321098765432")
	sceneQuestion  = api.OpaqueID("caqu35t10n0nth3m111b3ta1234567")
	sceneLegacy    = api.OpaqueID("ca1d0fth3w0rkf10w5b3ta12345678")
	sceneGone      = api.OpaqueID("cag0n30fth3m111b3ta12345678xyz")
)

// scene is the world that the fixtures show.
type scene struct {
	server *fastiotest.Server // nil on replay

	cursor, feed string // found on the way
	filter       api.OpaqueID
	link         api.Secret
	shared       api.Secret // the token in the links to a file
	login        loginScene
	live         liveScene
	chat         aiScene
	upload       api.OpaqueID // of another version
	version      api.OpaqueID // the first
}

func newScene() *scene {
	epoch, start := time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC), time.Now()
	s := fastiotest.New(func(o *fastiotest.Options) {
		o.Seed = 1815
		o.Clock = func() time.Time { return epoch.Add(time.Since(start)) }
		o.Comments.Limit, o.Comments.Properties = 20, true
		o.AI.TurnPace = -1
	})
	ada := s.User().ID
	s.AddOrg(fastiotest.Org{ID: sceneOrg, Domain: "difference", Name: "Difference Works", Description: "Engines, to order", Owner: ada})
	s.AddWorkspace(fastiotest.Workspace{ID: sceneWorkspace, Org: sceneOrg, Name: "Design", FolderName: "design", Description: "Drawings & notes"})
	charles := s.AddUser(fastiotest.User{FirstName: "Charles", LastName: "Babbage", Email: "charles@example.test"})
	guild := s.AddOrg(fastiotest.Org{Domain: "guild", Name: "Guild of Weavers", Owner: charles.ID})
	looms := s.AddWorkspace(fastiotest.Workspace{Org: guild.ID, Name: "Looms"})
	s.SetMember(looms.ID, ada, fastiotest.Member)

	at := func(minute int) time.Time { return epoch.Add(time.Duration(minute-60) * time.Minute) }
	s.AddEvent(fastiotest.Event{
		Name: "org_updated", Org: sceneOrg, CallingUser: ada, Created: at(0),
		Extra: map[string]any{"policy_changes": []any{map[string]any{"policy": "sharing", "to": "members"}}},
	})
	s.AddEvent(fastiotest.Event{
		ID: sceneSignIn, Name: "user_login", Org: sceneOrg, User: ada, CallingUser: ada, Created: at(1), IP: "192.0.2.7", Country: "GB",
		Telemetry: map[string]any{
			"method": "password", "mfa": "totp", "new_country": "no", "client_id": "c-1", "session_id": "s-42", "token_id": "t-7",
			"agent_name": "Notator", "device_name": "Mill", "user_agent": "Engine/1.0",
		},
	})
	s.AddEvent(fastiotest.Event{
		ID: sceneUpload, Name: "workspace_storage_file_added", Workspace: sceneWorkspace, CallingUser: ada, Created: at(2),
		Object: "2f11e0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Mühle №1.pdf",
		Actor: &fastiotest.Actor{User: ada, Kind: "agent", AgentName: "Notator", NameSource: "self_declared", CredentialType: "api_key"},
	})
	s.AddEvent(fastiotest.Event{
		ID: sceneChild, Name: "workspace_storage_file_copied", Workspace: sceneWorkspace, CallingUser: ada, Created: at(3),
		Object: "2c0py0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Copy.pdf", Parent: sceneUpload,
		Unattributed: true, AgentDelegation: "none",
	})
	s.AddEvent(fastiotest.Event{
		Name: "comment_created", Workspace: sceneWorkspace, CallingUser: ada, Created: at(4),
		Object: "2f11e0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Mühle №1.pdf",
	})
	return &scene{server: s}
}

// later adds to the log, so that a feed has something to tell.
func (s *scene) later() {
	if s.server != nil {
		s.server.AddEvent(fastiotest.Event{
			ID: "e1at3r0fth3up10adb3ta12345678", Name: "workspace_storage_file_updated", Workspace: sceneWorkspace,
			CallingUser: s.server.User().ID, Object: "2f11e0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Mühle №1.pdf",
		})
	}
}

// discuss adds comments on a drawing, which also go into the log.
func (s *scene) discuss() {
	if s.server == nil {
		return
	}
	ada, epoch := s.server.User().ID, time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	charles := s.server.AddUser(fastiotest.User{ID: "1912345678901234567", FirstName: "Charles"}).ID
	s.server.SetMember(sceneWorkspace, charles, fastiotest.Member)
	recipient := s.server.AddUser(fastiotest.User{ID: "1987654321098765432", FirstName: "Luigi"}).ID
	s.server.AddNode(fastiotest.Node{ID: sceneDrawing, Profile: sceneWorkspace, Name: "Mühle №1.pdf", Creator: ada})
	s.server.AddFileShare(fastiotest.FileShare{
		ID: sceneFileShare, Node: sceneDrawing, Owner: charles, Access: "any_registered", CommentsEnabled: true, Password: "m111",
	})
	hidden := s.server.AddWorkspace(fastiotest.Workspace{ID: "4299999999999999999", Name: "Vault", Org: s.server.AddOrg(fastiotest.Org{
		ID: "4399999999999999999", Domain: "vault", Owner: charles,
	}).ID}).ID
	s.server.AddComment(fastiotest.Comment{
		ID: sceneQuestion, Profile: sceneWorkspace, Node: sceneDrawing, User: ada, Created: epoch,
		Body: "@[user:" + string(charles) + ":Charles] Why brass?\nSteel is cheaper.", Properties: map[string]any{"pinned": true, "rank": 1},
		Reference: map[string]any{"type": "document", "page": 7, "text_snippet": "brass"}, Targets: []string{string(sceneDrawing), string(hidden)},
	})
	s.server.AddComment(fastiotest.Comment{
		Profile: sceneWorkspace, Node: sceneDrawing, User: charles, Parent: sceneQuestion, Created: epoch.Add(time.Minute),
		Body: "It does not rust.", Edited: epoch.Add(2 * time.Minute),
		Actor: &fastiotest.Actor{User: charles, Kind: "agent", AgentName: "Notator", NameSource: "self_declared", CredentialType: "oauth"},
	})
	s.server.AddComment(fastiotest.Comment{
		ID: sceneLegacy, Profile: sceneWorkspace, Node: sceneDrawing, User: ada, Unattributed: true, Created: epoch.Add(-24 * time.Hour), Body: "From before.",
		LinkedEntityType: "task", LinkedEntity: "t4sk0fth30ldw0rkf10w5b3ta1234",
		ExternalAuthorEmail: "jacquard@example.test", ExternalAuthorName: "J. M. Jacquard", ExternalAuthorTokenID: "x7",
	})
	s.server.AddComment(fastiotest.Comment{
		ID: sceneGone, Profile: sceneWorkspace, Node: sceneDrawing, User: ada, Body: "Never mind.", Created: epoch, Deleted: epoch.Add(time.Hour),
	})
	s.server.AddComment(fastiotest.Comment{FileShare: sceneFileShare, User: recipient, Body: "May I copy this?", Created: epoch.Add(time.Minute)})
	s.server.AddComment(fastiotest.Comment{Profile: sceneWorkspace, User: charles, Body: "The room is **cold**."})
}

// fail makes the next call of an operation go wrong.
func (s *scene) fail(f fastiotest.Fault) {
	if s.server != nil {
		f.Count = 1
		s.server.Fail(f)
	}
}

// recordings lists the calls of each area, in the order in which they are made.
func recordings() map[string][]recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	inWorkspace := events.Query{Profile: api.Workspace(sceneWorkspace), Limit: 2}
	workspace := api.Workspace(sceneWorkspace)
	return map[string][]recording{
		"system": {
			{"system.Ping", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Ping(ctx, raw) }},
			{"system.Status", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Status(ctx, raw) }},
			{"system.Docs", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Docs(ctx, raw) }},
			{"system.DocsFull", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.DocsFull(ctx, raw) }},
			{"system.DocsTopic", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.DocsTopic(ctx, "events", raw) }},
			{"system.DocsTopic", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.DocsTopic(ctx, "no/such", raw) }},
			{"system.Agents", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Agents(ctx, raw) }},
			{"system.Introspect", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Introspect(ctx, api.Path("/current/event/{event_id}/details/", "x"), raw)
			}},
			{"system.Introspect", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Introspect(ctx, api.Path("/current/ping/"), raw)
			}},
		},
		"comments": {
			{"comments.List", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
				s.discuss()
				return c.Comments.List(ctx, workspace, &comments.ListOptions{IncludeTotal: true}, raw)
			}},
			{"comments.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.List(ctx, api.Workspace("4299999999999999999"), nil, raw)
			}},
			{"comments.ListOnNode", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.ListOnNode(ctx, workspace, sceneDrawing, &comments.ListOptions{NewestFirst: true, IncludeDeleted: true}, raw)
			}},
			{"comments.ListOnNode", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.ListOnNode(ctx, workspace, sceneDrawing, &comments.ListOptions{ReferenceType: comments.AnchorTypeAudio}, raw)
			}},
			{"comments.ListOnFileShare", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.ListOnFileShare(ctx, sceneFileShare, sceneDrawing, &comments.ListOptions{Password: api.NewSecret("m111")}, raw)
			}},
			{"comments.Create", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.Create(ctx, workspace, comments.CreateRequest{Body: "Light the stove.", Targets: []api.OpaqueID{sceneDrawing}}, raw)
			}},
			{"comments.Create", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.Create(ctx, workspace, comments.CreateRequest{Body: strings.Repeat("tick ", 101)}, raw)
			}},
			{"comments.CreateOnNode", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.CreateOnNode(ctx, workspace, sceneDrawing, comments.CreateRequest{
					Body: "Look here.", Properties: map[string]any{"color": "red"}, Targets: []api.OpaqueID{sceneDrawing, api.OpaqueID(sceneWorkspace)},
					Reference: comments.VideoAnchor(81250*time.Millisecond, &comments.Region{X: 0.5, Y: 0.25, Width: 0.125, Height: 1}),
				}, raw)
			}},
			{"comments.CreateOnNode", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.CreateOnNode(ctx, workspace, sceneDrawing, comments.CreateRequest{Body: "Why?", ParentID: sceneGone}, raw)
			}},
			{"comments.CreateOnFileShare", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.CreateOnFileShare(ctx, sceneFileShare, sceneDrawing, comments.CreateRequest{Body: "You may.", Password: api.NewSecret("m111")}, raw)
			}},
			{"comments.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Comments.Get(ctx, sceneQuestion, raw) }},
			{"comments.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Comments.Get(ctx, sceneLegacy, raw) }},
			{"comments.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Comments.Get(ctx, sceneNowhere, raw) }},
			{"comments.Update", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.Update(ctx, sceneQuestion, comments.UpdateRequest{
					Body: "Why not steel?", Properties: map[string]any{"rank": 2},
					Reference: comments.TextAnchor(comments.Quote{Exact: "brass", Prefix: "made of ", Suffix: " and oak", Start: 410, End: 415}),
				}, raw)
			}},
			{"comments.Update", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.Update(ctx, sceneGone, comments.UpdateRequest{Body: "Do mind."}, raw)
			}},
			{"comments.React", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.React(ctx, sceneQuestion, "👍", raw)
			}},
			{"comments.Unreact", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Comments.Unreact(ctx, sceneQuestion, raw) }},
			{"comments.Attachments.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.Attachments.List(ctx, sceneQuestion, raw)
			}},
			{"comments.Attachments.Attach", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.Attachments.Attach(ctx, sceneQuestion, []api.OpaqueID{api.OpaqueID(sceneWorkspace)}, raw)
			}},
			{"comments.Attachments.Detach", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.Attachments.Detach(ctx, sceneQuestion, sceneDrawing, raw)
			}},
			{"comments.Attachments.Detach", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.Attachments.Detach(ctx, sceneQuestion, sceneDrawing, raw)
			}},
			{"comments.Unlink", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Comments.Unlink(ctx, sceneLegacy, raw) }},
			{"comments.DeleteMany", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Comments.DeleteMany(ctx, []api.OpaqueID{sceneLegacy, sceneGone}, raw)
			}},
			{"comments.Delete", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Comments.Delete(ctx, sceneQuestion, raw) }},
		},
		"events": {
			{"events.Search", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
				p, err := c.Events.Search(ctx, inWorkspace, raw)
				if err == nil && p.Pagination != nil {
					s.cursor = p.Pagination.NextCursor
				}
				return p, err
			}},
			{"events.Search", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
				q := inWorkspace
				q.Cursor = s.cursor
				if q.Cursor == "" { // a variant of the first page holds none
					return nil, nil
				}
				return c.Events.Search(ctx, q, raw)
			}},
			{"events.Search", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Events.Search(ctx, events.Query{Profile: api.Org(sceneOrg), Visibility: events.VisibilityAudit}, raw)
			}},
			{"events.Search", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Events.Search(ctx, events.Query{ParentEventID: sceneUpload}, raw, api.Terse)
			}},
			{"events.Search", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Events.Search(ctx, events.Query{Profile: api.Workspace(sceneOrg)}, raw)
			}},
			{"events.Search", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				var text string
				_, err := c.Events.Search(ctx, inWorkspace, raw, api.Markdown(&text), api.Terse)
				return text, err
			}},
			{"events.Search", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				var text string
				_, err := c.Events.Search(ctx, events.Query{Profile: api.Workspace(sceneOrg)}, raw, api.Markdown(&text))
				return text, err
			}},
			{"events.Search", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Events.Search(ctx, events.Query{Profile: api.Org(sceneOrg), Event: "org_updated"}, raw)
			}},
			{"events.Summarize", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
				return c.Events.Summarize(ctx, inWorkspace, "drawings", raw)
			}},
			{"events.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Events.Get(ctx, sceneUpload, raw) }},
			{"events.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Events.Get(ctx, sceneNowhere, raw) }},
			{"events.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
				s.fail(fastiotest.Fault{
					Op: "events.Get", Status: http.StatusForbidden, Code: 155104, Text: "The organization blocks your location.",
					Params: map[string]any{"reason": "geo_restricted"},
				})
				return c.Events.Get(ctx, sceneChild, raw)
			}},
			{"events.Ack", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return nil, c.Events.Ack(ctx, sceneUpload, raw) }},
			{"events.Changes", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
				p, err := c.Events.Changes(ctx, sceneOrg, nil, raw)
				if err == nil {
					s.feed = p.Cursor
				}
				return p, err
			}},
			{"events.Changes", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
				s.later()
				return c.Events.Changes(ctx, sceneOrg, &events.ChangeOptions{Cursor: s.feed, Limit: 10}, raw)
			}},
		},
		"account":    accountRecordings(),
		"shares":     shareRecordings(),
		"activity":   activityRecordings(),
		"ai":         aiRecordings(),
		"fileshares": fileShareRecordings(),
		"howto":      howToRecordings(),
		"metadata":   metadataRecordings(),
		"oauth":      oauthRecordings(),
		"realtime":   realtimeRecordings(),
		"search":     searchRecordings(),
		"storage":    storageRecordings(),
	}
}
