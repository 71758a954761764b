// Package howto emulates questions about the platform itself.
package howto

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/system"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	system *system.Handlers

	asking map[string]bool // users with a question under way
}

// New returns the handlers of a world.
func New(w *world.World, system *system.Handlers) *Handlers {
	return &Handlers{w: w, system: system, asking: map[string]bool{}}
}

// OpHowTo is an operation whose rate is limited.
const OpHowTo = "howto.Ask"

const (
	howToMost       = 2000
	backgroundMost  = 8000
	surfaceMost     = 16
	askerMost       = 100
	codeBadQuestion = 147185
	codeOneHowTo    = 145858

	surfaceMCP  = "mcp"
	surfaceCode = "code"
)

// Routes returns the routes of questions.
func (h *Handlers) Routes() []*wire.Route {
	return []*wire.Route{wire.Post(OpHowTo, "/current/how-to/", h.howTo, wire.TakesLock,
		wire.Form("question context surface client"))}
}

// howTo answers a question about the API, or asks back. The answer comes after a simulated
// delay (claimAnswer). Until then, further questions of the user are refused.
func (h *Handlers) howTo(c *wire.Call) (wire.Object, error) {
	question, _ := c.Field("question")
	background, _ := c.Field("context")
	surface, _ := c.Field("surface")
	asker, _ := c.Field("client")
	if !utf8.ValidString(question) {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeBadQuestion, "The question is malformed.")
	}
	question = strings.TrimSpace(question)
	c.Check.MissingIf(question == "", "question", "1 to 2000 characters.")
	for _, text := range [...]struct {
		name, value string
		most        int
	}{
		{"question", question, howToMost},
		{"context", background, backgroundMost},
		{"surface", surface, surfaceMost},
		{"client", asker, askerMost},
	} {
		c.Check.InvalidIf(utf8.RuneCountInString(text.value) > text.most, text.name, "Too long.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if !h.claimAnswer(c) {
		return nil, wire.Refuse(http.StatusTooManyRequests, codeOneHowTo, "Another question of yours is being answered.")
	}
	if surface == surfaceMCP && h.w.Options.HowTo.NoToolCatalog {
		surface = "" // a server that does not know the tools of MCP answers for HTTP
	}
	return h.explain(question, background, surface)
}

// claimAnswer makes the user busy for as long as an answer takes, which is an option, and
// waits until that time has passed. It returns false at once if the user is busy with
// another question. The user stays busy even if the caller disconnects. It takes the lock,
// and does not hold it while it waits.
func (h *Handlers) claimAnswer(c *wire.Call) bool {
	h.w.Lock()
	if h.asking[c.Key.User] {
		h.w.Unlock()
		return false
	}
	if h.w.Options.HowTo.Time <= 0 {
		h.w.Unlock()
		return true
	}
	h.asking[c.Key.User] = true
	h.w.Schedule(h.w.Now().Add(h.w.Options.HowTo.Time), answered{h, c.Key.User})
	h.w.Unlock()
	done, stop := h.w.After(h.w.Options.HowTo.Time)
	defer stop()
	select {
	case <-done:
		h.w.RunDueTasks() // answered is due: the user may ask again when this call returns
		return true
	case <-c.Request.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// answered lets a user ask the next question.
type answered struct {
	h    *Handlers
	user string
}

// Do implements [world.Task].
func (t answered) Do() { delete(t.h.asking, t.user) }

// explain answers with the endpoints whose names share the most words with the
// question, or else with its background. If no endpoint shares a word, it asks back,
// provided that the question is short. The surface is how the asker calls the platform.
func (h *Handlers) explain(question, background, surface string) (wire.Object, error) {
	const fewWords = 4
	words := wire.InWords(question)
	steps := h.matchingRoutes(words)
	if len(steps) == 0 {
		steps = h.matchingRoutes(wire.InWords(background))
	}
	if len(steps) == 0 && len(words) < fewWords {
		return wire.Object{{"status", "needs_clarification"}, {"questions", []string{
			"What would you like to do: " + strings.Join(h.system.Topics(), ", ") + "?",
			"What do you have already, such as a workspace or a file?",
		}}}, nil
	}
	topics := []string{}
	var b strings.Builder
	if len(steps) == 0 {
		b.WriteString("There is no guide for this. Begin with the topics under /current/llms/.\n")
	}
	for _, rt := range steps {
		if !slices.Contains(topics, rt.Area()) {
			topics = append(topics, rt.Area())
		}
		b.WriteString("- " + callSentence(rt, surface) + "\n")
	}
	return wire.Object{
		{"status", "answer"},
		{"answer", b.String()},
		{"escalated", false},
		{"topics_used", topics},
	}, nil
}

// callSentence returns the sentence that says how to call a route on a surface: as a
// tool, in code, or over HTTP.
func callSentence(rt *wire.Route, surface string) string {
	switch surface {
	case surfaceMCP:
		return "Use the tool `" + strings.ToLower(strings.ReplaceAll(rt.Op, ".", "_")) + "`."
	case surfaceCode:
		return "Run `execute(\"" + rt.Method + "\", \"" + rt.Pattern + "\", {})`."
	}
	return "Call `" + rt.Method + " " + rt.Pattern + "`."
}

// matchingRoutes returns up to three routes: those whose operation has the most of the
// words, in the singular or plural. Pages for browsers are no endpoints, and "me" says
// too little.
func (h *Handlers) matchingRoutes(words []string) []*wire.Route {
	const most = 3
	var found []*wire.Route
	best := 1
	for _, rt := range h.system.AllRoutes() {
		if rt.Area() == wire.PageArea {
			continue
		}
		score := 0
		for _, part := range strings.FieldsFunc(strings.ToLower(rt.Op), func(r rune) bool { return r == '.' }) {
			means := func(word string) bool { return strings.TrimSuffix(word, "s") == strings.TrimSuffix(part, "s") }
			if part != "me" && slices.ContainsFunc(words, means) {
				score++
			}
		}
		switch {
		case score > best:
			best, found = score, []*wire.Route{rt}
		case score == best && len(found) < most:
			found = append(found, rt)
		}
	}
	return found
}

// Tasks returns a task of each kind.
func Tasks() []world.Task { return []world.Task{answered{}} }
