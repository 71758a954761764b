package comments_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
)

// recorded is a network that gives every request the same answer.
type recorded string

func (r recorded) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(r)),
		Body: io.NopCloser(strings.NewReader(string(r))),
	}, nil
}

// answering returns a service that gets answer to every call, over the road that
// programs use.
func answering(t *testing.T, answer string) *comments.Service {
	t.Helper()
	c, err := fastio.New(fastio.WithToken("t"), fastio.WithHTTPClient(&http.Client{Transport: recorded(answer)}))
	if err != nil {
		t.Fatal(err)
	}
	return c.Comments
}

func at(second int) api.Time {
	return api.Time{Time: time.Date(2026, 3, 16, 9, 59, second, 0, time.UTC)}
}

func TestCommentDecoded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		row  string
		want *comments.Comment
	}{
		"a comment with everything": {
			`{"id":"ca1ab-cdefg","entity":"2abcd-efghi","user_id":"1012345678901234567","parent_id":"ca0ab-cdefg","body":"@[user:1:Ada] hi",
			"actor":{"user_id":"1012345678901234567","kind":"agent","agent_name":"Scout","name_source":"self","credential_type":"api_key","verified":false},
			"profile_type":"workspace","profile_id":"4012345678901234567","scope_id":"6012345678901234567",
			"linked_entity_type":"task","linked_entity_id":"t1","external_author_email":"a@example.test","external_author_name":"A",
			"external_author_token_id":"x1","reference":{"type":"document","page":7},"properties":{"color":"red"},"mentions":["1012345678901234568"],
			"reactions":{"👍":2,"🦉":1},"user_reaction":"🦉","version_hash":"abc","version":3,"attachment_count":1,
			"attachments":[{"target_id":"2f1","type":"node","available":true,"name":"plan.pdf"}],
			"edited_at":"2026-03-16 09:59:31 UTC","can_edit":true,"can_delete":true,"can_reply":true,
			"created":"2026-03-16 09:59:30 UTC","updated":"2026-03-16 09:59:31 UTC","deleted":"2026-03-16 09:59:32 UTC"}`,
			&comments.Comment{
				ID: "ca1ab-cdefg", Entity: "2abcd-efghi", UserID: "1012345678901234567", ParentID: "ca0ab-cdefg", Body: "@[user:1:Ada] hi",
				Actor:       &api.Actor{UserID: "1012345678901234567", Kind: api.ActorKindAgent, AgentName: "Scout", NameSource: "self", CredentialType: "api_key"},
				ProfileType: api.ProfileKindWorkspace, ProfileID: "4012345678901234567", ScopeID: "6012345678901234567",
				LinkedEntityType: "task", LinkedEntityID: "t1", ExternalAuthorEmail: "a@example.test", ExternalAuthorName: "A", ExternalAuthorTokenID: "x1",
				Reference: comments.PageAnchor(7, ""), Properties: api.Map[json.RawMessage]{"color": json.RawMessage(`"red"`)},
				Mentions: []api.ProfileID{"1012345678901234568"}, Reactions: api.Map[int]{"👍": 2, "🦉": 1}, UserReaction: "🦉",
				VersionHash: "abc", Version: 3, AttachmentCount: 1,
				Attachments: []*comments.Attachment{{TargetID: "2f1", Type: "node", Name: "plan.pdf", Available: true}},
				EditedAt:    at(31), Created: at(30), Updated: at(31), Deleted: at(32), CanEdit: true, CanDelete: true, CanReply: true,
			},
		},
		"a bare one": {
			`{"id":"ca1","entity":"2f1","user_id":"1","body":"hi","mentions":[],"reactions":[],"version":1}`,
			&comments.Comment{ID: "ca1", Entity: "2f1", UserID: "1", Body: "hi", Version: 1},
		},
		"nulls, which are as good as nothing": {
			`{"id":"ca1","entity":"2f1","user_id":"1","body":"hi","mentions":null,"reactions":null,"version":1,"actor":null,
			"parent_id":null,"profile_type":null,"profile_id":null,"scope_id":null,"linked_entity_type":null,"linked_entity_id":null,
			"external_author_email":null,"external_author_name":null,"external_author_token_id":null,"reference":null,"properties":null,
			"user_reaction":null,"version_hash":null,"edited_at":null,"deleted":null,"created":null,"updated":null,
			"attachments":null,"attachment_count":null,"can_edit":null,"can_delete":null,"can_reply":null}`,
			&comments.Comment{ID: "ca1", Entity: "2f1", UserID: "1", Body: "hi", Version: 1},
		},
		"empty lists for objects": {
			`{"id":"ca1","reference":[],"properties":[],"reactions":[],"actor":{}}`,
			&comments.Comment{ID: "ca1", Actor: &api.Actor{}},
		},
		"the older key of the entity": {
			`{"id":"ca1","entity_id":"2f1","profile_id":"4012345678901234567"}`,
			&comments.Comment{ID: "ca1", Entity: "2f1", ProfileID: "4012345678901234567"},
		},
		"both keys of the entity": {`{"id":"ca1","entity_id":"old","entity":"2f1"}`, &comments.Comment{ID: "ca1", Entity: "2f1"}},
		"numbers for text and text for numbers": {
			`{"id":"ca1","user_id":1012345678901234567,"profile_id":4012345678901234567,"mentions":[1012345678901234568],"reactions":{"👍":"2"},
			"version":"3","attachment_count":"1","can_edit":"yes","can_delete":1,"can_reply":"false","created":1773655170,"attachments":[{"target_id":42,"available":"no"}]}`,
			&comments.Comment{
				ID: "ca1", UserID: "1012345678901234567", ProfileID: "4012345678901234567", Mentions: []api.ProfileID{"1012345678901234568"},
				Reactions: api.Map[int]{"👍": 2}, Version: 3, AttachmentCount: 1, CanEdit: true, CanDelete: true, Created: at(30),
				Attachments: []*comments.Attachment{{TargetID: "42"}},
			},
		},
		"members and words that are newer": {
			`{"id":"ca1","mood":{"a":1},"profile_type":"planet","actor":{"kind":"ghost"}}`,
			&comments.Comment{
				ID: "ca1", ProfileType: "planet", Actor: &api.Actor{Kind: "ghost"}, Extra: map[string]json.RawMessage{"mood": json.RawMessage(`{"a":1}`)},
			},
		},
		"attachments out of reach, and one that does not tell": {
			`{"id":"ca1","attachments":[{"target_id":"a","type":"share","available":false,"name":"secret","icon":"s"},{"target_id":"b","name":"B"},{"available":null,"name":"?"}]}`,
			&comments.Comment{ID: "ca1", Attachments: []*comments.Attachment{
				{TargetID: "a", Type: "share", Extra: map[string]json.RawMessage{"icon": json.RawMessage(`"s"`)}},
				{TargetID: "b", Name: "B", Available: true},
				{},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, envelope := range []string{
				`{"result":true,"current_api_version":"1.0","comments":[` + tc.row + `],"comment":` + tc.row + `}`,
				`{"result":"yes","response":{"comments":[` + tc.row + `],"comment":` + tc.row + `},"current_api_version":"1.0"}`,
			} {
				s, ctx := answering(t, envelope), t.Context()
				for call, read := range map[string]func() (*comments.Comment, error){
					"Get": func() (*comments.Comment, error) { return s.Get(ctx, "ca1") },
					"Create": func() (*comments.Comment, error) {
						return s.Create(ctx, api.Workspace(roomID), comments.CreateRequest{Body: "hi"})
					},
					"Update": func() (*comments.Comment, error) { return s.Update(ctx, "ca1", comments.UpdateRequest{Body: "hi"}) },
					"Delete": func() (*comments.Comment, error) {
						d, err := s.Delete(ctx, "ca1")
						return d.Comment, err
					},
					"Unlink": func() (*comments.Comment, error) { return s.Unlink(ctx, "ca1") },
					"List":   func() (*comments.Comment, error) { return only(s.List(ctx, api.Workspace(roomID), nil)) },
				} {
					got, err := read()
					if err != nil {
						t.Fatal(call, err)
					}
					if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("%s (-want +got):\n%s", call, diff)
					}
				}
			}
		})
	}
}

