package shares_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/shares"
)

func text(n int) string { return strings.Repeat("ü", n) }

func secret(text string) api.Secret { return api.NewSecret(text) }

func TestInvalidInputIsRejected(t *testing.T) {
	t.Parallel()
	type (
		cr   = shares.CreateRequest
		up   = shares.UpdateRequest
		list = shares.ListOptions
	)
	ctx := t.Context()
	c := stub.Answer(`{"result":true}`)
	s := shares.New(c)
	create := func(r cr) error {
		if r.Title == "" {
			r.Title = "Q4 pack"
		}
		return stub.Err(s.Create(ctx, room, r))
	}
	mode := shares.StorageModeWorkspaceFolder
	folder := func(r cr) error {
		r.StorageMode, r.CreateFolder = mode, true
		return create(r)
	}
	open := func(password api.Secret) error {
		return create(cr{Password: password, Access: shares.AccessAnyone})
	}
	update := func(r up) error { return s.Update(ctx, portal, r) }
	of := func(o list) error { return stub.Err(s.List(ctx, &o)) }
	by := func(o shares.ByWorkspaceOptions) error { return stub.Err(s.ListByWorkspace(ctx, room, &o)) }
	stub.Refused(t, map[string][]error{
		"title": {
			stub.Err(s.Create(ctx, room, cr{})),
			create(cr{Title: "ü"}),
			create(cr{Title: " ü "}),
			create(cr{Title: text(81)}),
			create(cr{Title: "a\tb"}),
			create(cr{Title: "ab\xff"}),
			create(cr{Title: " NULL"}),
			update(up{Title: api.Set("")}),
			update(up{Title: api.Set("null")}),
		},
		"description": {
			create(cr{Description: text(9)}),
			create(cr{Description: text(501)}),
			update(up{Description: api.Set("")}),
		},
		"custom_name": {
			create(cr{CustomName: text(3)}),
			create(cr{CustomName: text(81)}),
			create(cr{CustomName: "q4-pack"}),
			update(up{CustomName: "q"}),
		},
		"custom_url": {
			create(cr{CustomURL: text(9)}),
			create(cr{CustomURL: text(101)}),
			update(up{CustomURL: api.Set("")}),
			update(up{CustomURL: api.Set("null")}),
		},
		"share_type": {
			create(cr{Type: shares.TypeReceive}),
			create(cr{Type: "null"}),
			create(cr{Type: shares.TypeExchange, StorageMode: shares.StorageModeIndependent}),
		},
		"folder_node_id": {
			create(cr{StorageMode: mode}),
			create(cr{StorageMode: mode, FolderNodeID: "null"}),
			folder(cr{FolderNodeID: "2f"}),
			create(cr{FolderNodeID: "2f"}),
		},
		"folder_name": {
			folder(cr{FolderName: text(256)}),
			folder(cr{FolderName: " "}),
			create(cr{FolderName: "Pack"}),
			create(cr{StorageMode: mode, FolderNodeID: "2f", FolderName: "Pack"}),
		},
		"create_folder": {create(cr{CreateFolder: true})},
		"intelligence":  {folder(cr{Intelligence: true})},
		"password": {
			create(cr{Password: secret("0p3n")}),
			create(cr{Password: secret("0p3n"), Access: shares.AccessRegistered}),
			open(secret("öpn")),
			open(secret(text(129))),
			open(secret("0p3n\xff")),
			open(secret("Null")),
			update(up{Password: api.Set(secret(""))}),
			update(up{Password: api.Set(secret("null"))}),
			update(up{Password: api.Set(secret("0p3n")), Access: shares.AccessMembers}),
			stub.Err(s.AuthPassword(ctx, portal, api.Secret{})),
			folder(cr{Password: secret("0p3n"), Access: shares.AccessAnyone}),
			folder(cr{Password: secret("0p3n"), Access: shares.AccessAnyone, Type: shares.TypeReceive}),
		},
		"anonymous_uploads_enabled": {
			folder(cr{AnonymousUploadsEnabled: true}),
			create(cr{AnonymousUploadsEnabled: true, Access: shares.AccessAnyone}),
			folder(cr{AnonymousUploadsEnabled: true, Access: shares.AccessAnyone, Type: shares.TypeSend}),
			update(up{AnonymousUploadsEnabled: new(true), Access: shares.AccessOrg}),
			update(up{AnonymousUploadsEnabled: new(true), Type: shares.TypeSend}),
		},
		"expires": {
			folder(cr{Expires: noon()}),
			create(cr{Expires: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}),
			update(up{Expires: api.Set(time.Time{})}),
		},
		"display_type":      {create(cr{DisplayType: " "})},
		"workspace_style":   {create(cr{WorkspaceStyle: "\t"}), update(up{WorkspaceStyle: "null"})},
		"background_image":  {create(cr{BackgroundImage: -1})},
		"accent_color":      {create(cr{AccentColor: raw("red")}), update(up{AccentColor: api.Set[json.RawMessage](nil)})},
		"background_color2": {update(up{BackgroundColor2: api.Set(raw(""))})},
		"link_2":            {create(cr{Link2: raw("")})},
		"link_3":            {update(up{Link3: api.Set(raw("null"))})},
		"owner_defined": {
			create(cr{OwnerDefined: raw(" null")}),
			update(up{OwnerDefined: api.Set(json.RawMessage{})}),
		},
		"external_invites": {update(up{ExternalInvites: shares.ExternalInvitesInherit})},
		"workspace":        {stub.Err(s.Create(ctx, " ", cr{Title: "Q4"}))},
		"share":            {stub.Err(s.Get(ctx, ""))},
		"UpdateRequest":    {update(up{})},
		"limit": {
			of(list{Limit: 501}),
			by(shares.ByWorkspaceOptions{Limit: 501}),
			of(list{Scope: shares.ScopeAvailable, Limit: 1}),
			of(list{Scope: shares.ScopeAvailable, Offset: 1}),
			stub.Last(s.All(ctx, &list{Scope: shares.ScopeAvailable, Offset: 1})),
			stub.Err(s.QuickShares.List(ctx, room, &shares.QuickShareListOptions{Limit: 501})),
		},
		"offset":            {of(list{Scope: shares.ScopeOwned, Offset: -1})},
		"ListOptions.Scope": {of(list{Scope: "mine"})},
		"archived": {
			of(list{Archived: shares.ArchivedOnly}),
			of(list{Scope: shares.ScopeOwned, Archived: shares.ArchivedAlso}),
			by(shares.ByWorkspaceOptions{Archived: shares.ArchivedAlso}),
			by(shares.ByWorkspaceOptions{Archived: "all"}),
			stub.Last(s.AllByWorkspace(ctx, room, &shares.ByWorkspaceOptions{Archived: shares.ArchivedAlso, Offset: 1})),
			stub.Last(s.All(ctx, &list{Archived: shares.ArchivedAlso})),
		},
		"name":       {stub.Err(s.CheckName(ctx, "abc")), stub.Err(s.CheckName(ctx, "ab/cd"))},
		"quickshare": {stub.Err(s.QuickShares.Get(ctx, "--"))},
		"kind":       {closed(s.QuickShares.Preview(ctx, link, ""))},
		"part":       {closed(s.QuickShares.Download(ctx, link, &api.Range{Offset: -1}))},
	}, "0p3n", "öpn")
	if len(c.Got) > 0 {
		t.Errorf("%d requests were sent, the first is %s", len(c.Got), c.Got[0].Op)
	}
}

