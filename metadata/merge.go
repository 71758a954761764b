package metadata

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/jsonopt"
	"github.com/fastio-go/fastio/internal/page"
)

// Outcome is the result of a [Merging].
type Outcome string

// Outcomes of a merge.
const (
	OutcomeUnknown       Outcome = ""               // not in the response
	OutcomePossible      Outcome = "possible"       // of a Preflight: the merge would succeed
	OutcomeRefused       Outcome = "refused"        // the merge was or would be refused: see Refusal
	OutcomeMerged        Outcome = "merged"         // the merge was carried out
	OutcomeAlreadyMerged Outcome = "already merged" // by an earlier call, into the same target
)

// Merging is the result of a merge, or of its Preflight.
type Merging struct {
	Outcome Outcome
	Refusal *Refusal // nil unless Outcome is OutcomeRefused

	Source            string    // in the spelling of the vocabulary
	Target            string    // the field that the target resolves to
	FilesAffected     *int      // files and notes with a value of the source; nil if not in the response, as the next
	TargetFilesBefore *int      // files and notes with a value of the target, before the merge
	Snapshot          *Snapshot // nil if there is nothing to merge
}

// Refusal is the reason why two fields are not merged.
type Refusal struct {
	Reason     RefusalReason `json:"reason"`
	Message    string        `json:"message"`            // for display
	ResolvesTo string        `json:"source_resolves_to"` // field of the source, with [RefusalReasonSourceAlreadyMerged]

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// RefusalReason is the code of a [Refusal]. Unknown values are kept.
type RefusalReason string

// Reasons of a refused merge.
const (
	RefusalReasonTypeMismatch        RefusalReason = "merge_refused_type_mismatch"
	RefusalReasonUserAuthored        RefusalReason = "merge_refused_user_authored"
	RefusalReasonReservedName        RefusalReason = "merge_refused_reserved_name" // category and sub_category
	RefusalReasonSourceUnknown       RefusalReason = "merge_source_unknown"
	RefusalReasonSourceAlreadyMerged RefusalReason = "merge_source_already_merged" // into another field
	RefusalReasonTargetUnknown       RefusalReason = "merge_target_unknown"
)

// Snapshot is the state of the two fields at the time of the checks.
type Snapshot struct {
	SourceRevision int `json:"source_revision"`
	TargetRevision int `json:"target_revision"`
	GroupSize      int `json:"group_size"` // undocumented

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Preflight reports, without writing, what [Fields.Merge] would do. Its counts may change
// before the merge.
//
// It sends the request of Merge without the confirmation, and returns the same errors.
func (f *Fields) Preflight(
	ctx context.Context, workspace api.ID, source, target string, opts ...api.CallOption,
) (*Merging, error) {
	r, err := mergeRequest(workspace, mergeBody{Source: source, Target: target})
	if err != nil {
		return nil, err
	}
	r.Replay = api.ReplaySafe
	const confirmed = false
	return f.merge(ctx, r, confirmed, opts)
}

// Merge folds the source field into the target. It cannot be undone. The name of
// the source becomes an alias of the target: a filter on it resolves to the
// target, while its values stay under the retired source. Run [Fields.Preflight]
// first.
//
// A refused merge is not an error: it returns a [Merging] with [OutcomeRefused],
// and nothing was written. The source must be the name of a field; the target may
// also be an alias. Names are not trimmed and have at most 64 characters.
//
// It requires the admin role in the workspace. It is retried only if it was not
// processed: after an error other than those below the merge may have been carried
// out, and Preflight reports whether it was.
//
// Errors: [api.ErrInvalid] if the server refuses without a reason, permanently;
// [api.ErrUnavailable] with status 503 if the vocabulary is busy and nothing was
// written.
//
// It calls POST /current/workspace/{workspace_id}/metadata/fields/merge/.
func (f *Fields) Merge(
	ctx context.Context, workspace api.ID, source, target string, opts ...api.CallOption,
) (*Merging, error) {
	const confirmed = true
	r, err := mergeRequest(workspace, mergeBody{source, target, confirmed})
	if err != nil {
		return nil, err
	}
	return f.merge(ctx, r, confirmed, opts)
}

type mergeBody struct {
	Source  string `json:"source"`
	Target  string `json:"target"`
	Confirm bool   `json:"confirm"`
}

type mergeWire struct {
	Source            string         `json:"source"`
	Target            string         `json:"target"`
	FilesAffected     *int           `json:"files_affected"`
	TargetFilesBefore *int           `json:"target_files_before"`
	WouldRefuse       jsontext.Value `json:"would_refuse"`
	Merged            *bool          `json:"merged"`
	AlreadyMerged     bool           `json:"already_merged"`
	Snapshot          *Snapshot      `json:"snapshot"`
}

// mergeRequest checks the names of both fields and returns the request.
func mergeRequest(workspace api.ID, body mergeBody) (*api.Request, error) {
	args := input.Parameters("metadata.Fields.Merge")
	if err := checkName(args, "source", body.Source); err != nil {
		return nil, err
	}
	if err := checkName(args, "target", body.Target); err != nil {
		return nil, err
	}
	return endpoint.MetadataFieldsMerge(workspace, api.JSON(body)), nil
}

// merge sends a merge of two fields. If it is not confirmed, the request only
// asks what the merge would do.
func (f *Fields) merge(ctx context.Context, r *api.Request, confirmed bool, opts []api.CallOption) (*Merging, error) {
	a, err := call.Payload[mergeWire](ctx, f.c, r, opts)
	if err != nil {
		return nil, err
	}
	m := &Merging{
		Source: a.Source, Target: a.Target, FilesAffected: a.FilesAffected, TargetFilesBefore: a.TargetFilesBefore,
		Snapshot: a.Snapshot,
	}
	m.Outcome, m.Refusal = a.outcome(confirmed)
	return m, nil
}

// outcome returns the outcome of a merge, and the refusal if it was refused. A refused merge
// has the status of a success, and its reason in would_refuse, an object. A would_refuse of
// another JSON kind has no known meaning.
//
// Confirmed is false for a Preflight, which merges nothing: if it is not refused, a merge is
// possible. Why a confirmed merge that is not refused has not merged is not known.
func (w *mergeWire) outcome(confirmed bool) (Outcome, *Refusal) {
	switch w.WouldRefuse.Kind() {
	case '{':
		r := new(Refusal)
		if jsonv2.Unmarshal(w.WouldRefuse, r, jsonopt.Lenient()) != nil {
			r = &Refusal{Extra: map[string]json.RawMessage{"would_refuse": json.RawMessage(w.WouldRefuse)}}
		}
		return OutcomeRefused, r
	case 'n', jsontext.KindInvalid: // not refused: null, or not in the response
	default:
		return OutcomeUnknown, nil
	}
	switch {
	case w.Merged != nil && *w.Merged:
		return OutcomeMerged, nil
	case w.AlreadyMerged:
		return OutcomeAlreadyMerged, nil
	case w.Merged != nil && !confirmed:
		return OutcomePossible, nil
	}
	return OutcomeUnknown, nil
}

// Candidate is a pair of fields that may mean the same, in the direction to
// merge them.
type Candidate struct {
	Source string          `json:"source" also:"source_field"`
	Target string          `json:"target" also:"target_field"`
	Reason CandidateReason `json:"reason"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// CandidateReason is why two fields may mean the same. Unknown values are
// kept.
type CandidateReason string

// Reasons of a candidate.
const (
	CandidateReasonSpelling CandidateReason = "separator_or_case_variant" // same letters except for case and separators
	CandidateReasonConcept  CandidateReason = "semantic_same_concept"     // a suggestion only
)

// candidateField is a field that a candidate names.
type candidateField struct {
	Name string `json:"name"`
}

// The response may name the two in fields.
var _ = decode.Fix(func(c *Candidate) {
	var field candidateField
	if decode.Take(c.Extra, &field, "source", "source_field") {
		c.Source = field.Name
	}
	field.Name = ""
	if decode.Take(c.Extra, &field, "target", "target_field") {
		c.Target = field.Name
	}
},
	decode.Takes[candidateField]("source"), decode.Takes[candidateField]("source_field"),
	decode.Takes[candidateField]("target"), decode.Takes[candidateField]("target_field"),
)

// CandidatePage is one page of candidates, the least destructive first.
//
// An empty page need not be the last. If Scanned is false the candidates have
// not been computed; there are none if Examined has reached Total.
type CandidatePage struct {
	Candidates []*Candidate `json:"items"`
	NextOffset *int         `json:"next_offset"`        // nil after the last page
	Scanned    bool         `json:"vocabulary_scanned"` // the candidates have been computed
	Examined   int          `json:"proposals_examined"` // pairs examined up to the end of this page
	Total      int          `json:"proposals_total"`    // pairs to examine
}

// CandidateListOptions selects a page of candidates. Nil means the first.
type CandidateListOptions struct {
	Offset int // candidates to skip: the NextOffset of the page before
}

// MergeCandidates returns one page of the pairs of fields that may mean the
// same. The ranking is recomputed for each page, so a pair may be repeated or
// missed. It requires the admin role in the workspace.
//
// It calls GET /current/workspace/{workspace_id}/metadata/fields/merge-candidates/.
func (f *Fields) MergeCandidates(
	ctx context.Context, workspace api.ID, list *CandidateListOptions, opts ...api.CallOption,
) (*CandidatePage, error) {
	const op = "metadata.Fields.MergeCandidates"
	offset := cmp.Or(list, &CandidateListOptions{}).Offset
	if offset < 0 {
		return nil, input.Fields[CandidateListOptions](op).Refuse("offset", "must be 0 or more", strconv.Itoa(offset))
	}
	q := url.Values{}
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	return call.Payload[CandidatePage](ctx, f.c, endpoint.MetadataFieldsMergeCandidates(workspace, q), opts)
}

// AllMergeCandidates returns the pairs of all pages of [Fields.MergeCandidates], from
// list.Offset on. It does not report whether the pairs have been computed.
func (f *Fields) AllMergeCandidates(
	ctx context.Context, workspace api.ID, list *CandidateListOptions, opts ...api.CallOption,
) iter.Seq2[*Candidate, error] {
	from := cmp.Or(list, &CandidateListOptions{}).Offset
	const op = "metadata.Fields.MergeCandidates"
	next := func(ctx context.Context, cursor string, opts []api.CallOption) (*CandidatePage, string, error) {
		offset := page.Offset(cursor, from) // cursors are offsets; the first one is ""
		p, err := f.MergeCandidates(ctx, workspace, &CandidateListOptions{offset}, opts...)
		if err != nil || p.NextOffset == nil {
			return p, "", err
		}
		return p, strconv.Itoa(*p.NextOffset), nil
	}
	pages := page.List[*CandidatePage, *Candidate]{
		Op: op, Fetch: next, Rows: func(p *CandidatePage) []*Candidate { return p.Candidates },
		Empty: page.ManyEmpty, // a page has the candidates among the pairs it examined, which may be none
	}
	return pages.All(ctx, opts)
}
