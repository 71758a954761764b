package ai_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

// office is a workspace whose agent answers questions about its files.
type office struct {
	*fastiotest.Server
	client *fastio.Client
	room   api.Profile
}

const (
	so       = `{"message":{"status":"complete","result":{"answer":"So."}}}`
	question = "Which lease ends first?"
	answer   = "The lease of Dock 4 ends first, on 31 May. \"Brass\" gates\nstay: 漢字 🦉, and so on, and so forth."
)

func openOffice(t *testing.T, change ...func(*seed.Options)) *office {
	t.Helper()
	s := fastiotest.New(change...)
	room := s.AddWorkspace(seed.Workspace{Name: "Docks"})
	s.AddNode(seed.Node{
		Profile: room.ID, Name: "leases.txt",
		Content: "Dock 4: the lease ends on 31 May.\n\nDock 7: it ends in the autumn.",
	})
	s.Script(seed.Script{Match: question, Text: answer, Chunk: 7})
	return &office{Server: s, client: s.Client(t), room: api.Workspace(api.ID(room.ID))}
}

// alone runs a test in a bubble with its own office.
func alone(t *testing.T, test func(t *testing.T, o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, openOffice(t)) })
}

func (o *office) ask(t *testing.T) *ai.Turn {
	t.Helper()
	return o.asks(t, question)
}

func (o *office) asks(t *testing.T, text string) *ai.Turn {
	t.Helper()
	c, err := o.client.AI.Threads.Create(t.Context(), o.room, ai.CreateThreadRequest{Question: ai.Question{Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Turns[0]
}

type reading struct {
	text   string // the final text
	resets int
	frames int
	end    *ai.Turn
	err    error
}

func (o *office) read(ctx context.Context, turn *ai.Turn, options *ai.StreamOptions) (r reading) {
	for e, err := range o.client.AI.Turns.Stream(ctx, o.room, turn.ThreadID, turn.ID, options) {
		if err != nil {
			r.err = err
			return r
		}
		switch e.Kind {
		case ai.StreamEventKindText:
			r.text += e.Text
		case ai.StreamEventKindReset:
			r.text = e.Text
			r.resets++
		case ai.StreamEventKindFrame:
		case ai.StreamEventKindEnd:
			r.end = e.Turn
		}
		if e.Frame.Name != "" {
			r.frames++
		}
	}
	return r
}

func (r *reading) check(t *testing.T, how string) {
	t.Helper()
	end := r.end
	if r.err != nil || end == nil {
		t.Fatalf("%s: ends with %v, %v", how, end, r.err)
	}
	if r.text != answer || end.Answer != answer || end.Status != ai.TurnStatusComplete || len(end.Citations) == 0 {
		t.Fatalf("%s: shown %q, the end is %+v", how, r.text, end)
	}
}

func (o *office) opened() int { return o.count("ai.Turns.Stream") }

// styles returns the possible forms of a stream, which is not documented.
func styles() map[string]seed.StreamStyle {
	return map[string]seed.StreamStyle{
		"as it comes":          {},
		"with CRLF":            {Newline: "\r\n", BOM: true},
		"with CR":              {Newline: "\r", Comments: true},
		"in pretty data":       {SplitData: true, Comments: true},
		"cumulative":           {Cumulative: true},
		"without names":        {Unnamed: true},
		"without IDs":          {NoIDs: true},
		"cumulative, no IDs":   {NoIDs: true, Cumulative: true, Unnamed: true},
		"beginning anew":       {Restart: true},
		"with a retry":         {Retry: 100 * time.Millisecond, BOM: true},
		"the end alone":        {LateDone: true},
		"without an end":       {NoEnd: true},
		"JSON in place of it":  {JSON: true},
		"CR, anew, cumulative": {Newline: "\r", NoIDs: true, Cumulative: true},
	}
}

// The answer is complete and correct in every form of the stream, during the
// turn and afterwards.
func TestStreamStyles(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, styles(), func(t *testing.T, style seed.StreamStyle) {
		o := openOffice(t, func(o *seed.Options) { o.AI.Stream = style })
		turn := o.ask(t)
		live := o.read(t.Context(), turn, nil)
		live.check(t, "live")
		again := o.read(t.Context(), turn, nil)
		again.check(t, "afterwards")
		if live.resets+again.resets > 0 {
			t.Errorf("%d and %d resets", live.resets, again.resets)
		}
		if streams := !style.JSON; streams != (live.frames > 10) {
			t.Errorf("%d frames were received", live.frames)
		}
		if late := style.LateDone || style.JSON; late == (again.frames > 10) {
			t.Errorf("%d frames were received afterwards", again.frames)
		}
	})
}

// The answer is complete and correct if the stream is cut at any byte: of a
// recorded stream here, of a live one below.
func TestStreamCutAtEveryByte(t *testing.T) {
	t.Parallel()
	names := []string{"as it comes", "with CRLF", "in pretty data", "cumulative, no IDs", "beginning anew"}
	for _, name := range names[:table.Rounds(len(names), len(names))] {
		style := styles()[name]
		synctest.Test(t, func(t *testing.T) {
			o := openOffice(t, func(o *seed.Options) { o.AI.Stream = style })
			turn := o.ask(t)
			end := o.read(t.Context(), turn, nil)
			end.check(t, "whole")
			size, frames := int64(0), 0
			for frames < end.frames {
				size++
				o.Heal()
				o.Fail(seed.Fault{Op: "ai.Turns.Stream", Cut: size, Count: 1})
				got := o.read(t.Context(), turn, nil)
				got.check(t, fmt.Sprintf("cut after %d bytes", size))
				frames = got.frames
			}
			if size < 500 {
				t.Errorf("the stream has %d bytes", size)
			}
		})
	}
}

func TestLiveStreamCutAtEveryByte(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]seed.StreamStyle{
		"with IDs": {}, "without": {NoIDs: true}, "anew": {Restart: true, Cumulative: true},
	}, func(t *testing.T, style seed.StreamStyle) {
		o := openOffice(t, func(o *seed.Options) {
			o.AI.Stream, o.AI.TurnPace, o.Limits.Rules = style, 300*time.Millisecond, []seed.Limit{}
		})
		step, size := 28/table.Rounds(4, 4), 2000 // each cut needs its own stream
		for at := 1; at < size; at += step {
			o.Heal()
			turn := o.ask(t)
			o.Fail(seed.Fault{Op: "ai.Turns.Stream", Cut: int64(at), Count: 2})
			got := o.read(t.Context(), turn, nil)
			got.check(t, fmt.Sprintf("cut at byte %d", at))
			if got.resets > 0 {
				t.Fatalf("cut at byte %d: the text was reset", at)
			}
		}
	})
}

