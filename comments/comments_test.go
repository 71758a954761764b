package comments_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID  = api.ID("4012345678901234567")
	shareID = api.ID("5012345678901234567")
	nodeID  = api.OpaqueID("2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s")
)

var errReached = errors.New("the call was sent")

// unreachable returns a Service whose calls must not be sent.
func unreachable() *comments.Service { return comments.New(stub.Fail(errReached), nil) }

// targets returns a Target of each kind by the name of its operations.
func targets() map[string]comments.Target {
	room := api.Workspace(roomID)
	return map[string]comments.Target{
		"": comments.On(room), "OnNode": comments.OnNode(room, nodeID),
		"OnFileShare": comments.OnNode(api.FileShare("fs"), nodeID),
	}
}

// errs are the errors of calls by name.
type errs map[string]error

// refused requires that every call was rejected locally with this text, in which R is the
// request of the call.
func (e errs) refused(t *testing.T, want string) {
	t.Helper()
	if len(e) == 0 {
		t.Errorf("no call is rejected with %q", want)
	}
	for call, err := range e {
		of := "CreateRequest."
		if call == "Update" {
			of = "UpdateRequest."
		}
		want := "fastio: comments." + strings.Replace(call, "All", "List", 1) + ": " + strings.Replace(want, "R.", of, 1)
		if err == nil || err.Error() != want || !errors.Is(err, api.ErrInvalid) {
			t.Errorf("%s fails with\n%v, want\n%s", call, err, want)
		}
	}
}

func TestListRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	s, ctx, room := unreachable(), t.Context(), targets()[""]
	lists := func(list comments.ListOptions) errs {
		e := errs{}
		for kind, on := range targets() {
			e["List"+kind], e["All"+kind] = stub.Err(s.List(ctx, on, &list)), stub.Last(s.All(ctx, on, &list))
		}
		return e
	}
	lists(comments.ListOptions{Limit: 1}).refused(t, "ListOptions.Limit must be 2 to 200, got 1")
	lists(comments.ListOptions{Limit: -1}).refused(t, "ListOptions.Limit must be 2 to 200, got -1")
	lists(comments.ListOptions{Limit: 201}).refused(t, "ListOptions.Limit must be 2 to 200, got 201")
	lists(comments.ListOptions{Offset: -1}).refused(t, "ListOptions.Offset must be 0 or more, got -1")
	pages := func(list comments.ListOptions) errs {
		return errs{"List": stub.Err(s.List(ctx, room, &list))}
	}
	pages(comments.ListOptions{Page: -1}).refused(t, "ListOptions.Page must be 1 or more, got -1")
	pages(comments.ListOptions{Page: 2, Offset: 9}).refused(t, "ListOptions.Page must be left out with Offset, got 2")
	errs{"All": stub.Last(s.All(ctx, room, &comments.ListOptions{Page: 1}))}.refused(t,
		"ListOptions.Page must be left out of an iteration: it may begin at an offset, got 1")
}

func TestErrorsNameTheField(t *testing.T) {
	t.Parallel()
	s, ctx, room, hi := unreachable(), t.Context(), api.Workspace(roomID), comments.CreateRequest{Body: "Hi"}
	calls := func(kind string, on comments.Target) errs {
		return errs{
			"List" + kind: stub.Err(s.List(ctx, on, nil)), "All" + kind: stub.Last(s.All(ctx, on, nil)),
			"Create" + kind: stub.Err(s.Create(ctx, on, hi)),
		}
	}
	const other = "on must be a workspace or a share, got "
	for want, p := range map[string]api.Profile{
		other + "org": api.Org("1"),
		"on must have an ID, got workspace without one":                              api.Workspace(" "),
		`on (parent_id) must be an ID of 19 digits, not a custom name, got "design"`: api.Workspace("design"),
	} {
		calls("", comments.On(p)).refused(t, want)
		calls("OnNode", comments.OnNode(p, nodeID)).refused(t, want)
	}
	calls("OnFileShare", comments.On(api.FileShare("1"))).refused(t, other+"fileshare")
	calls("", comments.Target{}).refused(t, strings.TrimSuffix(other, ", got "))
	for kind, p := range map[string]api.Profile{"OnNode": room, "OnFileShare": api.FileShare("fs")} {
		calls(kind, comments.OnNode(p, "-")).refused(t, `on (node_id) must be on a node that is not blank, got "-"`)
	}
	calls("OnFileShare", comments.OnNode(api.FileShare(""), nodeID)).refused(t,
		"on must have an ID, got fileshare without one")
}

