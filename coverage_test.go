package fastio_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

// A driver calls one operation against the emulator, once. It returns what was
// decoded, or for calls that return nothing the effect.
type driver struct {
	operation string
	segments  []string // that fill the row's path, in order
	call      func(ctx context.Context, c *fastio.Client, w *coverWorld) (any, error)
	prepare   func(ctx context.Context, w *coverWorld) error // what the call needs to be made before; may be nil
}

// coverWorld is where the drivers work.
type coverWorld struct {
	server *fastiotest.Server
	aside  *fastio.Client // for what surrounds the call; its requests do not count
	feed   string
	link   string // the token for a link with a password, when it is not the password itself

	token      string   // what the client signs with
	credential string   // the header of a call that brings its own
	segments   []string // that fill the row's path when they are not known before
	signIn     coverSignIn
	asked      *ai.Turn // in a conversation that was made before
}

const (
	coverOrg       = "4210987654321098765"
	coverWorkspace = "4219876543210987654"
	coverEvent     = "ec0v3r1ngth15w0r1d1nt35t5b3ta"
	coverNode      = "2m111dr4w1ng0fth33ng1n3b3ta12"
	coverFileShare = "6217654321098765432"
	coverPassword  = "d1ff3r3nc3"
	coverShare     = "5217654321098765432"
	coverMill      = "2n0te0nth33ng1n3b3ta123456789"
	coverPosted    = "2n0te0nth3p0rt4lb3ta123456789"
	coverComment   = "cam111c0mm3nt0nth33ng1n3b3ta12"
)

func newCoverWorld(t *testing.T, change ...func(o *fastiotest.Options)) *coverWorld {
	t.Helper()
	s := fastiotest.New(append(change, func(o *fastiotest.Options) {
		o.AI.TurnPace = -1
		o.FileShares.TierCapability = "edit" // for fileshares.Uploads.Create without a credential
	})...)
	ada := s.User().ID
	s.AddOrg(fastiotest.Org{ID: coverOrg, Domain: "difference", Name: "Difference Works", Owner: ada})
	s.AddWorkspace(fastiotest.Workspace{ID: coverWorkspace, Org: coverOrg, Name: "Design"})
	other := s.AddUser(fastiotest.User{FirstName: "Charles"})
	guild := s.AddOrg(fastiotest.Org{Domain: "guild", Owner: other.ID})
	s.SetMember(s.AddWorkspace(fastiotest.Workspace{Org: guild.ID, Name: "Looms"}).ID, ada, fastiotest.Member)
	s.AddNode(fastiotest.Node{ID: coverNode, Profile: coverWorkspace, Name: "Mill.pdf", Creator: ada})
	s.AddFileShare(fastiotest.FileShare{
		ID: coverFileShare, Node: coverNode, Owner: other.ID, Access: "any_registered", CommentsEnabled: true, Password: coverPassword,
	})
	s.AddNode(fastiotest.Node{ID: coverMill, Profile: coverWorkspace, Kind: "note", Name: "Mill.md", Content: "# The mill\n\nIt grinds numbers.", Creator: ada})
	s.AddShare(fastiotest.Share{ID: coverShare, Org: coverOrg, Title: "Portal", Access: "Anyone with the link", Password: coverPassword})
	s.SetMember(coverShare, ada, fastiotest.Admin)
	s.AddNode(fastiotest.Node{ID: coverPosted, Profile: coverShare, Kind: "note", Name: "Portal.md", Content: "# The portal", Creator: ada})
	s.AddComment(fastiotest.Comment{Profile: coverWorkspace, User: ada, Body: "A fine room."})
	s.AddComment(fastiotest.Comment{FileShare: coverFileShare, User: other.ID, Body: "What does it grind?"})
	s.AddComment(fastiotest.Comment{
		ID: coverComment, Profile: coverWorkspace, Node: coverNode, User: ada, Body: "Numbers.", Targets: []string{coverNode, coverWorkspace},
		LinkedEntityType: "task", LinkedEntity: "t1",
	})
	w := &coverWorld{server: s, aside: s.Client(t), token: s.Token()}
	if _, err := w.aside.Comments.React(t.Context(), coverComment, "👍"); err != nil {
		t.Fatal(err)
	}
	feed, err := w.aside.Events.Changes(t.Context(), coverOrg, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.feed = feed.Cursor
	s.AddEvent(fastiotest.Event{
		ID: coverEvent, Name: "workspace_storage_file_added", Workspace: coverWorkspace, CallingUser: ada, ObjectName: "Mill.pdf",
	})
	return w
}

func drivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	inWorkspace := events.Query{Profile: api.Workspace(coverWorkspace), Limit: 5}
	return slices.Concat(accountDrivers(), oauthDrivers(), commentDrivers(), aiDrivers(), realtimeDrivers(), storageDrivers(), searchDrivers(), metadataDrivers(), howToDrivers(), shareDrivers(), fileShareDrivers(), []driver{
		{"system.Ping", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Ping(ctx) }, nil},
		{"system.Status", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Status(ctx) }, nil},
		{"system.Docs", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Docs(ctx) }, nil},
		{"system.DocsFull", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.DocsFull(ctx) }, nil},
		{"system.DocsTopic", []string{"events"}, func(ctx ctx, c cl, _ world) (any, error) { return c.DocsTopic(ctx, "events") }, nil},
		{"system.Agents", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Agents(ctx) }, nil},
		{"system.Introspect", []string{"orgs/list/"}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Introspect(ctx, api.Path("/current/orgs/list/"))
		}, nil},

		{"events.Search", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Events.Search(ctx, inWorkspace) }, nil},
		{"events.Summarize", nil, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Events.Summarize(ctx, inWorkspace, "drawings")
		}, nil},
		{"events.Get", []string{coverEvent}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Events.Get(ctx, coverEvent, api.Full)
		}, nil},
		{"events.Ack", []string{coverEvent}, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Events.Ack(ctx, coverEvent); err != nil {
				return nil, err
			}
			e, err := w.aside.Events.Get(ctx, coverEvent)
			return e.Acknowledged, err
		}, nil},
		{"events.Changes", []string{coverOrg}, func(ctx ctx, c cl, w world) (any, error) {
			return c.Events.Changes(ctx, coverOrg, &events.ChangeOptions{Cursor: w.feed, Limit: 5})
		}, nil},
	})
}

