package check

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
	"github.com/fastio-go/fastio/workspaces"
)

// IDs and names that do not exist.
const (
	noUser      = "1999999999999999999"
	noProfile   = "4999999999999999999"
	noShare     = "5999999999999999999"
	noFileShare = "6999999999999999999"
	noObject    = "2n0such0n0such0n0such0n0such0"
	noName      = "no-such-name-4711"
	freeName    = "nosuchname4711" // of a share: letters and digits
	noText      = "nosuchword"     // searched for where any text is right
)

// invalidValue is a parameter that no list accepts.
func invalidValue(name string) url.Values { return url.Values{name: {"-1"}} }

// raw calls an endpoint with parameters that its method would not send.
func (c call) raw(query url.Values, path string, segments ...any) error {
	return c.rec.Call(c, api.Get(path, segments...), nil, api.WithQuery(query))
}

// callerReads returns the calls that need nothing but a credential. A row is an
// operation, the forms of its calls (such as pages, or an unknown ID), and the call.
func callerReads() []callRow[struct{}] {
	return slices.Concat(accountReads(), signInReads(), listReads(), uploadReads())
}

// accountReads returns the calls for the account of the caller. A row is an operation,
// the forms of its calls (such as pages, or an unknown ID), and the call. A call embeds a
// pointer to the walk: the first row stores the caller's ID and email there, for later rows.
func accountReads() []callRow[struct{}] {
	type none = struct{}
	return []callRow[none]{
		{"account.Me", levels, func(c call, _ none) error {
			me, err := c.Account.Me(c, c.opts...)
			if err == nil && len(c.opts) == 0 { // a lower level of output may lack the ID or the email
				c.me, c.email = me.ID, api.Person(me.EmailAddress)
			}
			return err
		}},
		{"account.Users.Get", plainForm, func(c call, _ none) error {
			return onlyError(c.Account.Users.Get(c, api.Person(c.me)))
		}},
		{"account.Users.Get", byName, func(c call, _ none) error { return onlyError(c.Account.Users.Get(c, c.email)) }},
		{"account.Users.Get", unknownID, func(c call, _ none) error { return onlyError(c.Account.Users.Get(c, noUser)) }},
		{"account.Users.Search", plainForm, func(c call, _ none) error {
			return onlyError(c.Account.Users.Search(c, string(c.email)))
		}},
		{"account.Profiles", plainForm, func(c call, _ none) error { return onlyError(c.Account.Profiles(c)) }},
		{"account.Allowed", plainForm, func(c call, _ none) error { return onlyError(c.Account.Allowed(c)) }},
		{"account.OrgLimits", plainForm, func(c call, _ none) error { return onlyError(c.Account.OrgLimits(c)) }},
		{"account.Invitations.List", pages, func(c call, _ none) error {
			list, err := c.Account.Invitations.List(c, &account.InvitationListOptions{Limit: c.limit, Offset: c.offset})
			if err != nil {
				return err
			}
			for _, v := range list.Invitations {
				c.addOther("invitation", v.ID)
			}
			return nil
		}},
		{"account.Invitations.List", badParameter, func(c call, _ none) error {
			return c.raw(invalidValue("limit"), "/current/user/invitations/list/")
		}},
		{"account.Invitations.Get", unknownID, func(c call, _ none) error {
			return onlyError(c.Account.Invitations.Get(c, noObject))
		}},

		{"activity.Poll", plainForm, func(c call, _ none) error { return onlyError(c.Activity.Poll(c, nil)) }},
		{"activity.Poll", badParameter, func(c call, _ none) error {
			return c.raw(invalidValue("wait"), "/current/activity/poll/")
		}},
		{"activity.PollProfile", plainForm, func(c call, _ none) error {
			return onlyError(c.Activity.PollProfile(c, api.User(c.me), nil))
		}},
		{"activity.PollProfile", unknownID, func(c call, _ none) error {
			return onlyError(c.Activity.PollProfile(c, api.Workspace(noProfile), nil))
		}},

		{"assets.Types", plainForm, func(c call, _ none) error { return onlyError(c.Assets.Types(c, api.ProfileKindOrg)) }},
		{"assets.Types", plainForm, func(c call, _ none) error {
			return onlyError(c.Assets.Types(c, api.ProfileKindWorkspace))
		}},
		{"assets.Types", plainForm, func(c call, _ none) error { return onlyError(c.Assets.Types(c, api.ProfileKindShare)) }},
		{"assets.Types", plainForm, func(c call, _ none) error { return onlyError(c.Assets.Types(c, api.ProfileKindUser)) }},
		{"assets.List", plainForm, func(c call, _ none) error { return c.pictures(api.User(c.me)) }},
	}
}

