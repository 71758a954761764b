package ai

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// turnPace is the default pause between the steps of a turn.
const turnPace = 20 * time.Millisecond

// begin plans the steps of a turn and schedules the first one. The answer is that of a
// script that matches the question, or else quotes files. Such a script can also
// require that no sources are cited.
func (h *Handlers) begin(t *turn) {
	t.script = h.chats.pick(t.query)
	text := t.script.Text
	found := h.lookUp(t)
	if text == "" || !t.script.NoCitations {
		t.sources = found
		text = cmp.Or(text, h.compose(t))
	}
	if t.script.NoCitations {
		t.sources = nil
	}
	t.planSteps(text, h.w.ProfileName(t.thread.profile))
	h.scheduleStep(t, t.created)
}

// pick returns the first script that matches a question and may still be used.
func (ch *chatState) pick(query string) world.Script {
	for _, sc := range ch.scripts {
		if strings.Contains(query, sc.Match) && (sc.Count == 0 || sc.used < sc.Count) {
			sc.used++
			return sc.Script
		}
	}
	return world.Script{}
}

// planSteps plans the steps of a turn: the statuses of its script, the search, the
// answer piece by piece, the sources and the final status. A turn that fails stops in
// the middle of its answer, and one that needs input has none.
func (t *turn) planSteps(text, place string) {
	steps := t.script.Steps
	if steps == nil {
		steps = []string{turnRunning}
	}
	for _, status := range steps {
		t.then(step{do: stepMove, text: status})
	}
	end := cmp.Or(t.script.Status, turnComplete)
	if end != turnNeedsInput {
		t.then(step{do: stepAct, text: "Searched " + place})
		pieces := split(text, t.script.Chunk)
		if end != turnComplete {
			pieces = pieces[:len(pieces)/2] // it does not get further
		}
		for _, piece := range pieces {
			t.then(step{do: stepSay, text: piece})
		}
	}
	if end == turnComplete {
		for _, src := range t.sources {
			t.then(step{do: stepCite, source: src})
		}
	}
	t.then(step{do: stepMove, text: end})
}

// step is what happens next in a turn.
type step struct {
	do     stepKind
	text   string  // the status, action or piece
	source passage // to cite
}

type stepKind int

const (
	stepMove stepKind = iota // to a status
	stepAct                  // begin an action
	stepSay                  // a piece of the answer
	stepCite                 // a source
)

// then adds a step to the plan.
func (t *turn) then(s step) { t.plan = append(t.plan, s) }

// take makes a step, at a time.
func (t *turn) take(s step, at time.Time) {
	switch s.do {
	case stepMove:
		t.move(s.text, at)
	case stepAct:
		t.act(s.text, at)
	case stepSay:
		t.say(s.text, at)
	case stepCite:
		t.cites = append(t.cites, s.source.object())
		t.emit("citation", s.source.object())
	}
}

// scheduleStep schedules the next step of a turn, one pace after the last one, which
// was at a time. It then goes on with the step after that.
func (h *Handlers) scheduleStep(t *turn, at time.Time) {
	if len(t.plan) == 0 {
		return
	}
	at = at.Add(max(0, cmp.Or(h.w.Options.AI.TurnPace, turnPace)))
	h.w.Later(at, nextStep{h, t, at})
}

// nextStep is the task of [Handlers.scheduleStep].
type nextStep struct {
	h  *Handlers
	t  *turn
	at time.Time
}

// Do takes the next step of a turn, unless it has ended, and schedules the one after
// it. It reports a change of the status, and wakes the calls that stream the answer.
func (s nextStep) Do() {
	h, t := s.h, s.t
	if t.ended() { // cancelled meanwhile
		return
	}
	before, next := t.status, t.plan[0]
	t.plan = t.plan[1:]
	t.take(next, s.at)
	if t.status != before {
		h.statusChanged(t)
	}
	t.change.Fire()
	h.scheduleStep(t, s.at)
}

// statusChanged reports a new status of a turn to those who poll, and charges credits
// for a turn that has ended.
func (h *Handlers) statusChanged(t *turn) {
	place := t.thread.profile
	h.w.Touch(h.w.Now(), place, world.FieldsFor("ai_chat", t.thread.id, "ai_chat")...)
	if !t.ended() {
		return
	}
	const perCredit = 100
	t.tokens = tokensOf(t.query) + tokensOf(t.text)
	t.credits = (t.tokens + perCredit - 1) / perCredit
	h.w.Charge(h.w.Payer(place, t.thread.creator), t.credits)
	h.chats.costs = append(h.chats.costs, transaction{
		profile: place, user: t.thread.creator, thread: t.thread.id, turn: t.id, credits: t.credits, tokens: t.tokens,
		at: t.updated,
	})
}

// cancel ends a turn. It returns false if the turn has ended already.
func (h *Handlers) cancel(t *turn) bool {
	if t.ended() {
		return false
	}
	t.move(turnCancelled, h.w.Now())
	h.statusChanged(t)
	t.change.Fire()
	return true
}

