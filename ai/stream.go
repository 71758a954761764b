package ai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/idle"
	"github.com/fastio-go/fastio/internal/jsonopt"
	"github.com/fastio-go/fastio/internal/sse"
	"github.com/fastio-go/fastio/internal/wait"
)

// StreamEventKind is the kind of a [StreamEvent].
type StreamEventKind string

// Kinds of stream events.
const (
	StreamEventKindText  StreamEventKind = "text"  // Text is more of the answer
	StreamEventKindReset StreamEventKind = "reset" // Text replaces all text before: the answer was restarted
	StreamEventKindFrame StreamEventKind = "frame" // any other frame; only Frame is set
	StreamEventKindEnd   StreamEventKind = "end"   // Turn is the final turn; the last event
)

// StreamEvent is a part of an answer that is being generated.
type StreamEvent struct {
	Kind  StreamEventKind
	Text  string
	Frame Frame // the frame of the server; zero if there is none
	Turn  *Turn
}

// Frame is an event of the stream as received. The forms of Data are not
// published.
type Frame struct {
	Name string // default: "message"
	ID   string
	Data []byte // usually JSON
}

// StreamOptions are the options of [Turns.Stream]. Nil means no options.
type StreamOptions struct {
	// Idle is the time without data after which the connection is replaced.
	// Default: 60 s. The first data may take a minute longer. A connection with
	// keep-alive comments only is replaced after 5 minutes.
	Idle time.Duration

	MaxEvent int // bytes of an event; a larger one ends the streaming. Default: 16 MiB
	MaxText  int // bytes of the text of all events; more ends the streaming. Default: 16 MiB
}

const (
	longestStream = 24 * time.Hour
	defaultIdle   = time.Minute
	defaultText   = 16 << 20
	maxDrops      = 5               // connections in a row without new data
	rateLimitWait = time.Minute     // before the request is sent
	eventless     = 5 * time.Minute // with keep-alive comments only
	drained       = 64 << 10        // bytes of a body that is not read, for the reuse of its connection
)

