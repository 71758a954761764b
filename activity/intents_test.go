package activity_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

func TestIntentInput(t *testing.T) {
	t.Parallel()
	sent := stub.Fail(errors.New("sent"))
	n, ctx := activity.New(sent).Intents, t.Context()
	fill := func(r activity.FillRequest) error { return stub.Err(n.Fill(ctx, room, "w1", r)) }
	stub.Refused(t, map[string][]error{
		"version": {fill(activity.FillRequest{Version: -1})},
		"topic": {
			fill(activity.FillRequest{Topic: strings.Repeat("ö", 257)}),
			fill(activity.FillRequest{Topic: "a\nb"}),
		},
		"message": {fill(activity.FillRequest{Message: strings.Repeat("ö", 8193)})},
		"intent":  {stub.Err(n.Fill(ctx, room, " ", activity.FillRequest{})), n.Release(ctx, room, "--")},
		"intent_ids": {
			stub.Err(n.Get(ctx, room, nil)),
			stub.Err(n.Get(ctx, room, make([]api.OpaqueID, 251))),
			stub.Err(n.Get(ctx, room, []api.OpaqueID{"w1", "-"})),
		},
	})
	if len(sent.Got) > 0 {
		t.Errorf("sent %v", sent.Got)
	}
	longest := activity.FillRequest{Topic: strings.Repeat("ö", 256), Message: strings.Repeat("ö", 8192)}
	if _, err := activity.New(stub.Answer(`{}`)).Intents.Fill(ctx, room, "w1", longest); err != nil {
		t.Error(err)
	}
	if _, err := activity.New(stub.Answer(`[]`)).Intents.Get(ctx, room, slices.Repeat([]api.OpaqueID{"w1"}, 250)); err != nil {
		t.Error(err)
	}
}

// Only an empty page ends the list. A page without a cursor is requested again, and its
// intents are yielded once.
func TestAllIntents(t *testing.T) {
	t.Parallel()
	const (
		first  = `{"items":[{"id":"a"},{"id":"b"}],"cursor":"c1"}`
		second = `{"items":[{"id":"c"}],"cursor":null}`
		more   = `{"items":[{"id":"c"},{"id":"d"}]}`
		empty  = `{"items":[],"cursor":null}`
	)
	type row struct {
		pages   []string // the last one is repeated
		ids     string
		cursors string
		err     error
	}
	table.Bubbles(t, map[string]row{
		"no intents":             {[]string{empty}, "", "-", nil},
		"two pages":              {[]string{first, second, empty}, "a b c", "-,c1,c1", nil},
		"one that grows":         {[]string{first, second, more, empty}, "a b c d", "-,c1,c1,c1", nil},
		"one that does not end":  {[]string{first, more}, "a b c d", "-,c1,c1,c1,c1", api.ErrNoProgress},
		"the same cursor always": {[]string{first}, "a b", "-,c1,c1,c1", api.ErrNoProgress},
	}, func(t *testing.T, tc row) {
		var cursors []string
		c := stub.Caller(func(_ context.Context, r *api.Request, out any) error {
			cursor := r.Query.Get("cursor")
			if cursor == "" {
				cursor = "-"
			}
			cursors = append(cursors, cursor)
			return jsonv2.Unmarshal([]byte(tc.pages[min(len(cursors), len(tc.pages))-1]), out)
		})
		all := activity.New(c).Intents.All(t.Context(), room, nil)
		for range 2 {
			cursors = nil
			var ids []string
			found, err := stub.All(all)
			for _, it := range found {
				ids = append(ids, string(it.ID))
			}
			if diff := cmp.Diff([]string{tc.ids, tc.cursors}, []string{
				strings.Join(ids, " "), strings.Join(cursors, ","),
			}); diff != "" ||
				!errors.Is(err, tc.err) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
	})
}

// Two agents of a user share intents, and one of them learns of the other's change.
func TestIntentsOfTwoAgents(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	n, ctx := s.Client(t).Activity.Intents, t.Context()
	own, err := n.Allocate(ctx, api.ID(w.ID), nil)
	if err != nil || own.State != activity.IntentStateAllocated {
		t.Fatal(own, err)
	}
	again, err := n.Allocate(ctx, api.ID(w.ID), nil)
	if err != nil || again.ID != own.ID {
		t.Errorf("allocated again: %v, %v", again, err)
	}
	filled, err := n.Fill(ctx, api.ID(w.ID), own.ID, activity.FillRequest{Version: own.Version, Topic: "The mill"})
	if err != nil || filled.State != activity.IntentStateFilled || filled.Topic != "The mill" {
		t.Errorf("filled: %v, %v", filled, err)
	}
	_, err = n.Fill(ctx, api.ID(w.ID), own.ID, activity.FillRequest{Version: own.Version, Topic: "The store"})
	e, ok := errors.AsType[*api.Error](err)
	if !ok || !errors.Is(err, api.ErrConflict) || e.Code != codes.IntentVersion {
		t.Errorf("an outdated version: %v", err)
	}
	if err := n.Release(ctx, api.ID(w.ID), own.ID); err != nil {
		t.Error(err)
	}
	if err := stub.Err(n.Get(ctx, api.ID(w.ID), []api.OpaqueID{own.ID})); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("released: %v", err)
	}
}
