package ai_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

func (o *office) answer(t *testing.T, text string, options *ai.AskOptions) (*ai.Turn, error) {
	t.Helper()
	return o.client.AI.Ask(t.Context(), o.room, ai.Question{Text: text}, options)
}

// keys returns the idempotency keys of the calls of op.
func (o *office) keys(t *testing.T, op string) (all []string) {
	t.Helper()
	for _, r := range o.of(op) {
		all = append(all, formText(t, string(r.Body)).Get("idempotency_key"))
	}
	return all
}

func (o *office) count(op string) int { return len(o.of(op)) }

func (o *office) of(op string) []seed.Request {
	return slices.DeleteFunc(o.Requests(), func(r seed.Request) bool { return r.Op != op })
}

// hasOneThread requires that there is one thread with so many turns.
func (o *office) hasOneThread(t *testing.T, turns int) {
	t.Helper()
	p, err := o.client.AI.Threads.List(t.Context(), o.room, nil)
	if err != nil || len(p.Threads) != 1 || *p.Threads[0].TurnCount != turns {
		t.Errorf("%d threads, %v", len(p.Threads), err)
	}
}

// Lost responses lead to one thread: every attempt has the same key, which the
// caller gets.
func TestRetriesKeepTheIdempotencyKey(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]seed.Fault{
		"nothing happens":        {Op: "howto.Ask"},
		"the answer is lost":     {Reset: seed.AfterHeader, Processed: true, Count: 2},
		"the server fails":       {Status: 500, Count: 2},
		"it fails having worked": {Status: 503, Processed: true, Count: 2},
		"it is busy":             {Status: 429, Count: 1},
		"the thread is not done": {Status: 409, Code: 1, Count: 4},
		"all of that":            {Status: 409, Processed: true, Count: 3},
	}, func(t *testing.T, fault seed.Fault) {
		o := openOffice(t)
		if fault.Op == "" {
			fault.Op = "ai.Threads.Create"
		}
		o.Fail(fault)
		turn := o.ask(t)
		o.Heal()
		fault.Op = "ai.Turns.Send"
		if _, err := o.client.AI.Turns.Wait(t.Context(), o.room, turn.ThreadID, turn.ID); err != nil {
			t.Fatal(err)
		}
		o.Fail(fault)
		next, err := o.client.AI.Turns.Send(t.Context(), o.room, turn.ThreadID, ai.Question{Text: question})
		if err != nil {
			t.Fatal(err)
		}
		o.Heal()
		for op, got := range map[string]string{
			"ai.Threads.Create": turn.IdempotencyKey, "ai.Turns.Send": next.IdempotencyKey,
		} {
			sent := o.keys(t, op)
			if want := 1 + fault.Count; len(sent) != want {
				t.Errorf("%d requests of %s, want %d", len(sent), op, want)
			}
			if len(got) < 22 || len(slices.Compact(sent)) != 1 || sent[0] != got {
				t.Errorf("%s was sent with %q and returned %q", op, sent, got)
			}
		}
		o.hasOneThread(t, 2)
	})
}

func TestAskWithSavedKeyAfterKill(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]seed.Fault{
		"before it arrives": {Reset: seed.BeforeHeader},
		"after":             {Reset: seed.AfterHeader, Processed: true},
	}, func(t *testing.T, fault seed.Fault) {
		o := openOffice(t)
		fault.Op = "ai.Threads.Create"
		o.Fail(fault)
		ctx, kill := context.WithCancel(t.Context())
		first := o.Client(t, fastio.WithHooks(api.Hooks{OnRetry: func(context.Context, api.RetryEvent) { kill() }}))
		q := ai.Question{Text: question, IdempotencyKey: ai.NewIdempotencyKey()}
		_, err := first.AI.Ask(ctx, o.room, q, nil)
		if e, ok := errors.AsType[*ai.SendError](err); !ok || e.IdempotencyKey != q.IdempotencyKey ||
			!errors.Is(err, context.Canceled) {
			t.Errorf("got error %v", err)
		}
		o.Heal()
		turn, err := o.client.AI.Ask(t.Context(), o.room, q, nil)
		if err != nil || turn.Answer != answer {
			t.Errorf("%+v, %v", turn, err)
		}
		if sent := o.keys(t, string(fault.Op)); !slices.Equal(sent, []string{q.IdempotencyKey, q.IdempotencyKey}) {
			t.Errorf("sent with %q", sent)
		}
		o.hasOneThread(t, 1)
	})
}