func only(p *comments.Page, err error) (*comments.Comment, error) {
	if err != nil || len(p.Comments) != 1 {
		return nil, errors.Join(errors.New("not one comment"), err)
	}
	return p.Comments[0], nil
}

// Attachments stand beside a new comment, and inside one that is read.
func TestCreatedDecoded(t *testing.T) {
	t.Parallel()
	s := answering(t, `{"result":true,"comment":{"id":"ca1","reactions":[]},"attachments":[{"target_id":"2f1","available":true},{"target_id":"2f2","available":false}],"attachment_count":2}`)
	want := &comments.Comment{ID: "ca1", AttachmentCount: 2, Attachments: []*comments.Attachment{{TargetID: "2f1", Available: true}, {TargetID: "2f2"}}}
	got, err := s.CreateOnFileShare(t.Context(), "fs", nodeID, comments.CreateRequest{Body: "hi", Targets: []api.OpaqueID{"2f1", "2f2"}})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// An answer without its comment is no comment. What was deleted or unlinked still
// was.
func TestAnswerWithoutComment(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`{"result":true}`, `{"result":true,"comment":null}`, `{"result":"yes","response":{}}`, `{"result":true,"attachments":[]}`} {
		s := answering(t, answer)
		if c, err := s.Get(t.Context(), "ca1"); c != nil || err == nil || err.Error() != "fastio: comments.Get: the answer holds no comment" {
			t.Errorf("Get of %s: %v, %v", answer, c, err)
		}
		c, err := s.Create(t.Context(), api.Workspace(roomID), comments.CreateRequest{Body: "hi"})
		if c != nil || err == nil || err.Error() != "fastio: comments.Create: the answer holds no comment" {
			t.Errorf("Create of %s: %v, %v", answer, c, err)
		}
		c, err = s.Update(t.Context(), "ca1", comments.UpdateRequest{Body: "hi"})
		if c != nil || err == nil || err.Error() != "fastio: comments.Update: the answer holds no comment" {
			t.Errorf("Update of %s: %v, %v", answer, c, err)
		}
		unlinked, err := s.Unlink(t.Context(), "CA-1")
		if diff := cmp.Diff(&comments.Comment{ID: "CA-1"}, unlinked); diff != "" || err != nil {
			t.Errorf("Unlink of %s: %v (-want +got):\n%s", answer, err, diff)
		}
		deleted, err := s.Delete(t.Context(), "CA-1")
		if diff := cmp.Diff(&comments.Deleted{Comment: &comments.Comment{ID: "CA-1"}}, deleted); diff != "" || err != nil {
			t.Errorf("Delete of %s: %v (-want +got):\n%s", answer, err, diff)
		}
	}
}

