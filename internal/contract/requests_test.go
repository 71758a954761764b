package contract_test

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/workspaces"
)

// requests are the steps of TestRequests.
func requests() []step {
	var all []step
	for _, steps := range [][]step{
		accountRequests(), commentRequests(), fileShareRequests(), shareRequests(), searchRequests(), metadataRequests(),
		aiRequests(), eventRequests(),
		{
			{"howto.Ask", func(c call) (any, error) { return c.HowTo.Ask(c, howto.Question{Text: " How?\n"}) }},
			{"howto.Ask", func(c call) (any, error) {
				return c.HowTo.Ask(c, howto.Question{
					Text: "How?", Context: "I own it.", Surface: howto.SurfaceCode, Client: "loom",
				})
			}},
			{"activity.Dashboard.Dismiss", func(c call) (any, error) {
				return nil, c.Activity.Dashboard.Dismiss(c, workspaceID, "mention:1",
					time.Date(2126, 1, 2, 3, 4, 5, 999_999_999, time.UTC))
			}},
			{"storage.GetMany", func(c call) (any, error) {
				return c.Storage.GetMany(c, api.Workspace(workspaceID), []api.OpaqueID{"2RII2-9kqzf", "a,b", "c"})
			}},
			{"storage.Notes.Update", func(c call) (any, error) {
				return c.Storage.Notes.Update(c, workspaceID, "2-N", storage.UpdateNoteRequest{Name: "b.md"})
			}},
			{"storage.Notes.Update", func(c call) (any, error) {
				return c.Storage.Notes.Update(c, workspaceID, "2-N", storage.UpdateNoteRequest{Content: "a", IfVersion: "3-V1"})
			}},
			{"storage.Notes.Get", func(c call) (any, error) {
				return c.Storage.Notes.Get(c, api.Share(portalID), "2-N", "3-V1")
			}},
		},
	} {
		all = append(all, steps...)
	}
	return all
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func accountRequests() []step {
	return []step{
		{"workspaces.Create", func(c call) (any, error) {
			return c.Workspaces.Create(c, "acme", workspaces.CreateRequest{
				FolderName: "rooms", Name: "Rooms", Description: "Room by room", Intelligence: new(false),
				Join: workspaces.PermissionOrgOwners, ManageMembers: workspaces.PermissionMembers, MetadataExtraction: new(false),
				AccentColor: raw(`{"r":1}`), BackgroundColor1: raw(`"a"`), BackgroundColor2: raw(`2`),
			})
		}},
		{"workspaces.Create", func(c call) (any, error) {
			return c.Workspaces.Create(c, "acme", workspaces.CreateRequest{
				FolderName: "rooms", Name: "Rooms", Intelligence: new(true), Join: "Guest or above", // an unknown value
			})
		}},
		{"workspaces.Update", func(c call) (any, error) {
			return nil, c.Workspaces.Update(c, "design", workspaces.UpdateRequest{Intelligence: api.Set(false)})
		}},
		{"workspaces.Update", func(c call) (any, error) {
			return nil, c.Workspaces.Update(c, "design", workspaces.UpdateRequest{
				FolderName: api.Set("drafts"), Name: api.Set("Drafts"), Description: api.Set("What is not done"),
				Intelligence: api.Set(true), Join: api.Set(workspaces.PermissionMembers),
				ManageMembers: api.Set(workspaces.PermissionAdmins), MetadataExtraction: api.Set(true),
				AccentColor: api.Null[json.RawMessage](), OwnerDefined: api.Set(raw(`[1]`)),
			})
		}},
		{"orgs.Billing.Meters", func(c call) (any, error) {
			return c.Orgs.Billing.Meters(c, "acme", orgs.MeterQuery{Meter: orgs.MeterAITokens, WorkspaceID: "w"})
		}},
		{"orgs.Billing.Meters", func(c call) (any, error) {
			return c.Orgs.Billing.Meters(c, "acme", orgs.MeterQuery{Meter: orgs.MeterBandwidth, ShareID: "s"})
		}},
	}
}

func commentRequests() []step {
	room := comments.On(api.Workspace(workspaceID))
	file := comments.OnNode(api.Workspace(workspaceID), "2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s")
	return []step{
		{"comments.List", func(c call) (any, error) { return c.Comments.List(c, room, nil) }},
		{"comments.List", func(c call) (any, error) {
			return c.Comments.List(c, file, &comments.ListOptions{
				NewestFirst: true, IncludeDeleted: true, ReferenceType: "video", Limit: 200, Offset: 7, IncludeTotal: true,
			})
		}},
		{"comments.List", func(c call) (any, error) {
			return c.Comments.List(c, room, &comments.ListOptions{Limit: 2, Page: 3})
		}},
		{"comments.Create", func(c call) (any, error) {
			return c.Comments.Create(c, file, comments.CreateRequest{
				Body: "  Hi\n", ParentID: "CA1-b2", Reference: comments.PageAnchor(3, ""),
				Properties: map[string]any{"b": 1, "a": nil}, Attachments: []api.OpaqueID{"F1-ab", api.OpaqueID(workspaceID)},
			})
		}},
		{"comments.Create", func(c call) (any, error) {
			return c.Comments.Create(c, room, comments.CreateRequest{Body: "Hi", Attachments: []api.OpaqueID{"F-1"}})
		}},
		{"comments.Update", func(c call) (any, error) {
			return c.Comments.Update(c, "ca1", comments.UpdateRequest{
				Body: "Ho", Properties: map[string]any{}, Reference: comments.AudioAnchor(1500 * time.Millisecond),
			})
		}},
		{"comments.DeleteMany", func(c call) (any, error) {
			return c.Comments.DeleteMany(c, []api.OpaqueID{"CA-1", " cb2 "})
		}},
		{"comments.React", func(c call) (any, error) { return c.Comments.React(c, "ca1", " 🦉 ") }},
		{"comments.Attachments.Attach", func(c call) (any, error) {
			return c.Comments.Attachments.Attach(c, "ca1", []api.OpaqueID{"F-1", "f2"})
		}},
		{"comments.Attachments.Detach", func(c call) (any, error) {
			return c.Comments.Attachments.Detach(c, "ca1", "F-3")
		}},
	}
}

func fileShareRequests() []step {
	expiry := time.Date(2027, 1, 2, 4, 4, 5, 999, time.FixedZone("", 3600))
	const longest = 3_155_760_000 * time.Second
	long := strings.Repeat("ü", 255)
	return []step{
		{"fileshares.Create", func(c call) (any, error) {
			return c.FileShares.Create(c, workspaceID, fileshares.CreateRequest{
				NodeID: planFile, Title: long, Access: fileshares.AccessAnyRegistered, Password: secret(long),
				ExpiresIn: longest, CommentsEnabled: new(false),
			})
		}},
		{"fileshares.Create", func(c call) (any, error) {
			return c.FileShares.Create(c, workspaceID, fileshares.CreateRequest{NodeID: planFile, ExpiresAt: expiry})
		}},
		{"fileshares.Update", func(c call) (any, error) {
			return c.FileShares.Update(c, loanID, fileshares.UpdateRequest{
				Title: api.Set("Q4"), Access: fileshares.AccessAnyoneWithLink, Password: api.Set(secret("p")),
				ExpiresAt: api.Set(expiry), CommentsEnabled: new(true),
			})
		}},
		{"fileshares.Update", func(c call) (any, error) {
			return c.FileShares.Update(c, loanID, fileshares.UpdateRequest{Password: api.Null[api.Secret]()})
		}},
		{"fileshares.Update", func(c call) (any, error) {
			return c.FileShares.Update(c, loanID, fileshares.UpdateRequest{ExpiresIn: longest})
		}},
	}
}

func shareRequests() []step {
	noon := time.Date(2126, 12, 31, 13, 0, 0, 999_999_999, time.FixedZone("CET", 3600))
	text, value := api.Null[string](), api.Null[json.RawMessage]()
	return []step{
		{"shares.Create", func(c call) (any, error) {
			return c.Shares.Create(c, workspaceID, shares.CreateRequest{
				Title: "Q4", Expires: noon, CommentsEnabled: new(true), Intelligence: true,
			})
		}},
		{"shares.Create", func(c call) (any, error) {
			return c.Shares.Create(c, workspaceID, shares.CreateRequest{
				Title: "Q4 pack", Description: "All that belongs to it.", CustomName: "q4páck7", CustomURL: "the-pack-of-q4",
				Type: shares.TypeExchange, StorageMode: shares.StorageModeWorkspaceFolder, CreateFolder: true,
				FolderName: "Pack", Access: shares.AccessAnyone, Password: secret(loanPassword),
				AnonymousUploadsEnabled: true, Invite: shares.InviteGuests, Notify: shares.NotifySentOrReceived,
				DownloadSecurity: shares.DownloadSecurityHigh, CommentsEnabled: new(false), GuestChatEnabled: true,
				DisplayType: shares.DisplayTypeList, WorkspaceStyle: "true", BackgroundImage: 129, AccentColor: raw(`{"r":1}`),
				BackgroundColor1: raw(`"#fff"`), BackgroundColor2: raw(`[0,0,0]`), Link1: raw(`{"url":"https://a.test/?b=c&d"}`),
				Link2: raw(`{}`), Link3: raw(`[]`), OwnerDefined: raw(`{"a":null}`),
			})
		}},
		{"shares.Update", func(c call) (any, error) {
			return nil, c.Shares.Update(c, portalID, shares.UpdateRequest{GuestChatEnabled: new(false)})
		}},
		{"shares.Update", func(c call) (any, error) {
			return nil, c.Shares.Update(c, portalID, shares.UpdateRequest{
				Title: api.Set("Q1 pack"), Description: api.Set("All that belongs to it."), CustomName: "q1pack",
				CustomURL: api.Set("the-pack-of-q1"), Type: shares.TypeReceive, Access: shares.AccessAnyone,
				Password: api.Set(secret("0p3n")), AnonymousUploadsEnabled: new(true), Invite: shares.InviteOwners,
				ExternalInvites: shares.ExternalInvitesDenied, Expires: api.Set(noon), ClearShareLink: true,
				Notify: shares.NotifyNever, DownloadSecurity: shares.DownloadSecurityOff, CommentsEnabled: new(true),
				GuestChatEnabled: new(true), Intelligence: new(false), DisplayType: shares.DisplayTypeGrid,
				WorkspaceStyle: "grid", BackgroundImage: new(0), AccentColor: api.Set(raw(`{}`)),
				BackgroundColor1: api.Set(raw(`1`)), BackgroundColor2: api.Set(raw(`2`)), Link1: api.Set(raw(`3`)),
				Link2: api.Set(raw(`4`)), Link3: api.Set(raw(`5`)), OwnerDefined: api.Set(raw(`6`)),
			})
		}},
		{"shares.Update", func(c call) (any, error) {
			return nil, c.Shares.Update(c, portalID, shares.UpdateRequest{
				Title: text, Description: text, CustomURL: text, Password: api.Null[api.Secret](),
				Expires: api.Null[time.Time](), ClearShareLink: true, AccentColor: value, BackgroundColor1: value,
				BackgroundColor2: value, Link1: value, Link2: value, Link3: value, OwnerDefined: value,
			})
		}},
		{"members.Invitations.Update", func(c call) (any, error) {
			return nil, c.Members.Invitations.Update(c, api.Share(portalID), "new@example.com", members.UpdateInvitationRequest{
				State: members.InvitationStateAccepted, Role: members.RoleView, Notify: members.NotifyApp, AcceptBy: noon,
			})
		}},
		{"account.Invitations.AcceptAll", func(c call) (any, error) {
			return nil, c.Account.Invitations.AcceptAll(c, secret("k&1"))
		}},
	}
}

func searchRequests() []step {
	room := api.Workspace(workspaceID)
	return []step{
		{"search.Files", func(c call) (any, error) {
			return c.Search.Files(c, room, search.Query{
				Text: "Q?-*.PDF", Target: search.TargetFilename, NameMatch: search.NameMatchGlob, CaseSensitive: true,
				Within: []search.Scope{
					search.InFile("2-A", "3-B"), search.InFolder("2-F", 10), search.InFile("2c", "3d"), search.InFolder("2e", 1),
				},
				Filters:  []metadata.Filter{metadata.Equals("total", int64(math.MaxInt64)), metadata.NotExists("paid")},
				Category: metadata.CategoryFinance, Details: true, Limit: 500, Offset: 20,
			})
		}},
		{"search.Unified", func(c call) (any, error) {
			return c.Search.Unified(c, room, search.UnifiedQuery{
				Text: "x", Target: search.TargetFilename, NameMatch: search.NameMatchPrefix, CaseSensitive: true,
				Facts: true, Files: search.Window{Offset: 1, Limit: 2}, Comments: search.Window{Offset: 3, Limit: 4},
				Metadata: search.Window{Offset: 5, Limit: 6},
			})
		}},
		{"search.Metadata", func(c call) (any, error) {
			return c.Search.Metadata(c, workspaceID, "dock", &search.ValuesOptions{Limit: 100, Offset: 9900})
		}},
	}
}

func metadataRequests() []step {
	list := metadata.ListOptions{PageSize: 250, Cursor: "c+/="}
	return []step{
		{"metadata.Fields.Values", func(c call) (any, error) {
			return c.Metadata.Fields.Values(c, workspaceID, "total", &list)
		}},
		{"metadata.Eligible", func(c call) (any, error) {
			return c.Metadata.Eligible(c, workspaceID, &metadata.EligibleOptions{
				ListOptions: list, MIMEType: "application/pdf", Extension: "pdf", ParentID: "2-F",
				Category: metadata.CategoryLegal,
			})
		}},
		{"metadata.Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, planFile, map[string]any{
				"total": 1250.5, "n": int64(math.MaxInt64), "paid": false, "note": "", "tags": []string{"a"},
			})
		}},
		{"metadata.Filters.Create", func(c call) (any, error) {
			return c.Metadata.Filters.Create(c, workspaceID, metadata.FilterRequest{
				Name: "Large", Description: "What counts", TemplateID: "M-1",
				Projection: &metadata.Projection{Sort: &metadata.ProjectionSort{Field: "total"}},
				Predicate: []metadata.Filter{
					metadata.Where("total", metadata.OperatorIn, []int64{9007199254740993, 1}), metadata.Exists("paid"),
				},
			})
		}},
		{"metadata.Filters.Nodes", func(c call) (any, error) {
			return c.Metadata.Filters.Nodes(c, workspaceID, "C-1", &metadata.NodesOptions{SortBy: storage.SortByUpdated})
		}},
	}
}