// A permanent conflict is returned at once, any other is retried, with the same
// key.
func TestConflictsAreRetried(t *testing.T) {
	t.Parallel()
	conflict := func(code int64) *api.Error {
		return &api.Error{Op: "ai.Turns.Send", Status: 409, Code: code, Text: "no"}
	}
	const all = 9500 * time.Millisecond // the duration of six requests
	const two = 2 * time.Second
	type row struct {
		err   error
		opts  []api.CallOption
		limit time.Duration // the timeout of the context
		given time.Duration // the time until it is cancelled
		sent  int
		took  time.Duration
		is    error
	}
	table.Bubbles(t, map[string]row{
		"too large in a workspace": {err: conflict(168116), sent: 1, is: api.ErrConflict},
		"too large to begin with":  {err: conflict(153795), sent: 1, is: api.ErrConflict},
		"too large in a share":     {err: conflict(148135), sent: 1, is: api.ErrConflict},
		"too large, by code alone": {err: &api.Error{Status: 406, Code: 144657}, sent: 1, is: api.ErrConflict},
		"permanent":                {err: conflict(1), sent: 6, took: all},
		"one attempt":              {err: conflict(1), opts: []api.CallOption{api.WithAttempts(1)}, sent: 1},
		"20 attempts":              {err: conflict(1), opts: []api.CallOption{api.WithAttempts(20)}, sent: 6, took: all},
		"deadline": {
			err: conflict(1), limit: two, sent: 3, took: 1500 * time.Millisecond, is: context.DeadlineExceeded,
		},
		"timeout": {
			err: conflict(1), opts: []api.CallOption{api.WithTimeout(two)}, sent: 3, took: 1500 * time.Millisecond,
			is: context.DeadlineExceeded,
		},
		"cancelled": {err: conflict(1), given: time.Second, sent: 2, took: time.Second, is: context.Canceled},
		"forbidden": {err: &api.Error{Status: 403, Reason: "ai_policy_denied", Feature: "agent"}, sent: 1},
		"no answer": {err: io.ErrUnexpectedEOF, sent: 1},
	}, func(t *testing.T, tc row) {
		ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(tc.limit, time.Hour))
		defer cancel()
		if tc.given > 0 {
			time.AfterFunc(tc.given, cancel)
		}
		c := script(tc.err)
		start := time.Now()
		_, err := ai.New(c).Turns.Send(ctx, room, threadID, ai.Question{Text: "?", IdempotencyKey: "mine"}, tc.opts...)
		e, ok := errors.AsType[*ai.SendError](err)
		if !ok || e.IdempotencyKey != "mine" || !errors.Is(err, tc.err) ||
			errors.Is(err, ai.ErrThreadTooLarge) != errors.Is(tc.is, api.ErrConflict) {
			t.Errorf("got error %v", err)
		}
		if strings.Count(err.Error(), "ai.Turns.Send") > 1 {
			t.Errorf("%q names the operation twice", err)
		}
		if tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("got %v, want %v", err, tc.is)
		}
		if took := time.Since(start); len(c.sent) != tc.sent || took != tc.took {
			t.Errorf("%d requests in %v, want %d in %v", len(c.sent), took, tc.sent, tc.took)
		}
	})
}

