package comments_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID   = api.ProfileID("4012345678901234567")
	shareID  = api.ProfileID("5012345678901234567")
	nodeID   = api.OpaqueID("2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s")
	nodePath = "2rii29kqzfb0x4v7mwpdc3hty8n1s"
)

// scripted answers every call with the same text and keeps the last request.
type scripted struct {
	answer string
	got    *api.Request
}

func (s *scripted) Call(_ context.Context, r *api.Request, out any) error {
	s.got = r
	return json.Unmarshal([]byte(s.answer), out)
}

// callerFunc is a Caller.
type callerFunc func(ctx context.Context, r *api.Request, out any) error

func (f callerFunc) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

var errReached = errors.New("the call was sent")

// unreachable is where nothing may arrive.
func unreachable() *comments.Service {
	return comments.New(callerFunc(func(_ context.Context, r *api.Request, _ any) error {
		if err := r.Path.Err(); err != nil {
			return err
		}
		return errReached
	}))
}

// refusedField returns the field an error blames, or the error.
func refusedField(err error) string {
	if e, ok := errors.AsType[*api.InputError](err); ok && errors.Is(err, api.ErrInvalid) {
		return e.Field
	}
	return fmt.Sprint(err)
}

// second drops what came with an error.
func second[T any](_ T, err error) error { return err }