func TestReactionsDecoded(t *testing.T) {
	t.Parallel()
	owl := &comments.Reactions{Counts: api.Map[int]{"🦉": 1}, Own: "🦉"}
	const told = `{"result":true,"comment":{"id":"ca1","reactions":{"🦉":1},"user_reaction":"🦉"}}`
	for name, tc := range map[string]struct {
		answer string
		want   *comments.Reactions
		reads  int
	}{
		"under the comment":          {told, owl, 0},
		"at the root":                {`{"result":true,"reactions":{"🦉":1},"user_reaction":"🦉"}`, owl, 0},
		"none at the root":           {`{"result":true,"reactions":[],"user_reaction":null}`, &comments.Reactions{}, 0},
		"none under the comment":     {`{"result":true,"comment":{"id":"ca1","reactions":[],"user_reaction":null}}`, &comments.Reactions{}, 0},
		"not told":                   {`{"result":true,"message":"Done."}`, owl, 1},
		"null, which is not to tell": {`{"result":true,"reactions":null,"comment":null}`, owl, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for op, react := range reacting() {
				reads := 0
				s := comments.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
					if r.Op == op {
						return json.Unmarshal([]byte(tc.answer), out)
					}
					reads++
					if r.Op != "comments.Get" || r.Options.Attempts != 2 {
						t.Errorf("then %s is called with %+v", r.Op, r.Options)
					}
					return json.Unmarshal([]byte(told), out)
				}))
				got, err := react(t.Context(), s, api.Attempts(2))
				if diff := cmp.Diff(tc.want, got); diff != "" || err != nil || reads != tc.reads {
					t.Errorf("%s with %d reads: %v (-want +got):\n%s", op, reads, err, diff)
				}
			}
		})
	}
}