// A thread continues from turn to turn until it is too large.
func TestAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, func(o *seed.Options) { o.AI.ThreadLimit = 400 })
		named := &ai.AskOptions{Name: "Leases", Kind: ai.ThreadKindAgent}
		first, err := o.answer(t, question, named)
		if err != nil || first.Answer != answer || first.Seq != 1 || first.ThreadID == "" || len(first.Citations) == 0 {
			t.Fatalf("%+v, %v", first, err)
		}
		got, err := o.client.AI.Threads.Get(t.Context(), o.room, first.ThreadID)
		if err != nil || got.Thread.Name != "Leases" || got.Thread.Kind != ai.ThreadKindAgent {
			t.Errorf("%+v, %v", got, err)
		}
		if n := o.opened(); n > 0 {
			t.Errorf("%d streams were opened without a writer", n)
		}
		var text bytes.Buffer
		var begun []*ai.Turn
		kinds := map[ai.StreamEventKind]int{}
		second, err := o.answer(t, question, &ai.AskOptions{
			Thread: first.ThreadID, Text: &text,
			OnTurn:  func(_ context.Context, t *ai.Turn) { begun = append(begun, t) },
			OnEvent: func(_ context.Context, e *ai.StreamEvent) { kinds[e.Kind]++ },
		})
		if err != nil || second.Seq != 2 || second.ThreadID != first.ThreadID || text.String() != answer {
			t.Fatalf("%+v, %v, %q", second, err, text.String())
		}
		if len(begun) != 1 || begun[0].ID != second.ID || kinds[ai.StreamEventKindText] < 3 ||
			kinds[ai.StreamEventKindFrame] == 0 || kinds[ai.StreamEventKindEnd] > 0 {
			t.Errorf("begun %v, events %v", begun, kinds)
		}
		err = nil
		for i := 0; i < 4 && err == nil; i++ {
			_, err = o.answer(t, question, &ai.AskOptions{Thread: first.ThreadID})
		}
		if !errors.Is(err, ai.ErrThreadTooLarge) || !errors.Is(err, api.ErrConflict) {
			t.Errorf("got error %v", err)
		}
	})
}

// If the final answer differs from the text already written, the whole answer
// is written after it.
func TestAskRewritesCorrectedAnswer(t *testing.T) {
	t.Parallel()
	c := script(opening{"text/event-stream", "data: It ends in \n\ndata: May.\n\n"},
		`{"message":{"status":"complete","result":{"answer":"It ends in June."}}}`)
	var text bytes.Buffer
	_, err := ai.New(c).Resume(t.Context(), room, threadID, turnID, &ai.AskOptions{Text: &text})
	if want := "It ends in May.\n\nIt ends in June."; err != nil || text.String() != want {
		t.Errorf("%q, %v", text.String(), err)
	}
}

func TestAskReturnsAClarification(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		o.Script(seed.Script{Match: "lease", Status: "needs_input", Question: "Which dock?"})
		var text bytes.Buffer
		turn, err := o.answer(t, "And the lease?", &ai.AskOptions{Text: &text})
		if err != nil || turn.Status != ai.TurnStatusNeedsInput || turn.Clarification == nil ||
			turn.Clarification.Question != "Which dock?" || text.Len() > 0 {
			t.Errorf("%+v, %v, %q", turn, err, text.String())
		}
	})
}

// A turn that the server loses is asked again as a new one, twice at most.
func TestLostTurnsAreAskedAgain(t *testing.T) {
	t.Parallel()
	for losses, want := range []int{1, 2, 3, 3} {
		synctest.Test(t, func(t *testing.T) {
			o := openOffice(t)
			if losses > 0 {
				o.Script(seed.Script{Match: "Why", Status: "lost", Count: losses})
			}
			o.Script(seed.Script{Match: "Why", Text: answer})
			var begun []string
			q := ai.Question{Text: "Why?", IdempotencyKey: "mine"}
			turn, err := o.client.AI.Ask(t.Context(), o.room, q, &ai.AskOptions{
				OnTurn: func(_ context.Context, t *ai.Turn) { begun = append(begun, t.IdempotencyKey) },
			})
			if losses == 3 {
				if e, ok := errors.AsType[*ai.TurnError](err); !ok || e.Status() != ai.TurnStatusLost {
					t.Errorf("got error %v", err)
				}
			} else if err != nil || turn.Answer != answer || turn.Seq != want {
				t.Errorf("after %d losses: %+v, %v", losses, turn, err)
			}
			distinct := slices.Compact(slices.Sorted(slices.Values(begun)))
			if len(begun) != want || begun[0] != "mine" || len(distinct) != want {
				t.Errorf("after %d losses: the keys were %q", losses, begun)
			}
		})
	}
}

