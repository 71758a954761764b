package ai

import (
	"encoding/json"
	"reflect"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
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
	ID             api.OpaqueID `json:"turn_id" also:"id,message_id"`
	ThreadID       api.OpaqueID `json:"thread_id" also:"chat_id"`
	Seq            int          `json:"seq"` // its position in the thread, from 1
	Status         TurnStatus   `json:"status" also:"state"`
	IdempotencyKey string       `json:"idempotency_key"`
	Question       string
	Failure        *Failure `json:"error"` // nil unless it failed
	Cost           Cost     `json:"cost"`
	Created        api.Time `json:"created_at"`
	Updated        api.Time `json:"updated_at"`

	Answer        string            // markdown; may be "" for a complete turn
	Truncated     bool              // the answer was cut short; tell the reader
	Citations     []*Citation       `json:"citations"` // the sources of the answer
	References    []json.RawMessage // in a form that is not published
	Clarification *Clarification    `json:"clarification"` // the question of the agent, with TurnStatusNeedsInput
	Actions       []*Action         `json:"actions"`       // what the agent did, in order

	// Members this version has no field for; those of the result have the prefix
	// "result.".
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Failure says why a turn failed.
type Failure struct {
	Message string `json:"message" also:"text" scalar:"true"` // for display
	Code    int64  `json:"code"`                              // 0 means none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
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
	Node    api.OpaqueID `json:"node_id" also:"nodeId,file_id,id" scalar:"true"` // the file or note (assumed name)
	Version api.OpaqueID `json:"version_id" also:"versionId"`                    // (assumed name)
	Name    string       `json:"name" also:"title,filename,file_name"`           // (assumed name)
	Page    int          `json:"page" also:"page_number,start_page"`             // from 1; 0 means none (assumed name)
	Snippet string       `json:"snippet" also:"content_snippet,text"`            // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"`
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

// The result of a turn is an object of its own; its question may be one.
var _ = lenient.Fix(func(t *Turn) {
	var query struct {
		Text string `json:"text"`
	}
	if !lenient.Take(t.Extra, &t.Question, "query") && lenient.Take(t.Extra, &query, "query") {
		t.Question = query.Text
	}
	if raw, found := t.Extra["result"]; found {
		delete(t.Extra, "result")
		if r, err := call.Value[turnResult](raw); err == nil {
			t.take(r)
		}
	}
	if t.Failure != nil && reflect.ValueOf(*t.Failure).IsZero() { // an empty list stands for none
		t.Failure = nil
	}
	if t.Answer == "" {
		lenient.Take(t.Extra, &t.Answer, "text")
	}
	if t.Clarification == nil && t.Status == TurnStatusNeedsInput {
		var c Clarification
		if lenient.Take(t.Extra, &c.Question, "question") {
			t.Clarification = &c
		}
	}
})

// take sets the fields that are in a result.
func (t *Turn) take(r *turnResult) {
	t.Answer, t.Truncated, t.References = r.Answer, bool(r.Truncated), r.References
	if r.Citations != nil {
		t.Citations = r.Citations
	}
	if r.Clarification != nil {
		t.Clarification = r.Clarification
	}
	for name, value := range r.Extra {
		t.Extra["result."+name] = value
	}
}
