package howto_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const answer = `{"result":true,"status":"answer","answer":"Press *Share*.","escalated":false,"topics_used":["shares"]}`

func TestInvalidInputIsRejected(t *testing.T) {
	t.Parallel()
	s := howto.New(stub.Answer(answer))
	refused := map[string][]error{}
	for field, questions := range map[string][]howto.Question{
		"question": {{}, {Text: " \n"}, {Text: strings.Repeat("ü", 2001)}, {Text: "\xff"}},
		"context":  {{Text: "x", Context: strings.Repeat("ü", 8001)}, {Text: "x", Context: "\xff"}},
		"surface":  {{Text: "x", Surface: "seventeen letters"}},
		"client":   {{Text: "x", Client: strings.Repeat("ü", 101)}},
	} {
		for _, q := range questions {
			refused[field] = append(refused[field], stub.Err(s.Ask(t.Context(), q)))
		}
	}
	stub.Refused(t, refused)
	for _, q := range []howto.Question{
		{Text: " " + strings.Repeat("ü", 2000) + "\n", Context: strings.Repeat("ü", 8000)},
		{Text: "x", Surface: "sixteen letters!"},
	} {
		if _, err := s.Ask(t.Context(), q); err != nil {
			t.Error(err)
		}
	}
}

func TestRepliesDecoded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer string
		want   howto.Reply
	}{
		"an answer of a new kind": {`{"result":true,"status":"cached","answer":"So."}`, &howto.Answer{Text: "So."}},
		"a clarification with a text": {
			`{"result":true,"status":"needs_clarification","questions":["Which?"],"answer":""}`,
			&howto.Clarification{Questions: []string{"Which?"}},
		},
		"neither": {`{"result":true,"status":"answer"}`, nil},
	} {
		s := howto.New(stub.Answer(tc.answer))
		got, err := s.Ask(t.Context(), howto.Question{Text: "How?"})
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" || (err == nil) != (tc.want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// A concurrent question is not a rate limit with a known end.
func TestConcurrentQuestionIsErrBusy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refusal       *api.Error
		busy, limited bool
	}{
		"another question": {&api.Error{Op: "howto.Ask", Status: 429, Code: 145858, Text: "Busy."}, true, false},
		"the rate limit":   {&api.Error{Op: "howto.Ask", Status: 429, Code: 10368, Text: "Slow down."}, false, true},
		"an outage": {
			&api.Error{Op: "howto.Ask", Status: 503, Code: codes.HowToNoIndex, Text: "No index."}, false, false,
		},
	} {
		s := howto.New(stub.Caller(func(context.Context, *api.Request, any) error {
			return fmt.Errorf("sent: %w", tc.refusal)
		}))
		_, err := s.Ask(t.Context(), howto.Question{Text: "How?"})
		if errors.Is(err, howto.ErrBusy) != tc.busy || errors.Is(err, api.ErrRateLimited) != tc.limited {
			t.Errorf("%s: %v", name, err)
		}
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e != tc.refusal || !strings.Contains(err.Error(), tc.refusal.Text) {
			t.Errorf("%s: %v does not hold %v", name, err, tc.refusal)
		}
	}
}

func TestQuestionsAreSerialized(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{}, 1)
		s := howto.New(stub.Caller(func(_ context.Context, _ *api.Request, out any) error {
			select {
			case asked <- struct{}{}:
			default:
				t.Error("two questions at a time")
			}
			time.Sleep(time.Second)
			<-asked
			return json.Unmarshal([]byte(answer), out)
		}))
		start := time.Now()
		done := make(chan error)
		for range 5 {
			go func() { _, err := s.Ask(t.Context(), howto.Question{Text: "How?"}); done <- err }()
		}
		for range 5 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestWaitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := howto.New(stub.Caller(func(_ context.Context, _ *api.Request, out any) error {
			time.Sleep(time.Minute)
			return json.Unmarshal([]byte(answer), out)
		}))
		go func() { _, _ = s.Ask(t.Context(), howto.Question{Text: "How?"}) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Ask(ctx, howto.Question{Text: "Why?"})
		const text = "fastio: howto.Ask: waiting for an earlier question: context deadline exceeded"
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != text {
			t.Errorf("got %v", err)
		}
		if _, err := s.Ask(
			t.Context(), howto.Question{Text: "Why?"}, api.WithTimeout(time.Second),
		); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if _, err := s.Ask(t.Context(), howto.Question{Text: "Why?"}); err != nil {
			t.Error(err)
		}
	})
}
