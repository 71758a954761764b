package comments_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
)

// answering returns a service whose calls are all answered with the same text.
func answering(answer string) *comments.Service { return comments.New(&scripted{answer: answer}) }

func TestCommentDecoded(t *testing.T) {
	t.Parallel()
	created := api.Time{Time: time.Date(2026, 3, 16, 9, 59, 30, 0, time.UTC)}
	for row, want := range map[string]*comments.Comment{
		`{"reference":[],"properties":[],"reactions":[],"actor":{}}`: {Actor: &api.Actor{}},
		`{"entity_id":"old","entity":"2f1"}`:                         {Entity: "2f1"},
		`{"user_id":101,"profile_id":401,"mentions":[102],"reactions":{"👍":"2"},"version":"3","attachment_count":"1",
		"can_edit":"yes","can_delete":1,"can_reply":"false","created":1773655170}`: {
			UserID: "101", ProfileID: "401", Mentions: []api.ProfileID{"102"}, Reactions: api.Map[int]{"👍": 2}, Version: 3,
			AttachmentCount: 1, CanEdit: true, CanDelete: true, Created: created,
		},
		`{"mood":{"a":1},"profile_type":"planet","actor":{"kind":"ghost"}}`: {
			ProfileType: "planet", Actor: &api.Actor{Kind: "ghost"}, Extra: extra("mood", `{"a":1}`),
		},
		`{"attachments":[{"target_id":42,"available":"no","name":"a","icon":"s"},{"available":null,"name":"b"}]}`: {
			Attachments: []*comments.Attachment{{TargetID: "42", Extra: extra("icon", `"s"`)}, {}},
		},
	} {
		got, err := answering(`{"result":true,"comment":`+row+`}`).Get(t.Context(), "ca1")
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", row, err, diff)
		}
	}
}

// What was deleted or unlinked is returned even if the answer leaves it out.
func TestAnswerWithoutComment(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`{"result":true}`, `{"comment":null}`, `{"attachments":[]}`} {
		s, ctx := answering(answer), t.Context()
		for op, err := range map[string]error{
			"Get":    second(s.Get(ctx, "ca1")),
			"Create": second(s.Create(ctx, api.Workspace(roomID), comments.CreateRequest{Body: "hi"})),
			"Update": second(s.Update(ctx, "ca1", comments.UpdateRequest{Body: "hi"})),
		} {
			if err == nil || err.Error() != "fastio: comments."+op+": the answer holds no comment" {
				t.Errorf("%s of %s: %v", op, answer, err)
			}
		}
		want := &comments.Comment{ID: "CA-1"}
		unlinked, err := s.Unlink(ctx, "CA-1")
		if diff := cmp.Diff(want, unlinked); diff != "" || err != nil {
			t.Errorf("Unlink of %s: %v (-want +got):\n%s", answer, err, diff)
		}
		deleted, err := s.Delete(ctx, "CA-1")
		if diff := cmp.Diff(&comments.Deleted{Comment: want}, deleted); diff != "" || err != nil {
			t.Errorf("Delete of %s: %v (-want +got):\n%s", answer, err, diff)
		}
	}
}

// A deletion whose answer was lost has still been carried out.
func TestDeleteIsRepeatedAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  api.Error
		want *comments.Deleted
	}{
		"the second attempt finds nothing": {
			api.Error{Status: 404, Attempts: 2}, &comments.Deleted{Comment: &comments.Comment{ID: "CA-1"}},
		},
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

// react gives a reaction, or takes it back.
func react(ctx context.Context, s *comments.Service, op string, opts ...api.CallOption) (*comments.Reactions, error) {
	if op == "comments.React" {
		return s.React(ctx, "ca1", "🦉", opts...)
	}
	return s.Unreact(ctx, "ca1", opts...)
}

// The reactions are read from the answer or, if it has none, from the comment, with
// the same options.
func TestReactions(t *testing.T) {
	t.Parallel()
	const comment = `{"result":true,"comment":{"id":"ca1","reactions":{"🦉":1},"user_reaction":"🦉"}}`
	owl, none := &comments.Reactions{Counts: api.Map[int]{"🦉": 1}, Own: "🦉"}, &comments.Reactions{}
	notFound := func(attempts int) *api.Error { return &api.Error{Status: 404, Attempts: attempts} }
	reply := func(out any, answer string, err error) error {
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(answer), out)
	}
	for name, tc := range map[string]struct {
		answer      string
		first, read error
		want        *comments.Reactions
		reads       int
		err         error
	}{
		"at the root":                {answer: `{"reactions":{"🦉":1},"user_reaction":"🦉"}`, want: owl},
		"none at the root":           {answer: `{"reactions":[],"user_reaction":null}`, want: none},
		"none under the comment":     {answer: `{"comment":{"id":"ca1","reactions":[],"user_reaction":null}}`, want: none},
		"left out":                   {answer: `{"message":"Done."}`, want: owl, reads: 1},
		"null":                       {answer: `{"reactions":null,"comment":null}`, want: owl, reads: 1},
		"refused":                    {first: &api.Error{Status: 403}, err: api.ErrForbidden},
		"not found":                  {first: notFound(1), err: api.ErrNotFound},
		"not found by a retry":       {first: notFound(2), want: owl, reads: 1},
		"gone since the first retry": {first: notFound(2), read: notFound(1), err: api.ErrNotFound, reads: 1},
	} {
		for _, op := range []string{"comments.React", "comments.Unreact"} {
			reads := 0
			s := comments.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
				if r.Op == op {
					return reply(out, tc.answer, tc.first)
				}
				reads++
				if r.Op != "comments.Get" || r.Options.Attempts != 2 {
					t.Errorf("%s is called with %+v", r.Op, r.Options)
				}
				return reply(out, comment, tc.read)
			}))
			got, err := react(t.Context(), s, op, api.Attempts(2))
			if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) || reads != tc.reads {
				t.Errorf("%s, %s, with %d reads: %v (-want +got):\n%s", op, name, reads, err, diff)
			}
		}
	}
}

// A second call would replace the text of the first.
func TestReactionsInMarkdownAreNotRead(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"comments.React", "comments.Unreact"} {
		var text string
		s := comments.New(callerFunc(func(_ context.Context, r *api.Request, _ any) error {
			if r.Op != op {
				t.Errorf("%s is followed by %s", op, r.Op)
			}
			return nil
		}))
		got, err := react(t.Context(), s, op, api.Markdown(&text))
		if diff := cmp.Diff(new(comments.Reactions), got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", op, err, diff)
		}
	}
}
