package ai

import (
	"cmp"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/lenient"
)

// TurnStatus is the state of a turn. Unknown values pass through, and are
// waited on.
type TurnStatus string

// The statuses.
const (
	TurnStatusPending    TurnStatus = "pending"
	TurnStatusRunning    TurnStatus = "running"
	TurnStatusComplete   TurnStatus = "complete"    // with an answer
	TurnStatusNeedsInput TurnStatus = "needs_input" // with a Clarification: answer it with another turn of the thread
	TurnStatusCancelled  TurnStatus = "cancelled"
	TurnStatusFailed     TurnStatus = "failed"
	TurnStatusLost       TurnStatus = "lost"    // lost by the server: ask again
	TurnStatusErrored    TurnStatus = "errored" // not documented
)

// Ended reports whether the status is final.
func (s TurnStatus) Ended() bool {
	return s == TurnStatusComplete || s == TurnStatusNeedsInput || s.Failed()
}

// Failed reports whether the turn ended without an answer or a clarification.
func (s TurnStatus) Failed() bool {
	switch s {
	case TurnStatusCancelled, TurnStatusFailed, TurnStatusLost, TurnStatusErrored:
		return true
	default:
		return false
	}
}

// Turn is a question and its answer. Only [Turns.Get], and the calls based on
// it, return the answer and the fields after it.
type Turn struct {
	ID             api.OpaqueID
	ThreadID       api.OpaqueID
	Seq            int // its position in the thread, from 1
	Status         TurnStatus
	IdempotencyKey string
	Question       string
	Failure        *Failure // nil unless it failed
	Cost           Cost
	Created        api.Time
	Updated        api.Time

	Answer        string            // markdown; may be "" for a complete turn
	Truncated     bool              // the answer was cut short; tell the reader
	Citations     []*Citation       // the sources of the answer
	References    []json.RawMessage // in a form that is not published
	Clarification *Clarification    // the question of the agent, with TurnStatusNeedsInput
	Actions       []*Action         // what the agent did, in order

	// Members this version has no field for; those of the result have the prefix
	// "result.".
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Failure says why a turn failed.
type Failure struct {
	Message string // for display
	Code    int64  // 0 means none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// UnmarshalJSON reads an object or a string.
func (f *Failure) UnmarshalJSON(b []byte) error {
	*f = Failure{}
	if jsontext.Value(b).Kind() == '"' {
		return jsonv2.Unmarshal(b, &f.Message, lenient.Options())
	}
	var m lenient.Members
	if err := jsonv2.Unmarshal(b, &m, lenient.Options()); err != nil {
		return err
	}
	lenient.Take(m, &f.Message, "message", "text")
	lenient.Take(m, &f.Code, "code")
	f.Extra = m.Rest()
	return nil
}

// Cost is the cost of a turn or thread.
type Cost struct {
	Credits float64 `json:"credits"`
	Tokens  int64   `json:"tokens"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Clarification is a question of the agent.
type Clarification struct {
	Type     string `json:"type"`
	Question string `json:"question"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Citation is a source of an answer. Its form is not published: unknown members
// are in Extra.
type Citation struct {
	Node    api.OpaqueID // the file or note
	Version api.OpaqueID
	Name    string
	Page    int // from 1; 0 means none
	Snippet string

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// UnmarshalJSON reads the likely members.
func (c *Citation) UnmarshalJSON(b []byte) error {
	*c = Citation{}
	var m lenient.Members
	if jsontext.Value(b).Kind() == '"' { // the ID only
		return jsonv2.Unmarshal(b, &c.Node, lenient.Options())
	}
	if err := jsonv2.Unmarshal(b, &m, lenient.Options()); err != nil {
		return err
	}
	lenient.Take(m, &c.Node, "node_id", "nodeId", "file_id", "id")     // (assumed name)
	lenient.Take(m, &c.Version, "version_id", "versionId")             // (assumed name)
	lenient.Take(m, &c.Name, "name", "title", "filename", "file_name") // (assumed name)
	lenient.Take(m, &c.Page, "page", "page_number", "start_page")      // (assumed name)
	lenient.Take(m, &c.Snippet, "snippet", "content_snippet", "text")  // (assumed name)
	c.Extra = m.Rest()
	return nil
}

// ActionState is the state of an [Action]. Unknown values pass through.
type ActionState string

// The states.
const (
	ActionStateRunning   ActionState = "running"
	ActionStateDone      ActionState = "done"
	ActionStateFailed    ActionState = "failed"
	ActionStateCancelled ActionState = "cancelled"
)

// Action is one step of the agent.
type Action struct {
	Seq          int               `json:"seq"`
	Label        string            `json:"label"` // for display
	State        ActionState       `json:"state"`
	AffectedRefs []json.RawMessage `json:"affected_refs"` // in a form that is not published
	Started      api.Time          `json:"started_at"`
	Ended        api.Time          `json:"ended_at"` // zero while running

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// turnMembers are those of a turn without its result, whose name is that of the
// envelope if the turn is at the root.
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

// word is a string, or a number in its place.
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

// turnQuery is a question, as an object or a string.
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

// turnResult is the result of an ended turn. A value that is not an object is
// that of the envelope.
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

// UnmarshalJSON reads all forms of a turn.
func (t *Turn) UnmarshalJSON(b []byte) error { return jsonv2.Unmarshal(b, t, lenient.Options()) }

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
		lenient.Take(t.Extra, &t.Answer, "text")
		t.Extra = lenient.Members(t.Extra).Rest()
	}
	if t.Clarification == nil && t.Status == TurnStatusNeedsInput {
		var c Clarification
		if lenient.Take(t.Extra, &c.Question, "question") {
			t.Clarification, t.Extra = &c, lenient.Members(t.Extra).Rest()
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

// turn returns the turn of the members.
func (m *turnMembers) turn() *Turn {
	return &Turn{
		ID: cmp.Or(m.TurnID, m.ID, m.MessageID), ThreadID: cmp.Or(m.ThreadID, m.ChatID), Seq: m.Seq,
		Status: TurnStatus(cmp.Or(m.Status, m.State)), IdempotencyKey: m.IdempotencyKey, Question: m.Query.text,
		Failure: m.Failure, Cost: m.Cost, Created: m.Created, Updated: m.Updated,
		Actions: m.Actions, Clarification: m.Clarification, Citations: m.Citations, Extra: m.Extra,
	}
}
