package shares_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/shares"
)

// both returns an answer in its two envelopes.
func both(members string) []string {
	return []string{`{"result":true,` + members + `}`, `{"result":"yes","response":{` + members + `}}`}
}

func utc(text string) api.Time {
	t, err := api.ParseTime(text)
	if err != nil {
		panic(err)
	}
	return t
}

const (
	terse = `"id":"5123456789012345678","title":"Q4 pack","share_type":"send","share_level":"admin","share_root_id":"d7abc","creator":"3000000000000000001"`

	standard = terse + `,"description":"All that belongs to it.","custom_name":"q4pack7f","custom_url":null,"storage_mode":"independent",` +
		`"share_category":"portal","folder_node_id":null,"share_link":{"node":"2f"},"download_security":"medium","expires":"2026-12-31 00:00:00 UTC",` +
		`"created":"2026-09-01 10:00:00 UTC","updated":"2026-09-02T10:00:00+02:00","user_status":"joined","parent_type":"workspace",` +
		`"parent_workspace":"4000000000000000001","parent_org":"2000000000000000001","archived":false,"closed":false,"locked":true,"is_orphaned":false,` +
		`"intelligence":false,"guest_chat_enabled":true,"anonymous_uploads_enabled":false`

	full = standard + `,"access_options":"Anyone with the link","password":"0p3n s3sam3","notify":"never","invite":{"setting":"owners","can_invite":true},` +
		`"external_invites":null,"capabilities":{"can_invite_external":true,"can_fly":false},` +
		`"activity_tracking":{"enabled":true,"owner_activity":true,"guest_activity":false,"own_activity":true,"all_upload_activity":false},` +
		`"comments":{"enabled":true,"owner_comments_visible":true,"guest_comments_visible":false,"personal_replies_visible":true,"owner_replies_visible":false},` +
		`"filesystem":{"file_creation":false,"file_modification":false,"file_download":true,"file_view":true,"folder_creation":false,"folder_modification":false},` +
		`"event_flow":{"enabled":true,"can_see_own_events":true,"can_see_owner_events":false,"can_see_guest_events":false},` +
		`"multiplayer":{"enabled_for_user":true,"enabled_for_owners":true,"enabled_for_guests":false,"owners_can_see_guests":true,"guests_can_see_owners":false},` +
		`"member_visibility":{"user_can_see_members":true,"owners_can_see_members":true,"guests_can_see_members":false},` +
		`"suspended":false,"display_type":"grid","workspace_style":"true","background_image":0,"accent_color":{"r":1},"background_color1":null,` +
		`"background_color2":"#fff","link_1":{"url":"https://a.test"},"link_2":null,"link_3":null,"owner_defined":{"a":1},` +
		`"storage":{"used":7},"parents":["2f"],"platform":"web"`
)

func terseShare() shares.Share {
	return shares.Share{
		ID: portal, Title: "Q4 pack", Type: shares.TypeSend, Level: shares.LevelAdmin, RootID: "d7abc", Creator: ada,
	}
}

func standardShare() shares.Share {
	s := terseShare()
	s.Description, s.CustomName, s.StorageMode = "All that belongs to it.", "q4pack7f", shares.StorageModeIndependent
	s.Category, s.Link, s.DownloadSecurity = shares.CategoryPortal, raw(`{"node":"2f"}`), shares.DownloadSecurityMedium
	s.Expires, s.Created, s.Updated = utc("2026-12-31"), utc("2026-09-01 10:00:00"), utc("2026-09-02 08:00:00")
	s.UserStatus, s.ParentType = shares.UserStatusJoined, shares.ParentTypeWorkspace
	s.ParentWorkspace, s.ParentOrg = "4000000000000000001", "2000000000000000001"
	s.Archived, s.Closed, s.Locked, s.Orphaned = new(false), new(false), new(true), new(false)
	s.Intelligence, s.GuestChatEnabled, s.AnonymousUploadsEnabled = new(false), new(true), new(false)
	return s
}

