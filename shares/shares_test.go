package shares_test

import (
	"encoding/json"
	"io"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/shares"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	room   = api.ProfileID("4012345678901234567")
	portal = api.ProfileID("5123456789012345678")
	ada    = api.ProfileID("3000000000000000001")
	link   = api.OpaqueID("Q2ABC-1defg")
	node   = api.OpaqueID("2RII2-9kqzf")
)

func form(fields ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	return values
}

func noon() time.Time {
	return time.Date(2126, 12, 31, 13, 0, 0, 999_999_999, time.FixedZone("CET", 3600))
}

func everything() shares.CreateRequest {
	return shares.CreateRequest{
		Title: "Q4 pack", Description: "All that belongs to it.", CustomName: "q4páck7", CustomURL: "the-pack-of-q4",
		Type: shares.TypeExchange, StorageMode: shares.StorageModeWorkspaceFolder,
		CreateFolder: true, FolderName: "Pack",
		Access: shares.AccessAnyone, Password: secret("0p3n s3sam3"), AnonymousUploadsEnabled: true,
		Invite: shares.InviteGuests,
		Notify: shares.NotifySentOrReceived, DownloadSecurity: shares.DownloadSecurityHigh,
		CommentsEnabled: new(false), GuestChatEnabled: true,
		DisplayType: shares.DisplayTypeList, WorkspaceStyle: "true", BackgroundImage: 129,
		AccentColor: raw(`{"r":1}`), BackgroundColor1: raw(`"#fff"`), BackgroundColor2: raw(`[0,0,0]`),
		Link1: raw(`{"url":"https://a.test/?b=c&d"}`), Link2: raw(`{}`), Link3: raw(`[]`),
		OwnerDefined: raw(`{"a":null}`),
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// The fields that internal/contract does not send.
func TestForms(t *testing.T) {
	t.Parallel()
	type (
		svc = *shares.Service
		cr  = shares.CreateRequest
		up  = shares.UpdateRequest
	)
	ctx := t.Context()
	create := func(r cr) func(svc) error {
		return func(s svc) error { return stub.Err(s.Create(ctx, room, r)) }
	}
	update := func(r up) func(svc) error { return func(s svc) error { return s.Update(ctx, portal, r) } }
	text, json := api.Null[string](), api.Null[json.RawMessage]()
	for name, tc := range map[string]struct {
		call func(s svc) error
		want url.Values
	}{
		"portal with Intelligence": {
			create(cr{Title: "Q4", Expires: noon(), CommentsEnabled: new(true), Intelligence: true}),
			form("title", "Q4", "intelligence", "true", "expires", "2126-12-31 12:00:00", "comments_enabled", "true"),
		},
		"all fields of Create": {create(everything()), form(
			"title", "Q4 pack", "description", "All that belongs to it.", "custom_name", "q4páck7", "custom_url",
			"the-pack-of-q4",
			"share_type", "exchange", "storage_mode", "workspace_folder", "create_folder", "true", "folder_name",
			"Pack",
			"access_options", "Anyone with the link", "password", "0p3n s3sam3", "anonymous_uploads_enabled", "true",
			"invite", "guests", "notify", "notify_on_file_sent_or_received", "download_security", "high",
			"comments_enabled", "false", "guest_chat_enabled", "true", "intelligence", "false",
			"display_type", "list", "workspace_style", "true", "background_image", "129",
			"accent_color", `{"r":1}`, "background_color1", `"#fff"`, "background_color2", `[0,0,0]`,
			"link_1", `{"url":"https://a.test/?b=c&d"}`, "link_2", `{}`, "link_3", `[]`, "owner_defined", `{"a":null}`,
		)},
		"one field of Update": {update(up{GuestChatEnabled: new(false)}), form("guest_chat_enabled", "false")},
		"all fields of Update": {
			update(up{
				Title: api.Set("Q1 pack"), Description: api.Set("All that belongs to it."), CustomName: "q1pack",
				CustomURL: api.Set("the-pack-of-q1"), Type: shares.TypeReceive, Access: shares.AccessAnyone,
				Password: secret("0p3n"), AnonymousUploadsEnabled: new(true), Invite: shares.InviteOwners,
				ExternalInvites: shares.ExternalInvitesDenied, Expires: api.Set(noon()), ClearShareLink: true,
				Notify: shares.NotifyNever, DownloadSecurity: shares.DownloadSecurityOff,
				CommentsEnabled: new(true), GuestChatEnabled: new(true), Intelligence: new(false),
				DisplayType: shares.DisplayTypeGrid, WorkspaceStyle: "grid", BackgroundImage: new(0),
				AccentColor: api.Set(raw(`{}`)), BackgroundColor1: api.Set(raw(`1`)),
				BackgroundColor2: api.Set(raw(`2`)),
				Link1:            api.Set(raw(`3`)), Link2: api.Set(raw(`4`)), Link3: api.Set(raw(`5`)),
				OwnerDefined: api.Set(raw(`6`)),
			}),
			form(
				"title", "Q1 pack", "description", "All that belongs to it.", "custom_name", "q1pack", "custom_url",
				"the-pack-of-q1",
				"share_type", "receive", "access_options", "Anyone with the link", "password", "0p3n",
				"anonymous_uploads_enabled", "true", "invite", "owners", "external_invites", "denied",
				"expires", "2126-12-31 12:00:00", "share_link_node_id", "null", "notify", "never", "download_security",
				"off",
				"comments_enabled", "true", "guest_chat_enabled", "true", "intelligence", "false",
				"display_type", "grid", "workspace_style", "grid", "background_image", "0", "accent_color", "{}",
				"background_color1", "1", "background_color2", "2", "link_1", "3", "link_2", "4", "link_3", "5",
				"owner_defined",
				"6",
			),
		},
		"all fields cleared": {
			update(up{
				Title: text, Description: text, CustomURL: text, Password: api.Null[api.Secret](),
				Expires:        api.Null[time.Time](),
				ClearShareLink: true, AccentColor: json, BackgroundColor1: json, BackgroundColor2: json,
				Link1: json, Link2: json, Link3: json, OwnerDefined: json,
			}),
			form(
				"title", "null", "description", "null", "custom_url", "null", "password", "null", "expires", "null",
				"share_link_node_id", "null", "accent_color", "null", "background_color1", "null", "background_color2",
				"null",
				"link_1", "null", "link_2", "null", "link_3", "null", "owner_defined", "null",
			),
		},
		"invitation": {
			func(s svc) error {
				return s.Invitations.Update(ctx, portal, "new@example.com", shares.UpdateInvitationRequest{
					State: shares.InvitationStateAccepted, Role: api.RoleView, Notify: api.MemberNotifyApp,
					AcceptBy: noon(),
				})
			},
			form(
				"state", "accepted", "permissions", "view", "notify_options", "Notify me in app", "expires",
				"2126-12-31 12:00:00 UTC",
			),
		},
		"key of AcceptAll": {
			func(s svc) error { return s.Invitations.AcceptAll(ctx, api.NewSecret("k&1")) }, form("invitation_key",
				"k&1"),
		},
	} {
		c := stub.Answer(`{"result":true,"share":{"id":"5"}}`)
		if err := tc.call(shares.New(c)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, content, _ := api.Encode(c.Got[0].Body)
		got, err := url.ParseQuery(string(content))
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

// closed closes a download.
func closed(d *api.Download, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, d)
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}