// move sets the status of a turn and adds it to the stream. A final status drops the
// steps that are left, and ends the running actions.
func (t *turn) move(status string, at time.Time) {
	t.status, t.updated = status, at
	t.thread.updated = at
	if !t.ended() {
		t.emit("status", wire.Object{{"status", status}})
		return
	}
	t.plan = nil
	outcome, event := "failed", status
	switch status {
	case turnComplete:
		outcome, event = "done", "done"
	case turnCancelled:
		outcome = turnCancelled
	}
	for _, a := range t.actions {
		if a.state == turnRunning {
			a.state, a.ended = outcome, at
		}
	}
	t.emit(event, t.ending())
}

// ending returns the data of the last event of a stream: the status, with a question
// to the user or an error.
func (t *turn) ending() wire.Object {
	data := wire.Object{{"turn_id", wire.Hyphenated(t.id)}, {"status", t.status}}
	data = data.With(t.status == turnNeedsInput, "clarification", t.clarification())
	if failure := t.failure(); failure != nil {
		data = append(data, wire.Member{"error", failure})
	}
	return data
}

// act begins an action on the files that the answer cites.
func (t *turn) act(label string, at time.Time) {
	a := &action{label: label, state: turnRunning, started: at}
	for _, src := range t.sources {
		a.affected = append(a.affected, src.node.ID)
	}
	t.actions = append(t.actions, a)
	t.emit("action", a.object(len(t.actions)))
}

// say adds a piece to the answer and to the stream, and ends the action before.
func (t *turn) say(piece string, at time.Time) {
	if a := t.actions[len(t.actions)-1]; a.state == turnRunning {
		a.state, a.ended = "done", at
	}
	t.text += piece
	t.events = append(t.events, streamEvent{name: "delta", piece: piece, upTo: len(t.text)})
}

// emit adds an event to the stream.
func (t *turn) emit(name string, data wire.Object) {
	t.events = append(t.events, streamEvent{name: name, data: data})
}

const leastPiece = 24 // bytes, about four words

// split cuts a text into pieces: of size bytes or, if size is 0, of whole words with
// leastPiece bytes or more. It cuts no character.
func split(text string, size int) []string {
	var pieces []string
	for text != "" {
		at := min(cmp.Or(size, leastPiece), len(text))
		if size == 0 {
			rest, _, found := strings.Cut(text[at:], " ") // of the word
			at += len(rest)
			if found {
				at += len(" ")
			}
		}
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		pieces = append(pieces, text[:at])
		text = text[at:]
	}
	return pieces
}

type passage struct {
	node     *world.Node
	version  string
	text     string
	page     int
	score    int
	attached bool // the question is about it
}

const citationsMost = 3

// lookUp returns the best passages for a question: of the files that it refers to, and
// of those that share words with it.
func (h *Handlers) lookUp(t *turn) []passage {
	words := terms(t.query)
	var found []passage
	for _, src := range h.readable(t) {
		version, _ := src.node.Version(src.version)
		src.version = version.ID
		src.search(world.Text(version), words)
		if src.text != "" && (src.attached || src.score > 0) {
			found = append(found, src)
		}
	}
	slices.SortStableFunc(found, func(a, b passage) int { return b.score - a.score })
	return found[:min(citationsMost, len(found))]
}

// readable returns the files that the agent may read for a question. Files in folders,
// and all files if the question has no references, must be indexed.
func (h *Handlers) readable(t *turn) []passage {
	place := t.thread.profile
	var list []passage
	for _, ref := range t.refs {
		if n := h.w.Node(place, ref.id); n != nil && !ref.folder {
			list = append(list, passage{node: n, version: ref.version, attached: true})
		}
	}
	if !h.w.Intelligent(place) {
		return list
	}
	for _, n := range h.w.NodesOf(place) {
		named := len(t.refs) == 0 || slices.ContainsFunc(t.refs,
			func(r reference) bool { return r.folder && h.w.InFolder(n, r.id) })
		known := slices.ContainsFunc(list, func(src passage) bool { return src.node == n })
		if named && !known && n.AIState == world.AIIndexed {
			list = append(list, passage{node: n})
		}
	}
	return list
}

// search sets the passage to the sentence of a text that shares the most words with a
// question, with the number of these words and its page. Without a shared word it is
// the first sentence.
func (src *passage) search(text string, words []string) {
	if !utf8.ValidString(text) {
		return
	}
	page := 1
	for _, sentence := range sentences(text) {
		page += strings.Count(sentence, "\f")
		sentence = strings.TrimLeft(strings.TrimSpace(sentence), "#->*\f ")
		score := 0
		for _, word := range terms(sentence) {
			if slices.Contains(words, word) {
				score++
			}
		}
		if sentence != "" && (src.text == "" || score > src.score) {
			src.text, src.score, src.page = sentence, score, page
		}
	}
}

// sentences splits a text after each sentence and each line.
func sentences(text string) (list []string) {
	begin := 0
	for i, r := range text {
		stop := strings.ContainsRune(".!?", r) && (i+1 == len(text) || unicode.IsSpace(rune(text[i+1])))
		if stop || r == '\n' {
			list = append(list, text[begin:i+1])
			begin = i + 1
		}
	}
	return append(list, text[begin:])
}