func eventRequests() []step {
	east := time.FixedZone("east", 2*60*60)
	return []step{
		{"events.Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{
				Profile: api.Workspace(workspaceID), Event: events.NameCommentCreated,
				Category: events.CategoryWorkspace, SubCategory: events.SubCategoryComments,
				CallingUserID: luigiID, ObjectID: " 2ABCD-efghi-3 ", Acknowledged: new(false),
				Visibility: events.VisibilityExternal, CreatedMin: time.Date(2026, 3, 2, 1, 2, 3, 999, east),
				CreatedMax: time.Date(2026, 3, 2, 1, 2, 4, 0, east), Limit: 7, Cursor: "o+p/a=",
			})
		}},
		{"events.Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.User(api.Me)})
		}},
		{"events.Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.Org(orgID), Acknowledged: new(true)})
		}},
		{"events.Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.Share(shareID), Offset: 3})
		}},
		{"events.Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{ParentEventID: "e1ab-CD", Limit: 5, Offset: 10})
		}},
	}
}

func aiRequests() []step {
	room, guests := api.Workspace(workspaceID), api.Share(portalID)
	return []step{
		{"ai.AutoTitle", func(c call) (any, error) { return c.AI.AutoTitle(c, portalID, nil) }},
		{"ai.Turns.Send", func(c call) (any, error) {
			return c.AI.Turns.Send(c, guests, "9-T", ai.Question{Text: "?", IdempotencyKey: "k", Uploads: []json.RawMessage{}})
		}},
		{"ai.Turns.Send", func(c call) (any, error) {
			return c.AI.Turns.Send(c, room, "9-T", ai.Question{
				Text:         " Which lease\nends first? ",
				References:   []ai.Reference{ai.Folder("2-F1"), ai.FileVersion("2-A1", "3-V1")},
				Subjects:     []ai.Reference{ai.File("2-A2")},
				ContentParts: []json.RawMessage{raw(`{"type":"text","text":"a"}`)},
				Uploads:      []json.RawMessage{raw(`{"id":1}`), raw("2")},
				View:         raw(`{"folder":"root"}`), Activity: []json.RawMessage{raw(`["opened"]`)},
				RoleInOrg: "Clerk", Effort: ai.EffortHigh, IdempotencyKey: " k1 ",
			})
		}},
	}
}
