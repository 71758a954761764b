package ai

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// turnPace is the pause between the steps of a turn when the options do not say.
const turnPace = 20 * time.Millisecond

// begin lets a turn take its course on the platform's clock.
func (h *Handlers) begin(t *turn) {
	t.script = h.chats.pick(t.query)
	text := t.script.Text
	if found := h.lookUp(t); text == "" || !t.script.NoCitations {
		t.sources = found
		text = cmp.Or(text, h.compose(t))
	}
	if t.script.NoCitations {
		t.sources = nil
	}
	t.course(text, h.ProfileName(t.thread.profile))
	h.goOnTurn(t, t.created)
}

// pick returns the script for a question, the zero Script when none is for it.
func (ch *chatState) pick(query string) world.Script {
	for _, sc := range ch.scripts {
		if strings.Contains(query, sc.Match) && (sc.Count == 0 || sc.used < sc.Count) {
			sc.used++
			return sc.Script
		}
	}
	return world.Script{}
}

// course plans what happens to a turn: its statuses, the search, the answer piece by piece, the sources and the end.
func (t *turn) course(text, place string) {
	steps := t.script.Steps
	if steps == nil {
		steps = []string{turnRunning}
	}
	for _, status := range steps {
		t.then(func(at time.Time) { t.move(status, at) })
	}
	end := cmp.Or(t.script.Status, turnComplete)
	if end != turnNeedsInput {
		t.then(func(at time.Time) { t.act("Searched "+place, at) })
		pieces := split(text, t.script.Chunk)
		if end != turnComplete {
			pieces = pieces[:len(pieces)/2] // it does not get further
		}
		for _, piece := range pieces {
			t.then(func(at time.Time) { t.say(piece, at) })
		}
	}
	if end == turnComplete {
		for _, src := range t.sources {
			t.then(func(time.Time) { t.cite(src.object()) })
		}
	}
	t.then(func(at time.Time) { t.move(end, at) })
}

func (t *turn) then(do func(at time.Time)) { t.plan = append(t.plan, do) }

// goOnTurn plans the next step of a turn.
func (h *Handlers) goOnTurn(t *turn, at time.Time) {
	if len(t.plan) == 0 {
		return
	}
	pace := h.Options.AI.TurnPace
	if pace == 0 {
		pace = turnPace
	}
	at = at.Add(max(0, pace))
	h.Later(at, func() {
		if t.ended() { // cancelled meanwhile
			return
		}
		before := t.status
		do := t.plan[0]
		t.plan = t.plan[1:]
		do(at)
		if t.status != before {
			h.moved(t)
		}
		t.wake()
		h.goOnTurn(t, at)
	})
}

// wake tells those who read the stream of a turn that there is more.
func (t *turn) wake() {
	close(t.change)
	t.change = make(chan struct{})
}

// moved bills a turn that ended, and tells the activity of its place.
func (h *Handlers) moved(t *turn) {
	place := t.thread.profile
	h.Touch(h.Now(), place, world.FieldsFor("ai_chat", t.thread.id, "ai_chat")...)
	if !t.ended() {
		return
	}
	const perCredit = 100
	t.tokens = tokensOf(t.query) + tokensOf(t.text)
	t.credits = (t.tokens + perCredit - 1) / perCredit
	h.Credits[h.Payer(place, t.thread.creator)] += t.credits
	h.chats.costs = append(h.chats.costs, transaction{
		profile: place, user: t.thread.creator, thread: t.thread.id, turn: t.id, credits: t.credits, tokens: t.tokens,
		at: t.updated,
	})
}

// cancel ends a turn that is under way, and reports whether it was.
func (h *Handlers) cancel(t *turn) bool {
	if t.ended() {
		return false
	}
	t.move(turnCancelled, h.Now())
	h.moved(t)
	t.wake()
	return true
}

// move puts a turn into a status. One that ends it ends what the agent is doing, too.
func (t *turn) move(status string, at time.Time) {
	t.status, t.updated = status, at
	t.thread.updated = at
	if !t.ended() {
		t.emit("status", wire.Object{{"status", status}})
		return
	}
	t.plan = nil
	outcome := "failed"
	switch status {
	case turnComplete:
		outcome = "done"
	case turnCancelled:
		outcome = turnCancelled
	}
	for _, a := range t.actions {
		if a.state == turnRunning {
			a.state, a.ended = outcome, at
		}
	}
	t.emit(terminalEvent(status), t.ending())
}

// terminalEvent names the event that ends a stream.
func terminalEvent(status string) string {
	if status == turnComplete {
		return "done"
	}
	return status
}

func (t *turn) ending() wire.Object {
	data := wire.Object{{"turn_id", wire.Hyphenated(t.id)}, {"status", t.status}}
	if t.status == turnNeedsInput {
		data = append(data, wire.Member{"clarification", t.clarification()})
	}
	if failure := t.failure(); failure != nil {
		data = append(data, wire.Member{"error", failure})
	}
	return data
}

// act notes what the agent begins to do.
func (t *turn) act(label string, at time.Time) {
	a := &action{label: label, state: turnRunning, started: at}
	for _, src := range t.sources {
		a.affected = append(a.affected, src.node.ID)
	}
	t.actions = append(t.actions, a)
	t.emit("action", a.object(len(t.actions)))
}

func (t *turn) say(piece string, at time.Time) {
	if a := t.actions[len(t.actions)-1]; a.state == turnRunning {
		a.state, a.ended = "done", at
	}
	t.text += piece
	t.events = append(t.events, streamEvent{name: "delta", piece: piece, upTo: len(t.text)})
}

func (t *turn) cite(source wire.Object) {
	t.cites = append(t.cites, source)
	t.emit("citation", source)
}

func (t *turn) emit(name string, data wire.Object) {
	t.events = append(t.events, streamEvent{name: name, data: data})
}

const fewWords = 24 // bytes, at least

// split cuts a text into the pieces it is streamed in: at words, or at so many bytes, never inside a character.
func split(text string, size int) []string {
	var pieces []string
	for text != "" {
		at := cmp.Or(size, fewWords)
		if size == 0 && at < len(text) {
			word := strings.IndexByte(text[at:], ' ') + 1
			if word == 0 {
				word = len(text) - at
			}
			at += word
		}
		at = min(at, len(text))
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		pieces = append(pieces, text[:at])
		text = text[at:]
	}
	return pieces
}
