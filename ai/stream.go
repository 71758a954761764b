package ai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/idle"
	"github.com/fastio-go/fastio/internal/pace"
	"github.com/fastio-go/fastio/internal/sse"
)

// StreamEventKind says what a [StreamEvent] tells.
type StreamEventKind string

// The kinds.
const (
	StreamEventKindText  StreamEventKind = "text"  // Text is more of the answer
	StreamEventKindReset StreamEventKind = "reset" // Text is the answer from its start, in place of all that came
	StreamEventKindFrame StreamEventKind = "frame" // something else: only Frame is set
	StreamEventKindEnd   StreamEventKind = "end"   // Turn is what the turn came to; the last event
)

// StreamEvent is a piece of an answer that is being written.
type StreamEvent struct {
	Kind  StreamEventKind
	Text  string
	Frame Frame // what the server sent; zero where it sent nothing
	Turn  *Turn
}

// Frame is an event of the stream as it arrived. The forms of their data are not
// published.
type Frame struct {
	Name string // "message" if the server gives none
	ID   string
	Data []byte // mostly JSON
}

// StreamOptions changes how [Turns.Stream] works. Nil, and zero fields, mean the
// defaults.
type StreamOptions struct {
	// How long a connection may bring nothing before there is another; default 60 s.
	// For an answer to begin, it is a minute more; signs of life alone do for 5
	// minutes.
	Idle time.Duration

	MaxEvent int // bytes of an event, beyond which the stream is done without; default 16 MiB
}

const (
	longestStream = 24 * time.Hour // whatever the timeout of the client: silence is what ends one
	defaultIdle   = time.Minute
	maxDrops      = 5 // connections in a row that brought nothing new
	orderedWait   = time.Minute
	eventless     = 5 * time.Minute // how long a connection may bring nothing but signs of life
)