// Every row of testdata/endpoints.tsv that is not open is called, over a socket,
// and what arrives is compared with the row.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	open := openEndpoints(t)
	promised := promises(t)
	byOperation := map[string][]driver{} // one for each row of an operation, in their order
	for _, d := range drivers() {
		byOperation[d.operation] = append(byOperation[d.operation], d)
	}
	for _, row := range endpoints(t) {
		if row.removed() || open[row.key()] {
			continue
		}
		for _, operation := range row.calls() {
			if len(byOperation[operation]) == 0 {
				t.Errorf("%s has no driver for %s %s, and testdata/endpoints-open.txt does not list it", operation, row.method, row.path)
				continue
			}
			d := byOperation[operation][0]
			byOperation[operation] = byOperation[operation][1:]
			t.Run(operation, func(t *testing.T) {
				t.Parallel()
				if line := "It calls " + row.method + " " + row.path + "."; !slices.Contains(promised[operation], line) {
					t.Errorf("the comment of the method says %q, want %q", promised[operation], line)
				}
				d.check(t, row)
			})
		}
	}
	for operation, left := range byOperation {
		if len(left) > 0 {
			t.Errorf("%s has a driver without a row in testdata/endpoints.tsv that testdata/endpoints-open.txt does not list", operation)
		}
	}
}

// promises are the last lines of the comments of the methods, by operation.
func promises(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, p := range load(t) {
		if p.area() == "" {
			continue
		}
		for _, m := range p.methods() {
			for line := range strings.Lines(m.decl.Doc.Text()) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "It calls ") {
					all[m.operation] = append(all[m.operation], line)
				}
			}
		}
	}
	return all
}

