package comments_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestDeleteIsRetriedAfterLostResponse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  api.Error
		want *comments.DeleteResult
	}{
		"the second attempt finds nothing": {
			api.Error{Status: 404, Attempts: 2}, &comments.DeleteResult{Comment: &comments.Comment{ID: "CA-1"}},
		},
		"the first attempt finds nothing":   {api.Error{Status: 404, Attempts: 1}, nil},
		"the second attempt is refused":     {api.Error{Status: 403, Attempts: 2}, nil},
		"the second attempt finds no route": {api.Error{Status: 404, Code: 9992, Attempts: 2}, nil},
	} {
		s := comments.New(stub.Fail(&tc.err), nil)
		got, err := s.Delete(t.Context(), "CA-1")
		if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// caller is a client that gets the options of a call.
type caller func(r *api.Request, out any, o api.CallOptions) error

func (f caller) Call(_ context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	return f(r, out, api.Resolve(opts))
}

func (caller) Open(ctx context.Context, r *api.Request, _ ...api.CallOption) (*http.Response, error) {
	return stub.NotOpened{}.Open(ctx, r)
}

// react sets or removes a reaction.
func react(ctx context.Context, s *comments.Service, op string, opts ...api.CallOption) (*comments.Reactions, error) {
	if op == "comments.React" {
		return s.React(ctx, "ca1", "🦉", opts...)
	}
	return s.Unreact(ctx, "ca1", opts...)
}

// The reactions are taken from the response or, if it has none, from the
// comment, which is read with the same options.
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
			s := comments.New(caller(func(r *api.Request, out any, o api.CallOptions) error {
				if r.Op == op {
					return reply(out, tc.answer, tc.first)
				}
				reads++
				if r.Op != "comments.Get" || o.Attempts != 2 {
					t.Errorf("%s is called with %+v", r.Op, o)
				}
				return reply(out, comment, tc.read)
			}), nil)
			got, err := react(t.Context(), s, op, api.WithAttempts(2))
			if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) || reads != tc.reads {
				t.Errorf("%s, %s, with %d reads: %v (-want +got):\n%s", op, name, reads, err, diff)
			}
		}
	}
}

func TestMention(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][2]string{
		"@[user:4012345678901234567:Ada Lovelace]": {"4012345678901234567", "Ada Lovelace"},
		"@[user:1:]":                     {"1", ""},
		"@[user:1:Ada (the first): 10%]": {"1", "Ada [the first]: 10%"},
		"@[user:1:a b  c]":               {"1", "a\nb\r\tc"},
		"@[user:1:'x' é]":                {"1", "`x` é"},
		"@[user:1:\uFFFDa]":              {"1", "\xffa"},
		"Ada":                            {"", "Ada"},
		"Ada (1)":                        {"1:2", "Ada [1]"},
		"A":                              {"1]", "A"},
		"B":                              {"é", "B"},
	} {
		if got := comments.Mention(api.ID(in[0]), in[1]); got != want {
			t.Errorf("Mention(%q, %q) = %q, want %q", in[0], in[1], got, want)
		}
	}
}

// Mentions of any name are found anywhere in a text.
func TestMentionRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var body strings.Builder
		var want []api.Mention
		for range rapid.IntRange(1, 4).Draw(r, "mentions") {
			id := rapid.StringMatching(`[0-9a-zA-Z_-]{1,19}`).Draw(r, "id")
			name := rapid.OneOf(rapid.String(), rapid.StringMatching("[\\[\\]`:@~\\r\\n\\x00 a]{0,8}")).Draw(r, "name")
			body.WriteString(rapid.SampledFrom([]string{"", "Hi ", "\n", "> ", "    ", "a_"}).Draw(r, "before"))
			body.WriteString(comments.Mention(api.ID(id), name))
			want = append(want, api.Mention{Kind: api.MentionKindUser, ID: id, Name: shown(name)})
		}
		if diff := cmp.Diff(want, api.Mentions(body.String())); diff != "" {
			r.Fatalf("Mentions(%q) (-want +got):\n%s", body.String(), diff)
		}
	})
}

// shown returns the form of a name in a mention.
func shown(name string) string {
	var b strings.Builder
	for _, r := range name { // invalid UTF-8 becomes U+FFFD
		switch {
		case r < ' ', r == 0x7F, 0x80 <= r && r < 0xA0:
			b.WriteByte(' ')
		case strings.ContainsRune("[]`", r):
			b.WriteByte("()'"[strings.IndexRune("[]`", r)])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func TestCommentOnOneLine(t *testing.T) {
	t.Parallel()
	const address = "eve@example.test"
	for want, c := range map[string]*comments.Comment{
		"<nil>":                            nil,
		"comment ca1 in ca0 by 4":          {ID: "ca1", ParentID: "ca0", UserID: "4", Body: "Hello"},
		`comment ca1 by "Eve\nA."`:         {ID: "ca1", ExternalAuthorName: "Eve\nA.", ExternalAuthorEmail: address},
		`comment ca1 by "` + address + `"`: {ID: "ca1", ExternalAuthorEmail: address},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