// Stream yields an answer while it is written, for people to see, and last the
// turn as [Turns.Get] has it, in an event of [StreamEventKindEnd]. When that comes,
// the Text of the events is the Answer of the turn: where the stream left
// something out, it is made up for.
//
// A turn that ends with neither an answer nor a question ends the stream with a
// [*TurnError], and so does what [Turns.Wait] would end with. A connection that
// drops, goes silent or is none is not among them: the stream goes on where it was,
// and when there is no further connection to be had, the end of the turn is waited
// for. Leaving the loop hangs up, and leaves the turn alone: see [Turns.Cancel].
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/message/{message_id}/read/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/message/{message_id}/read/.
func (t *Turns) Stream(
	ctx context.Context, scope api.Profile, thread, turn api.OpaqueID, o *StreamOptions, opts ...api.CallOption,
) iter.Seq2[*StreamEvent, error] {
	const op = "ai.Turns.Stream"
	return func(yield func(*StreamEvent, error) bool) {
		path, err := route(op, scope, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/message/{message_id}/read/",
			"/current/share/{share_id}/ai/agent/{chat_id}/message/{message_id}/read/", thread.Plain(), turn.Plain())
		if err != nil {
			yield(nil, err)
			return
		}
		ctx, stop, err := bounded(ctx, op, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		defer stop()
		r := get(op, path)
		r.Attempt = longestStream
		r.Options = api.Resolve(opts)
		f := &following{
			waiting: waiting{turns: t, op: op, scope: scope, thread: thread, turn: turn, opts: opts},
			request: r, idle: defaultIdle, yield: yield,
		}
		if o != nil {
			f.maxEvent = o.MaxEvent
			if o.Idle > 0 {
				f.idle = o.Idle
			}
		}
		f.run(ctx)
	}
}

// following is one range over a stream.
type following struct {
	waiting
	request  *api.Request
	idle     time.Duration
	maxEvent int
	yield    func(*StreamEvent, error) bool

	display display
	most    int    // how much was ever shown
	firstID string // of all events
	lastID  string
	retry   time.Duration // as the server asks
	left    bool          // the caller has left the loop
}

// run connects until the turn has ended. The stream is for display alone: however
// a connection ends, it is the turn itself that tells whether there is more.
func (f *following) run(ctx context.Context) {
	for drops := 0; ; {
		how, err := f.connect(ctx)
		if f.left {
			return
		}
		if how == toEnd || how == unable {
			break
		}
		if how == dropped {
			drops++
		} else {
			drops = 0
		}
		if ended, lookErr := f.look(ctx); ended || drops >= maxDrops || lookErr != nil && call.Final(lookErr) {
			break
		}
		wait := max(min(f.retry, heldPoll), min(shortestPause<<drops/2, longestPause))
		if ended := pace.Sleep(ctx, wait); ended != nil {
			f.yield(nil, f.fail(joined(ended, err)))
			return
		}
	}
	t, err := f.end(ctx)
	if err != nil {
		f.yield(nil, err)
		return
	}
	if text, kind := f.display.settle(t.Answer); text != "" && !f.yield(&StreamEvent{Kind: kind, Text: text}, nil) {
		return
	}
	f.yield(&StreamEvent{Kind: StreamEventKindEnd, Turn: t}, nil)
}

// ending says how a connection ended.
type ending uint8

const (
	dropped ending = iota // without having brought anything new
	cut                   // before the end of the turn
	toEnd                 // with it, as the server says
	unable                // there is no stream to be had
)

// connect opens a stream and hands on what it brings.
func (f *following) connect(ctx context.Context) (ending, error) {
	r := *f.request
	r.Options.Header = maps.Clone(r.Options.Header)
	if r.Options.Header == nil {
		r.Options.Header = http.Header{}
	}
	r.Options.Header.Set("Accept", "text/event-stream")
	if f.lastID != "" {
		r.Options.Header.Set("Last-Event-ID", f.lastID)
	}
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	late := time.AfterFunc(f.idle+orderedWait, hangUp) // the request may have to wait for its turn
	resp, err := f.turns.c.Open(ctx, &r)               //nolint:bodyclose // its wrapper is closed
	late.Stop()
	if err != nil {
		if call.Final(err) {
			return unable, err
		}
		return dropped, err
	}
	body := idle.Body(resp.Body, f.idle)
	defer func() { _ = body.Close() }()
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind != "text/event-stream" {
		_, _ = io.CopyN(io.Discard, body, drained) // the turn itself will tell
		return unable, nil
	}
	return f.read(sse.NewReader(body, f.maxEvent), time.AfterFunc(eventless, hangUp))
}

const drained = 64 << 10

// read hands on the events of one connection, which lasts until quiet runs out: it
// may be kept alive although the turn was lost.
func (f *following) read(events *sse.Reader, quiet *time.Timer) (ending, error) {
	defer quiet.Stop()
	how := dropped
	before := f.lastID
	defer func() { f.lastID, f.retry = firstOf(events.LastID(), before), cmp.Or(events.Retry(), f.retry) }()
	anew := before == "" // a server without IDs can only begin anew
	if anew {
		f.display.restart()
	}
	for first := true; ; first = false {
		e, err := events.Next()
		if errors.Is(err, sse.ErrTooLarge) { // it would be again
			return unable, err
		}
		if err != nil {
			return how, err
		}
		quiet.Stop()
		frame := Frame{Name: string(e.Type), ID: string(e.ID), Data: bytes.Clone(e.Data)}
		if first && f.firstID != "" && frame.ID == f.firstID { // it does not heed the ID
			anew = true
			f.display.restart()
		}
		f.firstID = firstOf(f.firstID, frame.ID)
		said := frame.read()
		if !f.hand(frame, said) {
			f.left = true
			return how, nil
		}
		if said.last {
			return toEnd, nil
		}
		if n := len(f.display.shown); n > f.most || !anew && frame.ID != "" && frame.ID != before {
			how, f.most = cut, max(n, f.most)
		}
		quiet.Reset(eventless)
	}
}

// hand yields a frame, as text if it has any.
func (f *following) hand(frame Frame, said saying) bool {
	e := &StreamEvent{Kind: StreamEventKindFrame, Frame: frame}
	if said.text != "" && !said.last {
		if text, kind := f.display.add(said.text, said.delta); text != "" {
			e.Kind, e.Text = kind, text
		}
	}
	return f.yield(e, nil)
}

// saying is what a frame says, as far as that can be known.
type saying struct {
	text  string // of the answer
	delta bool   // which is certainly an addition to what came before
	last  bool   // the turn has ended
}

// read reads a frame as servers have been known or are likely to write it.
func (f *Frame) read() (s saying) {
	data := bytes.TrimSpace(f.Data)
	var m members
	name := f.Name
	switch {
	case len(data) == 0:
	case data[0] == '{' && jsonv2.Unmarshal(data, &m, tolerant()) == nil:
		if name == "message" {
			take(m, &name, "type")
		}
		var status TurnStatus
		take(m, &status, "status")
		s.last = status.Ended()
		if s.delta = take(m, &s.text, "delta"); !s.delta {
			take(m, &s.text, "text", "content", "chunk", "answer")
		}
	case data[0] == '"' && jsonv2.Unmarshal(data, &s.text, tolerant()) == nil:
	case string(data) == "[DONE]":
		s.last = true
	default:
		s.text = string(f.Data)
	}
	s.last = s.last || isLast(name)
	if isAside(name) {
		s.text = ""
	}
	return s
}

// isLast reports whether an event of that name ends a stream.
func isLast(name string) bool {
	switch name {
	case "done", "complete", "completed", "needs_input", "cancelled", "canceled", "failed", "error", "errored", "lost", "end":
		return true
	}
	return false
}

// isAside reports whether an event of that name is about something else than the
// text of the answer.
func isAside(name string) bool {
	name = strings.ToLower(name)
	for _, other := range []string{"ping", "beat", "keep", "open", "start", "status", "citation", "action", "tool", "table", "data"} {
		if strings.Contains(name, other) {
			return true
		}
	}
	return false
}

// display is the text of an answer as it has been shown. A server that begins anew
// tells it again: what is the same as before is not shown again.
type display struct {
	shown []byte
	at    int // how much of it the server has told since it began
}

// restart says that the server begins anew.
func (d *display) restart() { d.at = 0 }

// add takes in a piece and returns what is to be shown of it. A piece may hold all
// of the text before it.
func (d *display) add(piece string, delta bool) (string, StreamEventKind) {
	if !delta && d.at > 0 && len(piece) >= d.at && piece[:d.at] == string(d.shown[:d.at]) {
		piece = piece[d.at:]
	}
	same := 0
	for same < len(piece) && d.at < len(d.shown) && piece[same] == d.shown[d.at] {
		same++
		d.at++
	}
	if piece = piece[same:]; piece == "" {
		return "", ""
	}
	diverged := d.at < len(d.shown)
	d.shown = append(d.shown[:d.at], piece...)
	d.at = len(d.shown)
	if diverged {
		return string(d.shown), StreamEventKindReset
	}
	return piece, StreamEventKindText
}

// settle returns what is to be shown so that it is the answer.
func (d *display) settle(answer string) (string, StreamEventKind) {
	shown := string(d.shown)
	if rest, ok := strings.CutPrefix(answer, shown); ok {
		return rest, StreamEventKindText
	}
	return answer, StreamEventKindReset
}

// String names the event for a log, without what it says.
func (e *StreamEvent) String() string {
	return string(e.Kind) + " " + strconv.Quote(e.Frame.Name) + " of " + count(len(e.Frame.Data), "byte")
}