// signInReads returns the calls for tokens, sessions and keys. A row is an operation,
// the forms of its calls (such as pages, or an unknown ID), and the call.
func signInReads() []callRow[struct{}] {
	type none = struct{}
	return []callRow[none]{
		{"oauth.ServerMetadata", plainForm, func(c call, _ none) error { return onlyError(c.OAuth.ServerMetadata(c)) }},
		{"oauth.ProtectedResource", plainForm, func(c call, _ none) error { return onlyError(c.OAuth.ProtectedResource(c)) }},
		{"oauth.TokenScopes", plainForm, func(c call, _ none) error { return onlyError(c.OAuth.TokenScopes(c)) }},
		{"oauth.CheckToken", plainForm, func(c call, _ none) error { return onlyError(c.OAuth.CheckToken(c)) }},
		{"oauth.TwoFactor.Status", plainForm, func(c call, _ none) error { return onlyError(c.OAuth.TwoFactor.Status(c)) }},
		{"oauth.Sessions.List", plainForm, func(c call, _ none) error {
			list, err := c.OAuth.Sessions.List(c)
			for _, s := range list {
				c.addOther("session", s.ID)
			}
			return err
		}},
		{"oauth.Sessions.Get", unknownID, func(c call, _ none) error { return onlyError(c.OAuth.Sessions.Get(c, noObject)) }},
		{"oauth.Keys.List", plainForm, func(c call, _ none) error {
			list, err := c.OAuth.Keys.List(c)
			for _, k := range list {
				c.addOther("key", k.ID)
			}
			return err
		}},
		{"oauth.Keys.Get", unknownID, func(c call, _ none) error { return onlyError(c.OAuth.Keys.Get(c, noObject)) }},
	}
}

// listReads returns the calls that list organizations and shares, and those for the
// system. A row is an operation, the forms of its calls (such as pages, or an unknown
// ID), and the call.
func listReads() []callRow[struct{}] {
	type none = struct{}
	return []callRow[none]{
		{"orgs.List", pages | levels, func(c call, _ none) error { return c.listOrgs(orgs.ScopeMember) }},
		{"orgs.ListExternal", pages | levels, func(c call, _ none) error { return c.listOrgs(orgs.ScopeExternal) }},
		{"orgs.ListJoinedOrInvited", pages | levels, func(c call, _ none) error {
			return c.listOrgs(orgs.ScopeInvited)
		}},
		{"orgs.ListAvailable", levels, func(c call, _ none) error { return c.listOrgs(orgs.ScopeAvailable) }},
		{"orgs.List", badParameter, func(c call, _ none) error {
			return c.raw(invalidValue("limit"), "/current/orgs/list/")
		}},
		{"orgs.Get", unknownID, func(c call, _ none) error { return onlyError(c.Orgs.Get(c, noProfile)) }},
		{"orgs.CheckDomain", plainForm, func(c call, _ none) error { return onlyError(c.Orgs.CheckDomain(c, noName)) }},
		{"orgs.Industries", plainForm, func(c call, _ none) error { return onlyError(c.Orgs.Industries(c)) }},
		{"orgs.Billing.Plans", plainForm, func(c call, _ none) error { return onlyError(c.Orgs.Billing.Plans(c)) }},

		{"shares.List", pages | levels, func(c call, _ none) error { return c.listShares(shares.ScopeMember) }},
		{"shares.ListAvailable", levels, func(c call, _ none) error { return c.listShares(shares.ScopeAvailable) }},
		{"shares.ListOwned", pages | levels, func(c call, _ none) error { return c.listShares(shares.ScopeOwned) }},
		{"shares.List", badParameter, func(c call, _ none) error {
			return c.raw(invalidValue("limit"), "/current/shares/all/")
		}},
		{"shares.Get", unknownID, func(c call, _ none) error { return onlyError(c.Shares.Get(c, noShare)) }},
		{"shares.CheckName", plainForm, func(c call, _ none) error { return onlyError(c.Shares.CheckName(c, freeName)) }},

		{"system.Ping", plainForm, func(c call, _ none) error { return onlyError(c.System.Ping(c)) }},
		{"system.Status", plainForm, func(c call, _ none) error { return onlyError(c.System.Status(c)) }},
		{"system.Docs", plainForm, func(c call, _ none) error { return onlyError(c.System.Docs(c)) }},
		{"system.DocsFull", plainForm, func(c call, _ none) error { return onlyError(c.System.DocsFull(c)) }},
		{"system.DocsTopic", plainForm, func(c call, _ none) error { return onlyError(c.System.DocsTopic(c, "events")) }},
		{"system.DocsTopic", unknownID, func(c call, _ none) error { return onlyError(c.System.DocsTopic(c, noName)) }},
		{"system.Agents", plainForm, func(c call, _ none) error { return onlyError(c.System.Agents(c)) }},
	}
}

