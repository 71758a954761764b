package shares_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
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

type ctx = context.Context

// server is a Client that gives the same answer to every call and keeps what it was
// asked.
type server struct {
	answer string
	err    error
	got    []api.Request
}

func (s *server) Call(_ context.Context, r *api.Request, out any) error {
	if err := r.Path.Err(); err != nil {
		return err
	}
	s.got = append(s.got, *r)
	if s.err != nil || s.answer == "" {
		return s.err
	}
	return json.Unmarshal([]byte(s.answer), out)
}

func (s *server) Open(_ context.Context, r *api.Request) (*http.Response, error) {
	if err := r.Path.Err(); err != nil {
		return nil, err
	}
	s.got = append(s.got, *r)
	if s.err != nil {
		return nil, s.err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(s.answer))}, nil
}

// answering returns a Service whose calls get one answer.
func answering(answer string) (*shares.Service, *server) {
	s := &server{answer: answer}
	return shares.New(s), s
}

// failing returns a Service whose calls end with err.
func failing(err error) *shares.Service { return shares.New(&server{err: err}) }

// second drops what came with an error.
func second[T any](_ T, err error) error { return err }

// line is all of a request that a server gets to see.
func line(t *testing.T, r *api.Request) string {
	t.Helper()
	s := r.Method + " " + r.Path.String()
	if len(r.Query) > 0 {
		s += "?" + r.Query.Encode()
	}
	if r.Body != nil {
		contentType, content, err := api.Encode(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if contentType != "application/x-www-form-urlencoded" {
			t.Errorf("%s is sent as %s", r.Op, contentType)
		}
		s += " [" + string(content) + "]"
	}
	if !r.Password.IsZero() {
		s += " password " + r.Password.Reveal()
	}
	return s
}

func form(fields ...string) string {
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	return " [" + values.Encode() + "]"
}

func noon() time.Time {
	return time.Date(2126, 12, 31, 13, 0, 0, 999_999_999, time.FixedZone("CET", 3600))
}

func everything() shares.CreateRequest {
	return shares.CreateRequest{
		Title: "Q4 pack", Description: "All that belongs to it.", CustomName: "q4páck7", CustomURL: "the-pack-of-q4",
		Type: shares.TypeExchange, StorageMode: shares.StorageModeWorkspaceFolder,
		CreateFolder: true, FolderName: "Pack",
		Access: shares.AccessAnyone, Password: api.Set[api.Secret](api.NewSecret("0p3n s3sam3")), AnonymousUploadsEnabled: true, Invite: shares.InviteGuests,
		Notify: shares.NotifySentOrReceived, DownloadSecurity: shares.DownloadSecurityHigh,
		CommentsEnabled: new(false), GuestChatEnabled: true,
		DisplayType: shares.DisplayTypeList, WorkspaceStyle: "true", BackgroundImage: 129,
		AccentColor: raw(`{"r":1}`), BackgroundColor1: raw(`"#fff"`), BackgroundColor2: raw(`[0,0,0]`),
		Link1: raw(`{"url":"https://a.test/?b=c&d"}`), Link2: raw(`{}`), Link3: raw(`[]`), OwnerDefined: raw(`{"a":null}`),
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func TestRequests(t *testing.T) {
	t.Parallel()
	type svc = *shares.Service
	const (
		share   = "/current/share/5123456789012345678/"
		inRoom  = "/current/workspace/4012345678901234567/"
		archive = "?archived=false&limit=500&offset=7"
	)
	list := &shares.ListOptions{Limit: 500, Offset: 7}
	for name, tc := range map[string]struct {
		call func(ctx ctx, s svc) error
		want string
	}{
		"a portal that expires and is indexed": {
			func(ctx ctx, s svc) error {
				return second(s.Create(ctx, room, shares.CreateRequest{Title: "Q4", Expires: noon(), CommentsEnabled: new(true), Intelligence: true}))
			},
			"POST " + inRoom + "create/share/" + form("title", "Q4", "intelligence", "true", "expires", "2126-12-31 12:00:00", "comments_enabled", "true"),
		},
		"a share with everything": {
			func(ctx ctx, s svc) error { return second(s.Create(ctx, room, everything())) },
			"POST " + inRoom + "create/share/" + form(
				"title", "Q4 pack", "description", "All that belongs to it.", "custom_name", "q4páck7", "custom_url", "the-pack-of-q4",
				"share_type", "exchange", "storage_mode", "workspace_folder", "create_folder", "true", "folder_name", "Pack",
				"access_options", "Anyone with the link", "password", "0p3n s3sam3", "anonymous_uploads_enabled", "true", "invite", "guests",
				"notify", "notify_on_file_sent_or_received", "download_security", "high",
				"comments_enabled", "false", "guest_chat_enabled", "true", "intelligence", "false",
				"display_type", "list", "workspace_style", "true", "background_image", "129",
				"accent_color", `{"r":1}`, "background_color1", `"#fff"`, "background_color2", `[0,0,0]`,
				"link_1", `{"url":"https://a.test/?b=c&d"}`, "link_2", `{}`, "link_3", `[]`, "owner_defined", `{"a":null}`,
			),
		},
		"those of one named by its name": {func(ctx ctx, s svc) error { return second(s.Get(ctx, "pàck", nil)) }, "GET /current/share/p%C3%A0ck/details/"},
		"one change": {
			func(ctx ctx, s svc) error {
				return s.Update(ctx, portal, shares.UpdateRequest{GuestChatEnabled: new(false)})
			},
			"POST " + share + "update/" + form("guest_chat_enabled", "false"),
		},
		"every change": {
			func(ctx ctx, s svc) error {
				return s.Update(ctx, portal, shares.UpdateRequest{
					Title: api.Set("Q1 pack"), Description: api.Set("All that belongs to it."), CustomName: "q1pack", CustomURL: api.Set("the-pack-of-q1"),
					Type: shares.TypeReceive, Access: shares.AccessAnyone, Password: api.Set[api.Secret](api.NewSecret("0p3n")), AnonymousUploadsEnabled: new(true),
					Invite: shares.InviteOwners, ExternalInvites: shares.ExternalInvitesDenied, Expires: api.Set(noon()), ClearShareLink: true,
					Notify: shares.NotifyNever, DownloadSecurity: shares.DownloadSecurityOff,
					CommentsEnabled: new(true), GuestChatEnabled: new(true), Intelligence: new(false),
					DisplayType: shares.DisplayTypeGrid, WorkspaceStyle: "grid", BackgroundImage: new(0),
					AccentColor: api.Set(raw(`{}`)), BackgroundColor1: api.Set(raw(`1`)), BackgroundColor2: api.Set(raw(`2`)),
					Link1: api.Set(raw(`3`)), Link2: api.Set(raw(`4`)), Link3: api.Set(raw(`5`)), OwnerDefined: api.Set(raw(`6`)),
				})
			},
			"POST " + share + "update/" + form(
				"title", "Q1 pack", "description", "All that belongs to it.", "custom_name", "q1pack", "custom_url", "the-pack-of-q1",
				"share_type", "receive", "access_options", "Anyone with the link", "password", "0p3n", "anonymous_uploads_enabled", "true",
				"invite", "owners", "external_invites", "denied", "expires", "2126-12-31 12:00:00", "share_link_node_id", "null",
				"notify", "never", "download_security", "off", "comments_enabled", "true", "guest_chat_enabled", "true", "intelligence", "false",
				"display_type", "grid", "workspace_style", "grid", "background_image", "0",
				"accent_color", "{}", "background_color1", "1", "background_color2", "2", "link_1", "3", "link_2", "4", "link_3", "5", "owner_defined", "6",
			),
		},
		"everything cleared": {
			func(ctx ctx, s svc) error {
				text, json := api.Null[string](), api.Null[json.RawMessage]()
				return s.Update(ctx, portal, shares.UpdateRequest{
					Title: text, Description: text, CustomURL: text,
					Password: api.Null[api.Secret](), Expires: api.Null[time.Time](), ClearShareLink: true,
					AccentColor: json, BackgroundColor1: json, BackgroundColor2: json, Link1: json, Link2: json, Link3: json, OwnerDefined: json,
				})
			},
			"POST " + share + "update/" + form(
				"title", "null", "description", "null", "custom_url", "null", "password", "null", "expires", "null",
				"share_link_node_id", "null", "accent_color", "null", "background_color1", "null", "background_color2", "null",
				"link_1", "null", "link_2", "null", "link_3", "null", "owner_defined", "null",
			),
		},
		"the end of a share": {
			func(ctx ctx, s svc) error { return s.Delete(ctx, portal, "pack & more") },
			"DELETE " + share + "delete/?confirm=pack+%26+more",
		},
		"a password": {
			func(ctx ctx, s svc) error { return second(s.AuthPassword(ctx, portal, api.NewSecret("ö&="))) },
			"POST " + share + "auth/password/ [password=%C3%B6%26%3D]",
		},
		"further shares": {
			func(ctx ctx, s svc) error { return second(s.List(ctx, list)) },
			"GET /current/shares/all/?limit=500&offset=7",
		},
		"a name": {func(ctx ctx, s svc) error { return second(s.CheckName(ctx, "pàck")) }, "GET /current/shares/check/name/p%C3%A0ck/"},

		"members": {func(ctx ctx, s svc) error { return second(s.Members.List(ctx, portal, list)) }, "GET " + share + "members/list/?limit=500&offset=7"},
		"an invitation by e-mail": {
			func(ctx ctx, s svc) error {
				return second(s.Members.Add(ctx, portal, "new+1@example.com", shares.AddRequest{
					Role: api.RoleGuest, Message: "Come\n\tin.", AcceptBy: noon(),
				}))
			},
			"POST " + share + "members/new%2B1%40example.com/" +
				form("permissions", "guest", "message", "Come\n\tin.", "invitation_expires", "2126-12-31 12:00:00 UTC"),
		},
		"the caller in by a key": {
			func(ctx ctx, s svc) error {
				return s.JoinWithKey(ctx, portal, api.NewSecret("k/1"), shares.AnswerAccept)
			},
			"POST " + share + "members/join/k%2F1/accept/ []",
		},
		"an invitation declined": {
			func(ctx ctx, s svc) error {
				return s.JoinWithKey(ctx, portal, api.NewSecret("k/1"), shares.AnswerDecline)
			},
			"POST " + share + "members/join/k%2F1/decline/ []",
		},

		"an invitation's terms": {
			func(ctx ctx, s svc) error {
				return s.Invitations.Update(ctx, portal, "new@example.com", shares.UpdateInvitationRequest{
					State: shares.InvitationStateAccepted, Role: api.RoleView, Notify: api.MemberNotifyApp, AcceptBy: noon(),
				})
			},
			"POST " + share + "members/invitation/new%40example.com/" +
				form("state", "accepted", "permissions", "view", "notify_options", "Notify me in app", "expires", "2126-12-31 12:00:00 UTC"),
		},
		"further ones, by a key": {
			func(ctx ctx, s svc) error {
				return second(s.Invitations.Mine(ctx, &shares.MineOptions{Limit: 5, Offset: 10, Key: api.NewSecret("k&1")}))
			},
			"GET /current/user/invitations/list/?invitation_key=k%261&limit=5&offset=10",
		},
		"one of them":     {func(ctx ctx, s svc) error { return second(s.Invitations.GetMine(ctx, api.NewSecret("k/1"))) }, "GET /current/user/invitation/k%2F1/details/"},
		"and one by key":  {func(ctx ctx, s svc) error { return s.Invitations.AcceptAll(ctx, api.NewSecret("k&1")) }, "POST /current/user/invitations/acceptall/ [invitation_key=k%261]"},
		"all QuickShares": {func(ctx ctx, s svc) error { return second(s.QuickShares.List(ctx, room, list)) }, "GET " + inRoom + "quickshares/?limit=500&offset=7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, sent := answering(`{"result":true,"id":"1","share":{"id":"5"},"ownership":{},"auth_token":"jwt","quickshare":{"id":"q"},"content":"#"}`)
			if err := tc.call(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if len(sent.got) != 1 {
				t.Fatalf("sent %d requests", len(sent.got))
			}
			if got := line(t, &sent.got[0]); got != tc.want {
				t.Errorf("sent\n%s, want\n%s", got, tc.want)
			}
		})
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