func TestStreamResumesWithTheLastEventID(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		o.Fail(seed.Fault{Op: "ai.Turns.Stream", Cut: 400, Count: 1})
		got := o.read(t.Context(), o.ask(t), nil)
		got.check(t, "resumed")
		sent := o.of("ai.Turns.Stream")
		if len(sent) != 2 || sent[0].Header.Get("Last-Event-ID") != "" || sent[1].Header.Get("Last-Event-ID") == "" {
			t.Errorf("%d requests: %v", len(sent), sent)
		}
	})
}

// The answer is complete whatever happens to its stream. A stream that stalls is
// abandoned after a minute, which heartbeats extend, and so is a request without a
// response. A long retry field delays the answer only briefly. If reconnecting
// brings no progress, or there is no stream, the state of the turn is polled.
func TestAnswerSurvivesStreamFailures(t *testing.T) {
	t.Parallel()
	type (
		style = seed.StreamStyle
		fault = seed.Fault
		row   struct {
			fault       fault
			style       style
			pace        time.Duration
			wait        time.Duration // before the stream is read
			idle        time.Duration
			opens, most int           // streams opened; 0 means any number, for most none
			took        time.Duration // at least
			exact       bool          // at most a second longer
		}
	)
	const sec, minute = time.Second, time.Minute
	stall := fault{Stall: 300, Count: 1}
	tests := map[string]row{
		"silent after the end":    {fault: stall, opens: 1, took: minute, exact: true},
		"silent before the end":   {fault: stall, pace: 8 * sec, opens: 2, took: minute},
		"silent for a short time": {fault: stall, pace: 8 * sec, idle: 20 * sec, opens: 2, took: 20 * sec},
		"only heartbeats":         {fault: fault{Op: "howto.Ask"}, pace: 4 * minute, opens: 1, took: minute},
		"unanswered":              {fault: fault{Delay: 100 * time.Hour, Count: 1}, took: 2 * minute, exact: true},
		"5 s of retry": {
			fault: fault{Cut: 200, Count: 1}, style: style{Retry: 5 * sec}, took: 5 * sec, exact: true,
		},
		"a day of retry": {
			fault: fault{Cut: 200, Count: 1}, style: style{Retry: 24 * time.Hour}, took: 20 * sec, exact: true,
		},
	}
	for name, f := range map[string]fault{
		"refused":         {Status: 403},
		"not there":       {Status: 404},
		"always failing":  {Status: 503},
		"never connected": {Reset: seed.BeforeHeader},
		"always cut":      {Cut: 1},
		"always empty":    {Truncate: 0, Status: 200, Body: " ", ContentType: "text/event-stream"},
		"a proxy's page":  {Status: 200, Body: "<html>", ContentType: "text/html"},
	} {
		tests[name] = row{fault: f, pace: 2 * sec, most: 20}
	}
	for name, s := range map[string]style{"with IDs": {}, "without": {NoIDs: true}, "anew": {Restart: true}} {
		tests["no progress "+name] = row{fault: fault{Cut: 120}, style: s, pace: minute, wait: 4 * minute, most: 10}
	}
	table.Bubbles(t, tests, func(t *testing.T, tc row) {
		o := openOffice(t, func(o *seed.Options) {
			o.AI.Stream, o.AI.TurnPace, o.Limits.Rules = tc.style, tc.pace, []seed.Limit{}
		})
		turn := o.ask(t)
		time.Sleep(tc.wait)
		tc.fault.Op = cmp.Or(tc.fault.Op, "ai.Turns.Stream")
		o.Fail(tc.fault)
		start := time.Now()
		got := o.read(t.Context(), turn, &ai.StreamOptions{Idle: tc.idle})
		got.check(t, "disturbed")
		if n := o.opened(); tc.opens > 0 && n != tc.opens || tc.most > 0 && n > tc.most {
			t.Errorf("%d streams were opened", n)
		}
		if took := time.Since(start); took < tc.took || tc.exact && took > tc.took+time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestStreamIgnoresTheTimeoutOfTheHTTPClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, func(o *seed.Options) { o.AI.TurnPace = 8 * time.Second })
		o.client = o.Client(t, fastio.WithHTTPClient(&http.Client{Transport: o.Server, Timeout: 30 * time.Second}))
		got := o.read(t.Context(), o.ask(t), nil)
		got.check(t, "long")
		if n := o.opened(); n != 1 {
			t.Errorf("%d streams were opened", n)
		}
	})
}