// uploadReads returns the calls for uploads and workspaces, and those with unknown IDs.
// A row is an operation, the forms of its calls (such as pages, or an unknown ID), and
// the call.
func uploadReads() []callRow[struct{}] {
	type none = struct{}
	return []callRow[none]{
		{"uploads.List", plainForm, func(c call, _ none) error {
			list, err := c.Uploads.List(c)
			for _, u := range list {
				c.addOther("upload", string(u.ID))
			}
			return err
		}},
		{"uploads.Get", unknownID, func(c call, _ none) error { return onlyError(c.Uploads.Get(c, noObject)) }},
		{"uploads.Limits", plainForm, func(c call, _ none) error { return onlyError(c.Uploads.Limits(c, uploads.Target{})) }},
		{"uploads.Extensions", plainForm, func(c call, _ none) error {
			return onlyError(c.Uploads.Extensions(c, "starter"))
		}},
		{"uploads.Algorithms", plainForm, func(c call, _ none) error { return onlyError(c.Uploads.Algorithms(c)) }},
		{"uploads.Web.List", pages, func(c call, _ none) error {
			list, err := c.Uploads.Web.List(c, &uploads.WebListOptions{Limit: c.limit, Offset: c.offset})
			if err != nil {
				return err
			}
			for _, u := range list.Imports {
				c.addOther("import", string(u.ID))
			}
			return nil
		}},
		{"uploads.Web.List", badParameter, func(c call, _ none) error {
			return c.raw(invalidValue("limit"), "/current/web_upload/")
		}},
		{"uploads.Web.Get", unknownID, func(c call, _ none) error { return onlyError(c.Uploads.Web.Get(c, noObject)) }},

		{"workspaces.List", pages | levels, func(c call, _ none) error {
			list, err := c.Workspaces.List(c, &workspaces.ListOptions{Limit: c.limit, Offset: c.offset}, c.opts...)
			return c.addWorkspaces(list, err)
		}},
		{"workspaces.ListAvailable", levels, func(c call, _ none) error {
			return onlyError(c.Workspaces.List(c, &workspaces.ListOptions{Scope: workspaces.ScopeAvailable}, c.opts...))
		}},
		{"workspaces.List", badParameter, func(c call, _ none) error {
			return c.raw(invalidValue("limit"), "/current/workspaces/all/")
		}},
		{"workspaces.Get", unknownID, func(c call, _ none) error { return onlyError(c.Workspaces.Get(c, noProfile)) }},
		{"workspaces.CheckName", plainForm, func(c call, _ none) error {
			return onlyError(c.Workspaces.CheckName(c, noName, nil))
		}},

		{"comments.Get", unknownID, func(c call, _ none) error { return onlyError(c.Comments.Get(c, noObject)) }},
		{"events.Get", unknownID, func(c call, _ none) error { return onlyError(c.Events.Get(c, noObject)) }},
		{"events.Search", badParameter, func(c call, _ none) error {
			return c.raw(invalidValue("limit"), "/current/events/search/")
		}},
		{"fileshares.Get", unknownID, func(c call, _ none) error { return onlyError(c.FileShares.Get(c, noFileShare)) }},
		{"shares.QuickShares.Get", unknownID, func(c call, _ none) error {
			return onlyError(c.Shares.QuickShares.Get(c, noObject)) //nolint:staticcheck // deprecated endpoints are checked too
		}},
		{"realtime.SocketToken", plainForm, func(c call, _ none) error {
			return onlyError(c.Realtime.SocketToken(c, api.User(c.me)))
		}},
	}
}

// orgReads returns the calls that are made for each organization. A row is an
// operation, the forms of its calls (such as pages, or an unknown ID), and the call.
func orgReads() []callRow[place] {
	return []callRow[place]{
		{"orgs.Get", levels, func(c call, o place) error { return onlyError(c.Orgs.Get(c, o.ID, c.opts...)) }},
		{"orgs.Get", byName, func(c call, o place) error { return onlyError(c.Orgs.Get(c, api.ID(o.Name))) }},
		{"orgs.GetPublic", levels, func(c call, o place) error { return onlyError(c.Orgs.GetPublic(c, o.ID, c.opts...)) }},
		{"orgs.Billing.Credits", plainForm, func(c call, o place) error {
			return onlyError(c.Orgs.Billing.Credits(c, o.ID))
		}},
		{"orgs.Billing.Meters", plainForm, func(c call, o place) error {
			return onlyError(c.Orgs.Billing.Meters(c, o.ID, orgs.MeterQuery{Meter: orgs.MeterStorage}))
		}},
		{"orgs.Billing.Details", plainForm, func(c call, o place) error {
			return onlyError(c.Orgs.Billing.Details(c, o.ID))
		}},
		{"orgs.Billing.Invoices", plainForm, func(c call, o place) error {
			return onlyError(c.Orgs.Billing.Invoices(c, o.ID, &orgs.InvoiceListOptions{Limit: c.limit}))
		}},
		{"orgs.Billing.Members", pages, func(c call, o place) error {
			return onlyError(c.Orgs.Billing.Members(c, o.ID, &orgs.PageOptions{Limit: c.limit, Offset: c.offset}))
		}},
		{"orgs.TransferTokens.List", pages, func(c call, o place) error {
			return onlyError(c.Orgs.TransferTokens.List(c, o.ID, &orgs.PageOptions{Limit: c.limit, Offset: c.offset}))
		}},
		{"workspaces.ListByOrg", pages | levels, func(c call, o place) error {
			list, err := c.Workspaces.ListByOrg(
				c, o.ID, &workspaces.ByOrgOptions{Limit: c.limit, Offset: c.offset}, c.opts...)
			return c.addWorkspaces(list, err)
		}},
		{"events.Changes", plainForm, func(c call, o place) error {
			feed, err := c.Events.Changes(c, o.ID, nil)
			if err != nil {
				return err
			}
			return onlyError(c.Events.Changes(c, o.ID, &events.ChangeOptions{Cursor: feed.Cursor, Limit: pageSize}))
		}},
		{"events.Search", cursors | levels, func(c call, o place) error { return c.searchEvents(o.Profile) }},
		{"assets.List", plainForm, func(c call, o place) error { return c.pictures(o.Profile) }},
		{"activity.PollProfile", plainForm, func(c call, o place) error {
			return onlyError(c.Activity.PollProfile(c, o.Profile, nil))
		}},
		{"realtime.SocketToken", plainForm, func(c call, o place) error {
			return onlyError(c.Realtime.SocketToken(c, o.Profile))
		}},
	}
}

