// Package checktest has an emulated platform with one of everything, for the tests of
// package check.
package checktest

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/uploads"
)

// Org is the organization in which a run may create a workspace.
const Org = "4210987654321098765"

// Workspace is the path of a workspace of [Org].
const Workspace = "/current/workspace/" + workspace

// What the world has besides, all in [Org].
const (
	WorkspaceID = workspace
	Share       = share
	FileShare   = fileShare
	Comment     = comment
	File        = file
)

// SecondKey returns an API key of another person, who is a member of [Org]: the user of the
// platform has none where that person is missing.
func SecondKey(s *fastiotest.Server) string {
	s.AddUser(seed.User{ID: other, FirstName: "Zqcanary Charles", LastName: "Zqcanary", Email: "charles@zqcanary.test"})
	return s.AddKey(seed.Key{User: other}).Token
}

// AddWorkspace adds a workspace to [Org] and returns its ID.
func AddWorkspace(s *fastiotest.Server, name string) api.ID {
	return api.ID(s.AddWorkspace(seed.Workspace{Org: orgID, Name: name}).ID)
}

const (
	orgID     = Org
	workspace = "4219876543210987654"
	share     = "5217654321098765432"
	fileShare = "6217654321098765432"
	other     = "1912345678901234567"

	file    = "2f11e0fdr4w1ngs0fth3m111b3ta1"
	note    = "2n0te0fth3m111b3ta12345678901"
	picture = "2p1ctur30fth3m111b3ta12345678"
	folder  = "2f01d3r0fth3m111b3ta123456789"
	comment = "caqu35t10n0nth3m111b3ta123456"

	source = "https://zqcanary.test/Zqcanary.txt?signature=zqcanary"
)

// Canary is in every text of the world that a person chooses: each name, title, body, key and
// address. No output may hold it, in any case.
const Canary = "zqcanary"

// Epoch is when the clock of the world starts.
func Epoch() time.Time { return time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC) }

// New returns a platform with one of everything. It must be called in a bubble of
// testing/synctest: what the platform does in the background takes virtual time.
func New(tb testing.TB, change ...func(o *seed.Options)) *fastiotest.Server {
	tb.Helper()
	start := time.Now()
	s := NewStill(tb, append([]func(o *seed.Options){func(o *seed.Options) {
		o.Clock = func() time.Time { return Epoch().Add(time.Since(start)) }
	}}, change...)...)
	addByCalls(tb, s)
	time.Sleep(time.Hour) //nolint:forbidigo // virtual time, until rate limits have recovered and uploads are stored
	addIntent(tb, s)      // not before the hour, in which it would expire
	return s
}

// NewStill returns the platform of [New] without the objects that only API calls can create. It
// needs no testing/synctest, because nothing that it creates takes time to complete.
func NewStill(tb testing.TB, change ...func(o *seed.Options)) *fastiotest.Server {
	tb.Helper()
	s := fastiotest.New(append([]func(o *seed.Options){func(o *seed.Options) {
		o.Seed = 1815
		o.Comments.Properties = true
		o.AI.TurnPace = -1 // turns take no time
		o.Uploads.Web = map[string]string{source: "A zqcanary.", "https://example.com/": "A page."}
	}}, change...)...)
	addPlaces(s)
	addContent(tb, s)
	addHistory(s)
	return s
}

// addPlaces adds users, organizations, workspaces, a share and invitations. All
// texts contain "zqcanary", so that a test can find them in a report.
func addPlaces(s *fastiotest.Server) {
	me := s.User()
	s.AddUser(seed.User{ID: other, FirstName: "Zqcanary Charles", LastName: "Zqcanary", Email: "charles@zqcanary.test"})
	s.AddOrg(seed.Org{
		ID: orgID, Domain: "zqcanary", Name: "Zqcanary Works", Description: "Zqcanary engines", Owner: me.ID,
	})
	s.AddWorkspace(seed.Workspace{
		ID: workspace, Org: orgID, Name: "Zqcanary Design", FolderName: "zqcanary-design", Description: "Zqcanary drawings",
	})
	s.SetMember(workspace, other, seed.Member)
	s.SetMember(orgID, other, seed.Member)
	open := s.AddOrg(seed.Org{Domain: "zqcanaryroyal", Name: "Zqcanary Society", Owner: other, Joinable: true})
	s.AddInvitation(seed.Invitation{Profile: open.ID, Email: me.Email, Inviter: other, Created: Epoch()})
	guild := s.AddOrg(seed.Org{Domain: "zqcanaryguild", Name: "Zqcanary Weavers", Owner: other})
	looms := s.AddWorkspace(seed.Workspace{Org: guild.ID, Name: "Zqcanary Looms"})
	s.SetMember(looms.ID, me.ID, seed.Member)
	invite := func(in string) {
		s.AddInvitation(seed.Invitation{
			Profile: in, Email: "jacquard@zqcanary.test", Inviter: me.ID, Role: seed.Guest, Created: Epoch(),
			Expires: Epoch().AddDate(0, 1, 0),
		})
	}
	invite(orgID)
	invite(workspace)
	s.AddShare(seed.Share{
		ID: share, Org: orgID, Workspace: workspace, Title: "Zqcanary Engines", CustomName: "zqcanary7", Creator: me.ID,
		Description: "Zqcanary numbers.", Access: "Anyone with the link", Invite: "guests",
		Expires: Epoch().AddDate(1, 0, 0), ExternalInvites: "allowed",
	})
	s.SetMember(share, other, seed.Member)
	invite(share)
}

