package shares_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/shares"
)

// What the server would refuse, or take for something else, is not sent.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, sent := answering(`{"result":true}`)
	create := func(change func(r *shares.CreateRequest)) error {
		r := shares.CreateRequest{Title: "Q4 pack"}
		change(&r)
		return second(s.Create(ctx, room, r))
	}
	folder := func(change func(r *shares.CreateRequest)) error {
		return create(func(r *shares.CreateRequest) {
			r.StorageMode, r.CreateFolder = shares.StorageModeWorkspaceFolder, true
			change(r)
		})
	}
	update := func(r shares.UpdateRequest) error { return s.Update(ctx, portal, r) }
	text := func(n int) string { return strings.Repeat("ü", n) }
	many, negative := &shares.ListOptions{Limit: 501}, &shares.ListOptions{Offset: -1}
	filtered := &shares.ListOptions{Archived: new(true)}
	type cr = shares.CreateRequest
	for name, tc := range map[string]struct {
		err   error
		field string
	}{
		"no title":                            {create(func(r *cr) { r.Title = "" }), "title"},
		"a title of one character":            {create(func(r *cr) { r.Title = "ü" }), "title"},
		"a title of one character and blanks": {create(func(r *cr) { r.Title = " ü " }), "title"},
		"a title of 81 characters":            {create(func(r *cr) { r.Title = text(81) }), "title"},
		"a title with a control character":    {create(func(r *cr) { r.Title = "a\tb" }), "title"},
		"a title that is no UTF-8":            {create(func(r *cr) { r.Title = "ab\xff" }), "title"},
		"the word that clears, as a title":    {create(func(r *cr) { r.Title = " NULL" }), "title"},
		"a description of 9 characters":       {create(func(r *cr) { r.Description = text(9) }), "description"},
		"a description of 501 characters":     {create(func(r *cr) { r.Description = text(501) }), "description"},
		"a name of 3 characters":              {create(func(r *cr) { r.CustomName = text(3) }), "custom_name"},
		"a name of 81 characters":             {create(func(r *cr) { r.CustomName = text(81) }), "custom_name"},
		"a name with a hyphen":                {create(func(r *cr) { r.CustomName = "q4-pack" }), "custom_name"},
		"a URL of 9 characters":               {create(func(r *cr) { r.CustomURL = text(9) }), "custom_url"},
		"a URL of 101 characters":             {create(func(r *cr) { r.CustomURL = text(101) }), "custom_url"},
		"a portal that receives":              {create(func(r *cr) { r.Type = shares.TypeReceive }), "share_type"},
		"a portal that exchanges": {create(func(r *cr) {
			r.Type, r.StorageMode = shares.TypeExchange, shares.StorageModeIndependent
		}), "share_type"},
		"a folder without one": {create(func(r *cr) {
			r.StorageMode = shares.StorageModeWorkspaceFolder
		}), "folder_node_id"},
		"a folder that expires":           {folder(func(r *cr) { r.Expires = noon() }), "expires"},
		"a folder whose name is too long": {folder(func(r *cr) { r.FolderName = text(256) }), "folder_name"},
		"a folder whose name is blank":    {folder(func(r *cr) { r.FolderName = " " }), "folder_name"},
		"a folder without an ID": {create(func(r *cr) {
			r.StorageMode, r.FolderNodeID = shares.StorageModeWorkspaceFolder, "null"
		}), "folder_node_id"},
		"an existing folder and a new one": {folder(func(r *cr) { r.FolderNodeID = "2f" }), "folder_node_id"},
		"a name for an existing folder": {folder(func(r *cr) {
			r.CreateFolder, r.FolderNodeID, r.FolderName = false, "2f", "Pack"
		}), "folder_name"},
		"an indexed folder":                  {folder(func(r *cr) { r.Intelligence = true }), "intelligence"},
		"a portal with a folder":             {create(func(r *cr) { r.FolderNodeID = "2f" }), "folder_node_id"},
		"a portal with a new folder":         {create(func(r *cr) { r.CreateFolder = true }), "create_folder"},
		"a portal with the name of a folder": {create(func(r *cr) { r.FolderName = "Pack" }), "folder_name"},
		"a password for members":             {create(func(r *cr) { r.Password = secret("0p3n") }), "password"},
		"a password for all who have accounts": {create(func(r *cr) {
			r.Password, r.Access = secret("0p3n"), shares.AccessRegistered
		}), "password"},
		"a password of 3 characters": {create(func(r *cr) {
			r.Password, r.Access = secret("öpn"), shares.AccessAnyone
		}), "password"},
		"a password of 129 characters": {create(func(r *cr) {
			r.Password, r.Access = secret(text(129)), shares.AccessAnyone
		}), "password"},
		"a password that is no UTF-8": {create(func(r *cr) {
			r.Password, r.Access = secret("0p3n\xff"), shares.AccessAnyone
		}), "password"},
		"a password that clears": {create(func(r *cr) {
			r.Password, r.Access = secret("Null"), shares.AccessAnyone
		}), "password"},
		"a password that nobody has set": {create(func(r *cr) {
			r.Password, r.Access = secret(""), shares.AccessAnyone
		}), "password"},
		"a password to be cleared": {create(func(r *cr) {
			r.Password, r.Access = api.Null[api.Secret](), shares.AccessAnyone
		}), "password"},
		"unknown guests for members": {folder(func(r *cr) {
			r.AnonymousUploadsEnabled = true
		}), "anonymous_uploads_enabled"},
		"unknown guests in a portal": {create(func(r *cr) {
			r.AnonymousUploadsEnabled, r.Access = true, shares.AccessAnyone
		}), "anonymous_uploads_enabled"},
		"unknown guests that are sent to": {folder(func(r *cr) {
			r.AnonymousUploadsEnabled, r.Access, r.Type = true, shares.AccessAnyone, shares.TypeSend
		}), "anonymous_uploads_enabled"},
		"a year of five digits": {create(func(r *cr) {
			r.Expires = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		}), "expires"},
		"a blank display":               {create(func(r *cr) { r.DisplayType = " " }), "display_type"},
		"a blank style":                 {create(func(r *cr) { r.WorkspaceStyle = "\t" }), "workspace_style"},
		"the word that clears, as type": {create(func(r *cr) { r.Type = "null" }), "share_type"},
		"a background below 0":          {create(func(r *cr) { r.BackgroundImage = -1 }), "background_image"},
		"a color that is no JSON":       {create(func(r *cr) { r.AccentColor = raw("red") }), "accent_color"},
		"a link that is empty":          {create(func(r *cr) { r.Link2 = raw("") }), "link_2"},
		"owner's values that are null":  {create(func(r *cr) { r.OwnerDefined = raw(" null") }), "owner_defined"},
		"no workspace":                  {second(s.Create(ctx, " ", shares.CreateRequest{Title: "Q4"})), "workspace_id"},

		"no change":                       {update(shares.UpdateRequest{}), "fields"},
		"an empty title":                  {update(shares.UpdateRequest{Title: api.Set("")}), "title"},
		"an empty description":            {update(shares.UpdateRequest{Description: api.Set("")}), "description"},
		"a name of one letter":            {update(shares.UpdateRequest{CustomName: "q"}), "custom_name"},
		"an empty URL":                    {update(shares.UpdateRequest{CustomURL: api.Set("")}), "custom_url"},
		"a URL that clears":               {update(shares.UpdateRequest{CustomURL: api.Set("null")}), "custom_url"},
		"an empty password":               {update(shares.UpdateRequest{Password: secret("")}), "password"},
		"the word that clears a password": {update(shares.UpdateRequest{Password: secret("null")}), "password"},
		"no expiry":                       {update(shares.UpdateRequest{Expires: api.Set(time.Time{})}), "expires"},
		"an empty color": {
			update(shares.UpdateRequest{BackgroundColor2: api.Set(raw(""))}), "background_color2",
		},
		"a link set to null": {update(shares.UpdateRequest{Link3: api.Set(raw("null"))}), "link_3"},
		"a password, and members": {
			update(shares.UpdateRequest{Password: secret("0p3n"), Access: shares.AccessMembers}), "password",
		},
		"unknown guests, and an organization": {
			update(shares.UpdateRequest{AnonymousUploadsEnabled: new(true), Access: shares.AccessOrg}),
			"anonymous_uploads_enabled",
		},
		"unknown guests, and only sent to": {
			update(shares.UpdateRequest{AnonymousUploadsEnabled: new(true), Type: shares.TypeSend}), "anonymous_uploads_enabled",
		},
		"invites as the organization has it": {
			update(shares.UpdateRequest{ExternalInvites: shares.ExternalInvitesInherit}), "external_invites",
		},

		"an unset color": {
			update(shares.UpdateRequest{AccentColor: api.Set[json.RawMessage](nil)}), "accent_color",
		},
		"owner's values of nothing": {
			update(shares.UpdateRequest{OwnerDefined: api.Set(json.RawMessage{})}), "owner_defined",
		},
		"null as a title": {update(shares.UpdateRequest{Title: api.Set("null")}), "title"},
		"null as a style": {update(shares.UpdateRequest{WorkspaceStyle: "null"}), "workspace_style"},

		"a list of 501":                       {second(s.List(ctx, many)), "limit"},
		"a list from below 0":                 {second(s.ListMine(ctx, negative)), "offset"},
		"a workspace's list of 501":           {second(s.ListByWorkspace(ctx, room, many)), "limit"},
		"archived shares of all":              {second(s.List(ctx, filtered)), "archived"},
		"archived members":                    {second(s.Members.List(ctx, portal, filtered)), "archived"},
		"archived QuickShares":                {second(s.QuickShares.List(ctx, room, filtered)), "archived"},
		"invitations of less than none":       {second(s.Invitations.Mine(ctx, &shares.MineOptions{Limit: -1})), "limit"},
		"the name to be checked of 3":         {second(s.CheckName(ctx, "abc")), "name"},
		"the name to be checked with a slash": {second(s.CheckName(ctx, "ab/cd")), "name"},
		"no confirmation":                     {s.Delete(ctx, portal, " "), "confirm"},
		"no password":                         {second(s.AuthPassword(ctx, portal, api.Secret{})), "password"},
		"no share":                            {second(s.Get(ctx, "", nil)), "share_id"},

		"another owner by the back door": {
			second(s.Members.Add(ctx, portal, ada, shares.AddRequest{Role: api.RoleOwner})), "permissions",
		},
		"an owner made by an update": {
			s.Members.Update(ctx, portal, ada, shares.UpdateMemberRequest{Role: api.RoleOwner}), "permissions",
		},
		"an owner invited": {
			s.Invitations.Update(ctx, portal, "i1", shares.UpdateInvitationRequest{Role: api.RoleOwner}), "permissions",
		},
		"a message with a control character": {
			second(s.Members.Add(ctx, portal, "a@b.test", shares.AddRequest{Message: text(9) + "\x00"})), "message",
		},
		"nobody":                {second(s.Members.Add(ctx, portal, "", shares.AddRequest{})), "email_or_user"},
		"no change of a member": {s.Members.Update(ctx, portal, ada, shares.UpdateMemberRequest{}), "fields"},
		"a membership that ends never": {
			s.Members.Update(ctx, portal, ada, shares.UpdateMemberRequest{Expires: api.Set(time.Time{})}), "expires",
		},
		"no change of an invitation": {
			s.Invitations.Update(ctx, portal, "i1", shares.UpdateInvitationRequest{}), "fields",
		},
		"an invitation that has expired": {
			s.Invitations.Update(ctx, portal, "i1", shares.UpdateInvitationRequest{AcceptBy: time.Unix(1, 0)}), "expires",
		},
		"no invitation":             {s.Invitations.Resend(ctx, portal, ""), "invitation_id"},
		"an answer that is neither": {s.JoinWithKey(ctx, portal, api.NewSecret("key"), "maybe"), "answer"},
		"no key": {
			s.JoinWithKey(ctx, portal, api.NewSecret(".."), shares.AnswerAccept), "invitation_key",
		},
		"no invitation of the caller's":       {second(s.Invitations.GetMine(ctx, api.NewSecret(" "))), "invitation_id"},
		"a transfer of a blank":               {second(s.Members.TransferOwnership(ctx, portal, ada, portal+" ")), "confirm"},
		"a transfer of another share":         {second(s.Members.TransferOwnership(ctx, portal, ada, "5")), "confirm"},
		"a blank notification for a joiner":   {s.Join(ctx, portal, &shares.JoinOptions{Notify: " "}), "notify_options"},
		"a QuickShare that is not named":      {second(s.QuickShares.Get(ctx, "--")), "quickshare_id"},
		"a preview of no type":                {closed(s.QuickShares.Preview(ctx, link, "")), "type"},
		"a part of a file that begins before": {closed(s.QuickShares.Download(ctx, link, &api.Range{Offset: -1})), "range"},
	} {
		e, ok := errors.AsType[*api.InputError](tc.err)
		switch {
		case !ok || !errors.Is(tc.err, api.ErrInvalid):
			t.Errorf("%s is %v", name, tc.err)
		case e.Field != tc.field || !strings.HasPrefix(e.Rule, "must "):
			t.Errorf("%s is %v, want a rule for %s", name, e, tc.field)
		case strings.Contains(e.Error(), "0p3n") || strings.Contains(e.Error(), "öpn"):
			t.Errorf("%s holds the secret: %v", name, e)
		}
	}
	if len(sent.got) > 0 {
		t.Errorf("%d requests were sent, the first is %s", len(sent.got), sent.got[0].Op)
	}
}

