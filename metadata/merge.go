package metadata

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
)

// Outcome is what a [Merging] came to.
type Outcome string

// The outcomes.
const (
	OutcomeUnknown       Outcome = ""               // the answer did not tell
	OutcomePossible      Outcome = "possible"       // of a pre-flight: a merge would be carried out
	OutcomeRefused       Outcome = "refused"        // nothing was or would be written; see Refusal
	OutcomeMerged        Outcome = "merged"         //
	OutcomeAlreadyMerged Outcome = "already merged" // earlier, into the same target
)

// Merging is a merge of two fields, or what one would do.
type Merging struct {
	Outcome Outcome
	Refusal *Refusal // nil unless Outcome is OutcomeRefused

	Source            string    // as the vocabulary spells it
	Target            string    // the field that the target stands for
	FilesAffected     *int      // files and notes with a value of the source; nil when the answer did not tell, as the next
	TargetFilesBefore *int      // those with a value of the target, before
	Snapshot          *Snapshot // nil when nothing is to be merged
}

// Refusal is why two fields are not merged.
type Refusal struct {
	Reason     RefusalReason `json:"reason"`
	Message    string        `json:"message"`            // for people
	ResolvesTo string        `json:"source_resolves_to"` // where the source went, of RefusalReasonSourceAlreadyMerged

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// RefusalReason says why two fields are not merged.
type RefusalReason string

// The reasons. Another one is newer than this package.
const (
	RefusalReasonTypeMismatch        RefusalReason = "merge_refused_type_mismatch"
	RefusalReasonUserAuthored        RefusalReason = "merge_refused_user_authored"
	RefusalReasonReservedName        RefusalReason = "merge_refused_reserved_name" // category and sub_category
	RefusalReasonSourceUnknown       RefusalReason = "merge_source_unknown"
	RefusalReasonSourceAlreadyMerged RefusalReason = "merge_source_already_merged" // into another field
	RefusalReasonTargetUnknown       RefusalReason = "merge_target_unknown"
)

// Snapshot is the state of two fields that a merge was judged by.
type Snapshot struct {
	SourceRevision int `json:"source_revision"`
	TargetRevision int `json:"target_revision"`
	GroupSize      int `json:"group_size"` // its meaning is not published

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Preflight tells what [Fields.Merge] would do, and writes nothing. Its counts are
// no promise: files may come and go before the merge.
//
// It sends the request of Merge without the confirmation, and fails as that does.
func (f *Fields) Preflight(ctx context.Context, workspace api.ProfileID, source, target string, opts ...api.CallOption) (*Merging, error) {
	r, err := mergeRequest(workspace, mergeBody{Source: source, Target: target})
	if err != nil {
		return nil, err
	}
	r.Replay = api.ReplaySafe
	return f.merge(ctx, r, false, opts)
}

// Merge folds a field into another, for ever: the name of the source stands for the
// target from then on. Values stay filed under the source, and filters on either
// name find both. Run [Fields.Preflight] first.
//
// What speaks against a merge is no error, but a [Merging] with [OutcomeRefused]:
// nothing was written then. The source must be the name of a field, the target may
// also be one that was merged away. Names are taken as they are, blanks included,
// and have at most 64 characters.
//
// It takes an administrator of the workspace. [api.ErrInvalid] is a refusal
// without a reason, for good; [api.ErrUnavailable] with status 503 means that
// nothing was written. After any other error run Preflight again: the merge may
// have been carried out, and is not repeated by itself.
//
// It calls POST /current/workspace/{workspace_id}/metadata/fields/merge/.
func (f *Fields) Merge(ctx context.Context, workspace api.ProfileID, source, target string, opts ...api.CallOption) (*Merging, error) {
	r, err := mergeRequest(workspace, mergeBody{source, target, true})
	if err != nil {
		return nil, err
	}
	return f.merge(ctx, r, true, opts)
}

type mergeBody struct {
	Source  string `json:"source"`
	Target  string `json:"target"`
	Confirm bool   `json:"confirm"`
}

// mergeWire is a Merging as it arrives.
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

func mergeRequest(workspace api.ProfileID, body mergeBody) (*api.Request, error) {
	const op = "metadata.Fields.Merge"
	if err := checkName(op, "source", body.Source); err != nil {
		return nil, err
	}
	if err := checkName(op, "target", body.Target); err != nil {
		return nil, err
	}
	return &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/workspace/{workspace_id}/metadata/fields/merge/", string(workspace)),
		Body: api.JSON(body), Replay: api.ReplayOnce,
	}, nil
}

func (f *Fields) merge(ctx context.Context, r *api.Request, confirmed bool, opts []api.CallOption) (*Merging, error) {
	a, err := call.Do[mergeWire](ctx, f.c, r, opts)
	if err != nil {
		return nil, err
	}
	m := &Merging{
		Source: a.Source, Target: a.Target, FilesAffected: a.FilesAffected, TargetFilesBefore: a.TargetFilesBefore, Snapshot: a.Snapshot,
	}
	m.Outcome, m.Refusal = a.outcome(confirmed)
	return m, nil
}

// outcome tells a success from a refusal, which have the same status.
func (w *mergeWire) outcome(confirmed bool) (Outcome, *Refusal) {
	switch w.WouldRefuse.Kind() {
	case '{':
		r := new(Refusal)
		if jsonv2.Unmarshal(w.WouldRefuse, r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
			r = &Refusal{Extra: map[string]json.RawMessage{"would_refuse": json.RawMessage(w.WouldRefuse)}}
		}
		return OutcomeRefused, r
	case 'n', jsontext.KindInvalid: // nothing speaks against it, or nothing was said
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

// Candidate is a pair of fields that may be one recorded twice, in the direction in
// which to merge them.
type Candidate struct {
	Source string          `json:"source"`
	Target string          `json:"target"`
	Reason CandidateReason `json:"reason"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// CandidateReason says why two fields may be one.
type CandidateReason string

// The reasons. Another one is newer than this package.
const (
	CandidateReasonSpelling CandidateReason = "separator_or_case_variant" // the same letters
	CandidateReasonConcept  CandidateReason = "semantic_same_concept"     // a guess: let somebody look at it
)

// UnmarshalJSONFrom reads the names from source and target, else from source_field
// and target_field, each of which may be a field instead of its name.
func (c *Candidate) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain Candidate
	*c = Candidate{}
	w := struct {
		Candidate   *plain    `json:",embed,inline"`
		Source      fieldName `json:"source"`
		Target      fieldName `json:"target"`
		SourceField fieldName `json:"source_field"`
		TargetField fieldName `json:"target_field"`
	}{Candidate: (*plain)(c)}
	err := jsonv2.UnmarshalDecode(dec, &w)
	c.Source, c.Target = string(w.Source), string(w.Target)
	if c.Source == "" {
		c.Source = string(w.SourceField)
	}
	if c.Target == "" {
		c.Target = string(w.TargetField)
	}
	return err
}

// fieldName is the name of a field, given as text or as a field.
type fieldName string

func (n *fieldName) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		return jsonv2.UnmarshalDecode(dec, (*string)(n))
	}
	var f struct {
		Name string `json:"name"`
	}
	err := jsonv2.UnmarshalDecode(dec, &f)
	*n = fieldName(f.Name)
	return err
}

// CandidatePage is one page of candidates, those first that change least.
//
// An empty one need not be the end. There is nothing to merge when Scanned is set
// and Examined has reached Total; without Scanned nobody has looked yet.
type CandidatePage struct {
	Candidates []*Candidate `json:"items"`
	NextOffset *int         `json:"next_offset"`        // nil after the last page
	Scanned    bool         `json:"vocabulary_scanned"` // whether anybody has looked for candidates
	Examined   int          `json:"proposals_examined"` // pairs that were looked at, up to the end of this page
	Total      int          `json:"proposals_total"`    // pairs that look alike
}

// MergeCandidates returns one page of the pairs of fields that may be one recorded
// twice. The ranking is made anew for each page, so that a pair may come twice or
// not at all. It takes an administrator of the workspace.
//
// It calls GET /current/workspace/{workspace_id}/metadata/fields/merge-candidates/.
func (f *Fields) MergeCandidates(ctx context.Context, workspace api.ProfileID, offset int, opts ...api.CallOption) (*CandidatePage, error) {
	const op = "metadata.Fields.MergeCandidates"
	if offset < 0 {
		return nil, &api.InputError{Op: op, Field: "offset", Rule: "must be 0 or more", Got: strconv.Itoa(offset)}
	}
	q := url.Values{}
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	return call.Do[CandidatePage](ctx, f.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/workspace/{workspace_id}/metadata/fields/merge-candidates/", string(workspace)),
		Query: q, Replay: api.ReplaySafe,
	}, opts)
}

// AllMergeCandidates returns the pairs that [Fields.MergeCandidates] has pages of.
// Where there are none it does not tell whether anybody has looked; a page does.
func (f *Fields) AllMergeCandidates(ctx context.Context, workspace api.ProfileID, opts ...api.CallOption) iter.Seq2[*Candidate, error] {
	const op = "metadata.Fields.MergeCandidates"
	pages := page.Calls(ctx, op, "", opts, func(ctx context.Context, cursor string, opts []api.CallOption) (*CandidatePage, string, error) {
		p, err := f.MergeCandidates(ctx, workspace, page.Offset(cursor, 0), opts...)
		if err != nil || p.NextOffset == nil {
			return p, "", err
		}
		return p, strconv.Itoa(*p.NextOffset), nil
	})
	return page.Rows(pages, func(p *CandidatePage) []*Candidate { return p.Candidates })
}