func TestStreamEventsStayValid(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&body, "data: {\"delta\":\"%d \"}\n\n", i)
	}
	var kept strings.Builder
	for _, e := range script(text(body.String()+"event: done\ndata: {}\n\n"), complete).stream(t) {
		if e.Kind == ai.StreamEventKindText {
			fmt.Fprintf(&kept, "data: %s\n\n", e.Frame.Data)
		}
	}
	if diff := gocmp.Diff(body.String(), kept.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A stream that only sends heartbeats ends after its turn is lost.
func TestStreamOfHeartbeatsEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := beating{script(`{"message":{"status":"lost"}}`)}
		start := time.Now()
		err := stub.Last(ai.New(c).Turns.Stream(t.Context(), room, threadID, turnID, nil))
		if e, ok := errors.AsType[*ai.TurnError](err); !ok || e.Status() != ai.TurnStatusLost {
			t.Errorf("got error %v", err)
		}
		if took := time.Since(start); took != 5*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// beating opens streams that send heartbeats only.
type beating struct{ *scripted }

func (beating) Open(ctx context.Context, _ *api.Request, opts ...api.CallOption) (*http.Response, error) {
	r, w := io.Pipe()
	go func() {
		defer w.Close()
		for beat := time.Tick(15 * time.Second); ; {
			if _, err := io.WriteString(w, ": beat\n\n"); err != nil {
				return
			}
			select {
			case <-beat:
			case <-ctx.Done():
				return
			}
		}
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Body: r, Header: http.Header{"Content-Type": {"text/event-stream"}},
	}, nil
}

func TestStreamContinuesWhileItProgresses(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]string{"with IDs": "id: %d\n", "without": ""}, func(t *testing.T, id string) {
		var answers []any
		for i := range 10 {
			body := fmt.Sprintf("data: {\"text\":%q}\n\n", "0123456789"[:i+1])
			if id != "" {
				body = fmt.Sprintf(id+"event: action\ndata: {}\n\n", i)
			}
			answers = append(answers, text(body), running, text(""), running)
		}
		end := `{"message":{"status":"complete","result":{"answer":"0123456789"}}}`
		c := script(append(answers, text("event: done\ndata: {}\n\n"), end)...)
		c.stream(t)
		opened := slices.DeleteFunc(c.sent, func(r *api.Request) bool { return r.Op != "ai.Turns.Stream" })
		if len(opened) != 21 {
			t.Errorf("%d streams were opened", len(opened))
		}
	})
}

