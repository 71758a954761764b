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

// planAnswer plans the steps of a turn and schedules the first one. The answer is the text of
// the script that matches the question, or else a quotation of the passages found in files.
// The turn cites these passages in both cases, unless the script has the option NoCitations.
func (h *Handlers) planAnswer(t *turn) {
	t.script = h.chats.takeScript(t.query)
	t.sources = h.findPassages(t)
	text := cmp.Or(t.script.Text, h.quoteSources(t))
	if t.script.NoCitations {
		t.sources = nil
	}
	t.planSteps(text, h.w.ProfileName(t.thread.profile))
	h.scheduleStep(t, t.created)
}

// takeScript returns the first script that matches a question and may still be used, and
// counts the use; a Count of 0 means no limit. If none matches, it returns the zero script,
// which changes nothing.
func (ch *chatState) takeScript(query string) world.Script {
	for _, sc := range ch.scripts {
		if strings.Contains(query, sc.Match) && (sc.Count == 0 || sc.used < sc.Count) {
			sc.used++
			return sc.Script
		}
	}
	return world.Script{}
}

// planSteps plans the steps of a turn: the statuses of its script, the search, which
// names the workspace or share, the answer piece by piece, the sources and the final
// status. A turn that fails stops in the middle of its answer, and one that needs input
// has none.
func (t *turn) planSteps(text, profileName string) {
	steps := t.script.Steps
	if steps == nil {
		steps = []string{turnRunning}
	}
	for _, status := range steps {
		t.addStep(step{do: stepStatus, text: status})
	}
	end := cmp.Or(t.script.Status, turnComplete)
	if end != turnNeedsInput {
		t.addStep(step{do: stepAction, text: "Searched " + profileName})
		pieces := splitAnswer(text, t.script.Chunk)
		if end != turnComplete {
			pieces = pieces[:len(pieces)/2]
		}
		for _, piece := range pieces {
			t.addStep(step{do: stepText, text: piece})
		}
	}
	if end == turnComplete {
		for _, src := range t.sources {
			t.addStep(step{do: stepCite, source: src})
		}
	}
	t.addStep(step{do: stepStatus, text: end})
}

// step is what happens next in a turn.
type step struct {
	do     stepKind
	text   string  // the status, action or piece
	source passage // to cite
}

type stepKind int

const (
	stepStatus stepKind = iota // change to a status
	stepAction                 // begin an action
	stepText                   // add a piece of the answer
	stepCite                   // cite a source
)

// addStep adds a step to the plan.
func (t *turn) addStep(s step) { t.plan = append(t.plan, s) }

// applyStep applies a step to the turn at a time: a new status, a new action, a piece
// of the answer or a citation.
func (t *turn) applyStep(s step, at time.Time) {
	switch s.do {
	case stepStatus:
		t.setStatus(s.text, at)
	case stepAction:
		t.startAction(s.text, at)
	case stepText:
		t.addText(s.text, at)
	case stepCite:
		t.cites = append(t.cites, s.source.object())
		t.addEvent("citation", s.source.object())
	}
}

// scheduleStep schedules the next step of a turn, if any is left, a pause after the time
// of the step before it. The pause is the option TurnPace: 0 means turnPace, and a
// negative one means none.
func (h *Handlers) scheduleStep(t *turn, before time.Time) {
	if len(t.plan) == 0 {
		return
	}
	pause := max(0, cmp.Or(h.w.Options.AI.TurnPace, turnPace))
	at := before.Add(pause)
	h.w.Schedule(at, nextStep{h, t, at})
}

// nextStep is the task of [Handlers.scheduleStep].
type nextStep struct {
	h  *Handlers
	t  *turn
	at time.Time
}

// Do applies the next step of a turn, unless it has ended, and schedules the one after
// it. It reports a change of the status, and wakes the calls that stream the answer.
func (s nextStep) Do() {
	h, t := s.h, s.t
	if t.ended() { // cancelled meanwhile
		return
	}
	before, next := t.status, t.plan[0]
	t.plan = t.plan[1:]
	t.applyStep(next, s.at)
	if t.status != before {
		h.statusChanged(t)
	}
	t.change.Fire()
	h.scheduleStep(t, s.at)
}

// statusChanged reports a new status of a turn to those who poll, and charges a turn that
// has ended: one credit per 100 tokens, rounded up (assumed).
func (h *Handlers) statusChanged(t *turn) {
	profileID := t.thread.profile
	h.w.MarkChanged(h.w.Now(), profileID, world.FieldsFor("ai_chat", t.thread.id)...)
	if !t.ended() {
		return
	}
	const perCredit = 100
	t.tokens = tokensOf(t.query) + tokensOf(t.text)
	t.credits = (t.tokens + perCredit - 1) / perCredit
	h.w.Charge(h.w.PayerOf(profileID, t.thread.creator), t.credits)
	h.chats.costs = append(h.chats.costs, transaction{
		profile: profileID, user: t.thread.creator, thread: t.thread.id, turn: t.id, credits: t.credits, tokens: t.tokens,
		at: t.updated,
	})
}

