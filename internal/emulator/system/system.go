// Package system emulates the endpoints about the platform itself.
package system

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	AllRoutes func() []*wire.Route // the table of endpoints
}

// New returns the handlers of a world, with the table of endpoints.
func New(w *world.World, routes func() []*wire.Route) *Handlers {
	return &Handlers{w: w, AllRoutes: routes}
}

const guideVersion = "1.40"

func (h *Handlers) ping(c *wire.Call) (wire.Object, error) {
	return wire.Object{{"timestamp", c.Now.Add(h.w.Options.ClockSkew).Unix()}, {"service", "fast.io"}}, nil
}

func (h *Handlers) status(*wire.Call) (wire.Object, error) {
	return nil, nil
}

// docs returns the list of topics in Markdown.
func (h *Handlers) docs(c *wire.Call) (wire.Object, error) {
	var b strings.Builder
	b.WriteString("# Documentation\n\n")
	for _, topic := range h.Topics() {
		fmt.Fprintf(&b, "- [%s](/current/llms/%s/)\n", topic, topic)
	}
	return c.Markdown(b.String())
}

// docsFull returns all topics in one document.
func (h *Handlers) docsFull(c *wire.Call) (wire.Object, error) {
	var b strings.Builder
	b.WriteString("# Documentation\n")
	for _, topic := range h.Topics() {
		b.WriteString("\n" + h.topic(topic))
	}
	return c.Markdown(b.String())
}

// docsTopic returns the document of the topic in the path.
func (h *Handlers) docsTopic(c *wire.Call) (wire.Object, error) {
	name := c.Segment("topic")
	if !slices.Contains(h.Topics(), name) {
		return nil, wire.Refuse(http.StatusNotFound, wire.CodeNotFound, "There is no such topic.")
	}
	return c.Markdown(h.topic(name))
}

// agentsGuide returns the guide for agents, which begins with its version.
func (h *Handlers) agentsGuide(c *wire.Call) (wire.Object, error) {
	return c.Markdown("Version: " + guideVersion + "\n\n# Guide for agents\n\n" +
		"Send a key or an access token as bearer. " +
		"Read /current/llms/ for the topics and branch on the HTTP status first.\n")
}

// Topics returns the topics of the documentation: the areas of the routes, except for that
// of the pages for browsers.
func (h *Handlers) Topics() []string {
	var names []string
	for _, r := range h.AllRoutes() {
		if area := r.Area(); area != wire.PageArea && !slices.Contains(names, area) {
			names = append(names, area)
		}
	}
	return names
}

// topic returns the document of a topic: its routes with their parameters.
func (h *Handlers) topic(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", name)
	for _, r := range h.AllRoutes() {
		if r.Area() != name {
			continue
		}
		fmt.Fprintf(&b, "\n## %s %s\n", r.Method, r.Pattern)
		for _, p := range r.Params {
			fmt.Fprintf(&b, "- `%s` (%s, %s) %s\n", p.Name, p.Source, p.Kind, p.Constraint)
		}
	}
	return b.String()
}

// Routes returns the routes about the platform itself.
func (h *Handlers) Routes() []*wire.Route {
	return []*wire.Route{
		wire.Get("system.Ping", "/current/ping/", h.ping, wire.NoCredential),
		wire.Get("system.Status", "/current/system/status/", h.status, wire.NoCredential),
		wire.Get("system.Docs", "/current/llms/", h.docs, wire.NoCredential),
		wire.Get("system.DocsFull", "/current/llms/full/", h.docsFull, wire.NoCredential),
		wire.Get("system.DocsTopic", "/current/llms/{topic}/", h.docsTopic, wire.NoCredential),
		wire.Get("system.Agents", "/current/agents/", h.agentsGuide, wire.NoCredential),
	}
}