func TestStreamEndsAtEveryFinalEvent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"done", "complete", "completed", "needs_input", "cancelled", "canceled", "failed", "error", "errored", "lost",
		"end",
	} {
		all := script(text("event: "+name+"\ndata: {}\n\ndata: never read\n\n"), complete).stream(t)
		if len(all) != 2 || all[0].Frame.Name != name || all[1].Kind != ai.StreamEventKindEnd {
			t.Errorf("%s: got %v", name, all)
		}
	}
}

// The caller's headers are sent and not changed.
func TestStreamHeaders(t *testing.T) {
	t.Parallel()
	c := script(text("event: done\ndata: {}\n\n"), complete)
	c.stream(t, api.WithHeader("X-Trace", "7"))
	want := []http.Header{{"X-Trace": {"7"}, "Accept": {"text/event-stream"}}, {"X-Trace": {"7"}}}
	if diff := gocmp.Diff(want, []http.Header{c.options[0].Header, c.options[1].Header}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An answer that differs from the streamed text, as after a correction,
// replaces it.
func TestStreamResetsToTheAnswer(t *testing.T) {
	t.Parallel()
	details := `{"message":{"turn_id":"y","status":"complete","result":{"answer":"It ends in June."}}}`
	for stream, want := range map[string][]string{
		"data: It ends in \n\ndata: June.\n\n":                        {"text It ends in ", "text June."},
		"data: It ends in\n\n":                                        {"text It ends in", "text  June."},
		"data: It is May.\n\n":                                        {"text It is May.", "reset It ends in June."},
		"data: {\"text\":\"It\"}\n\ndata: {\"text\":\"It ends\"}\n\n": {"text It", "text  ends", "text  in June."},
		"data: \"It ends in June.\"\n\ndata: [DONE]\n\n":              {"text It ends in June.", "frame "},
		"event: ping\ndata: pong\n\nevent: done\ndata\n\n":            {"frame ", "frame ", "text It ends in June."},
		"event: delta\ndata: {\"delta\":\"It\"}\n\nevent: citation\ndata: {\"text\":\"p. 3\"}\n\n" +
			"data: {\"status\":\"complete\",\"text\":\"x\"}\n\ndata: never read\n\n": {
			"text It", "frame ", "frame ", "text  ends in June.",
		},
		"data: {\"delta\":\"It\"}\n\ndata: {\"delta\":\"It\"}\n\n": {"text It", "text It", "reset It ends in June."},
		"data: {\"type\":\"citation\",\"text\":\"p. 3\"}\n\ndata: {\"type\":\"done\"}\n\ndata: never read\n\n": {
			"frame ", "frame ", "text It ends in June.",
		},
		"data: {broken\n\nevent: error\ndata: {}\n\n": {"text {broken", "frame ", "reset It ends in June."},
	} {
		var got []string
		for _, e := range script(opening{"text/event-stream; charset=utf-8", stream}, details).stream(t) {
			if e.Kind != ai.StreamEventKindEnd {
				got = append(got, string(e.Kind)+" "+e.Text)
			} else if e.Turn.Answer != "It ends in June." {
				t.Errorf("%q: the answer is %q", stream, e.Turn.Answer)
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", stream, diff)
		}
	}
}

// No goroutine is left after a break or a cancellation.
func TestStreamStopsWithTheLoop(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		turn := o.ask(t)
		for e, err := range o.client.AI.Turns.Stream(t.Context(), o.room, turn.ThreadID, turn.ID, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == ai.StreamEventKindText {
				break
			}
		}
		o.read(t.Context(), turn, nil) // the turn continues without a reader

		slow := openOffice(t, func(o *seed.Options) { o.AI.TurnPace = time.Hour })
		turn = slow.ask(t)
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		start := time.Now()
		got := slow.read(ctx, turn, nil)
		failed, ok := errors.AsType[*ai.TurnError](got.err)
		if !ok || !errors.Is(got.err, context.DeadlineExceeded) || failed.ThreadID != turn.ThreadID ||
			failed.TurnID != turn.ID || time.Since(start) > 90*time.Minute {
			t.Errorf("got error %v after %v", got.err, time.Since(start))
		}
	})
}

func TestFailedTurnsAreErrors(t *testing.T) {
	t.Parallel()
	for _, status := range []ai.TurnStatus{
		ai.TurnStatusFailed, ai.TurnStatusLost, ai.TurnStatusErrored, ai.TurnStatusCanceled,
	} {
		synctest.Test(t, func(t *testing.T) {
			o := openOffice(t)
			o.Script(seed.Script{Match: "Why", Status: string(status), Error: "The crane fell."})
			turn := o.asks(t, "Why?")
			streamed := o.read(t.Context(), turn, nil).err
			_, waited := o.client.AI.Turns.Wait(t.Context(), o.room, turn.ThreadID, turn.ID)
			for how, err := range map[string]error{"Stream": streamed, "Wait": waited} {
				e, ok := errors.AsType[*ai.TurnError](err)
				if !ok || e.Status() != status || e.Err != nil || e.Op != "ai.Turns."+how ||
					!strings.Contains(e.Error(), "ai.Turns."+how+": the turn ended as "+string(status)) {
					t.Errorf("%s ends with %v", how, err)
				}
			}
		})
	}
}

// A large part of the answer is streamed. One over the limit of the caller
// comes with the turn.
func TestStreamOfLargeEvents(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		large := strings.Repeat("So it goes on. ", 1<<20/15)
		o.Script(seed.Script{Match: "Why", Text: large, Chunk: 1 << 20})
		turn := o.asks(t, "Why?")
		for _, most := range []int{0, 1 << 10} {
			got := o.read(t.Context(), turn, &ai.StreamOptions{MaxEvent: most})
			if got.err != nil || got.text != large || got.end.Answer != large {
				t.Errorf("with %d bytes an event: %d shown, %v", most, len(got.text), got.err)
			}
		}
		if n := o.opened(); n != 2 {
			t.Errorf("%d streams were opened", n)
		}
	})
}