// What is as long as it may be is sent, and so is what the server makes fit.
func TestRightInput(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return strings.Repeat("ü", n) }
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
			Title: "Q4", StorageMode: shares.StorageModeWorkspaceFolder, CreateFolder: true, Access: shares.AccessAnyone,
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
		s, sent := answering(`{"result":true,"share":{"id":"5"}}`)
		if _, err := s.Create(t.Context(), room, r); err != nil || len(sent.got) != 1 {
			t.Errorf("%s: %v, after %d requests", name, err, len(sent.got))
		}
	}
}

func TestInvitationsUpdateRequiresFutureExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, sent := answering(`{"result":true}`)
		now := time.Now()
		err := s.Invitations.Update(t.Context(), portal, "i1", shares.UpdateInvitationRequest{AcceptBy: now})
		want := "fastio: shares.Invitations.Update: expires must be in the future, got 2000-01-01 00:00:00 UTC"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		err = s.Invitations.Update(t.Context(), portal, "i1", shares.UpdateInvitationRequest{AcceptBy: now.Add(time.Second)})
		if err != nil || len(sent.got) != 1 {
			t.Errorf("got %v after %d requests, want one request", err, len(sent.got))
		}
	})
}

func secret(text string) api.Opt[api.Secret] { return api.Set(api.NewSecret(text)) }
