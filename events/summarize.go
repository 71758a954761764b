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

// Summarize returns a summary by the platform's AI of up to q.Limit events from
// q.Offset on, at most 2,000; q.Cursor must be "". About is the reader's interest, ""
// for none: at most 64 letters, digits, spaces and . , ! ? ' -
//
// Each call spends AI credits, so it is not retried after a lost answer: those of the
// organization that owns the profile, and the caller's own for the profile of a user
// or a parent event. It counts against the rate limits of a search. Errors are those
// of [Service.Search], [api.ErrForbidden] if the caller is not a member of the profile,
// [api.ErrNotFound], and [api.ErrUnavailable] with [ReasonPolicyUnavailable].
//
// It calls GET /current/events/search/summarize/.
func (s *Service) Summarize(ctx context.Context, q Query, about string, opts ...api.CallOption) (*Summary, error) {
	const op = "events.Summarize"
	if q.Cursor != "" {
		return nil, &api.InputError{Op: op, Field: "cursor", Rule: "must be left out: a summary has no pages"}
	}
	if n := utf8.RuneCountInString(about); n > maxUserContext {
		const rule = "must be at most 64 characters"
		return nil, &api.InputError{Op: op, Field: "user_context", Rule: rule, Got: strconv.Itoa(n)}
	}
	if i := strings.IndexFunc(about, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .,!?'-", r)
	}); i >= 0 {
		r, _ := utf8.DecodeRuneInString(about[i:])
		const rule = "must hold letters, digits, spaces and . , ! ? ' - only"
		return nil, &api.InputError{Op: op, Field: "user_context", Rule: rule, Got: strconv.QuoteRune(r)}
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