// memberReads returns the calls about members that are made for each organization,
// workspace and share. A row is an operation, the forms of its calls (such as pages, or
// an unknown ID), and the call.
func memberReads() []callRow[place] {
	return []callRow[place]{
		{"members.List", pages, func(c call, in place) error {
			return onlyError(c.Members.List(c, in.Profile, &members.ListOptions{Limit: c.limit, Offset: c.offset}))
		}},
		{"members.List", badParameter, func(c call, in place) error {
			return c.raw(invalidValue("limit"), "/current/"+string(in.Kind)+"/{"+string(in.Kind)+"_id}/members/list/", in.ID)
		}},
		{"members.Get", plainForm, func(c call, in place) error {
			return onlyError(c.Members.Get(c, in.Profile, api.Person(c.me)))
		}},
		{"members.Get", unknownID, func(c call, in place) error {
			return onlyError(c.Members.Get(c, in.Profile, noUser))
		}},
		{"members.Invitations.List", plainForm, func(c call, in place) error {
			return onlyError(c.Members.Invitations.List(c, in.Profile, nil))
		}},
		{"members.Invitations.List", plainForm, func(c call, in place) error {
			return onlyError(c.Members.Invitations.List(
				c, in.Profile, &members.InvitationListOptions{State: members.InvitationStatePending}))
		}},
	}
}

// workspaceReads returns the calls that are made for each workspace. A row is an
// operation, the forms of its calls (such as pages, or an unknown ID), and the call.
func workspaceReads() []callRow[place] {
	return slices.Concat(workspacePartReads(), metadataReads(), workspaceSearchReads())
}

// workspacePartReads returns the calls that are made for each workspace, for its
// settings and its lists. A row is an operation, the forms of its calls (such as pages,
// or an unknown ID), and the call.
func workspacePartReads() []callRow[place] {
	return []callRow[place]{
		{"workspaces.Get", levels, func(c call, w place) error { return onlyError(c.Workspaces.Get(c, w.ID, c.opts...)) }},
		{"workspaces.Get", byName, func(c call, w place) error { return onlyError(c.Workspaces.Get(c, api.ID(w.Name))) }},
		{"workspaces.Limits", plainForm, func(c call, w place) error { return onlyError(c.Workspaces.Limits(c, w.ID)) }},
		{"activity.PollProfile", plainForm, func(c call, w place) error {
			return onlyError(c.Activity.PollProfile(c, w.Profile, nil))
		}},
		{"activity.Dashboard.List", pages, func(c call, w place) error {
			return onlyError(c.Activity.Dashboard.List(
				c, w.ID, &activity.CardListOptions{Limit: c.limit, Offset: c.offset}))
		}},
		{"activity.Dashboard.List", badParameter, func(c call, w place) error {
			return c.raw(invalidValue("limit"), "/current/workspace/{workspace_id}/dashboard/", w.ID)
		}},
		{"activity.Intents.List", plainForm, func(c call, w place) error { return c.listIntents(w.ID) }},
		{"ai.Threads.List", plainForm, func(c call, w place) error { return c.listThreads(w.Profile) }},
		{"ai.Threads.ListDeleted", plainForm, func(c call, w place) error { return c.listDeletedThreads(w.Profile) }},
		{"ai.Threads.Get", unknownID, func(c call, w place) error {
			return onlyError(c.AI.Threads.Get(c, w.Profile, noObject))
		}},
		{"ai.Transactions.List", plainForm, func(c call, w place) error {
			return onlyError(c.AI.Transactions.List(c, w.ID))
		}},
		{"assets.List", plainForm, func(c call, w place) error { return c.pictures(w.Profile) }},
		{"comments.List", pages, func(c call, w place) error { return c.listComments(comments.On(w.Profile)) }},
		{"comments.List", badParameter, func(c call, w place) error {
			return c.raw(invalidValue("limit"), "/current/comments/{entity_type}/{parent_id}/", "workspace", w.ID)
		}},
		{"fileshares.List", pages, func(c call, w place) error { return c.listFileShares(w.ID) }},
		{"fileshares.List", badParameter, func(c call, w place) error {
			return c.raw(invalidValue("limit"), "/current/workspace/{workspace_id}/list/fileshares/", w.ID)
		}},
	}
}

// metadataReads returns the calls that are made for each workspace, for metadata. A row
// is an operation, the forms of its calls (such as pages, or an unknown ID), and the
// call.
func metadataReads() []callRow[place] {
	return []callRow[place]{
		{"metadata.Fields.List", cursors | levels, func(c call, w place) error { return c.listFields(w.ID) }},
		{"metadata.Fields.List", badParameter, func(c call, w place) error {
			return c.raw(invalidValue("page_size"), "/current/workspace/{workspace_id}/metadata/fields/", w.ID)
		}},
		{"metadata.Fields.MergeCandidates", plainForm, func(c call, w place) error {
			return onlyError(c.Metadata.Fields.MergeCandidates(c, w.ID, nil))
		}},
		{"metadata.Eligible", levels, func(c call, w place) error {
			return onlyError(c.Metadata.Eligible(c, w.ID, nil, c.opts...))
		}},
		{"metadata.Jobs", plainForm, func(c call, w place) error { return onlyError(c.Metadata.Jobs(c, w.ID)) }},
		{"metadata.Filters.List", cursors, func(c call, w place) error { return c.listFilters(w.ID) }},
		{"metadata.Filters.Get", unknownID, func(c call, w place) error {
			return onlyError(c.Metadata.Filters.Get(c, w.ID, noObject))
		}},
	}
}

