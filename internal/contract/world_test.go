package contract_test

import (
	"context"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// Ids that calls mention, as the platform shows them; requests carry them plain.
const (
	orgID        = api.ProfileID("4210987654321098765")
	workspaceID  = api.ProfileID("4219876543210987654")
	uploadEvent  = api.OpaqueID("eup10-ad0fd-3s1gn-f1135-b3ta1-2345")
	childEvent   = api.OpaqueID("ech11-d0fth-3up10-adb3t-a1234-5678")
	signInEvent  = api.OpaqueID("es1gn-1n0fa-d4b3t-a1234-56789-0xyz")
	missingEvent = api.OpaqueID("en0wh-3r3t0-b3f0u-nd123-45678-9xyz")

	drawingID   = api.OpaqueID("2f11e-0fdr4-w1ngs-0fth3-m111b-3ta1")
	fileShareID = api.ProfileID("6217654321098765432")
	questionID  = api.OpaqueID("caqu3-5t10n-0nth3-m111b-3ta12-34567")
	legacyID    = api.OpaqueID("ca1d0-fth3w-0rkf1-0w5b3-ta123-45678")
	deletedID   = api.OpaqueID("cag0n-30fth-3m111-b3ta1-23456-78xyz")
)

// A world is what the calls of one script work on, and what they learn.
type world struct {
	t      *testing.T // neither is there for calls, which are repeated without the emulator
	server *fastiotest.Server
	area   string // of the call

	cursor, feed string
	filter       api.OpaqueID
	token        api.Secret     // of the client
	link         *api.LinkToken // what opens a share with a password
	code         api.Secret     // of a message or an authenticator app
	shared       api.Secret     // the token in the links to a file
	login        loginState
	live         liveState
	chat         chatState
	upload       api.OpaqueID // of another version
	version      api.OpaqueID // the first
}

func newWorld(t *testing.T, change ...func(o *fastiotest.Options)) *world {
	t.Helper()
	start := time.Now()
	s := fastiotest.New(append(change, func(o *fastiotest.Options) {
		o.Seed = 1815
		o.Clock = func() time.Time { return epoch().Add(time.Since(start)) }
		o.Comments.Limit, o.Comments.Properties = 20, true
		o.AI.TurnPace = -1
		o.FileShares.TierCapability = "edit" // for fileshares.Uploads.Create without a credential
	})...)
	ada := s.User().ID
	s.AddOrg(fastiotest.Org{
		ID: orgID, Domain: "difference", Name: "Difference Works", Description: "Engines, to order", Owner: ada,
	})
	s.AddWorkspace(fastiotest.Workspace{
		ID: workspaceID, Org: orgID, Name: "Design", FolderName: "design", Description: "Drawings & notes",
	})
	charles := s.AddUser(fastiotest.User{FirstName: "Charles", LastName: "Babbage", Email: "charles@example.test"})
	guild := s.AddOrg(fastiotest.Org{Domain: "guild", Name: "Guild of Weavers", Owner: charles.ID})
	looms := s.AddWorkspace(fastiotest.Workspace{Org: guild.ID, Name: "Looms"})
	s.SetMember(looms.ID, ada, fastiotest.Member)

	at := func(minute int) time.Time { return epoch().Add(time.Duration(minute-60) * time.Minute) }
	s.AddEvent(fastiotest.Event{
		Name: "org_updated", Org: orgID, CallingUser: ada, Created: at(0),
		Extra: map[string]any{"policy_changes": []any{map[string]any{"policy": "sharing", "to": "members"}}},
	})
	s.AddEvent(fastiotest.Event{
		ID: signInEvent, Name: "user_login", Org: orgID, User: ada, CallingUser: ada, Created: at(1), IP: "192.0.2.7",
		Country: "GB",
		Telemetry: map[string]any{
			"method": "password", "mfa": "totp", "new_country": "no", "client_id": "c-1", "session_id": "s-42",
			"token_id": "t-7", "agent_name": "Notator", "device_name": "Mill", "user_agent": "Engine/1.0",
		},
	})
	s.AddEvent(fastiotest.Event{
		ID: uploadEvent, Name: "workspace_storage_file_added", Workspace: workspaceID, CallingUser: ada, Created: at(2),
		Object: "2f11e0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Mühle №1.pdf",
		Actor: &fastiotest.Actor{
			User: ada, Kind: "agent", AgentName: "Notator", NameSource: "self_declared", CredentialType: "api_key",
		},
	})
	s.AddEvent(fastiotest.Event{
		ID: childEvent, Name: "workspace_storage_file_copied", Workspace: workspaceID, CallingUser: ada, Created: at(3),
		Object: "2c0py0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Copy.pdf", Parent: uploadEvent,
		Unattributed: true, AgentDelegation: "none",
	})
	s.AddEvent(fastiotest.Event{
		Name: "comment_created", Workspace: workspaceID, CallingUser: ada, Created: at(4),
		Object: "2f11e0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Mühle №1.pdf",
	})
	return &world{t: t, server: s, token: api.NewSecret(s.Token())}
}

// Token is what the client signs with.
func (w *world) Token(context.Context) (api.Token, error) {
	return api.Token{AccessToken: w.token}, nil
}