func (d *driver) check(t *testing.T, row endpoint) {
	t.Helper()
	var credentials []bool // with and without
	switch row.auth {
	case "bearer", bearerAndPassword:
		credentials = []bool{true}
	case "none", "basic", "registration", "limited", "realtime":
		credentials = []bool{true} // the client has one and must keep it
	case "optional", optionalAndPassword:
		credentials = []bool{true, false}
	default:
		t.Fatalf("this test does not know the auth %q yet", row.auth)
	}
	for _, signedIn := range credentials {
		w := newCoverWorld(t)
		if d.prepare != nil {
			if err := d.prepare(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		opts := []fastio.Option{fastio.WithBaseURL(w.server.Start(t))}
		if signedIn {
			opts = append(opts, fastio.WithToken(w.token))
		}
		client, err := fastio.New(opts...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.CloseIdleConnections)
		before := len(w.server.Requests())
		value, err := d.call(t.Context(), client, w)
		if err != nil {
			t.Fatal(err)
		}
		if why := trivial(reflect.ValueOf(value)); why != "" {
			t.Errorf("the answer was not decoded: %s", why)
		}
		sent := w.server.Requests()[before:] // the first is the call's, further ones are aside
		got := sent[0]
		if slices.ContainsFunc(sent[1:], func(r fastiotest.Request) bool { return r.Op == got.Op }) {
			t.Errorf("sent more than one request: %+v", sent)
		}
		d.compare(t, row, &got, w)
		want := ""
		switch row.auth {
		case "bearer", bearerAndPassword, "optional", optionalAndPassword:
			if signedIn {
				want = "Bearer " + w.token
			}
		case "basic", "registration", "limited", "realtime":
			want = w.credential
		}
		if got := got.Header.Get("Authorization"); got != want || want == "" && row.auth != "none" && signedIn {
			t.Errorf("Authorization is %q, want %q", got, want)
		}
		wantPassword := ""
		if row.auth == bearerAndPassword || row.auth == optionalAndPassword {
			wantPassword = cmp.Or(w.link, coverPassword)
		}
		if got := got.Header.Get("X-Ve-Password"); got != wantPassword {
			t.Errorf("the password of the link is %q, want %q", got, wantPassword)
		}
	}
}

// The auth of rows that also serve protected links.
const (
	bearerAndPassword   = "bearer+password"
	optionalAndPassword = "optional+password"
)

// compare holds a request that has arrived to its row.
func (d *driver) compare(t *testing.T, row endpoint, got *fastiotest.Request, w *coverWorld) {
	t.Helper()
	status := http.StatusOK
	if strings.Contains(row.note, "403 today") {
		status = http.StatusForbidden
	} else if strings.Contains(row.note, "queues") || strings.HasSuffix(row.operation, ".CheckName") {
		status = http.StatusAccepted
	}
	if got.Op != row.operation || got.Status != status {
		t.Errorf("the emulator took the call for %q and answered %d", got.Op, got.Status)
	}
	prefix := "/api"
	if strings.HasPrefix(row.path, "/.well-known/") {
		prefix = ""
	}
	if want := prefix + fill(row.path, append(d.segments, w.segments...)); got.Method != row.method || got.Path != want {
		t.Errorf("sent %s %s, want %s %s", got.Method, got.Path, row.method, want)
	}
	contentType, body := got.Header.Get("Content-Type"), string(got.Body)
	var wantType string
	switch row.encoding {
	case "-", "empty", "query", "empty|json": // JSON says until when, and is tested where it is built
		if body != "" {
			t.Errorf("sent the body %q, want none", body)
		}
	case "form":
		wantType = "application/x-www-form-urlencoded"
		if _, err := url.ParseQuery(body); err != nil {
			t.Errorf("sent the body %q, want a form", body)
		}
	case "json", "form|json":
		wantType = "application/json"
		if !json.Valid(got.Body) {
			t.Errorf("sent the body %q, want JSON", body)
		}
	case "multipart", "form|multipart": // the form alone is tested where it is built
		contentType, _, _ = mime.ParseMediaType(contentType)
		wantType = "multipart/form-data"
		if !strings.Contains(body, `name="chunk"`) {
			t.Errorf("sent the body %q, want a part called chunk", body)
		}
	case "raw":
		wantType = "application/octet-stream"
		if body == "" {
			t.Error("sent no body, want the bytes")
		}
	default:
		t.Fatalf("this test does not know the encoding %q yet", row.encoding)
	}
	if contentType != wantType {
		t.Errorf("Content-Type is %q, want %q", contentType, wantType)
	}
	if !slices.Contains([]string{"query", "multipart", "raw"}, row.encoding) && got.Query != "" {
		t.Errorf("sent the query %q, want none", got.Query)
	}
}

// fill puts segments into the placeholders of a path.
func fill(path string, segments []string) string {
	for _, s := range segments {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		path = before + s + after
	}
	return path
}

// trivial tells what is missing from a decoded value: it holds nothing, or is a
// page without rows.
func trivial(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Invalid:
		return "it is nil"
	case reflect.Pointer, reflect.Interface:
		return trivial(v.Elem())
	case reflect.Struct:
		if v.IsZero() {
			return v.Type().String() + " is zero"
		}
		for field := range v.Type().Fields() {
			rows := field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Pointer
			if rows && v.FieldByIndex(field.Index).Len() == 0 {
				return v.Type().String() + "." + field.Name + " is empty"
			}
		}
	case reflect.Slice:
		if v.Len() == 0 {
			return v.Type().String() + " is empty"
		}
	default:
		if v.IsZero() {
			return v.Type().String() + " is zero"
		}
	}
	return ""
}

// The emulator answers what has no method yet as the platform answers what it
// does not know, so that no test passes by accident.
func TestOpenEndpointsAreNotEmulated(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	open := openEndpoints(t)
	placeholder := regexp.MustCompile(`\{[^}]*\}`)
	for _, row := range endpoints(t) {
		if row.removed() || !open[row.key()] {
			continue
		}
		path := placeholder.ReplaceAllString(row.path, "x")
		prefix := ""
		if strings.HasPrefix(path, "/current/") {
			prefix = "/api"
		}
		req, err := http.NewRequestWithContext(t.Context(), row.method, "http://fastio.test"+prefix+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+s.Token())
		resp, err := s.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		unknown := resp.StatusCode == http.StatusNotFound && bytes.Contains(body, []byte(`"code":9992,`))
		otherMethod := resp.StatusCode == http.StatusMethodNotAllowed // the path belongs to another endpoint as well
		if !unknown && !otherMethod {
			t.Errorf("%s %s %s: status %d %s", row.operation, row.method, row.path, resp.StatusCode, body)
		}
	}
}