// workspaceSearchReads returns the calls that are made for each workspace, for
// searches, sockets, shares and events. A row is an operation, the forms of its calls
// (such as pages, or an unknown ID), and the call.
func workspaceSearchReads() []callRow[place] {
	return []callRow[place]{
		{"realtime.SocketToken", plainForm, func(c call, w place) error {
			return onlyError(c.Realtime.SocketToken(c, w.Profile))
		}},
		{"realtime.RoomToken", plainForm, func(c call, w place) error {
			token, err := c.Realtime.RoomToken(c, w.Profile)
			if err != nil {
				return err
			}
			return onlyError(c.Realtime.ValidateRoomToken(c, token.Value))
		}},
		{"search.Unified", plainForm, func(c call, w place) error {
			return onlyError(c.Search.Unified(c, w.Profile, search.UnifiedQuery{Text: w.word(), Facts: true}))
		}},
		{"search.Metadata", pages, func(c call, w place) error {
			return onlyError(c.Search.Metadata(
				c, w.ID, w.word(), &search.ValuesOptions{Limit: c.limit, Offset: c.offset}))
		}},
		{"shares.ListByWorkspace", pages | levels, func(c call, w place) error { return c.listSharesOf(w.ID) }},
		{"shares.ListByWorkspace", badParameter, func(c call, w place) error {
			return c.raw(invalidValue("limit"), "/current/workspace/{workspace_id}/list/shares/", w.ID)
		}},
		{"shares.QuickShares.List", pages, func(c call, w place) error { return c.listQuickShares(w.ID) }},
		{"uploads.Limits", plainForm, func(c call, w place) error {
			return onlyError(c.Uploads.Limits(c, uploads.Target{Profile: w.Profile}))
		}},
		{"events.Search", plainForm, func(c call, w place) error {
			if c.searched >= maxSearches { // more would have to wait for the rate limit of searches
				return nil
			}
			c.searched++
			return c.searchEvents(w.Profile)
		}},
	}
}

// shareReads returns the calls that are made for each share. A row is an operation, the
// forms of its calls (such as pages, or an unknown ID), and the call.
func shareReads() []callRow[place] {
	return []callRow[place]{
		{"shares.Get", levels, func(c call, s place) error { return c.getShare(s.ID) }},
		// A share without a custom name has no call by name: "" is refused before it is sent, and not recorded.
		{"shares.Get", byName, func(c call, s place) error { return c.getShare(api.ID(c.names[s.ID])) }},
		{"shares.GetPublic", levels, func(c call, s place) error {
			return onlyError(c.Shares.GetPublic(c, s.ID, c.opts...))
		}},
		{"ai.Threads.List", plainForm, func(c call, s place) error { return c.listThreads(s.Profile) }},
		{"ai.Threads.ListDeleted", plainForm, func(c call, s place) error { return c.listDeletedThreads(s.Profile) }},
		{"ai.OGImage", plainForm, func(c call, s place) error { return closeDownload(c.AI.OGImage(c, s.ID)) }},
		{"assets.List", plainForm, func(c call, s place) error { return c.pictures(s.Profile) }},
		{"comments.List", plainForm, func(c call, s place) error { return c.listComments(comments.On(s.Profile)) }},
		{"search.Unified", plainForm, func(c call, s place) error {
			return onlyError(c.Search.Unified(c, s.Profile, search.UnifiedQuery{Text: s.word()}))
		}},
		{"activity.PollProfile", plainForm, func(c call, s place) error {
			return onlyError(c.Activity.PollProfile(c, s.Profile, nil))
		}},
		{"realtime.SocketToken", plainForm, func(c call, s place) error {
			return onlyError(c.Realtime.SocketToken(c, s.Profile))
		}},
	}
}

// storageReads returns the calls about nodes that are made for each workspace and
// share. A row is an operation, the forms of its calls (such as pages, or an unknown
// ID), and the call.
func storageReads() []callRow[place] {
	return []callRow[place]{
		{"storage.List", levels, func(c call, in place) error { return c.listNodes(in.Profile, api.Root) }},
		{"storage.List", plainForm, func(c call, in place) error {
			return onlyError(c.Storage.List(c, in.Profile, api.Trash, &storage.ListOptions{
				PageSize: smallPage, SortBy: storage.SortByUpdated, Descending: true,
			}))
		}},
		{"storage.List", unknownID, func(c call, in place) error {
			return onlyError(c.Storage.List(c, in.Profile, noObject, nil))
		}},
		{"storage.List", badParameter, func(c call, in place) error {
			kind := string(in.Kind)
			return c.raw(invalidValue("page_size"), "/current/"+kind+"/{"+kind+"_id}/storage/{parent_id}/list/", in.ID, "root")
		}},
		{"storage.Recent", levels, func(c call, in place) error {
			return onlyError(c.Storage.Recent(c, in.Profile, nil, c.opts...))
		}},
		{"storage.Get", unknownID, func(c call, in place) error { return onlyError(c.Storage.Get(c, in.Profile, noObject)) }},
		{"search.Files", pages, func(c call, in place) error {
			return onlyError(c.Search.Files(
				c, in.Profile, search.Query{Text: in.word(), Details: true, Limit: c.limit, Offset: c.offset}))
		}},
		{"search.Files", badParameter, func(c call, in place) error {
			query := invalidValue("limit")
			query.Set("search", noText)
			kind := string(in.Kind)
			return c.raw(query, "/current/"+kind+"/{"+kind+"_id}/storage/search/", in.ID)
		}},
	}
}