func fullShare() shares.Share {
	s := standardShare()
	yes, no, null := new(true), new(false), raw("null")
	s.Access, s.Password, s.Notify = shares.AccessAnyone, api.NewSecret("0p3n s3sam3"), shares.NotifyNever
	s.Invite = &shares.Inviting{Setting: shares.InviteOwners, CanInvite: yes}
	s.ExternalInvites = shares.ExternalInvitesInherit
	s.Capabilities = &shares.Capabilities{CanInviteExternal: yes, Extra: map[string]json.RawMessage{"can_fly": raw("false")}}
	s.ActivityTracking = &shares.ActivityTracking{Enabled: yes, OwnerActivity: yes, GuestActivity: no, OwnActivity: yes, AllUploadActivity: no}
	s.Comments = &shares.CommentVisibility{
		Enabled: yes, OwnerCommentsVisible: yes, GuestCommentsVisible: no, PersonalRepliesVisible: yes, OwnerRepliesVisible: no,
	}
	s.Filesystem = &shares.Filesystem{
		FileCreation: no, FileModification: no, FileDownload: yes, FileView: yes, FolderCreation: no, FolderModification: no,
	}
	s.EventFlow = &shares.EventFlow{Enabled: yes, CanSeeOwnEvents: yes, CanSeeOwnerEvents: no, CanSeeGuestEvents: no}
	s.Multiplayer = &shares.Multiplayer{
		EnabledForUser: yes, EnabledForOwners: yes, EnabledForGuests: no, OwnersCanSeeGuests: yes, GuestsCanSeeOwners: no,
	}
	s.MemberVisibility = &shares.MemberVisibility{UserCanSeeMembers: yes, OwnersCanSeeMembers: yes, GuestsCanSeeMembers: no}
	s.Suspended, s.DisplayType, s.WorkspaceStyle, s.BackgroundImage = no, shares.DisplayTypeGrid, "true", new(0)
	s.AccentColor, s.BackgroundColor1, s.BackgroundColor2 = raw(`{"r":1}`), null, raw(`"#fff"`)
	s.Link1, s.Link2, s.Link3, s.OwnerDefined = raw(`{"url":"https://a.test"}`), null, null, raw(`{"a":1}`)
	s.Storage, s.Parents = raw(`{"used":7}`), raw(`["2f"]`)
	s.Extra = map[string]json.RawMessage{"platform": raw(`"web"`)}
	return s
}

