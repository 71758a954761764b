package comments_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/internal/stub"
)

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
		s := comments.New(stub.Fail(&tc.err))
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
		"at the root":      {answer: `{"reactions":{"🦉":1},"user_reaction":"🦉"}`, want: owl},
		"none at the root": {answer: `{"reactions":[],"user_reaction":null}`, want: none},
		"none under the comment": {
			answer: `{"comment":{"id":"ca1","reactions":[],"user_reaction":null}}`,
			want:   none,
		},
		"left out":                   {answer: `{"message":"Done."}`, want: owl, reads: 1},
		"null":                       {answer: `{"reactions":null,"comment":null}`, want: owl, reads: 1},
		"refused":                    {first: &api.Error{Status: 403}, err: api.ErrForbidden},
		"not found":                  {first: notFound(1), err: api.ErrNotFound},
		"not found by a retry":       {first: notFound(2), want: owl, reads: 1},
		"gone since the first retry": {first: notFound(2), read: notFound(1), err: api.ErrNotFound, reads: 1},
	} {
		for _, op := range []string{"comments.React", "comments.Unreact"} {
			reads := 0
			s := comments.New(stub.Caller(func(_ context.Context, r *api.Request, out any) error {
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