const smallPage = 100 // the least page of a folder

// nodeReads returns the calls that are made for each node. A row is an operation, the
// forms of its calls (such as pages, or an unknown ID), and the call.
func nodeReads() []callRow[node] {
	return []callRow[node]{
		{"storage.Get", levels, func(c call, n node) error { return onlyError(c.Storage.Get(c, n.In, n.ID, c.opts...)) }},
		{"storage.Get", plainForm, func(c call, n node) error { // GetMany calls the same endpoint
			return onlyError(c.Storage.GetMany(c, n.In, []api.OpaqueID{n.ID, noObject}))
		}},
		{"storage.Locks.Get", plainForm, func(c call, n node) error { return onlyError(c.Storage.Locks.Get(c, n.In, n.ID)) }},
		{"comments.ListOnNode", pages, func(c call, n node) error { return c.listComments(comments.OnNode(n.In, n.ID)) }},
	}
}

// fileReads returns the calls that are made for each file and note. A row is an
// operation, the forms of its calls (such as pages, or an unknown ID), and the call.
func fileReads() []callRow[node] {
	return []callRow[node]{
		{"storage.Versions.List", plainForm, func(c call, n node) error {
			return onlyError(c.Storage.Versions.List(c, n.In, n.ID))
		}},
		{"storage.Downloads.Token", plainForm, func(c call, n node) error {
			return onlyError(c.Storage.Downloads.Token(c, n.In, n.ID, ""))
		}},
		{"storage.Downloads.Read", plainForm, func(c call, n node) error {
			return closeDownload(c.Storage.Downloads.Read(c, n.In, n.ID, &storage.DownloadOptions{Range: oneByte}))
		}},
		{"storage.Texts.Get", levels, func(c call, n node) error {
			return onlyError(c.Storage.Texts.Get(c, n.In, n.ID, &storage.TextOptions{Limit: 1}, c.opts...))
		}},
	}
}

// oneByte is what is read of a file: bytes are billed.
var oneByte = api.Range{Length: 1} //nolint:gochecknoglobals // it is a constant

// noteReads returns the calls that are made for each note. A row is an operation, the
// forms of its calls (such as pages, or an unknown ID), and the call.
func noteReads() []callRow[node] {
	return []callRow[node]{
		{"storage.Notes.Get", levels, func(c call, n node) error {
			return onlyError(c.Storage.Notes.Get(c, n.In, n.ID, "", c.opts...))
		}},
		{"realtime.NoteToken", plainForm, func(c call, n node) error {
			token, err := c.Realtime.NoteToken(c, n.In.ID, n.ID)
			if err != nil {
				return err
			}
			return onlyError(c.Realtime.ValidateNoteToken(c, token.Value))
		}},
	}
}

// previewReads returns the calls that are made for each file whose preview exists. A
// row is an operation, the forms of its calls (such as pages, or an unknown ID), and
// the call.
func previewReads() []callRow[node] {
	return []callRow[node]{
		{"storage.Previews.Authorize", plainForm, func(c call, n node) error {
			access, err := c.Storage.Previews.Authorize(c, n.In, n.ID, storage.PreviewTypeThumbnail)
			if err != nil {
				return err
			}
			return closeDownload(c.Storage.Previews.Read(c, access, ""))
		}},
	}
}

// pictureReads returns the calls that are made for each picture. A row is an operation,
// the forms of its calls (such as pages, or an unknown ID), and the call.
func pictureReads() []callRow[node] {
	return []callRow[node]{
		{"storage.Transforms.Token", plainForm, func(c call, n node) error {
			return onlyError(c.Storage.Transforms.Token(c, n.In, n.ID))
		}},
	}
}

// factReads returns the calls about metadata that are made for each file and note of a
// workspace. Calls for several nodes also name noObject, so that the response has the error
// of a node too. A row is an operation, the forms of its calls (such as pages, or an
// unknown ID), and the call.
func factReads() []callRow[node] {
	return []callRow[node]{
		{"metadata.Facts.Get", plainForm, func(c call, n node) error {
			return onlyError(c.Metadata.Facts.Get(c, n.In.ID, n.ID))
		}},
		{"metadata.Details", levels, func(c call, n node) error {
			return onlyError(c.Metadata.Details(c, n.In.ID, []api.OpaqueID{n.ID, noObject}, c.opts...))
		}},
		{"metadata.Versions", plainForm, func(c call, n node) error {
			return onlyError(c.Metadata.Versions(c, n.In.ID, n.ID))
		}},
		{"shares.QuickShares.GetByNode", plainForm, func(c call, n node) error {
			return onlyError(c.Shares.QuickShares.GetByNode(c, n.In.ID, n.ID)) //nolint:staticcheck // deprecated
		}},
		{"storage.Texts.Search", plainForm, func(c call, n node) error {
			return onlyError(c.Storage.Texts.Search(c, n.In.ID, []api.OpaqueID{n.ID, noObject}, noText))
		}},
	}
}