// addContent adds nodes, facts, a File Share and QuickShares to the workspace,
// and the same nodes, with other IDs, to the share.
func addContent(tb testing.TB, s *fastiotest.Server) {
	tb.Helper()
	me, at := s.User().ID, Epoch().Add(-time.Hour)
	for _, in := range []string{workspace, share} {
		id := func(id string) string {
			if in == share {
				return id[:len(id)-1] + "0" // another one
			}
			return id
		}
		add := func(n seed.Node) {
			n.Profile, n.Creator, n.Created, n.Updated = in, me, at, at
			s.AddNode(n)
		}
		add(seed.Node{ID: id(folder), Kind: "folder", Name: "Zqcanary drawings"})
		add(seed.Node{
			ID: id(file), Name: "Zqcanary mill.pdf", Summary: "How the zqcanary works.",
			Content: "The zqcanary grinds numbers.\n\nIts wheels are of brass.\fThe store holds a zqcanary.",
		})
		add(seed.Node{ID: id(picture), Name: "Zqcanary mill.png", Content: "A zqcanary."})
		add(seed.Node{ID: id(note), Kind: "note", Name: "Zqcanary mill.md", Content: "# The zqcanary\n\nIt needs oil."})
		add(seed.Node{Name: "Zqcanary old.pdf", Trashed: true})
	}
	s.AddNode(seed.Node{
		Profile: workspace, Creator: me, Kind: "link", Name: "Zqcanary elsewhere", Created: at, Updated: at,
	})
	for _, f := range []seed.Fact{
		{Node: file, Field: "zqcanary_wheels", Value: 25000, Confidence: "high", Rationale: "Zqcanary says so."},
		{Node: file, Field: "zqcanary_material", Value: "zqcanary", Source: "user", Confidence: "certain"},
		{Node: file, Field: "category", Value: "Engineering"},
		{Node: note, Field: "zqcanary_wheels", Value: "zqcanary many"}, // a text in a field of numbers
		{Node: note, Field: "zqcanary_ma-terial", Value: "zqcanary"},   // a candidate for a merge with zqcanary_material
	} {
		if err := s.AddFact(f); err != nil {
			tb.Fatal(err)
		}
	}
	s.AddFileShare(seed.FileShare{
		ID: fileShare, Node: file, Owner: me, Title: "The zqcanary", Access: "any_registered", CommentsEnabled: true,
		Expires: Epoch().AddDate(1, 0, 0), Grants: []seed.Grant{{Email: "later@zqcanary.test", Capability: "view"}},
	})
	s.AddQuickShare(seed.QuickShare{Node: file, Creator: me, Created: at, Expires: at.AddDate(0, 1, 0)})
	s.AddQuickShare(seed.QuickShare{Node: note, Creator: me, Created: at, Expires: at.AddDate(0, 1, 0)})
}

// addHistory adds comments and events. Each text that a person chooses has the [Canary], so
// that a test can find it in a report.
func addHistory(s *fastiotest.Server) {
	me, at := s.User().ID, Epoch().Add(-30*time.Minute)
	s.AddComment(seed.Comment{
		ID: comment, Profile: workspace, Node: file, User: me, Created: at, Body: "@[user:" + other + ":Zqcanary] Why?",
		Properties: map[string]any{"zqcanary_pinned": true}, Reference: map[string]any{"type": "document", "page": 7},
		Targets: []string{file},
	})
	s.AddComment(seed.Comment{
		Profile: workspace, Node: file, User: other, Parent: comment, Created: at.Add(time.Minute), Body: "No zqcanary.",
		Edited: at.Add(2 * time.Minute),
	})
	s.AddComment(seed.Comment{Profile: workspace, User: other, Body: "The zqcanary is cold.", Created: at})
	s.AddComment(seed.Comment{Profile: share, User: other, Body: "A zqcanary.", Created: at})
	s.AddComment(seed.Comment{FileShare: fileShare, User: other, Body: "May I copy zqcanary?", Created: at})
	s.AddEvent(seed.Event{
		Name: "org_updated", Org: orgID, CallingUser: me, Created: at,
		Extra: map[string]any{"policy_changes": []any{map[string]any{"zqcanary_policy": "zqcanary"}}},
	})
	s.AddEvent(seed.Event{
		Name: "user_login", Org: orgID, User: me, CallingUser: me, Created: at, IP: "192.0.2.7", Country: "GB",
	})
	s.AddEvent(seed.Event{
		Name: "workspace_storage_file_added", Workspace: workspace, CallingUser: me, Created: at.Add(time.Second),
		Object: file, ObjectName: "Zqcanary mill.pdf", Actor: &seed.Actor{
			User: me, Kind: "agent", AgentName: "Zqcanary Notator", NameSource: "self_declared", CredentialType: "api_key",
		},
	})
}