// Every method sends what endpoints.tsv and the platform's documents say.
func TestRequests(t *testing.T) {
	t.Parallel()
	type (
		ctx = context.Context
		svc = *comments.Service
	)
	room, share := api.Workspace(roomID), api.Share(shareID)
	full := &comments.ListOptions{
		NewestFirst: true, IncludeDeleted: true, ReferenceType: comments.AnchorTypeVideo, Limit: 200, Offset: 7, IncludeTotal: true,
	}
	fullQuery := url.Values{
		"sort": {"desc"}, "include_deleted": {"true"}, "reference_type": {"video"}, "limit": {"200"}, "offset": {"7"}, "include_total": {"true"},
	}
	everything := comments.CreateRequest{
		Body: "  Hi\n", ParentID: "CA1-b2", Reference: comments.PageAnchor(3, ""), Properties: map[string]any{"b": 1, "a": nil},
		Targets: []api.OpaqueID{"F1-ab", api.OpaqueID(roomID)},
	}
	sent := `{"body":"  Hi\n","parent_id":"ca1b2","reference":{"type":"document","page":3},"properties":{"a":null,"b":1},"target_ids":["f1ab","4012345678901234567"]}`
	locked := everything
	locked.Password = api.NewSecret("s3cret")

	const (
		onEntity    = "/current/comments/{entity_type}/{parent_id}/"
		onNode      = "/current/comments/{entity_type}/{parent_id}/{node_id}/"
		onFileShare = "/current/comments/fileshare/{fileshare_id}/{node_id}/"
		reactions   = "/current/comments/{comment_id}/reactions/"
		attachments = "/current/comments/{comment_id}/attachments/"
	)
	for name, tc := range map[string]struct {
		call func(ctx, svc) error
		want api.Request
		body string
	}{
		"a list of a share": {
			func(ctx ctx, s svc) error { return second(s.List(ctx, share, full)) },
			api.Request{Op: "comments.List", Path: api.Path(onEntity, "share", string(shareID)), Query: fullQuery},
			"",
		},
		"a list by page": {
			func(ctx ctx, s svc) error {
				return second(s.List(ctx, room, &comments.ListOptions{Limit: 2, Page: 3}))
			},
			api.Request{
				Op: "comments.List", Path: api.Path(onEntity, "workspace", string(roomID)),
				Query: url.Values{"sort": {"asc"}, "limit": {"2"}, "page": {"3"}},
			},
			"",
		},
		"a list of a node": {
			func(ctx ctx, s svc) error { return second(s.ListOnNode(ctx, room, nodeID, full)) },
			api.Request{Op: "comments.ListOnNode", Path: api.Path(onNode, "workspace", string(roomID), nodePath), Query: fullQuery},
			"",
		},
		"a comment on a node": {
			func(ctx ctx, s svc) error { return second(s.CreateOnNode(ctx, share, nodeID, everything)) },
			api.Request{Op: "comments.CreateOnNode", Path: api.Path(onNode, "share", string(shareID), nodePath)},
			sent,
		},
		"a comment on a File Share": {
			func(ctx ctx, s svc) error { return second(s.CreateOnFileShare(ctx, "fs-1", nodeID, locked)) },
			api.Request{Op: "comments.CreateOnFileShare", Path: api.Path(onFileShare, "fs-1", nodePath), Password: api.NewSecret("s3cret")},
			sent,
		},
		"an update of everything": {
			func(ctx ctx, s svc) error {
				return second(s.Update(ctx, "ca1", comments.UpdateRequest{
					Body: "Ho", Properties: map[string]any{}, Reference: comments.AudioAnchor(1500 * time.Millisecond),
				}))
			},
			api.Request{Op: "comments.Update", Path: api.Path("/current/comments/{comment_id}/update/", "ca1")},
			`{"body":"Ho","properties":{},"reference":{"type":"audio","timestamp":1.5}}`,
		},
		"attachments": {
			func(ctx ctx, s svc) error {
				return second(s.Attachments.Attach(ctx, "CA-1", []api.OpaqueID{"F-1", "f2"}))
			},
			api.Request{Op: "comments.Attachments.Attach", Path: api.Path(attachments, "ca1"), Replay: api.ReplaySafe},
			`{"target_ids":["f1","f2"]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &scripted{answer: `{"result":true,"comment":{"id":"ca1"},"message":"Done."}`}
			if err := tc.call(t.Context(), comments.New(c)); err != nil {
				t.Fatal(err)
			}
			want := tc.want
			switch {
			case want.Method != "":
				want.Replay = api.ReplaySafe
			case tc.body == "":
				want.Method, want.Replay = http.MethodGet, api.ReplaySafe
			default:
				want.Method = http.MethodPost
			}
			contentType, body := encoded(t, c.got.Body)
			if body != tc.body || body != "" && contentType != "application/json" {
				t.Errorf("sent %s of %q, want %s", body, contentType, tc.body)
			}
			c.got.Body = nil
			if diff := cmp.Diff(&want, c.got, cmp.Comparer(func(a, b api.Route) bool {
				return a.Template() == b.Template() && a.String() == b.String()
			}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func encoded(t *testing.T, body api.Body) (contentType, text string) {
	t.Helper()
	if body == nil {
		return "", ""
	}
	contentType, content, err := api.Encode(body)
	if err != nil {
		t.Fatal(err)
	}
	return contentType, string(content)
}

// What no server takes is not sent.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	s, ctx := unreachable(), t.Context()
	room := api.Workspace(roomID)
	many := func(n int) []api.OpaqueID {
		ids := make([]api.OpaqueID, n)
		for i := range ids {
			ids[i] = api.OpaqueID(fmt.Sprint("ca", i))
		}
		return ids
	}
	anchored := func(a *comments.Anchor) comments.CreateRequest {
		return comments.CreateRequest{Body: "Hi", Reference: a}
	}
	lists := func(list comments.ListOptions) map[string]error {
		return map[string]error{
			"List":            second(s.List(ctx, room, &list)),
			"ListOnNode":      second(s.ListOnNode(ctx, room, nodeID, &list)),
			"ListOnFileShare": second(s.ListOnFileShare(ctx, "fs", nodeID, &list)),
			"All":             last(s.All(ctx, room, &list)),
			"AllOnNode":       last(s.AllOnNode(ctx, room, nodeID, &list)),
			"AllOnFileShare":  last(s.AllOnFileShare(ctx, "fs", nodeID, &list)),
		}
	}
	creates := func(r comments.CreateRequest) map[string]error {
		return map[string]error{
			"Create":            second(s.Create(ctx, room, r)),
			"CreateOnNode":      second(s.CreateOnNode(ctx, room, nodeID, r)),
			"CreateOnFileShare": second(s.CreateOnFileShare(ctx, "fs", nodeID, r)),
		}
	}
	bodies := func(body string) map[string]error {
		errs := creates(comments.CreateRequest{Body: body})
		errs["Update"] = second(s.Update(ctx, "ca1", comments.UpdateRequest{Body: body}))
		return errs
	}
	anchors := func(a *comments.Anchor) map[string]error {
		errs := creates(anchored(a))
		errs["Update"] = second(s.Update(ctx, "ca1", comments.UpdateRequest{Body: "Hi", Reference: a}))
		return errs
	}
	on := func(p api.Profile) map[string]error {
		return map[string]error{
			"List":         second(s.List(ctx, p, nil)),
			"ListOnNode":   second(s.ListOnNode(ctx, p, nodeID, nil)),
			"All":          last(s.All(ctx, p, nil)),
			"AllOnNode":    last(s.AllOnNode(ctx, p, nodeID, nil)),
			"Create":       second(s.Create(ctx, p, anchored(nil))),
			"CreateOnNode": second(s.CreateOnNode(ctx, p, nodeID, anchored(nil))),
		}
	}
	ofComment := func(id api.OpaqueID) map[string]error {
		return map[string]error{
			"Get":     second(s.Get(ctx, id)),
			"Update":  second(s.Update(ctx, id, comments.UpdateRequest{Body: "Hi"})),
			"Delete":  second(s.Delete(ctx, id)),
			"Unlink":  second(s.Unlink(ctx, id)),
			"React":   second(s.React(ctx, id, "👍")),
			"Unreact": second(s.Unreact(ctx, id)),
			"List":    second(s.Attachments.List(ctx, id)),
			"Attach":  second(s.Attachments.Attach(ctx, id, many(1))),
			"Detach":  second(s.Attachments.Detach(ctx, id, "f1")),
		}
	}
	ofNode := func(node api.OpaqueID) map[string]error {
		return map[string]error{
			"ListOnNode":        second(s.ListOnNode(ctx, room, node, nil)),
			"ListOnFileShare":   second(s.ListOnFileShare(ctx, "fs", node, nil)),
			"CreateOnNode":      second(s.CreateOnNode(ctx, room, node, anchored(nil))),
			"CreateOnFileShare": second(s.CreateOnFileShare(ctx, "fs", node, anchored(nil))),
		}
	}
	lockedLists, lockedCreates := lists(comments.ListOptions{Password: api.NewSecret("s3cret")}), creates(comments.CreateRequest{Body: "Hi", Password: api.NewSecret("s3cret")})
	for _, may := range []map[string]error{lockedLists, lockedCreates} {
		for _, call := range []string{"ListOnFileShare", "AllOnFileShare", "CreateOnFileShare"} {
			delete(may, call)
		}
	}
	nan := 0.0
	nan /= nan

	for name, tc := range map[string]struct {
		errs map[string]error
		want string
	}{
		"a limit of 1":             {lists(comments.ListOptions{Limit: 1}), "limit must be 2 to 200, got 1"},
		"a limit below 0":          {lists(comments.ListOptions{Limit: -1}), "limit must be 2 to 200, got -1"},
		"a limit of 201":           {lists(comments.ListOptions{Limit: 201}), "limit must be 2 to 200, got 201"},
		"an offset below 0":        {lists(comments.ListOptions{Offset: -1}), "offset must be 0 or more, got -1"},
		"a password for no link":   {lockedLists, "password must be left out: only the link of a File Share has one"},
		"a password for no link's": {lockedCreates, "password must be left out: only the link of a File Share has one"},
		"a page below 0": {
			map[string]error{"List": second(s.List(ctx, room, &comments.ListOptions{Page: -1}))}, "page must be 1 or more, got -1",
		},
		"a page and an offset": {
			map[string]error{"List": second(s.List(ctx, room, &comments.ListOptions{Page: 2, Offset: 9}))}, "page must be left out with an offset, got 2",
		},
		"a page to iterate": {
			map[string]error{"List": last(s.All(ctx, room, &comments.ListOptions{Page: 1}))},
			"page must be left out of an iteration: it may begin at an offset, got 1",
		},

		"a File Share for an entity":  {on(api.FileShare("1")), "entity_type must be a workspace or a share, got fileshare"},
		"an organization":             {on(api.Org("1")), "entity_type must be a workspace or a share, got org"},
		"an entity without an ID":     {on(api.Workspace(" ")), "entity_type must have an ID, got workspace without one"},
		"a custom name":               {on(api.Workspace("design")), `parent_id must be an ID of 19 digits: no custom name is accepted here, got "design"`},
		"no node":                     {ofNode("-"), `node_id must be neither blank nor made of dots, got ""`},
		"no comment":                  {ofComment(" "), `comment_id must be neither blank nor made of dots, got ""`},
		"dots for a comment":          {ofComment(".."), `comment_id must be neither blank nor made of dots, got ".."`},
		"a File Share without a name": {map[string]error{"ListOnFileShare": second(s.ListOnFileShare(ctx, "", nodeID, nil))}, `fileshare_id must be neither blank nor made of dots, got ""`},

		"no body":             {bodies(""), "body must not be blank"},
		"a blank body":        {bodies(" \n\t\u2003"), "body must not be blank"},
		"a body of 8193":      {bodies(strings.Repeat("é", 8193)), "body must be at most 8192 characters, got 8193 characters"},
		"a body that is junk": {bodies("\xff"), "body must be UTF-8"},

		"hyphens for a parent": {creates(comments.CreateRequest{Body: "Hi", ParentID: "--"}), `parent_id must hold more than hyphens and blanks, got "--"`},
		"26 targets":           {creates(comments.CreateRequest{Body: "Hi", Targets: many(26)}), "target_ids must be at most 25, got 26"},
		"a blank target":       {creates(comments.CreateRequest{Body: "Hi", Targets: []api.OpaqueID{"a", " "}}), `target_ids must hold no blank ID, got " "`},

		"an anchor of no type": {anchors(&comments.Anchor{Page: 3}), "reference.type must be video, image, document, general or audio"},
		"a region of nothing":  {anchors(comments.ImageAnchor(comments.Region{Width: nan})), "reference.region must hold finite numbers, got NaN"},
		"a negative moment":    {anchors(comments.AudioAnchor(-time.Second)), "reference.timestamp must be 0 or more, got -1s"},
		"a negative page":      {anchors(comments.PageAnchor(-1, "")), "reference.page must be 1 or more, got -1"},
		"a snippet of junk":    {anchors(comments.PageAnchor(1, "\xff")), "reference.text_snippet must be UTF-8"},
		"a quote of 501":       {anchors(comments.TextAnchor(comments.Quote{Exact: strings.Repeat("é", 501)})), "reference.exact must be at most 500 characters, got 501 characters"},
		"a prefix of 101":      {anchors(comments.TextAnchor(comments.Quote{Prefix: strings.Repeat("é", 101)})), "reference.prefix must be at most 100 characters, got 101 characters"},
		"a suffix of 101":      {anchors(comments.TextAnchor(comments.Quote{Suffix: strings.Repeat("é", 101)})), "reference.suffix must be at most 100 characters, got 101 characters"},

		"nothing to delete":  {map[string]error{"DeleteMany": second(s.DeleteMany(ctx, nil))}, "comment_ids must be 1 to 100, got 0"},
		"101 to delete":      {map[string]error{"DeleteMany": second(s.DeleteMany(ctx, many(101)))}, "comment_ids must be 1 to 100, got 101"},
		"a blank to delete":  {map[string]error{"DeleteMany": second(s.DeleteMany(ctx, []api.OpaqueID{"ca1", "-"}))}, `comment_ids must hold no blank ID, got "-"`},
		"a blank reaction":   {map[string]error{"React": second(s.React(ctx, "ca1", " "))}, `emoji must be an emoji, got ""`},
		"a reaction of junk": {map[string]error{"React": second(s.React(ctx, "ca1", "\xff"))}, `emoji must be an emoji, got "\xff"`},
		"nothing to attach":  {map[string]error{"Attachments.Attach": second(s.Attachments.Attach(ctx, "ca1", nil))}, "target_ids must be 1 to 25, got 0"},
		"26 to attach":       {map[string]error{"Attachments.Attach": second(s.Attachments.Attach(ctx, "ca1", many(26)))}, "target_ids must be at most 25, got 26"},
		"a blank to attach":  {map[string]error{"Attachments.Attach": second(s.Attachments.Attach(ctx, "ca1", []api.OpaqueID{""}))}, `target_ids must hold no blank ID, got ""`},
		"a blank to detach":  {map[string]error{"Attachments.Detach": second(s.Attachments.Detach(ctx, "ca1", "-"))}, `target_id must not be blank, got "-"`},
	} {
		if len(tc.errs) == 0 {
			t.Errorf("%s is tried by nobody", name)
		}
		for call, err := range tc.errs {
			op := strings.Replace(call, "All", "List", 1) + ": "
			if err == nil || !strings.HasPrefix(err.Error(), "fastio: comments.") || !strings.HasSuffix(err.Error(), op+tc.want) || !errors.Is(err, api.ErrInvalid) {
				t.Errorf("%s: %s fails with\n%v, want\n%s", name, call, err, op+tc.want)
			}
		}
	}
}

// What is just good enough is sent.
func TestBounds(t *testing.T) {
	t.Parallel()
	s, ctx := unreachable(), t.Context()
	room := api.Workspace(roomID)
	long := strings.Repeat("🦉", 100)
	ids := make([]api.OpaqueID, 100)
	for i := range ids {
		ids[i] = "ca1"
	}
	for name, err := range map[string]error{
		"the smallest page":    second(s.List(ctx, room, &comments.ListOptions{Limit: 2})),
		"the largest page":     second(s.List(ctx, room, &comments.ListOptions{Limit: 200})),
		"a type that is newer": second(s.List(ctx, room, &comments.ListOptions{ReferenceType: "hologram"})),
		"a body of 8192":       second(s.Create(ctx, room, comments.CreateRequest{Body: strings.Repeat("🦉", 8192)})),
		"the longest quote": second(s.Update(ctx, "ca1", comments.UpdateRequest{
			Body: "Hi", Reference: comments.TextAnchor(comments.Quote{Exact: strings.Repeat(long, 5), Prefix: long, Suffix: long}),
		})),
		"the first moment":    second(s.Create(ctx, room, comments.CreateRequest{Body: "Hi", Reference: comments.VideoAnchor(0, nil)})),
		"25 targets":          second(s.Create(ctx, room, comments.CreateRequest{Body: "Hi", Targets: ids[:25]})),
		"25 to attach":        second(s.Attachments.Attach(ctx, "ca1", ids[:25])),
		"100 to delete":       second(s.DeleteMany(ctx, ids)),
		"an emoji of several": second(s.React(ctx, "ca1", "👩🏽‍🚀")),
	} {
		if !errors.Is(err, errReached) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A secret never shows, wherever it is printed.
func TestPasswordIsNotPrinted(t *testing.T) {
	t.Parallel()
	r, o := comments.CreateRequest{Password: api.NewSecret("s3cret")}, comments.ListOptions{Password: api.NewSecret("s3cret")}
	text := fmt.Sprintf("%v %+v %#v %v %+v %#v", r, r, r, o, o, o)
	_, err := unreachable().Create(t.Context(), api.Workspace(roomID), r)
	if text += fmt.Sprint(err); strings.Contains(text, "s3cret") {
		t.Error(text)
	}
}

// A deletion whose answer was lost has still been carried out.
func TestDeletedBefore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  api.Error
		want *comments.Deleted
	}{
		"the second attempt finds nothing":  {api.Error{Status: 404, Attempts: 2}, &comments.Deleted{Comment: &comments.Comment{ID: "CA-1"}}},
		"the first attempt finds nothing":   {api.Error{Status: 404, Attempts: 1}, nil},
		"the second attempt is refused":     {api.Error{Status: 403, Attempts: 2}, nil},
		"the second attempt finds no route": {api.Error{Status: 404, Code: 9992, Attempts: 2}, nil},
	} {
		s := comments.New(callerFunc(func(context.Context, *api.Request, any) error { return &tc.err }))
		got, err := s.Delete(t.Context(), "CA-1")
		if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// The 500 characters that are shown are the server's to count.
func TestTooMuchIsShown(t *testing.T) {
	t.Parallel()
	s := comments.New(callerFunc(func(_ context.Context, r *api.Request, _ any) error {
		return &api.Error{Op: r.Op, Status: http.StatusNotAcceptable, Code: 166910, Text: "501 characters"}
	}))
	_, err := s.Create(t.Context(), api.Workspace(roomID), comments.CreateRequest{Body: strings.Repeat("a", 501)})
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != comments.CodeTooLong || !errors.Is(err, api.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
