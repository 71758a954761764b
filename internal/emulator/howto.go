package emulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	opHowTo = "howto.Ask"

	howToMost       = 2000
	backgroundMost  = 8000
	surfaceMost     = 16
	askerMost       = 100
	codeBadQuestion = 147185
	codeOneHowTo    = 145858

	surfaceMCP  = "mcp"
	surfaceCode = "code"
)

func (s *Server) howToRoutes() []*route {
	return []*route{{op: opHowTo, method: http.MethodPost, pattern: "/current/how-to/", fields: "question context surface client", handle: s.howTo}}
}

// howTo answers a question about the platform, or asks back. Each user has one question at a time.
func (s *Server) howTo(c *call) answer {
	if !c.readForm() {
		return noForm()
	}
	question, _ := c.field("question")
	background, _ := c.field("context")
	surface, _ := c.field("surface")
	asker, _ := c.field("client")
	if !utf8.ValidString(question) {
		return refuse(http.StatusNotAcceptable, codeBadQuestion, "The question is malformed.")
	}
	question = strings.TrimSpace(question)
	if question == "" {
		c.check.missing("question", "1 to 2000 characters.")
	}
	for _, text := range [...]struct {
		name, value string
		most        int
	}{
		{"question", question, howToMost},
		{"context", background, backgroundMost},
		{"surface", surface, surfaceMost},
		{"client", asker, askerMost},
	} {
		if utf8.RuneCountInString(text.value) > text.most {
			c.check.invalid(text.name, "Too long.")
		}
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if !s.think(c) {
		return refuse(http.StatusTooManyRequests, codeOneHowTo, "Another question of yours is being answered.")
	}
	if surface == surfaceMCP && s.o.HowTo.NoToolCatalog {
		surface = ""
	}
	return s.explain(question, background, surface)
}

// think takes the time an answer takes, and tells whether the user had no other question under way. The work goes on
// although nobody waits for it any more.
func (s *Server) think(c *call) bool {
	s.mu.Lock()
	if s.state.asking[c.key.User] {
		s.mu.Unlock()
		return false
	}
	if s.o.HowTo.Time <= 0 {
		s.mu.Unlock()
		return true
	}
	s.state.asking[c.key.User] = true
	s.mu.Unlock()
	done := make(chan struct{})
	time.AfterFunc(s.o.HowTo.Time, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.state.asking, c.key.User)
		close(done)
	})
	select {
	case <-done:
		return true
	case <-c.r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// explain answers from the endpoints whose names share most words with the question, or with what is known about its
// background when it has none. A question of a few words that fit nothing is asked back.
func (s *Server) explain(question, background, surface string) answer {
	const tooVague = 4
	words := inWords(question)
	steps := s.steps(words)
	if len(steps) == 0 {
		steps = s.steps(inWords(background))
	}
	if len(steps) == 0 && len(words) < tooVague {
		return ok(member{"status", "needs_clarification"}, member{"questions", []string{
			"What would you like to do: " + strings.Join(s.topics(), ", ") + "?",
			"What do you have already, such as a workspace or a file?",
		}})
	}
	topics := []string{}
	var b strings.Builder
	if len(steps) == 0 {
		b.WriteString("There is no guide for this. Begin with the topics under /current/llms/.\n")
	}
	for _, rt := range steps {
		if !slices.Contains(topics, rt.area()) {
			topics = append(topics, rt.area())
		}
		b.WriteString("- " + phrase(rt, surface) + "\n")
	}
	return ok(
		member{"status", "answer"},
		member{"answer", b.String()},
		member{"escalated", false},
		member{"topics_used", topics},
	)
}

// phrase words a step the way the asker works.
func phrase(rt *route, surface string) string {
	switch surface {
	case surfaceMCP:
		return "Use the tool `" + strings.ToLower(strings.ReplaceAll(rt.op, ".", "_")) + "`."
	case surfaceCode:
		return "Run `execute(\"" + rt.method + "\", \"" + rt.pattern + "\", {})`."
	}
	return "Call `" + rt.method + " " + rt.pattern + "`."
}

// steps are the routes that have most words in common with others, three at most.
func (s *Server) steps(words []string) []*route {
	const most = 3
	var found []*route
	best := 1
	for _, rt := range s.routes {
		if rt.area() == pageArea {
			continue
		}
		score := 0
		for _, part := range strings.FieldsFunc(strings.ToLower(rt.op), func(r rune) bool { return r == '.' }) {
			means := func(word string) bool { return strings.TrimSuffix(word, "s") == strings.TrimSuffix(part, "s") }
			if part != "me" && slices.ContainsFunc(words, means) {
				score++
			}
		}
		switch {
		case score > best:
			best, found = score, []*route{rt}
		case score == best && len(found) < most:
			found = append(found, rt)
		}
	}
	return found
}