func TestCreateAndUpdateRejectInvalidInput(t *testing.T) {
	t.Parallel()
	s, ctx := unreachable(), t.Context()
	creates := func(r comments.CreateRequest) errs {
		e := errs{}
		for kind, on := range targets() {
			e["Create"+kind] = stub.Err(s.Create(ctx, on, r))
		}
		return e
	}
	writes := func(body string, a *comments.Anchor) errs {
		e := creates(comments.CreateRequest{Body: body, Reference: a})
		e["Update"] = stub.Err(s.Update(ctx, "ca1", comments.UpdateRequest{Body: body, Reference: a}))
		return e
	}
	for body, want := range map[string]string{
		"": "must not be blank", " \n\t\u2003": "must not be blank", "\xff": "must be UTF-8",
		strings.Repeat("é", 8193): "must be at most 8192 characters, got 8193 characters",
	} {
		writes(body, nil).refused(t, "R.Body "+want)
	}
	quote := func(exact, prefix, suffix int) *comments.Anchor {
		long := func(n int) string { return strings.Repeat("é", n) }
		return comments.TextAnchor(comments.Quote{Exact: long(exact), Prefix: long(prefix), Suffix: long(suffix)})
	}
	nowhere := comments.ImageAnchor(comments.Region{Width: math.NaN()})
	for want, a := range map[string]*comments.Anchor{
		"Type must be video, image, document, general or audio":     {Page: 3},
		"Region must hold finite numbers, got NaN":                  nowhere,
		"Timestamp must be 0 or more, got -1s":                      comments.AudioAnchor(-time.Second),
		"Page must be 1 or more, got -1":                            comments.PageAnchor(-1, ""),
		"TextSnippet must be UTF-8":                                 comments.PageAnchor(1, "\xff"),
		"Exact must be at most 500 characters, got 501 characters":  quote(501, 0, 0),
		"Prefix must be at most 100 characters, got 101 characters": quote(0, 101, 0),
		"Suffix must be at most 100 characters, got 101 characters": quote(0, 0, 101),
	} {
		writes("Hi", a).refused(t, "R.Reference."+want)
	}
	parent := creates(comments.CreateRequest{Body: "Hi", ParentID: "--"})
	parent.refused(t, `R.ParentID must not consist of hyphens and blanks, got "--"`)
	for want, ids := range map[string][]api.OpaqueID{
		" (target_ids) must be at most 25, got 26": copies(26), `[1] (target_ids) must not be blank, got " "`: {"a", " "},
	} {
		creates(comments.CreateRequest{Body: "Hi", Attachments: ids}).refused(t, "R.Attachments"+want)
	}
}

func copies(n int) []api.OpaqueID { return slices.Repeat([]api.OpaqueID{"ca1"}, n) }

func TestOtherCallsRejectInvalidInput(t *testing.T) {
	t.Parallel()
	s, ctx := unreachable(), t.Context()
	for want, ids := range map[string][]api.OpaqueID{
		" (comment_ids) must be 1 to 100, got 0": nil, " (comment_ids) must be 1 to 100, got 101": copies(101),
		`[1] (comment_ids) must not be blank, got "-"`: {"ca1", "-"},
	} {
		errs{"DeleteMany": stub.Err(s.DeleteMany(ctx, ids))}.refused(t, "comments"+want)
	}
	errs{"React": stub.Err(s.React(ctx, "ca1", " "))}.refused(t, `emoji must be an emoji, got ""`)
	errs{"React": stub.Err(s.React(ctx, "ca1", "\xff"))}.refused(t, `emoji must be an emoji, got "\xff"`)
	for want, ids := range map[string][]api.OpaqueID{
		" (target_ids) must be 1 to 25, got 0": nil, " (target_ids) must be at most 25, got 26": copies(26),
		`[0] (target_ids) must not be blank, got ""`: {""},
	} {
		errs{"Attachments.Attach": stub.Err(s.Attachments.Attach(ctx, "ca1", ids))}.refused(t, "objects"+want)
	}
	errs{"Attachments.Detach": stub.Err(s.Attachments.Detach(ctx, "ca1", "-"))}.refused(t,
		`object (target_id) must not be blank, got "-"`)
}

func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	s, ctx, room := unreachable(), t.Context(), targets()[""]
	long := strings.Repeat("🦉", 100)
	quote := comments.TextAnchor(comments.Quote{Exact: strings.Repeat(long, 5), Prefix: long, Suffix: long})
	for name, err := range (errs{
		"the smallest page":    stub.Err(s.List(ctx, room, &comments.ListOptions{Limit: 2})),
		"the largest page":     stub.Err(s.List(ctx, room, &comments.ListOptions{Limit: 200})),
		"a type that is newer": stub.Err(s.List(ctx, room, &comments.ListOptions{ReferenceType: "hologram"})),
		"a body of 8192":       stub.Err(s.Create(ctx, room, comments.CreateRequest{Body: strings.Repeat("é", 8192)})),
		"the longest quote":    stub.Err(s.Update(ctx, "ca1", comments.UpdateRequest{Body: "Hi", Reference: quote})),
		"the first moment": stub.Err(s.Create(ctx, room, comments.CreateRequest{
			Body: "Hi", Reference: comments.VideoAnchor(0, nil),
		})),
		"25 targets":          stub.Err(s.Create(ctx, room, comments.CreateRequest{Body: "Hi", Attachments: copies(25)})),
		"25 to attach":        stub.Err(s.Attachments.Attach(ctx, "ca1", copies(25))),
		"100 to delete":       stub.Err(s.DeleteMany(ctx, copies(100))),
		"an emoji of several": stub.Err(s.React(ctx, "ca1", "👩🏽‍🚀")),
	}) {
		if !errors.Is(err, errReached) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
