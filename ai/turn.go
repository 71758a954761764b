package ai

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
)

// TurnStatus says how far a turn has come. A value that is newer than this package
// passes through, and is waited on.
type TurnStatus string

// The statuses.
const (
	TurnStatusPending    TurnStatus = "pending"
	TurnStatusRunning    TurnStatus = "running"
	TurnStatusComplete   TurnStatus = "complete"    // there is an answer
	TurnStatusNeedsInput TurnStatus = "needs_input" // the agent asks back: answer by another turn of the thread
	TurnStatusCancelled  TurnStatus = "cancelled"
	TurnStatusFailed     TurnStatus = "failed"
	TurnStatusLost       TurnStatus = "lost"    // the server lost it: ask again
	TurnStatusErrored    TurnStatus = "errored" // not documented, but met
)

// Ended reports whether the turn will not change any more.
func (s TurnStatus) Ended() bool {
	return s == TurnStatusComplete || s == TurnStatusNeedsInput || s.Failed()
}

// Failed reports whether the turn ended with neither an answer nor a question.
func (s TurnStatus) Failed() bool {
	switch s {
	case TurnStatusCancelled, TurnStatusFailed, TurnStatusLost, TurnStatusErrored:
		return true
	default:
		return false
	}
}

// Turn is a question and what became of it. The answer and what belongs to it are
// there after [Turns.Get] and what is built on it alone.
type Turn struct {
	ID             api.OpaqueID
	ThreadID       api.OpaqueID
	Seq            int // its place in the thread, from 1
	Status         TurnStatus
	IdempotencyKey string
	Question       string
	Failure        *Failure // nil unless it failed
	Cost           Cost
	Created        api.Time
	Updated        api.Time

	Answer        string            // markdown; may be empty although the turn is complete
	Truncated     bool              // the answer was cut short, which readers should be told
	Citations     []*Citation       // where the answer is from
	References    []json.RawMessage // as they arrived
	Clarification *Clarification    // what the agent asks back, when it needs input
	Actions       []*Action         // what the agent did, in order

	// Members this version has no field for; those of the answer are called
	// "result.stars" and so on.
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Failure is what the server says of a turn that failed.
type Failure struct {
	Message string // for people
	Code    int64  // 0 if there is none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// UnmarshalJSON reads an object or a text.
func (f *Failure) UnmarshalJSON(b []byte) error {
	*f = Failure{}
	if jsontext.Value(b).Kind() == '"' {
		return jsonv2.Unmarshal(b, &f.Message, tolerant())
	}
	var m members
	if err := jsonv2.Unmarshal(b, &m, tolerant()); err != nil {
		return err
	}
	take(m, &f.Message, "message", "text")
	take(m, &f.Code, "code")
	f.Extra = m.rest()
	return nil
}

// Cost is what a turn or a thread has used up.
type Cost struct {
	Credits float64 `json:"credits"`
	Tokens  int64   `json:"tokens"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Clarification is what the agent asks back.
type Clarification struct {
	Type     string `json:"type"`
	Question string `json:"question"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Citation is where a part of an answer is from. Its form is not published: what
// could not be read is in Extra.
type Citation struct {
	Node    api.OpaqueID // the file or note
	Version api.OpaqueID
	Name    string
	Page    int // from 1; 0 for none
	Snippet string

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// UnmarshalJSON reads what such an object usually holds.
func (c *Citation) UnmarshalJSON(b []byte) error {
	*c = Citation{}
	var m members
	if jsontext.Value(b).Kind() == '"' { // the ID alone
		return jsonv2.Unmarshal(b, &c.Node, tolerant())
	}
	if err := jsonv2.Unmarshal(b, &m, tolerant()); err != nil {
		return err
	}
	take(m, &c.Node, "node_id", "nodeId", "file_id", "id")
	take(m, &c.Version, "version_id", "versionId")
	take(m, &c.Name, "name", "title", "filename", "file_name")
	take(m, &c.Page, "page", "page_number", "start_page")
	take(m, &c.Snippet, "snippet", "content_snippet", "text")
	c.Extra = m.rest()
	return nil
}

// ActionState says how far an [Action] has come. Unknown ones pass through.
type ActionState string

// The states.
const (
	ActionStateRunning   ActionState = "running"
	ActionStateDone      ActionState = "done"
	ActionStateFailed    ActionState = "failed"
	ActionStateCancelled ActionState = "cancelled"
)

// Action is one thing that the agent did on the way to its answer.
type Action struct {
	Seq          int               `json:"seq"`
	Label        string            `json:"label"` // for people
	State        ActionState       `json:"state"`
	AffectedRefs []json.RawMessage `json:"affected_refs"` // as they arrived
	Started      api.Time          `json:"started_at"`
	Ended        api.Time          `json:"ended_at"` // zero while it runs

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// turnMembers are those of a turn, but for its result, which a turn at the root of
// an answer shares with the envelope.
type turnMembers struct {
	TurnID         api.OpaqueID `json:"turn_id"`
	ID             api.OpaqueID `json:"id"`
	MessageID      api.OpaqueID `json:"message_id"`
	ThreadID       api.OpaqueID `json:"thread_id"`
	ChatID         api.OpaqueID `json:"chat_id"`
	Seq            int          `json:"seq"`
	Status         word         `json:"status"`
	State          word         `json:"state"`
	IdempotencyKey string       `json:"idempotency_key"`
	Query          turnQuery    `json:"query"`
	Failure        *Failure     `json:"error"`
	Cost           Cost         `json:"cost"`
	Created        api.Time     `json:"created_at"`
	Updated        api.Time     `json:"updated_at"`

	Actions       []*Action      `json:"actions"`
	Clarification *Clarification `json:"clarification"`
	Citations     []*Citation    `json:"citations"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// word is a text, in place of which a number may arrive.
type word string

func (w *word) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return jsonv2.UnmarshalDecode(dec, (*string)(w))
	}
	v, err := dec.ReadValue()
	if v.Kind() == '0' {
		*w = word(v)
	}
	return err
}

// turnQuery is a question, which may arrive as an object or alone.
type turnQuery struct{ text string }

func (q *turnQuery) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return jsonv2.UnmarshalDecode(dec, &q.text)
	}
	var w struct {
		Text string `json:"text"`
	}
	err := jsonv2.UnmarshalDecode(dec, &w)
	q.text = w.Text
	return err
}

// turnResult is what an ended turn came to. Where it is no object it is the
// envelope's, or nothing.
type turnResult struct {
	Answer        string            `json:"answer"`
	References    []json.RawMessage `json:"references"`
	Citations     []*Citation       `json:"citations"`
	Truncated     api.Bool          `json:"truncated"`
	Clarification *Clarification    `json:"clarification"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

func (r *turnResult) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		return dec.SkipValue()
	}
	type plain turnResult
	return jsonv2.UnmarshalDecode(dec, (*plain)(r))
}

// UnmarshalJSON reads a turn in any of the forms that occur.
func (t *Turn) UnmarshalJSON(b []byte) error { return jsonv2.Unmarshal(b, t, tolerant()) }

// UnmarshalJSONFrom does the same as UnmarshalJSON, with the decoder's options.
func (t *Turn) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var w struct {
		Members turnMembers `json:",embed,inline"`
		Result  turnResult  `json:"result"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &w); err != nil {
		return err
	}
	*t = *w.Members.turn()
	r := w.Result
	t.Answer, t.Truncated, t.References = r.Answer, bool(r.Truncated), r.References
	if r.Citations != nil {
		t.Citations = r.Citations
	}
	if r.Clarification != nil {
		t.Clarification = r.Clarification
	}
	if t.Answer == "" {
		take(t.Extra, &t.Answer, "text")
		t.Extra = members(t.Extra).rest()
	}
	if t.Clarification == nil && t.Status == TurnStatusNeedsInput {
		var c Clarification
		if take(t.Extra, &c.Question, "question") {
			t.Clarification, t.Extra = &c, members(t.Extra).rest()
		}
	}
	for name, value := range r.Extra {
		if t.Extra == nil {
			t.Extra = map[string]json.RawMessage{}
		}
		t.Extra["result."+name] = value
	}
	return nil
}

// turn returns what the members say.
func (m *turnMembers) turn() *Turn {
	t := &Turn{
		ID: firstOf(m.TurnID, m.ID, m.MessageID), ThreadID: firstOf(m.ThreadID, m.ChatID), Seq: m.Seq,
		Status: TurnStatus(firstOf(m.Status, m.State)), IdempotencyKey: m.IdempotencyKey, Question: m.Query.text, Failure: m.Failure,
		Cost: m.Cost, Created: m.Created, Updated: m.Updated,
		Actions: m.Actions, Clarification: m.Clarification, Citations: m.Citations, Extra: m.Extra,
	}
	return t
}

// firstOf returns the first that is not blank.
func firstOf[T ~string](all ...T) T {
	for _, v := range all {
		if v != "" {
			return v
		}
	}
	return ""
}