type reacts map[string]func(ctx context.Context, s *comments.Service, opts ...api.CallOption) (*comments.Reactions, error)

func reacting() reacts {
	return reacts{
		"comments.React": func(ctx context.Context, s *comments.Service, opts ...api.CallOption) (*comments.Reactions, error) {
			return s.React(ctx, "ca1", "🦉", opts...)
		},
		"comments.Unreact": func(ctx context.Context, s *comments.Service, opts ...api.CallOption) (*comments.Reactions, error) {
			return s.Unreact(ctx, "ca1", opts...)
		},
	}
}

func TestReactionsFail(t *testing.T) {
	t.Parallel()
	const told = `{"result":true,"comment":{"id":"ca1","reactions":{"🦉":1}}}`
	for op, react := range reacting() {
		for name, tc := range map[string]struct {
			first, second error
			want          error
			got           *comments.Reactions
		}{
			"refused":                   {&api.Error{Status: 403}, nil, api.ErrForbidden, nil},
			"not found":                 {&api.Error{Status: 404, Attempts: 1}, nil, api.ErrNotFound, nil},
			"a repeat has nothing left": {&api.Error{Status: 404, Attempts: 2}, nil, nil, &comments.Reactions{Counts: api.Map[int]{"🦉": 1}}},
			"a repeat finds no comment": {&api.Error{Status: 404, Attempts: 2}, &api.Error{Status: 404, Attempts: 1}, api.ErrNotFound, nil},
		} {
			s := comments.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
				if r.Op == op {
					return tc.first
				}
				if tc.second != nil {
					return tc.second
				}
				return json.Unmarshal([]byte(told), out)
			}))
			got, err := react(t.Context(), s)
			if diff := cmp.Diff(tc.got, got); diff != "" || !errors.Is(err, tc.want) {
				t.Errorf("%s: %s ends with %v, want %v (-want +got):\n%s", op, name, err, tc.want, diff)
			}
		}
		var text string
		got, err := react(t.Context(), answering(t, "# Done"), api.Markdown(&text))
		if diff := cmp.Diff(new(comments.Reactions), got); diff != "" || err != nil || text != "# Done" {
			t.Errorf("%s as text is %q: %v (-want +got):\n%s", op, text, err, diff)
		}
		s := comments.New(callerFunc(func(_ context.Context, r *api.Request, _ any) error {
			if r.Op != op {
				t.Errorf("%s as text is followed by %s, whose text would take its place", op, r.Op)
			}
			return nil
		}))
		if _, err := react(t.Context(), s, api.Markdown(&text)); err != nil {
			t.Error(err)
		}
	}
}

