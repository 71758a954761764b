// Package howto asks the platform how something is done with it: the name is the
// platform's own.
//
//	reply, err := client.HowTo.Ask(ctx, howto.Question{Text: "How do I share a folder with a guest?"})
//	if err != nil {
//		return err
//	}
//	switch r := reply.(type) {
//	case *howto.Answer:
//		fmt.Println(r.Text)
//	case *howto.Clarification:
//		fmt.Println(r.Questions)
//	}
package howto

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Service asks. Get one from the HowTo field of a fastio.Client. It is safe for
// concurrent use, but has one question under way at a time: others wait.
type Service struct {
	c    api.Caller
	turn chan struct{} // held by the question under way
}

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service { return &Service{c: c, turn: make(chan struct{}, 1)} }

// Surface says what the steps of an answer are to be made of.
type Surface string

// The surfaces. Another one, of at most 16 characters, is answered as "" is.
const (
	SurfaceREST Surface = ""     // requests
	SurfaceMCP  Surface = "mcp"  // tool calls of the MCP server
	SurfaceCode Surface = "code" // calls of an agent that writes code
)

// Question is what is asked. All but Text may be left at zero.
type Question struct {
	Text    string  // 1 to 2,000 characters, not blank
	Context string  // what the asker knows already, at most 8,000 characters; never taken for instructions
	Surface Surface // "" is SurfaceREST
	Client  string  // the program that asks, at most 100 characters
}

// Reply is an [*Answer] or a [*Clarification].
//
//sumtype:decl
type Reply interface{ reply() }

// Answer tells how it is done.
type Answer struct {
	Text      string   // markdown
	Topics    []string // of the documentation, that it draws on; may be empty
	Escalated bool     // false today

	Extra map[string]json.RawMessage // members this version has no field for
}

func (*Answer) reply() {}

// Clarification asks back. No state is kept: ask again, with a Text or a Context
// that answers the questions.
type Clarification struct {
	Questions []string // at least one

	Extra map[string]json.RawMessage // members this version has no field for
}

func (*Clarification) reply() {}

// ErrBusy says that another question of the same user is under way, of another
// client: the platform answers one at a time and does not queue. It is no
// [api.ErrRateLimited], and there is no telling how long it will take. The
// [api.Error] is there as well.
var ErrBusy = errors.New("another question is under way")

const codeBusy = 145858

const (
	maxText    = 2000
	maxContext = 8000
	maxSurface = 16
	maxClient  = 100
)

// check refuses what no server takes.
func (q *Question) check(op string) error {
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: op, Field: field, Rule: rule, Got: got}
	}
	if strings.TrimSpace(q.Text) == "" {
		return refuse("question", "must not be blank", "")
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
			return refuse(f.name, "must be at most "+strconv.Itoa(f.most)+" characters", strconv.Itoa(n)+" characters")
		}
		if !utf8.ValidString(f.text) {
			return refuse(f.name, "must be UTF-8", "")
		}
	}
	return nil
}

// form returns the question as it is sent.
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

// replyWire is either kind of reply as it arrives.
type replyWire struct {
	Status    string   `json:"status"`
	Answer    *string  `json:"answer"`
	Topics    []string `json:"topics_used"`
	Escalated bool     `json:"escalated"`
	Questions []string `json:"questions"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Ask asks and returns the answer, or the questions that have to be answered
// first. It is free and open to everyone who is signed in; it takes the time of an
// AI, and waits for earlier questions of the same Service.
//
// A question of the same user elsewhere is [ErrBusy]; too many of them within a
// while are [api.ErrRateLimited]. [api.ErrUnavailable] may pass: such questions
// may be asked again, which is not done by itself.
//
// It calls POST /current/how-to/.
func (s *Service) Ask(ctx context.Context, q Question, opts ...api.CallOption) (Reply, error) {
	const op = "howto.Ask"
	if err := q.check(op); err != nil {
		return nil, err
	}
	if d := api.Resolve(opts).Timeout; d > 0 { // which covers the wait as well
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r := &api.Request{Op: op, Method: http.MethodPost, Path: api.Path("/current/how-to/"), Body: q.form(), Replay: api.ReplayOnce}
	a, err := call.Do[replyWire](ctx, s.c, r, opts)
	if err != nil {
		return nil, busy(err)
	}
	switch {
	case r.Options.Markdown != nil:
		return new(Answer), nil
	case a.Answer != nil && a.Status != "needs_clarification":
		return &Answer{*a.Answer, a.Topics, a.Escalated, a.Extra}, nil
	case len(a.Questions) > 0:
		return &Clarification{a.Questions, a.Extra}, nil
	}
	return nil, errors.New("fastio: " + op + ": the answer holds neither an answer nor a question")
}

// busy tells the refusal apart that looks like one of rate limits.
func busy(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == codeBusy {
		return &busyError{e}
	}
	return err
}

// busyError is an *api.Error that is ErrBusy alone.
type busyError struct{ err *api.Error }

func (e *busyError) Error() string { return e.err.Error() }

func (e *busyError) Is(target error) bool { return target == ErrBusy }

func (e *busyError) As(target any) bool {
	to, ok := target.(**api.Error)
	if ok {
		*to = e.err
	}
	return ok
}