// fileShareReads returns the calls that are made for each File Share. A row is an
// operation, the forms of its calls (such as pages, or an unknown ID), and the call.
func fileShareReads() []callRow[fileShare] {
	return []callRow[fileShare]{
		{"fileshares.Get", plainForm, func(c call, f fileShare) error { return onlyError(c.FileShares.Get(c, f.ID)) }},
		{"fileshares.Grants.List", plainForm, func(c call, f fileShare) error {
			return onlyError(c.FileShares.Grants.List(c, f.ID))
		}},
		{"fileshares.Metadata", plainForm, func(c call, f fileShare) error {
			return onlyError(c.FileShares.Metadata(c, f.ID))
		}},
		{"fileshares.Download", plainForm, func(c call, f fileShare) error {
			return closeDownload(c.FileShares.Download(c, f.ID, &fileshares.DownloadOptions{Range: oneByte}))
		}},
		{"fileshares.Preview", plainForm, func(c call, f fileShare) error {
			if !f.Preview && !c.previews[f.Node] {
				return nil
			}
			return closeDownload(c.FileShares.Preview(c, f.ID, storage.PreviewTypeThumbnail))
		}},
		{"fileshares.Versions.List", plainForm, func(c call, f fileShare) error {
			list, err := c.FileShares.Versions.List(c, f.ID)
			if err != nil || len(list) == 0 {
				return err
			}
			return closeDownload(c.FileShares.Versions.Read(
				c, f.ID, list[0].ID, &fileshares.DownloadOptions{Range: oneByte}))
		}},
		{"comments.ListOnFileShare", plainForm, func(c call, f fileShare) error {
			return c.listComments(comments.OnNode(api.FileShare(f.ID), f.Node))
		}},
	}
}

// quickShareReads returns the calls that are made for each QuickShare. A row is an
// operation, the forms of its calls (such as pages, or an unknown ID), and the call.
//
//nolint:staticcheck // deprecated endpoints are checked too
func quickShareReads() []callRow[quickShare] {
	return []callRow[quickShare]{
		{"shares.QuickShares.Get", levels, func(c call, q quickShare) error {
			return onlyError(c.Shares.QuickShares.Get(c, q.ID, c.opts...))
		}},
		{"shares.QuickShares.Download", plainForm, func(c call, q quickShare) error {
			return closeDownload(c.Shares.QuickShares.Download(c, q.ID, &oneByte))
		}},
		{"shares.QuickShares.ReadNote", plainForm, func(c call, q quickShare) error {
			if !q.Note {
				return nil
			}
			return onlyError(c.Shares.QuickShares.ReadNote(c, q.ID))
		}},
		{"shares.QuickShares.Preview", plainForm, func(c call, q quickShare) error {
			if !q.Preview && !c.previews[q.Node] {
				return nil
			}
			return closeDownload(c.Shares.QuickShares.Preview(c, q.ID, storage.PreviewTypeThumbnail))
		}},
	}
}

// commentReads returns the calls that are made for each comment. A row is an operation,
// the forms of its calls (such as pages, or an unknown ID), and the call.
func commentReads() []callRow[api.OpaqueID] {
	return []callRow[api.OpaqueID]{
		{"comments.Get", plainForm, func(c call, id api.OpaqueID) error { return onlyError(c.Comments.Get(c, id)) }},
		{"comments.Attachments.List", plainForm, func(c call, id api.OpaqueID) error {
			return onlyError(c.Comments.Attachments.List(c, id))
		}},
	}
}

// eventReads returns the calls that are made for each event. A row is an operation, the
// forms of its calls (such as pages, or an unknown ID), and the call.
func eventReads() []callRow[api.OpaqueID] {
	return []callRow[api.OpaqueID]{
		{"events.Get", levels, func(c call, id api.OpaqueID) error { return onlyError(c.Events.Get(c, id, c.opts...)) }},
	}
}

// threadReads returns the calls that are made for each AI thread. A row is an
// operation, the forms of its calls (such as pages, or an unknown ID), and the call.
func threadReads() []callRow[thread] {
	return []callRow[thread]{
		{"ai.Threads.Get", plainForm, func(c call, t thread) error { return onlyError(c.AI.Threads.Get(c, t.In, t.ID)) }},
		{"ai.Turns.List", plainForm, func(c call, t thread) error { return c.listTurns(t) }},
		{"ai.Turns.List", plainForm, func(c call, t thread) error {
			return onlyError(c.AI.Turns.List(c, t.In, t.ID, &ai.TurnListOptions{Offset: 1}))
		}},
		{"ai.Turns.Get", unknownID, func(c call, t thread) error {
			return onlyError(c.AI.Turns.Get(c, t.In, t.ID, noObject))
		}},
	}
}

// turnReads returns the calls that are made for each turn of an AI thread. A row is an
// operation, the forms of its calls (such as pages, or an unknown ID), and the call.
func turnReads() []callRow[turn] {
	return []callRow[turn]{
		{"ai.Turns.Get", plainForm, func(c call, t turn) error { return onlyError(c.AI.Turns.Get(c, t.In, t.ID, t.Turn)) }},
		{"ai.Turns.Stream", plainForm, func(c call, t turn) error {
			if !t.Ended { // its stream would wait for the answer
				return nil
			}
			for _, err := range c.AI.Turns.Stream(c, t.In, t.ID, t.Turn, nil, api.WithTimeout(streamTime)) {
				return err // the first event shows whether the stream can be read
			}
			return nil
		}},
	}
}