// cancel ends a turn as cancelled, and wakes the calls that stream its answer. It returns
// false if the turn has ended already.
func (h *Handlers) cancel(t *turn) bool {
	if t.ended() {
		return false
	}
	t.setStatus(turnCancelled, h.w.Now())
	h.statusChanged(t)
	t.change.Fire()
	return true
}

// setStatus sets the status of a turn and adds an event with it to the stream. A final
// status also drops the steps that are left, and ends the running actions as done,
// cancelled or, for any other status, failed.
func (t *turn) setStatus(status string, at time.Time) {
	t.status, t.updated = status, at
	t.thread.updated = at
	if !t.ended() {
		t.addEvent("status", wire.Object{{"status", status}})
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
	t.addEvent(event, t.finalData())
}

// finalData returns the data of the last event of a stream: the status, with a question
// to the user or an error.
func (t *turn) finalData() wire.Object {
	data := wire.Object{{"turn_id", wire.Hyphenated(t.id)}, {"status", t.status}}
	data = data.With(t.status == turnNeedsInput, "clarification", t.clarification())
	if failure := t.failure(); failure != nil {
		data = append(data, wire.Member{"error", failure})
	}
	return data
}

// startAction begins an action on the files that the answer cites.
func (t *turn) startAction(label string, at time.Time) {
	a := &action{label: label, state: turnRunning, started: at}
	for _, src := range t.sources {
		a.affected = append(a.affected, src.node.ID)
	}
	t.actions = append(t.actions, a)
	t.addEvent("action", a.object(len(t.actions)))
}

// addText adds a piece to the answer and to the stream, and ends the last action if it runs.
func (t *turn) addText(piece string, at time.Time) {
	if a := t.actions[len(t.actions)-1]; a.state == turnRunning {
		a.state, a.ended = "done", at
	}
	t.text += piece
	t.events = append(t.events, streamEvent{name: "delta", piece: piece, upTo: len(t.text)})
}

// addEvent adds an event to the stream.
func (t *turn) addEvent(name string, data wire.Object) {
	t.events = append(t.events, streamEvent{name: name, data: data})
}

const leastPiece = 24 // bytes, about four words

// splitAnswer cuts a text into pieces: of size bytes or, if size is 0, of whole words with
// leastPiece bytes or more. It cuts no character.
func splitAnswer(text string, size int) []string {
	var pieces []string
	for text != "" {
		at := min(cmp.Or(size, leastPiece), len(text))
		if size == 0 {
			endOfWord, _, found := strings.Cut(text[at:], " ")
			at += len(endOfWord)
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

// findPassages returns the passages that an answer cites: one of each file that the
// question refers to or that shares words with it, those with the most shared words
// first.
func (h *Handlers) findPassages(t *turn) []passage {
	words := searchTerms(t.query)
	var found []passage
	for _, src := range h.readableFiles(t) {
		version, _ := src.node.Version(src.version)
		src.version = version.ID
		src.setBestSentence(world.Text(version), words)
		if src.text != "" && (src.attached || src.score > 0) {
			found = append(found, src)
		}
	}
	slices.SortStableFunc(found, func(a, b passage) int { return b.score - a.score })
	return found[:min(citationsMost, len(found))]
}

// readableFiles returns the files that the agent may read for a question: those that it
// refers to, and the indexed ones in the folders that it refers to or, if it refers to
// nothing, in the whole workspace or share. Without an index, it returns only the files
// that the question refers to.
func (h *Handlers) readableFiles(t *turn) []passage {
	profileID := t.thread.profile
	var list []passage
	for _, ref := range t.refs {
		if n := h.w.Node(profileID, ref.id); n != nil && !ref.folder {
			list = append(list, passage{node: n, version: ref.version, attached: true})
		}
	}
	if !h.w.IsIndexed(profileID) {
		return list
	}
	for _, n := range h.w.NodesOf(profileID) {
		isNamed := len(t.refs) == 0 || slices.ContainsFunc(t.refs,
			func(r reference) bool { return r.folder && h.w.InFolder(n, r.id) })
		isListed := slices.ContainsFunc(list, func(src passage) bool { return src.node == n })
		if isNamed && !isListed && n.AIState == world.AIIndexed {
			list = append(list, passage{node: n})
		}
	}
	return list
}

// setBestSentence sets the passage to the sentence of a text that shares the most words
// with a question, with the number of these words and its page; form feeds separate
// pages. Without a shared word it is the first sentence. Data that is not text leaves the
// passage without a sentence.
func (src *passage) setBestSentence(text string, words []string) {
	if !utf8.ValidString(text) {
		return
	}
	page := 1
	for _, sentence := range sentences(text) {
		page += strings.Count(sentence, "\f")
		sentence = strings.TrimLeft(strings.TrimSpace(sentence), "#->*\f ") // without marks of Markdown
		score := 0
		for _, word := range searchTerms(sentence) {
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

// searchTerms returns the distinct words of a text that a search compares: those of three
// letters and more that are not common ones such as "the", without a final s.
func searchTerms(text string) []string {
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

// quoteSources returns an answer that quotes the sources of a turn, each with its
// number, or says that there are none.
func (h *Handlers) quoteSources(t *turn) string {
	name := h.w.ProfileName(t.thread.profile)
	if len(t.sources) == 0 {
		return "Nothing in " + name + " answers that."
	}
	var b strings.Builder
	b.WriteString("From the files of " + name + ":")
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

// streamTurn sends the events of a turn as server-sent events, while they happen. The
// stream has the style that a test has set for this call (c.Stream) or else for all calls.
// With the style JSON, it returns the turn as it is instead.
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
	from := style.firstEvent(t, c.Request.Header.Get("Last-Event-ID"))
	stream := func(ctx context.Context, write func(string) bool) { h.sendEvents(ctx, t, from, &style, write) }
	return c.Send(&wire.Reply{Status: http.StatusOK, Header: header, Stream: stream})
}

// firstEvent returns the index of the event at which a stream begins: the one after the
// event that the client has read last, if it names one by lastID and the style lets it
// resume. The last event of a turn that has ended is always sent again, so that the client
// learns of the end; with LateDone, it is the only one that is sent.
func (y *streamStyle) firstEvent(t *turn, lastID string) int {
	last := len(t.events)
	if t.ended() {
		last--
		if y.LateDone {
			return last
		}
	}
	next, err := strconv.Atoi(lastID) // ids count from 1, and indexes from 0
	if err != nil || next < 0 || y.NoIDs || y.Restart {
		return 0
	}
	return min(next, last)
}

// sendEvents streams the events of a turn from an index on, until the turn has ended or
// write returns false. It holds the lock only while it reads them. Without events, it
// sends heartbeats. With the style NoEnd, the last event of a turn is not sent.
func (h *Handlers) sendEvents(ctx context.Context, t *turn, from int, style *streamStyle, write func(string) bool) {
	pace := h.w.Options.AI.Heartbeat
	if pace <= 0 { // not set
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
			panic(http.ErrAbortHandler) // a restored snapshot has replaced the turn
		}
		if h.awaitChange(ctx, change, pace) {
			continue
		}
		if !write(style.withLineEnds(": heartbeat\n\n")) {
			return
		}
		h.w.RunDueTasks() // such as the next step of the turn, if its timer was stopped
	}
}

// awaitChange waits for a change, and returns false if there is none within pace.
// If the client is gone, it ends the request.
func (h *Handlers) awaitChange(ctx context.Context, change <-chan struct{}, pace time.Duration) bool {
	beat, stop := h.w.After(pace)
	defer stop()
	select {
	case <-change:
		return true
	case <-beat:
		return false
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// opening returns the text with which the stream begins, before any event: by the style,
// a byte order mark and the time after which clients reconnect.
func (y *streamStyle) opening() string {
	text := ""
	if y.BOM {
		text = "\ufeff"
	}
	if y.Retry > 0 {
		text += "retry: " + strconv.FormatInt(y.Retry.Milliseconds(), 10) + "\n\n"
	}
	return y.withLineEnds(text)
}

// withLineEnds returns a text with the line ends of the style, by default "\n".
func (y *streamStyle) withLineEnds(text string) string {
	if y.Newline == "" {
		return text
	}
	return strings.ReplaceAll(text, "\n", y.Newline)
}

// render returns an event of a stream as text, in the style. Answer is the whole answer so
// far: for an event that adds a piece, a cumulative style sends the answer up to the end of
// the piece, and other styles send only the piece.
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
	if y.SplitData { // JSON over several data lines, as a pretty printer writes it
		text = "{\ndata: " + text[1:len(text)-1] + "\ndata: }"
	}
	b.WriteString("data: " + text + "\n\n")
	return y.withLineEnds(b.String())
}

// Tasks returns a task of each kind.
func Tasks() []world.Task { return []world.Task{nextStep{}} }
