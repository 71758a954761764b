package ai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID   = api.ProfileID("4012345678901234567")
	shareID  = api.ProfileID("5012345678901234567")
	threadID = api.OpaqueID("9iacg-qx2wz-7fm3n-e5tbd-a1kcv-4h6m")
	turnID   = api.OpaqueID("9qk2t-mz4xw-1rb7c-y5nfp-d3hgs-8j0p")
	nodeID   = api.OpaqueID("2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s")
)

var room, share = api.Workspace(roomID), api.Share(shareID)

// scripted answers calls one after the other, the last answer again and again,
// and keeps the requests.
type scripted struct {
	answers []any // a string, an error, or an opening

	mu   sync.Mutex
	sent []*api.Request
}

func script(answers ...any) *scripted { return &scripted{answers: answers} }

func (s *scripted) take(r *api.Request) any {
	if err := r.Path.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, r)
	return s.answers[min(len(s.sent), len(s.answers))-1]
}

func (s *scripted) Call(_ context.Context, r *api.Request, out any) error {
	switch a := s.take(r).(type) {
	case string:
		return json.Unmarshal([]byte(a), out)
	case error:
		return a
	default:
		return fmt.Errorf("a call of %s got a %T", r.Op, a)
	}
}

func (s *scripted) Open(_ context.Context, r *api.Request) (*http.Response, error) {
	switch a := s.take(r).(type) {
	case opening:
		return &http.Response{
			StatusCode: http.StatusOK, ContentLength: int64(len(a.body)), Body: io.NopCloser(strings.NewReader(a.body)),
			Header: http.Header{"Content-Type": {a.kind}},
		}, nil
	case error:
		return nil, a
	default:
		return nil, fmt.Errorf("an opening of %s got a %T", r.Op, a)
	}
}

// opening is an answer with a body of some kind.
type opening struct{ kind, body string }

// last returns the request that was sent last.
func (s *scripted) last() *api.Request { return s.sent[len(s.sent)-1] }

var errReached = errors.New("the call was sent")

// unreachable is where nothing may arrive.
func unreachable() *ai.Service { return ai.New(script(errReached)) }

// refusedField returns the field an error blames, or the error, which no turn is
// to blame for.
func refusedField(err error) string {
	if _, ok := errors.AsType[*ai.TurnError](err); ok {
		return fmt.Sprint(err)
	}
	if e, ok := errors.AsType[*api.InputError](err); ok && errors.Is(err, api.ErrInvalid) {
		return e.Field
	}
	return fmt.Sprint(err)
}

// formOf returns the body of a request.
func formOf(t *testing.T, r *api.Request) url.Values {
	t.Helper()
	if r.Body == nil {
		return nil
	}
	kind, content, err := api.Encode(r.Body)
	if err != nil || kind != "application/x-www-form-urlencoded" {
		t.Fatalf("the body of %s is %q, %v", r.Op, kind, err)
	}
	return formText(t, string(content))
}

func formText(t *testing.T, text string) url.Values {
	t.Helper()
	form, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// stream returns the events of a scripted stream, which must end without an error.
func (s *scripted) stream(t *testing.T, opts ...api.CallOption) (all []*ai.StreamEvent) {
	t.Helper()
	for e, err := range ai.New(s).Turns.Stream(t.Context(), room, threadID, turnID, nil, opts...) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// text is an opening of an event stream.
func text(body string) opening { return opening{"text/event-stream", body} }

const (
	running  = `{"message":{"status":"running"}}`
	complete = `{"message":{"status":"complete"}}`
	activity = `{"lastactivity":"2026-09-01 10:00:00.000000 UTC"}`
)