// Stream yields an answer for display while it is generated. The last event is of
// [StreamEventKindEnd] and holds the turn of [Turns.Get]. The Texts of all events,
// joined, are the Answer of the turn: text that the stream omitted is added at the end.
//
// A broken or silent connection is not an error: Stream resumes the stream or, if that
// is not possible, waits for the end of the turn. Leaving the loop closes the
// connection, but the turn continues: see [Turns.Cancel].
//
// Errors: [*TurnError] if the turn failed, ctx or [api.WithTimeout] ended the loop, or the
// server refused it permanently.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/message/{message_id}/read/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/message/{message_id}/read/.
func (t *Turns) Stream(
	ctx context.Context, in api.Profile, thread, turn api.OpaqueID, o *StreamOptions, opts ...api.CallOption,
) iter.Seq2[*StreamEvent, error] {
	const op = "ai.Turns.Stream"
	return func(yield func(*StreamEvent, error) bool) {
		r := endpoint.AITurnsStream(in, thread, turn)
		if err := call.CheckRequest(ctx, t.c, r); err != nil {
			yield(nil, err)
			return
		}
		ctx, stop, err := call.Bounded(ctx, t.c, op, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		defer stop()
		r.Attempt = longestStream // regardless of the timeout of the client: Idle ends a silent stream
		if o == nil {
			o = &StreamOptions{}
		}
		f := &following{
			waiting: waiting{turns: t, op: op, in: in, thread: thread, turn: turn, opts: opts},
			request: r, idle: cmp.Or(max(o.Idle, 0), defaultIdle), maxEvent: o.MaxEvent, yield: yield,
			display: display{most: cmp.Or(max(o.MaxText, 0), defaultText)},
		}
		f.run(ctx)
	}
}

type following struct {
	waiting
	request  *api.Request
	idle     time.Duration
	maxEvent int
	yield    func(*StreamEvent, error) bool

	display   display
	mostShown int           // the largest size in bytes of the answer as shown; a restart may have made it smaller
	firstID   string        // the ID of the first event of the turn
	lastID    string        // the ID of the latest event, for Last-Event-ID
	retry     time.Duration // the pause that the server asks for
	left      bool          // the caller has left the loop
}

// run connects until the turn has ended and yields its events, at last the
// turn. The stream is for display only: the turn as read from the server says
// whether it has ended.
func (f *following) run(ctx context.Context) {
	reconnect := wait.Backoff{Base: 500 * time.Millisecond, Cap: 10 * time.Second}
	drops := 0 // connections in a row that brought nothing new
	for {
		how, streamErr := f.readConnection(ctx)
		if f.left {
			return
		}
		if how == reachedEnd || how == cannotStream {
			break
		}
		drops++
		if how == progressed {
			drops = 0
		}
		ended, turnErr := f.readTurn(ctx)
		if ended || drops >= maxDrops || call.Final(turnErr) { // awaitEnd goes on without a stream, or fails with turnErr
			break
		}
		requested := min(f.retry, heldPoll) // the server may ask for a longer pause, but the turn may end during it
		if ctxErr := wait.Sleep(ctx, max(reconnect.Longest(drops), requested)); ctxErr != nil {
			f.yield(nil, f.turnError(withLast(f.op, ctxErr, streamErr)))
			return
		}
	}
	t, err := f.awaitEnd(ctx)
	if err != nil {
		f.yield(nil, err)
		return
	}
	if text, kind := f.display.completeWith(t.Answer); text != "" && !f.yield(&StreamEvent{Kind: kind, Text: text}, nil) {
		return
	}
	f.yield(&StreamEvent{Kind: StreamEventKindEnd, Turn: t}, nil)
}

// ending says how a connection ended.
type ending uint8

const (
	noProgress   ending = iota // without new data
	progressed                 // with new data, before the end of the turn
	reachedEnd                 // with the last event
	cannotStream               // the turn has no stream that can be read on: the answer must come from the turn
)

// readConnection reads one stream of events until it ends, and returns how it ended. A
// body that is declared as another media type has no events: the answer is then read from
// the turn. A connection is closed if it brings no bytes for the time idle, or if it brings
// bytes, such as keep-alive comments, but no event for the time eventless.
func (f *following) readConnection(ctx context.Context) (ending, error) {
	o := api.Resolve(f.opts)
	if o.Header == nil {
		o.Header = http.Header{}
	}
	o.Header.Set("Accept", "text/event-stream")
	if f.lastID != "" {
		o.Header.Set("Last-Event-ID", f.lastID)
	}
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	late := time.AfterFunc(rateLimitWait+f.idle, hangUp)            // until there is a response
	resp, err := f.turns.c.Open(ctx, f.request, api.WithOptions(o)) //nolint:bodyclose // its wrapper is closed
	late.Stop()
	if err != nil {
		if call.Final(err) {
			return cannotStream, err
		}
		return noProgress, err
	}
	body := idle.Body(resp.Body, f.idle)
	defer func() { _ = body.Close() }()
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind != "text/event-stream" {
		_, _ = io.CopyN(io.Discard, body, drained) // so that the connection can be used again
		return cannotStream, nil
	}
	quiet := time.AfterFunc(eventless, hangUp) // readEvents starts it again after each event
	return f.readEvents(sse.NewReader(body, f.maxEvent), quiet)
}

// readEvents yields the events of one connection and returns how it ended. The connection
// has progressed if an event had text beyond all that was shown, or an ID other than the
// last one of the connection before (lastID). After a restart, where the server sends the
// answer from its start, the IDs do not count: those of old events come again.
//
// If no event comes for long, the timer quiet closes the connection, which may be kept
// alive although the turn was lost.
func (f *following) readEvents(events *sse.Reader, quiet *time.Timer) (ending, error) {
	defer quiet.Stop()
	how, restarted := noProgress, false
	defer func() { f.lastID, f.retry = cmp.Or(events.LastID(), f.lastID), cmp.Or(events.Retry(), f.retry) }()
	for isFirst := true; ; isFirst = false {
		e, err := events.Next()
		if errors.Is(err, sse.ErrTooLarge) { // a retry would receive it again
			return cannotStream, err
		}
		if err != nil {
			return how, err
		}
		quiet.Stop()
		frame := Frame{Name: string(e.Type), ID: string(e.ID), Data: bytes.Clone(e.Data)}
		if isFirst && f.isRestart(frame) {
			restarted = true
			f.display.sent = 0 // bytes since the restart
		}
		f.firstID = cmp.Or(f.firstID, frame.ID) // by which isRestart recognizes a restart
		said := frame.read()
		if !f.yieldFrame(frame, said) { // the text is beyond the limit; or the caller has left, which run asks first
			return cannotStream, nil
		}
		if said.last {
			return reachedEnd, nil
		}
		hasNewText := len(f.display.shown) > f.mostShown
		hasOtherID := frame.ID != "" && frame.ID != f.lastID
		if hasNewText || hasOtherID && !restarted {
			how = progressed
		}
		f.mostShown = max(f.mostShown, len(f.display.shown))
		quiet.Reset(eventless)
	}
}

// isRestart reports, by the first frame of a connection, whether the server sends the
// answer from its start again. It does so if no event had an ID for Last-Event-ID, and if
// it ignores this header: then the frame is the first one of the turn.
func (f *following) isRestart(frame Frame) bool {
	return f.lastID == "" || f.firstID != "" && frame.ID == f.firstID
}

// yieldFrame yields a frame, as text if it has any, and reports whether the stream goes on.
// It ends if the caller leaves the loop (f.left), or if the text of the frame is beyond the
// limit (display.full): that frame is not yielded.
func (f *following) yieldFrame(frame Frame, said frameText) bool {
	e := &StreamEvent{Kind: StreamEventKindFrame, Frame: frame}
	if said.text != "" && !said.last { // the text of the last frame may be an error; the turn has the answer
		if text, kind := f.display.appendPiece(said.text, said.delta); text != "" {
			e.Kind, e.Text = kind, text
		}
	}
	if f.display.full {
		return false
	}
	f.left = !f.yield(e, nil)
	return !f.left
}

type frameText struct {
	text  string // of the answer
	delta bool   // text is an addition to the text before
	last  bool   // the turn has ended
}

// read finds what a frame adds to the answer, and whether it is the last one. The
// platform does not document the form: JSON objects, JSON strings, [DONE] and plain
// text are read.
func (f *Frame) read() (s frameText) {
	data := bytes.TrimSpace(f.Data)
	var m decode.Members
	name := f.Name
	switch {
	case len(data) == 0:
	case data[0] == '{' && jsonv2.Unmarshal(data, &m, jsonopt.Lenient()) == nil:
		if name == "message" {
			decode.Take(m, &name, "type")
		}
		var status TurnStatus
		decode.Take(m, &status, "status")
		s.last = status.Ended()
		s.delta = decode.Take(m, &s.text, "delta")
		if !s.delta {
			decode.Take(m, &s.text, "text", "content", "chunk", "answer")
		}
	case data[0] == '"' && jsonv2.Unmarshal(data, &s.text, jsonopt.Lenient()) == nil: // the string is the text
	case string(data) == "[DONE]":
		s.last = true
	default:
		s.text = string(f.Data)
	}
	s.last = s.last || isLast(name)
	if hasNoAnswer(name) {
		s.text = ""
	}
	return s
}

// isLast reports whether a stream ends with an event of this name.
func isLast(name string) bool {
	switch name {
	case "done", "complete", "completed", "needs_input", "cancelled", "canceled", "failed", "error", "errored", "lost",
		"end":
		return true
	}
	return false
}

// hasNoAnswer reports whether the name of an event means that it has no text of the
// answer. The names are not documented, so parts of them are compared.
func hasNoAnswer(name string) bool {
	name = strings.ToLower(name)
	for _, other := range []string{
		"ping", "beat", "keep", "open", "start", "status", "citation", "action", "tool", "table", "data",
	} {
		if strings.Contains(name, other) {
			return true
		}
	}
	return false
}

// display is the text of an answer as shown. Text that a restarted server
// repeats is not shown again.
type display struct {
	most  int    // bytes to keep
	shown []byte // the answer as the caller has it
	sent  int    // bytes at the start of shown that the server has sent since it last began the answer
	full  bool   // a piece was left out because it is beyond most
}

// appendPiece adds a piece of text and returns the part of it that is new, and whether
// that continues or replaces what was shown. Without delta, a piece may repeat all
// text that was sent before it.
//
// When the server begins the answer again, d.sent is 0, and text that is shown already
// comes once more. It is skipped as long as it is equal; text that differs replaces all
// that was shown. Text beyond the limit is left out, and sets d.full, which ends the stream.
func (d *display) appendPiece(piece string, delta bool) (string, StreamEventKind) {
	if !delta {
		piece = strings.TrimPrefix(piece, string(d.shown[:d.sent]))
	}
	for piece != "" && d.sent < len(d.shown) && piece[0] == d.shown[d.sent] { // the byte is shown already
		piece = piece[1:]
		d.sent++
	}
	d.full = d.sent+len(piece) > d.most
	if piece == "" || d.full {
		return "", ""
	}
	differs := d.sent < len(d.shown)
	d.shown = append(d.shown[:d.sent], piece...)
	d.sent = len(d.shown)
	if differs {
		return string(d.shown), StreamEventKindReset
	}
	return piece, StreamEventKindText
}

// completeWith returns what remains to be shown of the whole answer, and whether that
// continues or replaces what was shown.
func (d *display) completeWith(answer string) (string, StreamEventKind) {
	shown := string(d.shown)
	if rest, ok := strings.CutPrefix(answer, shown); ok {
		return rest, StreamEventKindText
	}
	return answer, StreamEventKindReset
}

// String returns the kind, name and size of the event for a log, without its
// text.
func (e *StreamEvent) String() string {
	return string(e.Kind) + " " + strconv.Quote(e.Frame.Name) + " of " + count(len(e.Frame.Data), "byte")
}
