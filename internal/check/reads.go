// Package check compares the real service with what the SDK believes of it. [Walk] calls
// the reviewed operations for a sample of what an account can see, [Compare] is a pure
// function of the recorded exchanges, and the rest shows and writes its [Report], which
// holds no value of a response.
package check

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A Read is an endpoint that the program may call.
type Read struct {
	Op     string
	Method string
	Path   string // the template
	Needs  string // what a walk must have found first; "" if nothing
}

// Reads returns the endpoints that the program may call without -write. The list is
// reviewed by hand: a GET without an effect, search.Compound, which is a read in a POST,
// and the GETs that only mint a read or socket token. It is not derived from a column of
// the table: that a request can be repeated does not mean that it has no effect.
func Reads() []Read {
	return slices.Concat(accountToComments(), eventsToOAuth(), orgsToShares(), storageToWorkspaces())
}

// accountToComments returns the reads of the areas from account to comments: for each the
// operation, the method, the path, and what the walk must have found before.
func accountToComments() []Read {
	const get = http.MethodGet
	return []Read{
		{"account.Me", get, "/current/user/me/details/", ""},
		{"account.Users.Get", get, "/current/user/{user_id}/details/", ""},
		{"account.Users.Search", get, "/current/users/search/", ""},
		{"account.Profiles", get, "/current/user/available_profiles/", ""},
		{"account.Allowed", get, "/current/user/me/allowed/", ""},
		{"account.OrgLimits", get, "/current/user/me/limits/orgs/", ""},
		{"account.Invitations.List", get, "/current/user/invitations/list/", ""},
		{"account.Invitations.Get", get, "/current/user/invitation/{invitation_id}/details/", "an invitation"},

		{"activity.Poll", get, "/current/activity/poll/", ""},
		{"activity.PollProfile", get, "/current/activity/poll/{profile_id}/", ""},
		{"activity.Dashboard.List", get, "/current/workspace/{workspace_id}/dashboard/", "a workspace"},
		{"activity.Intents.List", get, "/current/workspace/{workspace_id}/intents/", "a workspace"},
		{"activity.Intents.Get", get, "/current/workspace/{workspace_id}/intents/{intent_ids}/", "an intent"},

		{"ai.Threads.List", get, "/current/workspace/{workspace_id}/ai/agent/list/", "a workspace"},
		{"ai.Threads.List", get, "/current/share/{share_id}/ai/agent/list/", "a share"},
		{"ai.Threads.ListDeleted", get, "/current/workspace/{workspace_id}/ai/agent/list/deleted", "a workspace"},
		{"ai.Threads.ListDeleted", get, "/current/share/{share_id}/ai/agent/list/deleted", "a share"},
		{"ai.Threads.Get", get, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/details/", "a thread"},
		{"ai.Threads.Get", get, "/current/share/{share_id}/ai/agent/{chat_id}/details/", "a thread"},
		{"ai.Turns.List", get, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/", "a turn"},
		{"ai.Turns.List", get, "/current/share/{share_id}/ai/agent/{chat_id}/messages/list/", "a turn"},
		{"ai.Turns.List", get, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/{offset}", "a turn"},
		{"ai.Turns.List", get, "/current/share/{share_id}/ai/agent/{chat_id}/messages/list/{offset}", "a turn"},
		{"ai.Turns.Get", get, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/message/{message_id}/details/", "a turn"},
		{"ai.Turns.Get", get, "/current/share/{share_id}/ai/agent/{chat_id}/message/{message_id}/details/", "a turn"},
		{"ai.Turns.Stream", get, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/message/{message_id}/read/", "a turn"},
		{"ai.Turns.Stream", get, "/current/share/{share_id}/ai/agent/{chat_id}/message/{message_id}/read/", "a turn"},
		{"ai.Transactions.List", get, "/current/workspace/{workspace_id}/ai/transactions/", "a workspace"},
		{"ai.OGImage", get, "/current/share/{share_id}/ai/autoog/", "a share"},

		{"assets.Types", get, "/current/org/assets/", ""},
		{"assets.List", get, "/current/org/{org_id}/assets/", "an organization"},
		{"assets.Read", get, "/current/org/{org_id}/assets/{asset_name}/read/", "a picture of the profile"},
		{"assets.Types", get, "/current/workspace/assets/", ""},
		{"assets.List", get, "/current/workspace/{workspace_id}/assets/", "a workspace"},
		{"assets.Read", get, "/current/workspace/{workspace_id}/assets/{asset_name}/read/", "a picture of the profile"},
		{"assets.Types", get, "/current/share/assets/", ""},
		{"assets.List", get, "/current/share/{share_id}/assets/", "a share"},
		{"assets.Read", get, "/current/share/{share_id}/assets/{asset_name}/read/", "a picture of the profile"},
		{"assets.Types", get, "/current/user/assets/", ""},
		{"assets.List", get, "/current/user/{user_id}/assets/", ""},
		{"assets.Read", get, "/current/user/{user_id}/assets/{asset_name}/read/", "a picture of the profile"},

		{"comments.List", get, "/current/comments/{entity_type}/{parent_id}/", "a workspace"},
		{"comments.ListOnNode", get, "/current/comments/{entity_type}/{parent_id}/{node_id}/", "a file"},
		{"comments.ListOnFileShare", get, "/current/comments/fileshare/{fileshare_id}/{node_id}/", "a File Share"},
		{"comments.Get", get, "/current/comments/{comment_id}/details/", "a comment"},
		{"comments.Attachments.List", get, "/current/comments/{comment_id}/attachments/", "a comment"},
	}
}

// eventsToOAuth returns the reads of the areas from events to oauth: for each the
// operation, the method, the path, and what the walk must have found before.
func eventsToOAuth() []Read {
	const get = http.MethodGet
	return []Read{
		{"events.Search", get, "/current/events/search/", ""},
		{"events.Get", get, "/current/event/{event_id}/details/", "an event"},
		{"events.Changes", get, "/current/org/{org_id}/events/changes/", "an organization"},

		{"fileshares.List", get, "/current/workspace/{workspace_id}/list/fileshares/", "a workspace"},
		{"fileshares.Get", get, "/current/fileshare/{fileshare_id}/details/", "a File Share"},
		{"fileshares.Grants.List", get, "/current/fileshare/{fileshare_id}/grants/", "a File Share"},
		{"fileshares.Download", get, "/current/fileshare/{fileshare_id}/storage/read/", "a File Share"},
		{"fileshares.Preview", get, "/current/fileshare/{fileshare_id}/storage/preview/{type}/read/", "a File Share"},
		{"fileshares.Versions.List", get, "/current/fileshare/{fileshare_id}/storage/versions/", "a File Share"},
		{
			"fileshares.Versions.Read", get, "/current/fileshare/{fileshare_id}/storage/versions/{version_id}/read/",
			"a version",
		},
		{"fileshares.Metadata", get, "/current/fileshare/{fileshare_id}/storage/metadata/details/", "a File Share"},

		{"members.List", get, "/current/org/{org_id}/members/list/", "an organization"},
		{"members.List", get, "/current/workspace/{workspace_id}/members/list/", "a workspace"},
		{"members.List", get, "/current/share/{share_id}/members/list/", "a share"},
		{"members.Get", get, "/current/org/{org_id}/member/{user_id}/details/", "an organization"},
		{"members.Get", get, "/current/workspace/{workspace_id}/member/{user_id}/details/", "a workspace"},
		{"members.Get", get, "/current/share/{share_id}/member/{user_id}/details/", "a share"},
		{"members.Invitations.List", get, "/current/org/{org_id}/members/invitations/list/", "an organization"},
		{"members.Invitations.List", get, "/current/workspace/{workspace_id}/members/invitations/list/", "a workspace"},
		{"members.Invitations.List", get, "/current/share/{share_id}/members/invitations/list/", "a share"},
		{"members.Invitations.List", get, "/current/org/{org_id}/members/invitations/list/{state}/", "an organization"},
		{
			"members.Invitations.List", get, "/current/workspace/{workspace_id}/members/invitations/list/{state}/",
			"a workspace",
		},
		{"members.Invitations.List", get, "/current/share/{share_id}/members/invitations/list/{state}/", "a share"},

		{"metadata.Fields.List", get, "/current/workspace/{workspace_id}/metadata/fields/", "a workspace"},
		{
			"metadata.Fields.MergeCandidates", get, "/current/workspace/{workspace_id}/metadata/fields/merge-candidates/",
			"a workspace",
		},
		{"metadata.Facts.Get", get, "/current/workspace/{workspace_id}/storage/{node_id}/metadata/facts/", "a file"},
		{"metadata.Eligible", get, "/current/workspace/{workspace_id}/metadata/eligible/", "a workspace"},
		{"metadata.Details", get, "/current/workspace/{workspace_id}/storage/{node_id}/metadata/details/", "a file"},
		{"metadata.Versions", get, "/current/workspace/{workspace_id}/storage/{node_id}/metadata/versions/", "a file"},
		{"metadata.Jobs", get, "/current/workspace/{workspace_id}/jobs/status/", "a workspace"},
		{"metadata.Filters.List", get, "/current/workspace/{workspace_id}/metadata/filters/", "a workspace"},
		{"metadata.Filters.Get", get, "/current/workspace/{workspace_id}/metadata/filters/{filter_id}/", "a saved filter"},
		{
			"metadata.Filters.Nodes", get, "/current/workspace/{workspace_id}/metadata/filters/{filter_id}/nodes/",
			"a saved filter",
		},

		{"oauth.ServerMetadata", get, "/.well-known/oauth-authorization-server/", ""},
		{"oauth.ProtectedResource", get, "/.well-known/oauth-protected-resource/", ""},
		{"oauth.Sessions.List", get, "/current/oauth/sessions/", ""},
		{"oauth.Sessions.Get", get, "/current/oauth/sessions/{id}/", "a session"},
		{"oauth.TokenScopes", get, "/current/auth/scopes/", ""},
		{"oauth.CheckToken", get, "/current/user/auth/check/", ""},
		{"oauth.Keys.List", get, "/current/user/auth/keys/", ""},
		{"oauth.Keys.Get", get, "/current/user/auth/key/{id}/", "an API key"},
		{"oauth.TwoFactor.Status", get, "/current/user/auth/2factor/", ""},
	}
}

// orgsToShares returns the reads of the areas from orgs to shares: for each the
// operation, the method, the path, and what the walk must have found before.
func orgsToShares() []Read {
	const get, post = http.MethodGet, http.MethodPost
	return []Read{
		{"orgs.List", get, "/current/orgs/list/", ""},
		{"orgs.ListExternal", get, "/current/orgs/list/external/", ""},
		{"orgs.ListJoinedOrInvited", get, "/current/orgs/all/", ""},
		{"orgs.ListAvailable", get, "/current/orgs/available/", ""},
		{"orgs.Get", get, "/current/org/{org_id}/details/", "an organization"},
		{"orgs.GetPublic", get, "/current/org/{org_id}/public/details/", "an organization"},
		{"orgs.Billing.Credits", get, "/current/org/{org_id}/billing/usage/limits/credits/", "an organization"},
		{"orgs.Billing.Meters", get, "/current/org/{org_id}/billing/usage/meters/list/", "an organization"},
		{"orgs.CheckDomain", get, "/current/orgs/check/domain/{domain}/", ""},
		{"orgs.Industries", get, "/current/orgs/industries/", ""},
		{"orgs.TransferTokens.List", get, "/current/org/{org_id}/transfer/token/list/", "an organization"},
		{"orgs.Billing.Details", get, "/current/org/{org_id}/billing/details/", "an organization"},
		{"orgs.Billing.Plans", get, "/current/org/billing/plan/list/", ""},
		{"orgs.Billing.Invoices", get, "/current/org/{org_id}/billing/invoices/", "an organization"},
		{"orgs.Billing.Members", get, "/current/org/{org_id}/billing/usage/members/list/", "an organization"},

		{"realtime.SocketToken", get, "/current/websocket/auth/{profile_id}", ""},
		{"realtime.RoomToken", get, "/current/realtime/auth/{room_id}", ""},
		{"realtime.NoteToken", get, "/current/realtime/note-auth/{profile_id}/{note_id}", "a note"},
		{"realtime.ValidateRoomToken", get, "/current/realtime/auth/validate/", "a room token"},
		{"realtime.ValidateNoteToken", get, "/current/realtime/note-auth/validate/", "a note token"},

		{"search.Files", get, "/current/workspace/{workspace_id}/storage/search/", "a workspace"},
		{"search.Files", get, "/current/share/{share_id}/storage/search/", "a share"},
		{"search.Unified", get, "/current/workspace/{workspace_id}/search/", "a workspace"},
		{"search.Unified", get, "/current/share/{share_id}/search/", "a share"},
		{"search.Metadata", get, "/current/workspace/{workspace_id}/metadata/search/", "a workspace"},
		{"search.Compound", post, "/current/workspace/{workspace_id}/metadata/compound-search/", "a workspace"},

		{"shares.Get", get, "/current/share/{share_id}/details/", "a share"},
		{"shares.GetPublic", get, "/current/share/{share_id}/public/details/", "a share"},
		{"shares.List", get, "/current/shares/all/", ""},
		{"shares.ListAvailable", get, "/current/shares/available/", ""},
		{"shares.ListByWorkspace", get, "/current/workspace/{workspace_id}/list/shares/", "a workspace"},
		{"shares.ListOwned", get, "/current/user/me/list/shares/", ""},
		{"shares.CheckName", get, "/current/shares/check/name/{name}/", ""},
		{"shares.QuickShares.Get", get, "/current/quickshare/{quickshare_id}/details/", "a QuickShare"},
		{"shares.QuickShares.Download", get, "/current/quickshare/{quickshare_id}/storage/read/", "a QuickShare"},
		{"shares.QuickShares.ReadNote", get, "/current/quickshare/{quickshare_id}/storage/readnote/", "a QuickShare"},
		{
			"shares.QuickShares.Preview", get, "/current/quickshare/{quickshare_id}/storage/preview/{type}/read/",
			"a QuickShare",
		},
		{"shares.QuickShares.GetByNode", get, "/current/workspace/{workspace_id}/storage/{node_id}/quickshare/", "a file"},
		{"shares.QuickShares.List", get, "/current/workspace/{workspace_id}/quickshares/", "a workspace"},
	}
}

// storageToWorkspaces returns the reads of the areas from storage to workspaces: for each the
// operation, the method, the path, and what the walk must have found before.
func storageToWorkspaces() []Read {
	const get = http.MethodGet
	return []Read{
		{"storage.List", get, "/current/workspace/{workspace_id}/storage/{parent_id}/list/", "a workspace"},
		{"storage.List", get, "/current/share/{share_id}/storage/{parent_id}/list/", "a share"},
		{"storage.Get", get, "/current/workspace/{workspace_id}/storage/{node_id}/details/", "a file"},
		{"storage.Get", get, "/current/share/{share_id}/storage/{node_id}/details/", "a file"},
		{"storage.Recent", get, "/current/workspace/{workspace_id}/storage/recent/", "a workspace"},
		{"storage.Recent", get, "/current/share/{share_id}/storage/recent/", "a share"},
		{"storage.Versions.List", get, "/current/workspace/{workspace_id}/storage/{node_id}/versions/", "a file"},
		{"storage.Versions.List", get, "/current/share/{share_id}/storage/{node_id}/versions/", "a file"},
		{"storage.Locks.Get", get, "/current/workspace/{workspace_id}/storage/{node_id}/lock/", "a file"},
		{"storage.Locks.Get", get, "/current/share/{share_id}/storage/{node_id}/lock/", "a file"},
		{"storage.Downloads.Token", get, "/current/workspace/{workspace_id}/storage/{node_id}/requestread/", "a file"},
		{"storage.Downloads.Token", get, "/current/share/{share_id}/storage/{node_id}/requestread/", "a file"},
		{"storage.Downloads.Read", get, "/current/workspace/{workspace_id}/storage/{node_id}/read/", "a file"},
		{"storage.Downloads.Read", get, "/current/share/{share_id}/storage/{node_id}/read/", "a file"},
		{"storage.Notes.Get", get, "/current/workspace/{workspace_id}/storage/{node_id}/readnote/", "a note"},
		{"storage.Notes.Get", get, "/current/share/{share_id}/storage/{node_id}/readnote/", "a note"},
		{"storage.Texts.Get", get, "/current/workspace/{workspace_id}/storage/{node_id}/content/", "a file"},
		{"storage.Texts.Get", get, "/current/share/{share_id}/storage/{node_id}/content/", "a file"},
		{"storage.Texts.Search", get, "/current/workspace/{workspace_id}/storage/content/", "a workspace"},
		{
			"storage.Previews.Authorize", get,
			"/current/workspace/{workspace_id}/storage/{node_id}/preview/{type}/preauthorize/", "a preview",
		},
		{
			"storage.Previews.Authorize", get, "/current/share/{share_id}/storage/{node_id}/preview/{type}/preauthorize/",
			"a preview",
		},
		{
			"storage.Previews.Read", get,
			"/current/workspace/{workspace_id}/storage/{node_id}/preview/{type}/read/{download_token}/file/{filename}",
			"a preview",
		},
		{
			"storage.Previews.Read", get,
			"/current/share/{share_id}/storage/{node_id}/preview/{type}/read/{download_token}/file/{filename}", "a preview",
		},
		{
			"storage.Transforms.Token", get, "/current/workspace/{workspace_id}/storage/{node_id}/transform/image/requestread/",
			"a picture",
		},
		{
			"storage.Transforms.Token", get, "/current/share/{share_id}/storage/{node_id}/transform/image/requestread/",
			"a picture",
		},

		{"system.Ping", get, "/current/ping/", ""},
		{"system.Status", get, "/current/system/status/", ""},
		{"system.Docs", get, "/current/llms/", ""},
		{"system.DocsFull", get, "/current/llms/full/", ""},
		{"system.DocsTopic", get, "/current/llms/{topic}/", ""},
		{"system.Agents", get, "/current/agents/", ""},

		{"uploads.Get", get, "/current/upload/{upload_id}/details/", "an upload"},
		{"uploads.List", get, "/current/upload/details/", ""},
		{"uploads.Chunks.List", get, "/current/upload/{upload_id}/chunk/", "an upload"},
		{"uploads.Limits", get, "/current/upload/limits/", ""},
		{"uploads.Extensions", get, "/current/upload/limits/extensions/", ""},
		{"uploads.Algorithms", get, "/current/upload/algos/", ""},
		{"uploads.Web.List", get, "/current/web_upload/", ""},
		{"uploads.Web.Get", get, "/current/web_upload/{upload_id}/details/", "an import from the web"},

		{"workspaces.List", get, "/current/workspaces/all/", ""},
		{"workspaces.ListByOrg", get, "/current/org/{org_id}/list/workspaces/", "an organization"},
		{"workspaces.ListAvailable", get, "/current/workspaces/available/", ""},
		{"workspaces.Get", get, "/current/workspace/{workspace_id}/details/", "a workspace"},
		{"workspaces.CheckName", get, "/current/workspaces/check/name/{name}/", ""},
		{"workspaces.Limits", get, "/current/workspace/{workspace_id}/limits/", "a workspace"},
	}
}

// Refused returns the GETs that the program never sends, with the reason.
func Refused() map[string]string {
	return map[string]string{ //nolint:gosec // names of operations are no credentials
		"account.AutoSyncPhoto":       "changes a setting",
		"account.CheckPhone":          "sends a telephone number, and may cost a query elsewhere",
		"account.PasswordReset.Check": "needs a code of a mail",
		"account.SupportPIN":          "may create a PIN, which opens the account to the support",
		"ai.ReadExport":               "uses up a link that can be read three times",
		"events.Summarize":            "costs credits",
		"oauth.AuthorizationInfo":     "is part of a sign-in",
		"oauth.SignIn":                "is a sign-in",
		"oauth.StartAuthorization":    "is a sign-in",
		"oauth.TwoFactor.Send":        "sends a message to a telephone",
		"storage.Downloads.Zip":       "is billed for each run",
		"storage.Transforms.Read":     "may convert a file, which costs credits",
	}
}

// Key is how reports name the endpoint.
func (r Read) Key() string { return r.Method + " " + r.Path }

// changes reports whether the endpoint has an effect, as far as its method says it.
func (r Read) changes() bool { return r.Method != http.MethodGet && r.Op != "search.Compound" }

// Area is the package of the operation.
func (r Read) Area() string {
	area, _, _ := strings.Cut(r.Op, ".")
	return area
}

// matches reports whether an escaped path fits the template of r. A placeholder stands for any
// segment that does not lead to another path, as ".." does.
func (r Read) matches(path string) bool {
	want, got := strings.Split(r.Path, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, segment := range want {
		isPlaceholder := strings.HasPrefix(segment, "{")
		if isPlaceholder && isOnlyDots(got[i]) || !isPlaceholder && segment != got[i] {
			return false
		}
	}
	return true
}

// isOnlyDots reports whether an escaped segment of a path is empty, has only dots or cannot be
// unescaped.
func isOnlyDots(segment string) bool {
	plain, err := url.PathUnescape(segment)
	return err != nil || strings.Trim(plain, ".") == ""
}

// findRead returns the Read for a path, or for the template of one; false if there is
// none. A path that equals a template is preferred to one that fits another template.
func findRead(reads []Read, method, path string) (Read, bool) {
	for _, r := range reads {
		if r.Method == method && r.Path == path {
			return r, true
		}
	}
	for _, r := range reads {
		if r.Method == method && r.matches(path) {
			return r, true
		}
	}
	return Read{}, false
}