// A call with the key of a lost turn gets the turn that replaced it, even if
// the response to that was lost, too.
func TestLostTurnsAreReplacedOnce(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		o.Script(seed.Script{Match: "Why", Status: "lost", Count: 1})
		o.Script(seed.Script{Match: "Why", Text: answer})
		o.Fail(seed.Fault{Op: "ai.Turns.Send", Reset: seed.AfterHeader, Processed: true})
		q := ai.Question{Text: "Why?", IdempotencyKey: "mine"}
		_, err := o.client.AI.Ask(t.Context(), o.room, q, nil)
		lost, isTurn := errors.AsType[*ai.TurnError](err)
		_, isSend := errors.AsType[*ai.SendError](err)
		if !isTurn || !isSend || lost.Status() != ai.TurnStatusLost || lost.ThreadID == "" || lost.TurnID == "" {
			t.Fatalf("got error %v", err)
		}
		o.Heal()
		turn, err := o.client.AI.Ask(t.Context(), o.room, q, nil)
		if err != nil || turn.Answer != answer || turn.Seq != 2 || !turn.ThreadID.Equal(lost.ThreadID) {
			t.Errorf("%+v, %v", turn, err)
		}
	})
}

func TestWaitContinuesOnUnknownStatuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, func(o *seed.Options) { o.AI.TurnPace = 5 * time.Second })
		steps := []string{"queued", "in_progress", "post_processing", ""}
		o.Script(seed.Script{Match: "Why", Text: answer, Steps: steps})
		for _, options := range []*ai.AskOptions{nil, {Text: io.Discard}} {
			turn, err := o.answer(t, "Why?", options)
			if err != nil || turn.Answer != answer {
				t.Errorf("%+v, %v", turn, err)
			}
		}
	})
}

// A program that was killed resumes with the IDs or the key it saved.
func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, func(o *seed.Options) { o.AI.TurnPace = time.Second })
		var kept *ai.Turn
		ctx, kill := context.WithCancel(t.Context())
		key := ai.NewIdempotencyKey()
		_, err := o.client.AI.Ask(ctx, o.room, ai.Question{Text: question, IdempotencyKey: key}, &ai.AskOptions{
			OnTurn:  func(_ context.Context, t *ai.Turn) { kept = t },
			OnEvent: func(_ context.Context, _ *ai.StreamEvent) { kill() },
		})
		e, ok := errors.AsType[*ai.TurnError](err)
		if !ok || !errors.Is(err, context.Canceled) || e.ThreadID != kept.ThreadID || e.TurnID != kept.ID {
			t.Fatalf("got error %v", err)
		}
		var text bytes.Buffer
		turn, err := o.client.AI.Resume(t.Context(), o.room, kept.ThreadID, kept.ID, &ai.AskOptions{Text: &text})
		if err != nil || turn.Answer != answer || text.String() != answer || o.count("ai.Turns.Cancel") > 0 {
			t.Errorf("%+v, %v, %q", turn, err, text.String())
		}
		again, err := o.client.AI.Ask(t.Context(), o.room, ai.Question{Text: question, IdempotencyKey: key}, nil)
		if err != nil || again.ID != turn.ID {
			t.Errorf("with the key: %+v, %v", again, err)
		}
	})
}

