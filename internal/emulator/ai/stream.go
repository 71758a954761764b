package ai

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

type streamStyle world.StreamStyle

type streamEvent struct {
	name  string
	data  wire.Object
	piece string // of the answer, with the length of the answer up to its end
	upTo  int
}

// heartbeat is the pause after which a stream says that it is still there when the options do not say.
const heartbeat = 15 * time.Second

// streamTurn tells how a turn goes on while it does.
func (h *Handlers) streamTurn(c *wire.Call, t *turn) (wire.Object, error) {
	if accept := c.Request.Header.Get("Accept"); !strings.Contains(accept, "text/event-stream") {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotStreamed, "Send Accept: text/event-stream.")
	}
	style := streamStyle(h.Options.AI.Stream)
	if c.Stream != nil {
		style = streamStyle(*c.Stream)
	}
	if style.JSON {
		return h.details(t)
	}
	header := http.Header{}
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	from := style.first(t, c.Request.Header.Get("Last-Event-ID"))
	stream := func(ctx context.Context, write func(string) bool) { h.follow(ctx, t, from, &style, write) }
	return c.Send(&wire.Reply{Status: http.StatusOK, Header: header, Stream: stream})
}

// first is the event to begin with.
func (y *streamStyle) first(t *turn, lastID string) int {
	last := len(t.events)
	if t.ended() {
		last-- // the end is told again
		if y.LateDone {
			return last
		}
	}
	n, err := strconv.Atoi(lastID)
	if err != nil || n < 0 || y.NoIDs || y.Restart {
		return 0
	}
	return min(n, last)
}

// follow writes the events of a turn as they come, until it ends. It never waits or writes with the lock in hand.
func (h *Handlers) follow(ctx context.Context, t *turn, from int, style *streamStyle, write func(string) bool) {
	pace := h.Options.AI.Heartbeat
	if pace <= 0 {
		pace = heartbeat
	}
	beat := time.NewTicker(pace)
	defer beat.Stop()
	if !write(style.opening()) {
		return
	}
	for {
		h.RLock()
		text, events, ended, change := t.text, t.events, t.ended(), t.change
		h.RUnlock()
		for ; from < len(events); from++ {
			if ended && from == len(events)-1 && style.NoEnd {
				return
			}
			if !write(style.render(&events[from], from+1, text)) {
				return
			}
			beat.Reset(pace)
		}
		if ended {
			return
		}
		select {
		case <-change:
		case <-beat.C:
			if !write(style.lines(": heartbeat\n\n")) {
				return
			}
			h.Settle()
		case <-ctx.Done():
			panic(http.ErrAbortHandler) // nobody is there to read
		}
	}
}

func (y *streamStyle) opening() string {
	text := ""
	if y.BOM {
		text = "\ufeff"
	}
	if y.Retry > 0 {
		text += "retry: " + strconv.FormatInt(y.Retry.Milliseconds(), 10) + "\n\n"
	}
	return y.lines(text)
}

func (y *streamStyle) lines(text string) string {
	if y.Newline == "" {
		return text
	}
	return strings.ReplaceAll(text, "\n", y.Newline)
}

// render writes an event. The answer is all of it that is known, of which the event has its part.
func (y *streamStyle) render(e *streamEvent, id int, answer string) string {
	data := e.data
	switch {
	case e.piece != "" && y.Cumulative:
		data = wire.Object{{"text", answer[:e.upTo]}}
	case e.piece != "":
		data = wire.Object{{"delta", e.piece}}
	}
	if y.Unnamed {
		data = append(wire.Object{{"type", e.name}}, data...)
	}
	var b strings.Builder
	if y.Comments {
		b.WriteString(": " + e.name + "\n:\n")
	}
	if !y.NoIDs {
		b.WriteString("id: " + strconv.Itoa(id) + "\n")
	}
	if !y.Unnamed {
		b.WriteString("event: " + e.name + "\n")
	}
	text := string(wire.AppendValue(nil, data, false))
	if y.SplitData { // as a pretty printer would
		text = "{\ndata: " + text[1:len(text)-1] + "\ndata: }"
	}
	b.WriteString("data: " + text + "\n\n")
	return y.lines(b.String())
}