// Text over the limit is dropped from the stream: the complete answer comes
// with the turn.
func TestStreamLimitsText(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		long := strings.Repeat("So it goes on. ", 100)
		o.Script(seed.Script{Match: "Why", Text: long, Chunk: 15})
		turn := o.asks(t, "Why?")
		var streamed, all int
		var last *ai.StreamEvent
		for e, err := range o.client.AI.Turns.Stream(
			t.Context(), o.room, turn.ThreadID, turn.ID, &ai.StreamOptions{MaxText: 300},
		) {
			if err != nil {
				t.Fatal(err)
			}
			all += len(e.Text)
			if e.Frame.Data != nil {
				streamed += len(e.Text)
			}
			last = e
		}
		if last == nil || last.Turn == nil || last.Turn.Answer != long || all != len(long) || streamed != 300 {
			t.Errorf("%d bytes were streamed, %d shown, and last %v", streamed, all, last)
		}
		if n := o.opened(); n != 1 {
			t.Errorf("%d streams were opened", n)
		}
	})
}

// A stream that never ends is abandoned, and takes no more memory than its limit.
func TestEndlessStreamIsAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		endless := strings.Repeat("data: {\"delta\":\""+strings.Repeat("text ", 200<<10)+"\"}\n\n", 30)
		streamed := 0
		var last *ai.StreamEvent
		for _, e := range script(text(endless), running, activity, so).stream(t) {
			streamed += len(e.Frame.Data)
			last = e
		}
		if last == nil || last.Turn == nil || last.Turn.Answer != "So." || streamed == 0 || streamed > 17<<20 {
			t.Errorf("%d bytes were streamed, and last %v", streamed, last)
		}
	})
}

// The end of a stream may be sent before the state of the turn changes.
func TestStreamWaitsForEndOfTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := script(text("event: done\ndata: {}\n\n"), running, activity, so)
		all := c.stream(t)
		if end := all[len(all)-1].Turn; end == nil || end.Answer != "So." || len(c.sent) != 4 {
			t.Errorf("%+v after %d requests", end, len(c.sent))
		}
	})
}