const streamTime = 5 * time.Minute // for the first event of a turn that has ended

// otherReads returns, by kind, the calls for objects of the caller that are named by an
// ID alone, without a profile. A row is an operation, the forms of its calls (such as pages,
// or an unknown ID), and the call.
func otherReads() map[string][]callRow[string] {
	return map[string][]callRow[string]{
		"invitation": {{"account.Invitations.Get", plainForm, func(c call, id string) error {
			return onlyError(c.Account.Invitations.Get(c, id))
		}}},
		"session": {{"oauth.Sessions.Get", plainForm, func(c call, id string) error {
			return onlyError(c.OAuth.Sessions.Get(c, id))
		}}},
		"key": {{"oauth.Keys.Get", plainForm, func(c call, id string) error { return onlyError(c.OAuth.Keys.Get(c, id)) }}},
		"upload": {
			{"uploads.Get", plainForm, func(c call, id string) error { return onlyError(c.Uploads.Get(c, api.OpaqueID(id))) }},
			{"uploads.Chunks.List", plainForm, func(c call, id string) error {
				return onlyError(c.Uploads.Chunks.List(c, api.OpaqueID(id)))
			}},
		},
		"import": {{"uploads.Web.Get", plainForm, func(c call, id string) error {
			return onlyError(c.Uploads.Web.Get(c, api.OpaqueID(id)))
		}}},
	}
}

// A part is a saved filter, an intent or a field of a workspace.
type part struct {
	workspace api.ID
	id        string
}

// partReads returns, by kind, the calls that are made for each filter, intent and field
// of a workspace. A row is an operation, the forms of its calls (such as pages, or an
// unknown ID), and the call.
func partReads() map[string][]callRow[part] {
	return map[string][]callRow[part]{
		"filter": {
			{"metadata.Filters.Get", plainForm, func(c call, p part) error {
				return onlyError(c.Metadata.Filters.Get(c, p.workspace, api.OpaqueID(p.id)))
			}},
			{"metadata.Filters.Nodes", plainForm, func(c call, p part) error {
				return onlyError(c.Metadata.Filters.Nodes(c, p.workspace, api.OpaqueID(p.id), nil))
			}},
		},
		"intent": {{"activity.Intents.Get", plainForm, func(c call, p part) error {
			return onlyError(c.Activity.Intents.Get(c, p.workspace, []api.OpaqueID{api.OpaqueID(p.id)}))
		}}},
		"field": {
			// Fields.Values has the endpoint of Fields.List: with the name of a field, that returns its values.
			{"metadata.Fields.List", byName, func(c call, p part) error {
				return onlyError(c.Metadata.Fields.Values(c, p.workspace, p.id, nil))
			}},
			{"search.Compound", plainForm, func(c call, p part) error {
				return onlyError(c.Search.Compound(c, p.workspace, search.CompoundQuery{
					Filters: []metadata.Filter{metadata.Exists(p.id)}, Limit: pageSize,
				}))
			}},
			// A candidate is a pair of fields: only a workspace with fields, as here, may have some.
			{"metadata.Fields.MergeCandidates", plainForm, func(c call, p part) error {
				return onlyError(c.Metadata.Fields.MergeCandidates(c, p.workspace, nil))
			}},
		},
	}
}

// pictureOf are the pictures of a profile.
type pictureOf struct {
	in   api.Profile
	name assets.Name
}

// profilePictureReads returns the calls that are made for each picture of a profile. A
// row is an operation, the forms of its calls (such as pages, or an unknown ID), and
// the call.
func profilePictureReads() []callRow[pictureOf] {
	return []callRow[pictureOf]{
		{"assets.Read", plainForm, func(c call, p pictureOf) error { return closeDownload(c.Assets.Read(c, p.in, p.name)) }},
	}
}

// word returns a word of the name of a place, for a search that may find
// something. If the name has none, it returns noText, which a search accepts too.
func (p place) word() string {
	if word, _, _ := strings.Cut(strings.TrimSpace(p.Name), " "); len(word) > 1 {
		return word
	}
	return noText
}

// probes returns requests that need a credential, one for each area. They are
// sent without a credential, and the platform must refuse them.
func probes() []*api.Request {
	return []*api.Request{
		api.Get("/current/user/me/details/"),
		api.Get("/current/activity/poll/"),
		api.Get("/current/workspace/{workspace_id}/ai/agent/list/", noProfile),
		api.Get("/current/user/assets/"),
		api.Get("/current/comments/{comment_id}/details/", noObject),
		api.Get("/current/events/search/"),
		api.Get("/current/workspace/{workspace_id}/list/fileshares/", noProfile),
		api.Get("/current/workspace/{workspace_id}/members/list/", noProfile),
		api.Get("/current/workspace/{workspace_id}/metadata/fields/", noProfile),
		api.Get("/current/user/auth/check/"),
		api.Get("/current/orgs/list/"),
		api.Get("/current/websocket/auth/{profile_id}", noProfile),
		api.Get("/current/workspace/{workspace_id}/search/", noProfile),
		api.Get("/current/shares/all/"),
		api.Get("/current/workspace/{workspace_id}/storage/{parent_id}/list/", noProfile, "root"),
		api.Get("/current/upload/details/"),
		api.Get("/current/workspaces/all/"),
	}
}