// addSession signs in to an application, so that there is a session.
func addSession(tb testing.TB, s *fastiotest.Server) {
	tb.Helper()
	const redirect = "http://127.0.0.1:49152/callback"
	ctx, c, pkce := tb.Context(), s.Client(tb).OAuth, oauth.NewPKCE()
	app, err := c.Register(ctx, oauth.RegisterRequest{ClientName: "Zqcanary loom", RedirectURIs: []string{redirect}})
	must(tb, err)
	begun, err := c.StartAuthorization(ctx, oauth.AuthorizationRequest{
		ClientID: app.ClientID, RedirectURI: redirect, PKCE: pkce, Scopes: []oauth.Scope{oauth.ScopeUser},
	})
	must(tb, err)
	outcome, err := s.SignIns.Approve(begun.LoginURL, seed.Decision{})
	must(tb, err)
	to, err := url.Parse(outcome.Redirect)
	must(tb, err)
	_, err = c.Exchange(ctx, oauth.ExchangeRequest{
		ClientID: app.ClientID, RedirectURI: redirect, Code: api.NewSecret(to.Query().Get("code")),
		CodeVerifier: pkce.Verifier, DeviceName: "Zqcanary", DeviceType: "cli",
	})
	must(tb, err)
}

// must ends the test if err is not nil.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// addByCalls creates in the world what only calls can create: AI threads, pictures,
// filters, uploads and keys.
func addByCalls(tb testing.TB, s *fastiotest.Server) {
	tb.Helper()
	ctx := tb.Context()
	c := s.Client(tb)
	for _, in := range []api.Profile{api.Workspace(workspace), api.Share(share)} {
		for _, text := range []string{"What does the zqcanary grind?", "And who turns a zqcanary?"} {
			_, err := c.AI.Threads.Create(ctx, in, ai.CreateThreadRequest{
				Name: text, Question: ai.Question{Text: text, IdempotencyKey: string(in.Kind) + text[:4]}, // one for each thread
			})
			must(tb, err)
		}
	}
	for in, name := range map[api.Profile]assets.Name{
		api.Org(orgID): assets.NameLogo, api.Workspace(workspace): assets.NameBanner,
		api.Share(share): assets.NameLogo, api.User(api.ID(s.User().ID)): assets.NameProfilePic,
	} {
		must(tb, c.Assets.Upload(ctx, in, name, "zqcanary.svg", strings.NewReader("<svg/>")))
	}
	_, err := c.Metadata.Filters.Create(ctx, workspace, metadata.FilterRequest{
		Name: "Zqcanary", Description: "What does not zqcanary",
		Predicate: []metadata.Filter{metadata.Equals("zqcanary_material", "zqcanary")},
	})
	must(tb, err)
	_, err = c.Metadata.ExtractAll(ctx, workspace, folder)
	must(tb, err)
	addUploads(tb, c)
	_, err = c.OAuth.Keys.Create(ctx, oauth.CreateKeyRequest{
		Memo: "Zqcanary", AgentName: "Zqcanary", Expires: Epoch().AddDate(1, 0, 0),
	})
	must(tb, err)
	addSession(tb, s)
}

// addIntent creates an intent, whose texts have the [Canary]. [New] calls it last: in the hour
// that New lets pass before, the intent would expire.
func addIntent(tb testing.TB, s *fastiotest.Server) {
	tb.Helper()
	ctx, c := tb.Context(), s.Client(tb)
	intent, err := c.Activity.Intents.Allocate(ctx, workspace, &activity.AllocateOptions{NodeID: picture, Kind: "reading"})
	if err == nil {
		_, err = c.Activity.Intents.Fill(ctx, workspace, intent.ID, activity.FillRequest{
			Topic: "The zqcanary", Message: "I count zqcanary.",
		})
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// addUploads starts an upload, of which one chunk is sent, and an import from
// the web.
func addUploads(tb testing.TB, c *fastio.Client) {
	tb.Helper()
	ctx := tb.Context()
	root := uploads.Target{Profile: api.Workspace(workspace)}
	u, err := c.Uploads.Start(ctx, uploads.StartRequest{Target: root, Name: "Zqcanary.txt", Size: 16})
	if err == nil {
		err = c.Uploads.Chunks.Send(ctx, u.ID, uploads.Chunk{Order: 1, Content: []byte("Brass ")})
	}
	if err == nil {
		_, err = c.Uploads.Web.Start(ctx, uploads.WebRequest{Source: api.NewSecret(source), Profile: root.Profile})
	}
	if err != nil {
		tb.Fatal(err)
	}
}