// With CancelTurn, a call that ends early cancels the turn, unless that has
// already ended.
func TestCancelTurn(t *testing.T) {
	t.Parallel()
	type row struct {
		fault  seed.Fault
		stream bool
		want   ai.TurnStatus // "" means an answer
	}
	table.Bubbles(t, map[string]row{
		"while it waits":        {seed.Fault{Op: "howto.Ask"}, false, ai.TurnStatusCanceled},
		"while it streams":      {seed.Fault{Op: "howto.Ask"}, true, ai.TurnStatusCanceled},
		"when cancelling fails": {seed.Fault{Op: "ai.Turns.Cancel", Status: 406}, false, ""},
		"while it is lost": {
			seed.Fault{Op: "ai.Turns.Cancel", Status: 503, Count: 2}, true, ai.TurnStatusCanceled,
		},
	}, func(t *testing.T, tc row) {
		o := openOffice(t, func(o *seed.Options) { o.AI.TurnPace = time.Second })
		o.Fail(tc.fault)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		options := &ai.AskOptions{CancelTurn: true}
		if tc.stream {
			options.Text = io.Discard
		}
		var turn *ai.Turn
		options.OnTurn = func(_ context.Context, t *ai.Turn) { turn = t }
		_, err := o.client.AI.Ask(ctx, o.room, ai.Question{Text: question}, options)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v", err)
		}
		if tc.fault.Op == "ai.Turns.Cancel" && tc.want == "" {
			if !errors.Is(err, api.ErrInvalid) {
				t.Errorf("the error of the cancellation is not returned: %v", err)
			}
			return
		}
		if e, ok := errors.AsType[*ai.TurnError](err); !ok || e.Status() != tc.want {
			t.Errorf("got error %v", err)
		}
		if now, err := o.client.AI.Turns.Get(t.Context(), o.room, turn.ThreadID, turn.ID); err != nil ||
			now.Status != tc.want {
			t.Errorf("the turn is %+v, %v", now, err)
		}
	})
}

// askFor asks with a timeout and CancelTurn.
func (o *office) askFor(t *testing.T, d time.Duration, thread api.OpaqueID) (*ai.Turn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return o.client.AI.Ask(ctx, o.room, ai.Question{Text: question}, &ai.AskOptions{CancelTurn: true, Thread: thread})
}