// A share has what its level of output has, and what the answer left out is not
// false.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, level := range []struct {
		members string
		want    shares.Share
	}{{terse, terseShare()}, {standard, standardShare()}, {full, fullShare()}} {
		for _, answer := range both(`"share":{` + level.members + `}`) {
			s, _ := answering(answer)
			got, err := s.Get(t.Context(), portal, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&level.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
	}
}

func TestShareAtTheRoot(t *testing.T) {
	t.Parallel()
	s, _ := answering(`{"result":true,` + terse + `,"archived":false}`)
	got, err := s.Get(t.Context(), portal, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := terseShare()
	want.Archived = new(false)
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, empty := range []string{`{"result":true}`, `{"result":true,"share":null}`} {
		s, _ := answering(empty)
		if got, err := s.Get(t.Context(), portal, nil); err == nil {
			t.Errorf("%s is %+v", empty, got)
		}
	}
}

func TestExternalInvites(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]shares.ExternalInvites{
		`"external_invites":"allowed"`: shares.ExternalInvitesAllowed, `"external_invites":"denied"`: shares.ExternalInvitesDenied,
		`"external_invites":null`: shares.ExternalInvitesInherit, `"title":"x"`: "", `"external_invites":"asked"`: "asked",
	} {
		s, _ := answering(`{"share":{"id":"5",` + answer + `}}`)
		if got, err := s.Get(t.Context(), portal, nil); err != nil || got.ExternalInvites != want {
			t.Errorf("%s is %v, %v", answer, got, err)
		}
	}
}

func TestCreated(t *testing.T) {
	t.Parallel()
	for _, answer := range both(`"share":{"id":"5123456789012345678","custom_name":"q4pack7f","storage_mode":"workspace_folder","folder_node_id":"d7abc-1defg"}`) {
		s, _ := answering(answer)
		got, err := s.Create(t.Context(), room, shares.CreateRequest{Title: "Q4"})
		want := &shares.Share{ID: portal, CustomName: "q4pack7f", StorageMode: shares.StorageModeWorkspaceFolder, FolderNodeID: "d7abc-1defg"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
}

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, answer := range slices.Concat(
		both(`"share":{"id":"5"},"owner":{"id":"3","first_name":"Ada"},"nodes":[{"id":"2f","name":"a"}],"users":[{"id":"3"}],"comments":[],"org":{"id":"2","domain":"d"}`),
		both(`"share":{"id":"5"},"owner":{"id":"3","first_name":"Ada"},"nodes":{"items":[{"id":"2f","name":"a"}]},"users":{"items":[{"id":"3"}]},"org":{"id":"2","domain":"d"}`),
	) {
		s, _ := answering(answer)
		got, err := s.GetPublic(t.Context(), portal, nil)
		want := &shares.Public{
			Share: &shares.Share{ID: "5"}, Owner: &shares.User{ID: "3", FirstName: "Ada"}, Nodes: []*api.Node{{ID: "2f", Name: "a"}},
			Users: []*shares.User{{ID: "3"}}, Org: &shares.Org{ID: "2", Domain: "d"},
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
	s, _ := answering(`{"share":{"id":"5"},"nodes":null,"users":7}`)
	got, err := s.GetPublic(t.Context(), portal, nil)
	if diff := cmp.Diff(&shares.Public{Share: &shares.Share{ID: "5"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hour := time.Now().Add(time.Hour)
		for answer, want := range map[string]*shares.Token{
			`"auth_token":"a","expires_in":3600`:           {Secret: api.NewSecret("a"), Expiry: hour},
			`"token":"b","expires_in":3600`:                {Secret: api.NewSecret("b"), Expiry: hour},
			`"token":"b","expires_in":9223372036854775807`: {Secret: api.NewSecret("b")},
			`"jwt":"c"`: {Secret: api.NewSecret("c")},
			`"jwt":"c","token":"b","auth_token":"a","expires_in":0`: {Secret: api.NewSecret("a")},
			`"auth_token":null,"expires_in":3600`:                   nil,
			`"session":"d"`:                                         nil,
		} {
			for _, answer := range both(answer) {
				s, _ := answering(answer)
				password, err1 := s.AuthPassword(t.Context(), portal, api.NewSecret("0p3n"))
				guest, err2 := s.AuthGuest(t.Context(), portal)
				if want == nil {
					if err1 == nil || err2 == nil {
						t.Errorf("%s is %v and %v", answer, password, guest)
					}
					continue
				}
				if diff := cmp.Diff([]*shares.Token{want, want}, []*shares.Token{password, guest}); diff != "" || err1 != nil || err2 != nil {
					t.Errorf("%s: %v, %v (-want +got)\n%s", answer, err1, err2, diff)
				}
			}
		}
	})
}

// What was asked for as text holds no token, and is no failure.
func TestTokensAsText(t *testing.T) {
	t.Parallel()
	var text string
	s, _ := answering("")
	if got, err := s.AuthGuest(t.Context(), portal, api.Markdown(&text)); err != nil || !got.Secret.IsZero() {
		t.Errorf("%v, %v", got, err)
	}
}

// A name that another share has is no error: there is an answer to the question.
func TestCheckName(t *testing.T) {
	t.Parallel()
	down := &api.Error{Status: http.StatusServiceUnavailable}
	for name, tc := range map[string]struct {
		err  error
		free bool
		want error
	}{
		"free":  {nil, true, nil},
		"taken": {&api.Error{Status: http.StatusNotAcceptable, Text: "In use."}, false, nil},
		"not liked": {
			&api.Error{Status: http.StatusNotAcceptable, Params: []api.ParamError{{Name: "name", Kind: api.ParamKindInvalid}}}, false, nil,
		},
		"not liked by an older server": {&api.Error{Status: http.StatusBadRequest}, false, nil},
		"not known":                    {down, false, down},
	} {
		if free, err := failing(tc.err).CheckName(t.Context(), "q4pack"); free != tc.free || !errors.Is(err, tc.want) {
			t.Errorf("%s: %t, %v", name, free, err)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	const (
		active = `{"id":"3000000000000000001","account_type":"human","email_address":"ann@example.com","first_name":"Ann","last_name":"Lee",` +
			`"permissions":"owner","status":"active","member_added_at":"2026-09-01 10:00:00","notify":"Notify me in app","expires":null,"invite":null}`
		pending = `{"id":null,"email_address":"new@example.com","first_name":"new@example.com","last_name":"","permissions":"guest","status":"pending",` +
			`"notify":3,"invite":{"id":"i1","created":"2026-09-01 10:00:00","expires":null}}`
	)
	ann := &api.Member{
		ID: ada, Kind: api.ActorKindHuman, EmailAddress: "ann@example.com", FirstName: "Ann", LastName: "Lee", Role: api.RoleOwner,
		Status: api.MemberStatusActive, Added: utc("2026-09-01 10:00:00"), Notify: api.MemberNotifyApp,
	}
	guest := &api.Member{
		EmailAddress: "new@example.com", FirstName: "new@example.com", Role: api.RoleGuest, Status: api.MemberStatusPending,
		Invite: &api.MemberInvite{ID: "i1", Created: utc("2026-09-01 10:00:00")},
	}
	for _, answer := range both(`"users":[` + active + `,` + pending + `],"pagination":{"total":2,"limit":100,"offset":0,"has_more":false}`) {
		s, _ := answering(answer)
		got, err := s.Members.List(t.Context(), portal, nil)
		want := &shares.MemberPage{Members: []*api.Member{ann, guest}, Pagination: &api.Pagination{Total: 2, Limit: 100}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
	for _, answer := range slices.Concat(both(`"member":`+active), both(`"user":`+active), both(active[1:len(active)-1])) {
		s, _ := answering(answer)
		got, err := s.Members.Get(t.Context(), portal, ada)
		if diff := cmp.Diff(ann, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", answer, err, diff)
		}
	}
	s, _ := answering(`{"result":true}`)
	if got, err := s.Members.Get(t.Context(), portal, ada); err == nil {
		t.Errorf("nothing is %v", got)
	}
}

const invited = `{"id":"i1","inviter":"3000000000000000001","inviter_actor":{"user_id":"3000000000000000001","kind":"human"},` +
	`"invitee_email":"new@example.com","invitee_uid":null,"accepted_uid":null,"entity_type":"share","share":{"id":"5"},"state":"pending",` +
	`"consumed":false,"created":"2026-09-01 10:00:00 UTC","updated":"2026-09-01 10:00:00 UTC","expires":"2026-09-15 10:00:00 UTC","invitation_key":"k3y"}`

func invitation() *shares.Invitation {
	return &shares.Invitation{
		ID: "i1", Inviter: ada, InviterActor: &api.Actor{UserID: ada, Kind: api.ActorKindHuman}, InviteeEmail: "new@example.com",
		EntityType: api.ProfileKindShare, Share: raw(`{"id":"5"}`), State: shares.InvitationStatePending, Consumed: new(false),
		Created: utc("2026-09-01 10:00:00"), Updated: utc("2026-09-01 10:00:00"), Expires: utc("2026-09-15 10:00:00"), Key: api.NewSecret("k3y"),
	}
}

// Somebody who is added is invited, or is in.
func TestAdded(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]*shares.Added{
		`"invitation":` + invited: {Invitation: invitation()},
		`"invitation":null`:       {},
		`"user":{"id":"3"}`:       {},
	} {
		for _, answer := range both(members) {
			s, _ := answering(answer)
			got, err := s.Members.Add(t.Context(), portal, "new@example.com", shares.AddRequest{})
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got)\n%s", answer, err, diff)
			}
		}
	}
}

func TestInvitations(t *testing.T) {
	t.Parallel()
	for _, answer := range append(both(`"invitations":[`+invited+`],"status":"ok"`), `[`+invited+`]`) {
		s, _ := answering(answer)
		got, err := s.Invitations.List(t.Context(), portal, "")
		if diff := cmp.Diff([]*shares.Invitation{invitation()}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", answer, err, diff)
		}
	}
	for _, answer := range slices.Concat(both(`"invitation":`+invited), both(invited[1:len(invited)-1])) {
		s, _ := answering(answer)
		got, err := s.Invitations.GetMine(t.Context(), api.NewSecret("i1"))
		if diff := cmp.Diff(invitation(), got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", answer, err, diff)
		}
	}
	s, _ := answering(`{"result":true}`)
	if got, err := s.Invitations.GetMine(t.Context(), api.NewSecret("i1")); err == nil {
		t.Errorf("nothing is %v", got)
	}
}

func TestOwnership(t *testing.T) {
	t.Parallel()
	for _, answer := range both(`"ownership":{"profile_id":"5","profile_type":"share","previous_owner":"3","new_owner":"4","transferred_at":"2026-09-01 10:00:00 UTC"}`) {
		s, _ := answering(answer)
		got, err := s.Members.TransferOwnership(t.Context(), portal, ada, portal)
		want := &shares.Ownership{
			ProfileID: "5", ProfileType: api.ProfileKindShare, PreviousOwner: "3", NewOwner: "4", Transferred: utc("2026-09-01 10:00:00"),
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
}

func TestQuickShares(t *testing.T) {
	t.Parallel()
	const quick = `{"id":"q2abc","node":{"id":"2f","name":"a"},"creator_uid":"3","limit_exceeded":true,"expires":"2026-09-02 10:00:00 UTC","created":"2026-09-01 10:00:00 UTC"}`
	want := &shares.QuickShare{
		ID: "q2abc", Node: &api.Node{ID: "2f", Name: "a"}, CreatorID: "3", LimitExceeded: true,
		Expires: utc("2026-09-02 10:00:00"), Created: utc("2026-09-01 10:00:00"),
	}
	for _, answer := range both(`"quickshare":` + quick) {
		s, _ := answering(answer)
		public, err1 := s.QuickShares.Get(t.Context(), link)
		own, err2 := s.QuickShares.GetByNode(t.Context(), room, node)
		if diff := cmp.Diff([]*shares.QuickShare{want, want}, []*shares.QuickShare{public, own}); diff != "" || err1 != nil || err2 != nil {
			t.Errorf("%v, %v (-want +got)\n%s", err1, err2, diff)
		}
	}
	for _, answer := range both(`"quickshares":[` + quick + `]`) {
		s, _ := answering(answer)
		got, err := s.QuickShares.List(t.Context(), room, nil)
		if diff := cmp.Diff(&shares.QuickSharePage{QuickShares: []*shares.QuickShare{want}}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
	for _, answer := range both(`"content":"# A","note":{"id":"2f"}`) {
		s, _ := answering(answer)
		got, err := s.QuickShares.ReadNote(t.Context(), link)
		if diff := cmp.Diff(&shares.QuickShareNote{Content: "# A", Note: &api.Node{ID: "2f"}}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
	s, _ := answering("bytes")
	d, err := s.QuickShares.Download(t.Context(), link, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(d); string(b) != "bytes" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	_ = d.Close()
}

// Iterators go through all pages, from where they are told to.
func TestIterators(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	collect := func(key, rows string, walk func(s *shares.Service) (int, error)) {
		t.Helper()
		s := &server{answer: `{"` + key + `":` + rows + `,"pagination":{"total":2,"limit":500,"offset":0,"has_more":false}}`}
		if n, err := walk(shares.New(s)); n != 2 || err != nil {
			t.Errorf("%s: %d rows, %v", key, n, err)
		}
		if n := len(s.got); n != 1 || s.got[0].Query.Get("limit") != "500" {
			t.Errorf("%s: %d requests, %v", key, n, s.got)
		}
	}
	const two = `[{"id":"1"},{"id":"2"}]`
	collect("shares", two, func(s *shares.Service) (int, error) { return count(s.All(ctx)) })
	collect("shares", two, func(s *shares.Service) (int, error) { return count(s.AllByWorkspace(ctx, room, nil)) })
	collect("shares", two, func(s *shares.Service) (int, error) { return count(s.AllMine(ctx, nil)) })
	collect("users", two, func(s *shares.Service) (int, error) { return count(s.Members.All(ctx, portal)) })
	collect("invitations", two, func(s *shares.Service) (int, error) { return count(s.Invitations.AllMine(ctx)) })
	collect("quickshares", two, func(s *shares.Service) (int, error) { return count(s.QuickShares.All(ctx, room)) })

	pages := &paged{}
	n, err := count(shares.New(pages).AllByWorkspace(ctx, room, &shares.ListOptions{Limit: 2, Offset: 1, Archived: new(true)}))
	if diff := cmp.Diff([]string{"archived=true&limit=2&offset=1", "archived=true&limit=2&offset=3"}, pages.asked); diff != "" || n != 2 || err != nil {
		t.Errorf("%d rows, %v (-want +got)\n%s", n, err, diff)
	}
}

func count[T any](seq func(yield func(T, error) bool)) (int, error) {
	n := 0
	for _, err := range seq {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// paged is a Client with a list of two pages.
type paged struct {
	server

	asked []string
}

func (p *paged) Call(_ ctx, r *api.Request, out any) error {
	p.asked = append(p.asked, r.Query.Encode())
	more := strconv.FormatBool(len(p.asked) < 2)
	return json.Unmarshal([]byte(`{"shares":[{"id":"1"}],"pagination":{"limit":2,"has_more":`+more+`}}`), out)
}

// What a call that was repeated no longer finds is gone, as was asked.
func TestRepeatedDeletions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	gone := &api.Error{Status: http.StatusNotFound, Attempts: 2}
	never := &api.Error{Status: http.StatusNotFound, Attempts: 1}
	wrong := &api.Error{Status: http.StatusNotFound, Code: 9992, Attempts: 2}
	for name, try := range map[string]func(s *shares.Service) error{
		"a share":      func(s *shares.Service) error { return s.Delete(ctx, portal, portal) },
		"a member":     func(s *shares.Service) error { return s.Members.Remove(ctx, portal, ada) },
		"the caller":   func(s *shares.Service) error { return s.Leave(ctx, portal) },
		"an invite":    func(s *shares.Service) error { return s.Invitations.Delete(ctx, portal, "i1") },
		"a QuickShare": func(s *shares.Service) error { return s.QuickShares.Revoke(ctx, room, node) },
	} {
		if err := try(failing(gone)); err != nil {
			t.Errorf("%s, deleted by an attempt before: %v", name, err)
		}
		if err := try(failing(never)); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("%s that never was: %v", name, err)
		}
		if err := try(failing(wrong)); !errors.Is(err, api.ErrUnsupported) {
			t.Errorf("%s, on a server without the call: %v", name, err)
		}
	}
}
