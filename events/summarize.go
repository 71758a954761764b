package events

import (
	"context"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Summary is what happened, told in words.
type Summary struct {
	Summary *Digest       `json:"summary"`        // nil when none could be made; the events are still there
	Reason  SummaryReason `json:"summary_reason"` // why Summary is nil, when the server says
	Events  []*Event      `json:"events"`         // the events the summary is of
}

// Digest is the text of a summary and its figures. It covers only the events the
// caller may see, so it must not pass for complete.
type Digest struct {
	Text    string  `json:"text"` // with mentions: see [api.Mentions]
	Metrics Metrics `json:"metrics"`
}

// Metrics are the figures of a summary.
type Metrics struct {
	TotalEvents  int          `json:"total_events"`
	UniqueActors int          `json:"unique_actors"`
	DateRange    DateRange    `json:"date_range"`
	Categories   api.Map[int] `json:"categories"` // events by category
}

// DateRange is the time the summarized events span.
type DateRange struct {
	Start api.Time `json:"start"`
	End   api.Time `json:"end"`
}

// SummaryReason says why there is no summary. Unknown ones pass through.
type SummaryReason string

// SummaryReasonPolicyDenied means that no organization lets the built-in agent read
// the caller's events.
const SummaryReasonPolicyDenied SummaryReason = "ai_policy_denied"

const maxUserContext = 64

// Summarize has the platform's AI tell what the events that q finds come to. It
// looks at up to q.Limit events from q.Offset on, and at 2,000 at most; q.Cursor
// is refused. About tells it what the reader cares for, "" for nothing special:
// at most 64 letters, digits, spaces and . , ! ? ' -
//
// Each call spends AI credits, so it is never repeated after a lost answer: those of
// the organization that owns the profile, and the caller's own for the profile of a
// user or a parent event. It counts against the same rate limits
// as a search. Errors are those of [Service.Search]; in addition
// [api.ErrForbidden] to those who are not a member of the profile,
// [api.ErrNotFound], and [api.ErrUnavailable] with [ReasonPolicyUnavailable].
//
// It calls GET /current/events/search/summarize/.
func (s *Service) Summarize(ctx context.Context, q Query, about string, opts ...api.CallOption) (*Summary, error) {
	const op = "events.Summarize"
	if q.Cursor != "" {
		return nil, &api.InputError{Op: op, Field: "cursor", Rule: "must be left out: a summary has no pages"}
	}
	if n := utf8.RuneCountInString(about); n > maxUserContext {
		return nil, &api.InputError{Op: op, Field: "user_context", Rule: "must be at most 64 characters", Got: strconv.Itoa(n)}
	}
	if i := strings.IndexFunc(about, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .,!?'-", r)
	}); i >= 0 {
		r, _ := utf8.DecodeRuneInString(about[i:])
		return nil, &api.InputError{
			Op: op, Field: "user_context", Rule: "must hold letters, digits, spaces and . , ! ? ' - only", Got: strconv.QuoteRune(r),
		}
	}
	values, err := q.values(op)
	if err != nil {
		return nil, err
	}
	if about != "" {
		values.Set("user_context", about)
	}
	return call.One[Summary](ctx, s.c, endpoint.EventsSummarize(values), "", opts)
}