func TestCancelTurnWhileSending(t *testing.T) {
	t.Parallel()
	slow := func(o *seed.Options) { o.AI.TurnPace = time.Second }
	const briefly = 10 * time.Millisecond
	table.Bubbles(t, map[string]bool{"in a new thread": false, "in a thread": true}, func(t *testing.T, begin bool) {
		o := openOffice(t, slow)
		var thread api.OpaqueID
		if begin {
			begun := o.ask(t)
			thread = begun.ThreadID
			if _, err := o.client.AI.Turns.Wait(t.Context(), o.room, thread, begun.ID); err != nil {
				t.Fatal(err)
			}
		}
		for _, op := range []seed.Op{"ai.Threads.Create", "ai.Turns.Send"} {
			o.Fail(seed.Fault{Op: op, Status: 503, Processed: true})
		}
		if _, err := o.askFor(t, briefly, thread); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v", err)
		}
		list, err := o.client.AI.Threads.List(t.Context(), o.room, nil)
		if err != nil || len(list.Threads) != 1 || list.Threads[0].LatestTurn.Status != ai.TurnStatusCanceled {
			t.Errorf("%+v, %v", list.Threads[0].LatestTurn, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the turn of another question is not cancelled
		o := openOffice(t, slow)
		other := o.ask(t)
		o.Fail(seed.Fault{Op: "ai.Threads.Create", Reset: seed.BeforeHeader})
		if _, err := o.askFor(t, briefly, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v", err)
		}
		now, err := o.client.AI.Turns.Get(t.Context(), o.room, other.ThreadID, other.ID)
		if err != nil || now.Status.Ended() {
			t.Errorf("another turn is %+v, %v", now, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the turn ends between two requests of its state
		turn, err := openOffice(t).askFor(t, 900*time.Millisecond, "")
		if err != nil && !errors.Is(err, context.DeadlineExceeded) || err == nil && turn.Answer != answer {
			t.Errorf("%+v, %v", turn, err)
		}
	})
}

// Temporary failures are retried; others end the wait with an error that has
// the IDs. The end of a long turn is known at once, without frequent requests.
func TestWaitRetriesTemporaryFailures(t *testing.T) {
	t.Parallel()
	const (
		pace     = 4*time.Minute + 7*time.Second // it ends during a poll
		get      = "ai.Turns.Get"
		activity = "activity.PollProfile"
	)
	type (
		fault = seed.Fault
		row   struct {
			fault fault
			final error         // the error that ends the wait
			late  time.Duration // the maximum delay after the end; 0 for an immediate answer
			looks int           // the maximum of requests
		}
	)
	busy := fault{Op: get, Status: 429, Count: 2, Header: map[string][]string{"Retry-After": {"90"}}}
	full := map[string][]string{"Retry-After": {"1800"}} // the polls of an hour are used up
	still := `{"result":true,"lastactivity":"2000-01-01 00:00:00.000001 UTC","activity":[]}`
	silent := `{"result":true,"activity":[]}`
	table.Bubbles(t, map[string]row{
		"failing for long":   {fault: fault{Op: get, Status: 503, Count: 20}},
		"refused for a time": {fault: busy},
		"cut for long":       {fault: fault{Op: get, Cut: 10, Count: 20}},
		"out of reach":       {fault: fault{Op: get, Status: 403}, final: api.ErrForbidden},
		"gone":               {fault: fault{Op: get, Status: 404}, final: api.ErrNotFound},
		"signed out":         {fault: fault{Op: get, Status: 401, Code: 10011}, final: api.ErrUnauthenticated},

		"the activity reports it":    {fault{Op: "howto.Ask"}, nil, 500 * time.Millisecond, 420},
		"the activity is rejected":   {fault{Op: activity, Status: 406}, nil, 10 * time.Second, 900},
		"the activity is full":       {fault{Op: activity, Status: 429, Header: full}, nil, 10 * time.Second, 900},
		"the activity fails":         {fault{Op: activity, Status: 503}, nil, 10 * time.Second, 900},
		"the activity does not wait": {fault{Op: activity, Status: 200, Body: still}, nil, 10 * time.Second, 900},
		"the activity does not say":  {fault{Op: activity, Status: 200, Body: silent}, nil, 10 * time.Second, 900},
	}, func(t *testing.T, tc row) {
		o := openOffice(t, func(o *seed.Options) {
			if tc.late > 0 {
				o.AI.TurnPace, o.Limits.Rules = pace, []seed.Limit{}
			}
		})
		start := time.Now()
		turn := o.ask(t)
		o.Fail(tc.fault)
		got, err := o.client.AI.Turns.Wait(t.Context(), o.room, turn.ThreadID, turn.ID)
		took := time.Since(start)
		if tc.final != nil {
			e, ok := errors.AsType[*ai.TurnError](err)
			if !ok || e.ThreadID != turn.ThreadID || e.TurnID != turn.ID || !errors.Is(err, tc.final) {
				t.Errorf("got error %v", err)
			}
			return
		}
		if err != nil || got.Answer != answer {
			t.Fatalf("%+v, %v", got, err)
		}
		if tc.late > 0 && (took < time.Hour || took%pace > tc.late) || tc.fault.Op == get && tc.fault.Header != nil && took < 3*time.Minute {
			t.Errorf("took %v", took)
		}
		if n := o.count(get); tc.late > 0 && n > tc.looks {
			t.Errorf("%d requests of the turn in %v", n, took)
		}
		if tc.fault.Op == "howto.Ask" {
			o.checkPolls(t, turn)
		}
	})
}

func TestTimeoutAppliesToTheWholeCall(t *testing.T) {
	t.Parallel()
	within := api.WithTimeout(5 * time.Second)
	table.Bubbles(t, map[string]func(ctx context.Context, o *office, turn *ai.Turn) error{
		"Ask": func(ctx context.Context, o *office, _ *ai.Turn) error {
			return stub.Err(o.client.AI.Ask(ctx, o.room, ai.Question{Text: question}, nil, within))
		},
		"Resume": func(ctx context.Context, o *office, turn *ai.Turn) error {
			options := &ai.AskOptions{CancelTurn: true, Text: io.Discard}
			return stub.Err(o.client.AI.Resume(ctx, o.room, turn.ThreadID, turn.ID, options, within))
		},
		"Wait": func(ctx context.Context, o *office, turn *ai.Turn) error {
			return stub.Err(o.client.AI.Turns.Wait(ctx, o.room, turn.ThreadID, turn.ID, within))
		},
		"Stream": func(ctx context.Context, o *office, turn *ai.Turn) error {
			return stub.Last(o.client.AI.Turns.Stream(ctx, o.room, turn.ThreadID, turn.ID, nil, within))
		},
	}, func(t *testing.T, call func(ctx context.Context, o *office, turn *ai.Turn) error) {
		o := openOffice(t, func(o *seed.Options) { o.AI.TurnPace = time.Minute })
		turn := o.ask(t)
		start := time.Now()
		err := call(t.Context(), o, turn)
		if e, ok := errors.AsType[*ai.TurnError](err); !ok || !errors.Is(err, context.DeadlineExceeded) ||
			strings.HasSuffix(t.Name(), "/Resume") && e.Status() != ai.TurnStatusCanceled {
			t.Errorf("got error %v", err)
		}
		if took := time.Since(start); took.Truncate(time.Second) != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// An error of the writer ends the output, but not the turn.
func TestAskReportsAWriteError(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		r, w := io.Pipe()
		_ = r.Close()
		_, err := o.answer(t, question, &ai.AskOptions{Text: w})
		if e, ok := errors.AsType[*ai.TurnError](err); !ok || !errors.Is(err, io.ErrClosedPipe) || e.TurnID == "" {
			t.Errorf("got error %v", err)
		}
	})
}

// Lists are iterated in pages if the server has pages, else requested once.
func TestLists(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]bool{"in pages": true, "at once": false}, func(t *testing.T, paged bool) {
		o := openOffice(t, func(o *seed.Options) {
			o.AI.PagedThreads, o.Limits.Rules = paged, []seed.Limit{}
			if paged {
				o.AI.TurnPage = 2
			}
		})
		var threads []api.OpaqueID
		for range 5 {
			threads = append(threads, o.ask(t).ThreadID)
			time.Sleep(2 * time.Second)
		}
		slices.Reverse(threads)
		for n := range 5 {
			turn, err := o.answer(t, "Why?", &ai.AskOptions{Thread: threads[0]})
			if err != nil || turn.Seq != n+2 {
				t.Fatal(turn, err)
			}
		}
		list := &ai.ThreadListOptions{Limit: 2, Kind: ai.ThreadKindAll}
		id := func(thread *ai.Thread) api.OpaqueID { return thread.ID }
		checkRows(t, o.client.AI.Threads.All(t.Context(), o.room, list), id, threads...)
		seq := func(turn *ai.Turn) int { return turn.Seq }
		checkRows(t, o.client.AI.Turns.All(t.Context(), o.room, threads[0], nil), seq, 1, 2, 3, 4, 5, 6)
		if err := o.client.AI.Threads.Delete(t.Context(), o.room, threads[1]); err != nil {
			t.Fatal(err)
		}
		checkRows(t, o.client.AI.Threads.All(t.Context(), o.room, &ai.ThreadListOptions{Deleted: true}), id, threads[1])
	})
}

func checkRows[T any, K comparable](t *testing.T, rows iter.Seq2[T, error], key func(T) K, want ...K) {
	t.Helper()
	var got []K
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, key(row))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrorsDoNotHoldTheAnswer(t *testing.T) {
	t.Parallel()
	e := &ai.TurnError{Op: "ai.Ask", Turn: &ai.Turn{
		Status: ai.TurnStatusFailed, Answer: "secret", Failure: &ai.Failure{Message: "The crane fell."},
	}}
	if got, want := e.Error(), "fastio: ai.Ask: the turn ended as failed: The crane fell."; got != want ||
		strings.Contains(got, "secret") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// checkPolls requires that all polls are for one thread: the first requests the
// current cursor, the others the changes after it.
func (o *office) checkPolls(t *testing.T, turn *ai.Turn) {
	t.Helper()
	for n, r := range o.of("activity.PollProfile") {
		q := formText(t, r.Query)
		want := url.Values{"fields": {"ai_chat:" + turn.ThreadID.Plain()}}
		if n > 0 {
			want["wait"], want["updated"], want["lastactivity"] = []string{"20"}, []string{"1"}, q["lastactivity"]
		}
		if diff := gocmp.Diff(want, q); diff != "" || n > 0 && q.Get("lastactivity") == "" {
			t.Fatalf("poll %d (-want +got):\n%s", n, diff)
		}
	}
}

// Many waits for turns may use up the polls of an hour: then they read their turns at
// intervals, and end soon after them.
func TestWaitsOutliveTheRateLimitOfPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, func(o *seed.Options) { o.AI.TurnPace = time.Minute })
		start := time.Now()
		ended := make(chan error)
		const waits = 40
		for range waits {
			turn := o.ask(t)
			go func() {
				_, err := o.client.AI.Turns.Wait(t.Context(), o.room, turn.ThreadID, turn.ID)
				ended <- err
			}()
		}
		for range waits {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took > 20*time.Minute {
			t.Errorf("the last turn was returned after %s", took)
		}
	})
}