// The longest valid values are sent, and so are values that the server adjusts.
func TestValidInputIsSent(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]shares.CreateRequest{
		"the shortest": {
			Title: text(2), Description: text(10), CustomName: text(4), CustomURL: text(10), Password: secret(text(4)),
			Access: shares.AccessAnyone,
		},
		"the longest": {
			Title: text(80), Description: text(500), CustomName: text(80), CustomURL: text(100), Password: secret(text(128)),
			Access: shares.AccessAnyone,
		},
		"a folder that is there": {
			Title: "Q4", StorageMode: shares.StorageModeWorkspaceFolder, FolderNodeID: "2-f", Type: shares.TypeReceive,
		},
		"a folder with the longest name": {
			Title: "Q4", StorageMode: shares.StorageModeWorkspaceFolder, CreateFolder: true, FolderName: text(255),
		},
		"a folder open to unknown guests": {
			Title: "Q4", StorageMode: shares.StorageModeWorkspaceFolder, CreateFolder: true,
			Access:                  shares.AccessAnyone,
			AnonymousUploadsEnabled: true,
		},
		"comments and notifications for anyone": {
			Title: "Q4", Access: shares.AccessAnyone, CommentsEnabled: new(true), Notify: shares.NotifyReceived,
		},
		"files from anyone": {
			Title: "Q4", StorageMode: shares.StorageModeWorkspaceFolder, CreateFolder: true, Type: shares.TypeExchange,
			Access: shares.AccessAnyone,
		},
		"values of a later server": {
			Title: "Q4", Type: "mirror", Access: "Anyone on the moon", DownloadSecurity: "low", Notify: "often",
		},
	} {
		c := stub.Answer(`{"result":true,"share":{"id":"5"}}`)
		if _, err := shares.New(c).Create(t.Context(), room, r); err != nil || len(c.Got) != 1 {
			t.Errorf("%s: %v, after %d requests", name, err, len(c.Got))
		}
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func closed(d *api.Download, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, d)
	return cmp.Or(err, d.Close())
}

// Of several invalid fields the first is named, at every call.
func TestFirstInvalidFieldIsNamed(t *testing.T) {
	t.Parallel()
	s, bad := shares.New(stub.Fail(errors.New("sent"))), raw("red")
	for range 30 {
		created := stub.Err(s.Create(t.Context(), room, shares.CreateRequest{
			Title: "Q4 pack", AccentColor: bad, Link1: bad, OwnerDefined: bad,
		}))
		updated := s.Update(t.Context(), portal, shares.UpdateRequest{
			BackgroundColor2: api.Set(bad), Link3: api.Set(bad), OwnerDefined: api.Set(bad),
		})
		stub.Refused(t, map[string][]error{"accent_color": {created}, "background_color2": {updated}})
	}
}
