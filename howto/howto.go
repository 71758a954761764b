// Package howto asks the platform questions about its usage.
//
//	reply, err := client.HowTo.Ask(ctx, howto.Question{Text: "How do I list metadata fields?"})
//	if err != nil {
//		log.Fatal(err)
//	}
//	switch r := reply.(type) {
//	case *howto.Answer:
//		fmt.Print(r.Text)
//	case *howto.Clarification:
//		fmt.Println(r.Questions)
//	}
package howto

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Service asks questions. It is the HowTo field of a fastio.Client, and safe
// for concurrent use; concurrent questions are sent one after the other.
type Service struct {
	c    api.Client
	lock chan struct{} // held by the current question
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service { return &Service{c: c, lock: make(chan struct{}, 1)} }

// Surface selects the form of the steps of an answer.
type Surface string

// Surfaces of the platform. Other values have at most 16 characters and mean SurfaceREST.
const (
	SurfaceREST Surface = ""     // requests
	SurfaceMCP  Surface = "mcp"  // tool calls of the MCP server
	SurfaceCode Surface = "code" // calls of an agent that writes code
)

// Question is a question about the platform. Only Text is required.
type Question struct {
	Text    string  `wire:"question"` // 1 to 2,000 characters, not blank
	Context string  // background data, not instructions: at most 8,000 characters
	Surface Surface // default: SurfaceREST
	Client  string  // the name of the client: at most 100 characters
}

// Reply is an [*Answer] or a [*Clarification].
//
//sumtype:decl
type Reply interface{ reply() }

// Answer is the answer to a question.
type Answer struct {
	Text      string   // markdown
	Topics    []string // topics of the documentation that it is based on; may be empty
	Escalated bool     // always false today

	Extra map[string]json.RawMessage // members this version has no field for
}

func (*Answer) reply() {}

// Clarification is a list of questions to answer first. Calls are independent:
// ask again, with the answers in Text or Context.
type Clarification struct {
	Questions []string // at least one

	Extra map[string]json.RawMessage // members this version has no field for
}

func (*Clarification) reply() {}

// ErrBusy is returned if another client of the same user is asking: the
// platform answers one question at a time and does not queue. It is not an
// [api.ErrRateLimited], as the time until the next attempt is unknown. The
// error is an [*api.Error] as well.
var ErrBusy = errors.New("another question is in progress")

const (
	maxText    = 2000
	maxContext = 8000
	maxSurface = 16
	maxClient  = 100
)

// check returns an error for a question that the platform would reject.
func (q *Question) check(op string) error {
	args := input.Fields[Question](op)
	if strings.TrimSpace(q.Text) == "" {
		return args.Refuse("question", "must not be blank", "")
	}
	for _, f := range []struct {
		name, text string
		most       int
	}{
		{"question", strings.TrimSpace(q.Text), maxText},
		{"context", q.Context, maxContext},
		{"surface", string(q.Surface), maxSurface},
		{"client", q.Client, maxClient},
	} {
		if n := utf8.RuneCountInString(f.text); n > f.most {
			return args.Refuse(f.name, "must be at most "+strconv.Itoa(f.most)+" characters", strconv.Itoa(n)+" characters")
		}
		if !utf8.ValidString(f.text) {
			return args.Refuse(f.name, "must be UTF-8", "")
		}
	}
	return nil
}

// form returns the question as a form, without empty fields.
func (q *Question) form() api.Form {
	f := api.Form{}
	for name, text := range map[string]string{
		"question": q.Text, "context": q.Context, "surface": string(q.Surface), "client": q.Client,
	} {
		if text != "" {
			url.Values(f).Set(name, text)
		}
	}
	return f
}

// replyWire is the response to a question, of either kind.
type replyWire struct {
	Status    string   `json:"status"`
	Answer    *string  `json:"answer"`
	Topics    []string `json:"topics_used"`
	Escalated bool     `json:"escalated"`
	Questions []string `json:"questions"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Ask returns an answer, or the questions that must be answered first. It is free and
// requires a signed-in user only. It waits for earlier questions of the same Service,
// and is retried only if it was not processed.
//
// Errors: [ErrBusy] if another client of the user is asking; [api.ErrRateLimited]
// if the user has asked too often; [api.ErrInvalid] with [codes.HowToMalformed];
// [api.ErrNotFound] with [codes.HowToUserNotFound]; [api.ErrUnavailable] with
// [codes.HowToNoIndex] or [codes.HowToNoAnswer], after which the question may be
// asked again.
//
// It calls POST /current/how-to/.
func (s *Service) Ask(ctx context.Context, q Question, opts ...api.CallOption) (Reply, error) {
	const op = "howto.Ask"
	if err := q.check(op); err != nil {
		return nil, err
	}
	if err := call.Check(ctx, s.c, op); err != nil {
		return nil, err
	}
	if d := api.Resolve(opts).Timeout; d > 0 { // includes the wait for earlier questions
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	select {
	case s.lock <- struct{}{}: // one question at a time: the platform refuses a second one
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return nil, call.FailedWith(op, "waiting for an earlier question", ctx.Err())
	}
	r := endpoint.HowToAsk(q.form())
	a, err := call.Payload[replyWire](ctx, s.c, r, opts)
	if err != nil {
		return nil, busy(err)
	}
	switch {
	case a.Answer != nil && a.Status != "needs_clarification":
		return &Answer{*a.Answer, a.Topics, a.Escalated, a.Extra}, nil
	case len(a.Questions) > 0:
		return &Clarification{a.Questions, a.Extra}, nil
	}
	return nil, errors.New("fastio: " + op + ": the response holds neither an answer nor a question")
}

// busy returns err, as an [ErrBusy] if another question of the user is in
// progress.
func busy(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == codes.HowToBusy {
		return &busyError{e}
	}
	return err
}

// busyError is an [*api.Error] that matches [ErrBusy] only.
type busyError struct{ err *api.Error }

func (e *busyError) Error() string { return e.err.Error() }

func (e *busyError) Is(target error) bool { return target == ErrBusy }

// As gives errors.As the [*api.Error] of the platform.
func (e *busyError) As(target any) bool {
	to, ok := target.(**api.Error)
	if ok {
		*to = e.err
	}
	return ok
}