// terms returns the distinct words of a text that say what it is about, in the
// singular.
func terms(text string) []string {
	const ignored = " about and are can did does for from has have how not our that the there this was what when where " +
		"which who will with you your "
	var words []string
	for _, word := range wire.InWords(text) {
		if len(word) < 3 || strings.Contains(ignored, " "+word+" ") {
			continue
		}
		word = strings.TrimSuffix(word, "s")
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// compose returns an answer that quotes the sources of a turn.
func (h *Handlers) compose(t *turn) string {
	place := h.w.ProfileName(t.thread.profile)
	if len(t.sources) == 0 {
		return "Nothing in " + place + " answers that."
	}
	var b strings.Builder
	b.WriteString("From the files of " + place + ":")
	for i, src := range t.sources {
		b.WriteString("\n\n" + src.text + " [" + strconv.Itoa(i+1) + "]")
	}
	return b.String()
}

// object renders a citation.
func (src *passage) object() wire.Object {
	return wire.Object{
		{"node_id", wire.Hyphenated(src.node.ID)},
		{"version_id", wire.Hyphenated(src.version)},
		{"name", src.node.Name},
		{"page", src.page},
		{"snippet", src.text},
	}
}

type streamStyle world.StreamStyle

type streamEvent struct {
	name  string
	data  wire.Object
	piece string // of the answer, with the length of the answer up to its end
	upTo  int
}

// heartbeat is the default interval of keep-alive events of a stream.
const heartbeat = 15 * time.Second

// streamTurn sends the events of a turn as server-sent events, while they happen. With
// the option JSON, it returns the turn as it is.
func (h *Handlers) streamTurn(c *wire.Call, t *turn) (wire.Object, error) {
	if accept := c.Request.Header.Get("Accept"); !strings.Contains(accept, "text/event-stream") {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotStreamed, "Send Accept: text/event-stream.")
	}
	style := streamStyle(h.w.Options.AI.Stream)
	if c.Stream != nil {
		style = streamStyle(*c.Stream)
	}
	if style.JSON {
		return h.turnDetails(c, t)
	}
	header := http.Header{}
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	from := style.first(t, c.Request.Header.Get("Last-Event-ID"))
	stream := func(ctx context.Context, write func(string) bool) { h.follow(ctx, t, from, &style, write) }
	return c.Send(&wire.Reply{Status: http.StatusOK, Header: header, Stream: stream})
}

// first returns the index of the event at which a stream begins: the one after the
// event that the client has read last, if it names one. The last event of a turn that
// has ended is always sent again.
func (y *streamStyle) first(t *turn, lastID string) int {
	last := len(t.events)
	if t.ended() {
		last-- // the end is sent again
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

// follow streams the events of a turn from an index on, until the turn has ended or
// write returns false. It holds the lock only while it reads them. Without events, it
// sends heartbeats.
func (h *Handlers) follow(ctx context.Context, t *turn, from int, style *streamStyle, write func(string) bool) {
	pace := h.w.Options.AI.Heartbeat
	if pace <= 0 {
		pace = heartbeat
	}
	if !write(style.opening()) {
		return
	}
	for {
		h.w.RLock()
		text, events, ended, change := t.text, t.events, t.ended(), t.change.Next()
		stored := h.chats.threads[t.thread.id] == t.thread
		h.w.RUnlock()
		for ; from < len(events); from++ {
			if ended && from == len(events)-1 && style.NoEnd {
				return
			}
			if !write(style.render(&events[from], from+1, text)) {
				return
			}
		}
		if ended {
			return
		}
		if !stored {
			panic(http.ErrAbortHandler) // another state was restored
		}
		if h.awaitChange(ctx, change, pace) {
			continue
		}
		if !write(style.lines(": heartbeat\n\n")) {
			return
		}
		h.w.Settle()
	}
}

// awaitChange waits for a change, and returns false if there is none for so long.
func (h *Handlers) awaitChange(ctx context.Context, change <-chan struct{}, pace time.Duration) bool {
	beat, stop := h.w.After(pace)
	defer stop()
	select {
	case <-change:
		return true
	case <-beat:
		return false
	case <-ctx.Done():
		panic(http.ErrAbortHandler) // the reader is gone
	}
}

// opening returns the text with which the stream begins, before any event.
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

// lines returns a text with the line ends of the style.
func (y *streamStyle) lines(text string) string {
	if y.Newline == "" {
		return text
	}
	return strings.ReplaceAll(text, "\n", y.Newline)
}

// render returns an event as text. The answer is the whole one so far, of which a
// cumulative style sends all up to the end of the piece.
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
	text := string(wire.Encode(data))
	if y.SplitData { // as a pretty printer would
		text = "{\ndata: " + text[1:len(text)-1] + "\ndata: }"
	}
	b.WriteString("data: " + text + "\n\n")
	return y.lines(b.String())
}

// Tasks returns a task of each kind.
func Tasks() []world.Task { return []world.Task{nextStep{}} }