// A thread that changes all the time leaves polls of the hour to others, and the end of its
// turn is known within seconds.
func TestWaitForABusyThreadLeavesPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const took = 30 * time.Minute
		polls, begun := 0, time.Now()
		s := ai.New(stub.Caller(func(_ context.Context, r *api.Request, out any) error {
			answer := `{"message":{"status":"running"}}`
			switch {
			case strings.Contains(r.Path.Template(), "/activity/poll/"):
				polls++
				const changed = `{"results":1,"activity":{"ai_chat:t":%q},"lastactivity":%[1]q}`
				answer = fmt.Sprintf(changed, time.Now().UTC().Format("2006-01-02 15:04:05.000000 UTC"))
			case time.Since(begun) >= took:
				answer = so
			}
			return json.Unmarshal([]byte(answer), out)
		}))
		turn, err := s.Turns.Wait(t.Context(), api.Workspace("4012345678901234567"), "t", "u")
		late := time.Since(begun) - took
		if err != nil || turn.Answer != "So." || late > 4*time.Second || polls > 600 {
			t.Errorf("%v, %v late, after %d polls in %s", err, late, polls, took)
		}
	})
}

// A response to a question without the IDs of its turn is a [ai.SendError], with the key
// by which the question finds its turn.
func TestAskWithoutTheIDsOfTheTurn(t *testing.T) {
	t.Parallel()
	const create, send = "ai.Threads.Create", "ai.Turns.Send"
	type row struct {
		op   seed.Op
		body string
	}
	table.Bubbles(t, map[string]row{
		"a turn of a new thread": {create, `{"result":true,"thread":{"thread_id":"t1"},"turn":{"status":"pending"}}`},
		"a new thread":           {create, `{"result":true,"turn":{"turn_id":"t1","status":"pending"}}`},
		"a turn":                 {send, `{"result":true,"turn":{"status":"pending"}}`},
	}, func(t *testing.T, tt row) {
		o, options := openOffice(t), new(ai.AskOptions)
		if tt.op == send {
			options.Thread = o.ask(t).ThreadID
			time.Sleep(time.Hour)
		}
		o.Fail(seed.Fault{Op: tt.op, Status: 200, Count: 1, Body: tt.body})
		_, err := o.client.AI.Ask(t.Context(), o.room, ai.Question{Text: question, IdempotencyKey: "k1"}, options)
		if e, ok := errors.AsType[*ai.SendError](err); !ok || e.IdempotencyKey != "k1" {
			t.Errorf("got error %v", err)
		}
	})
}
