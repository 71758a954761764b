package emulator

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const guideVersion = "1.40"

func (s *Server) ping(c *call) answer {
	return ok(member{"timestamp", c.now.Add(s.o.ClockSkew).Unix()}, member{"service", "fast.io"})
}

func (s *Server) status(*call) answer {
	return ok(member{"system", object{{"state", "operational"}, {"maintenance", false}}})
}

// docs is the index of the documentation the platform serves about itself.
func (s *Server) docs(*call) answer {
	var b strings.Builder
	b.WriteString("# Documentation\n\n")
	for _, topic := range s.topics() {
		fmt.Fprintf(&b, "- [%s](/current/llms/%s/)\n", topic, topic)
	}
	return answer{text: b.String()}
}

func (s *Server) docsFull(*call) answer {
	var b strings.Builder
	b.WriteString("# Documentation\n")
	for _, topic := range s.topics() {
		b.WriteString("\n" + s.topic(topic))
	}
	return answer{text: b.String()}
}

func (s *Server) docsTopic(c *call) answer {
	name := c.segment("topic")
	if !slices.Contains(s.topics(), name) {
		return refuse(http.StatusNotFound, codeNotFound, "There is no such topic.")
	}
	return answer{text: s.topic(name)}
}

func (s *Server) agents(*call) answer {
	return answer{text: "Version: " + guideVersion + "\n\n# Guide for agents\n\n" +
		"Send a key or an access token as bearer. Read /current/llms/ for the topics and branch on the HTTP status first.\n"}
}

// topics are the areas of the routes.
func (s *Server) topics() []string {
	var names []string
	for _, r := range s.routes {
		if area := r.area(); area != pageArea && !slices.Contains(names, area) {
			names = append(names, area)
		}
	}
	return names
}

func (rt *route) area() string {
	area, _, _ := strings.Cut(rt.op, ".")
	return area
}

// topic documents the endpoints of one area from the table of routes.
func (s *Server) topic(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", name)
	for _, r := range s.routes {
		if r.area() != name {
			continue
		}
		fmt.Fprintf(&b, "\n## %s %s\n", r.method, r.pattern)
		for _, p := range r.params {
			fmt.Fprintf(&b, "- `%s` (%s, %s) %s\n", p.name, p.source, p.kind, p.constraint)
		}
	}
	return b.String()
}