func TestDeletionDecoded(t *testing.T) {
	t.Parallel()
	raw := func(values ...string) []json.RawMessage {
		var all []json.RawMessage
		for _, v := range values {
			all = append(all, json.RawMessage(v))
		}
		return all
	}
	for name, tc := range map[string]struct {
		members string
		want    *comments.Deletion
	}{
		"nothing": {``, &comments.Deletion{}},
		"numbers and rows": {
			`,"deleted":2,"results":[{"comment_id":"a","result":true},{"comment_id":"b"}],"errors":[{"code":1}],"message":"Done."`,
			&comments.Deletion{
				Count: new(2), Results: raw(`{"comment_id":"a","result":true}`, `{"comment_id":"b"}`), Errors: raw(`{"code":1}`),
				Extra: map[string]json.RawMessage{"message": json.RawMessage(`"Done."`)},
			},
		},
		"a count":        {`,"count":0`, &comments.Deletion{Count: new(0)}},
		"a quoted count": {`,"deleted":"3"`, &comments.Deletion{Count: new(3)}},
		"ids":            {`,"deleted":["a","b"]`, &comments.Deletion{Count: new(2), IDs: []api.OpaqueID{"a", "b"}}},
		"other shapes": {
			`,"deleted":true,"results":{"a":1},"errors":"none"`,
			&comments.Deletion{Extra: map[string]json.RawMessage{
				"deleted": json.RawMessage(`true`), "results": json.RawMessage(`{"a":1}`), "errors": json.RawMessage(`"none"`),
			}},
		},
	} {
		for _, envelope := range []string{`{"result":true` + tc.members + `}`, `{"result":"yes","response":{"x":1` + tc.members + `}}`} {
			got, err := answering(t, envelope).DeleteMany(t.Context(), []api.OpaqueID{"a", "b"})
			if err != nil {
				t.Fatal(name, err)
			}
			delete(got.Extra, "x")
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
	if _, err := answering(t, `{"result":false,"error":{"code":1,"text":"No."}}`).DeleteMany(t.Context(), []api.OpaqueID{"a"}); err == nil {
		t.Error("a refusal passes for a deletion")
	}
}

func TestAttachmentsDecoded(t *testing.T) {
	t.Parallel()
	const rows = `"attachments":[{"target_id":"2f1","type":"node","available":true,"name":"plan.pdf"},{"target_id":"4829105738291047362","type":"share","available":false}],"attachment_count":2`
	want := comments.AttachmentList{
		Attachments: []*comments.Attachment{
			{TargetID: "2f1", Type: "node", Name: "plan.pdf", Available: true},
			{TargetID: "4829105738291047362", Type: "share"},
		},
		Count: 2,
	}
	for _, envelope := range []string{`{"result":true,` + rows + `,"removed":true}`, `{"result":"yes","response":{` + rows + `,"removed":"yes"}}`} {
		s := answering(t, envelope).Attachments
		list, err := s.List(t.Context(), "ca1")
		if diff := cmp.Diff(&want, list); diff != "" || err != nil {
			t.Errorf("List: %v (-want +got):\n%s", err, diff)
		}
		list, err = s.Attach(t.Context(), "ca1", []api.OpaqueID{"2f1"})
		if diff := cmp.Diff(&want, list); diff != "" || err != nil {
			t.Errorf("Attach: %v (-want +got):\n%s", err, diff)
		}
		left, err := s.Detach(t.Context(), "ca1", "2f1")
		if diff := cmp.Diff(&comments.Detachment{AttachmentList: want, Removed: true}, left); diff != "" || err != nil {
			t.Errorf("Detach: %v (-want +got):\n%s", err, diff)
		}
	}
	left, err := answering(t, `{"result":true,"attachments":[],"attachment_count":0,"removed":false}`).Attachments.Detach(t.Context(), "ca1", "2f1")
	if diff := cmp.Diff(&comments.Detachment{AttachmentList: comments.AttachmentList{Attachments: []*comments.Attachment{}}}, left); diff != "" || err != nil {
		t.Errorf("Detach of nothing: %v (-want +got):\n%s", err, diff)
	}
}
