package emulator

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/edit"
	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// disagreement is a checked [seed.Disagreement].
type disagreement struct {
	given       seed.Disagreement
	op          string
	edits       []edit.Edit
	names       map[string]string // in requests
	from, moved *wire.Route       // the route that is moved, and its copy with the other path; nil without one
}

func (d *disagreement) id() string { return d.given.ID }

// Disagree adds a rule by which the platform differs from its documents, or replaces the
// one with the same ID, and returns its ID. It returns an error for a rule that
// [seed.Disagreement] does not allow.
func (s *Server) Disagree(d seed.Disagreement) (id string, err error) {
	rule, err := newDisagreement(s.routes, d)
	if err != nil {
		return "", err
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.CountChange()
	rule.given.ID = s.faults.nextID(d.ID)
	s.faults.disagreements = addOrReplace(s.faults.disagreements, rule)
	return rule.id(), nil
}

// Disagreements returns the rules, in the order in which they apply.
func (s *Server) Disagreements() []seed.Disagreement {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	list := make([]seed.Disagreement, 0, len(s.faults.disagreements))
	for _, d := range s.faults.disagreements {
		list = append(list, d.given)
	}
	return list
}

// newDisagreement checks a rule. If the rule has a path, it finds the route that moves to
// this path.
func newDisagreement(routes []*wire.Route, d seed.Disagreement) (*disagreement, error) {
	if err := checkOps(routes, "Disagreement.Op", d.Op); err != nil {
		return nil, err
	}
	edits, err := edit.ParseAll(d.Edits...)
	if err != nil {
		return nil, fmt.Errorf("emulator: Disagreement.Edits: %w", err)
	}
	d.Edits, d.Names = slices.Clone(d.Edits), maps.Clone(d.Names)
	rule := &disagreement{given: d, op: string(d.Op), edits: edits, names: d.Names}
	if d.Path == "" {
		return rule, nil
	}
	// An operation can have several routes: the rule moves the one with the same parameters.
	isMoved := func(r *wire.Route) bool {
		return r.Op == rule.op && slices.Equal(wildcards(r.Pattern), wildcards(d.Path))
	}
	i := slices.IndexFunc(routes, isMoved)
	if i < 0 || !strings.HasPrefix(d.Path, "/") {
		return nil, fmt.Errorf("emulator: Disagreement.Path must have the parameters of %s, got %q", d.Op, d.Path)
	}
	moved := *routes[i]
	moved.Pattern = d.Path
	rule.from, rule.moved = routes[i], &moved
	return rule, nil
}

// wildcards returns the parameters of a pattern, such as "{id}", sorted.
func wildcards(pattern string) []string {
	all := wire.Filter(strings.Split(pattern, "/"), isWildcard)
	slices.Sort(all)
	return all
}

// isWildcard reports whether a segment of a pattern is a parameter.
func isWildcard(segment string) bool { return strings.HasPrefix(segment, "{") }

// rulesOf returns the rules of an operation, and those of all operations.
func (f *faults) rulesOf(op string) []*disagreement {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.disagreements) == 0 {
		return nil
	}
	return wire.Filter(f.disagreements, func(d *disagreement) bool { return d.op == "" || d.op == op })
}

// Message returns a message of a socket, changed by the rules of realtime.Socket.
func (f *faults) Message(text []byte) []byte {
	own := wire.Filter(f.rulesOf(opSocket), func(d *disagreement) bool { return d.op != "" }) // a message has no envelope
	return editJSON(text, editsOf(own))
}

// routeMovedTo returns the route that a disagreement has moved to the path of a
// request, nil if there is none. It sets the path values of the request.
func (f *faults) routeMovedTo(r *http.Request) *wire.Route {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.disagreements {
		if d.moved != nil && d.moved.Method == r.Method && bindPath(r, d.moved.Pattern) {
			return d.moved
		}
	}
	return nil
}

// isMoved reports whether a disagreement has moved a route to another path.
func (f *faults) isMoved(route *wire.Route) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.disagreements, func(d *disagreement) bool { return d.from == route })
}

// bindPath reports whether the path of a request matches a pattern such as
// "/node/{node_id}/". If so, it sets the path values of the request.
func bindPath(r *http.Request, pattern string) bool {
	path, segments := strings.Split(r.URL.EscapedPath(), "/"), strings.Split(pattern, "/")
	if len(path) != len(segments) {
		return false
	}
	values := map[string]string{}
	for i, segment := range segments {
		value, err := url.PathUnescape(path[i])
		switch {
		case err != nil:
			return false
		case isWildcard(segment):
			values[strings.Trim(segment, "{}")] = value
		case value != segment:
			return false
		}
	}
	for name, value := range values {
		r.SetPathValue(name, value)
	}
	return true
}

// unknownName is the prefix for a name that handlers must not know; no real name has it.
const unknownName = "-"

// exchanges yields the pairs of names that a rule exchanges in requests: the name that
// handlers know, and the other one, which clients must send. A name to which the rule gives no
// other one is disabled: it is exchanged with a name that neither clients nor handlers use.
func (d *disagreement) exchanges() iter.Seq2[string, string] {
	return func(yield func(name, other string) bool) {
		for name, other := range d.names {
			if other == "" {
				other = unknownName + name
			}
			if !yield(name, other) {
				return
			}
		}
	}
}

// exchangeNames exchanges names in the parameters and fields of a request, as if the
// platform had renamed them (see [seed.Disagreement]). If a rule renames body to text, a text
// that a client sends reaches the handler as body, which it knows, and a body reaches it as
// text, which it does not know.
func exchangeNames(c *wire.Call, rules []*disagreement) {
	for _, d := range rules {
		for name, other := range d.exchanges() {
			swapValues(c.Query, name, other)
			c.Body = swapFields(c, name, other)
		}
	}
}

// swapValues exchanges the values of two names.
func swapValues(values url.Values, name, other string) {
	first, second := values[name], values[other]
	delete(values, name)
	delete(values, other)
	if first != nil {
		values[other] = first
	}
	if second != nil {
		values[name] = second
	}
}

// swapFields returns the body of a call with two names of fields exchanged, if the body is
// a form, a multipart form or JSON. It returns any other body as it is.
func swapFields(c *wire.Call, name, other string) []byte {
	kind, params, _ := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	switch {
	case len(c.Body) == 0 || c.Route == nil || c.Route.KeepBody: // no fields: the content of a file
	case kind == wire.FormType:
		if form, err := url.ParseQuery(string(c.Body)); err == nil {
			swapValues(form, name, other)
			return []byte(form.Encode())
		}
	case kind == "multipart/form-data":
		if body, err := swapParts(c.Body, params["boundary"], name, other); err == nil {
			return body
		}
	case kind == wire.JSONType, kind == "":
		return edit.Swap(c.Body, name, other)
	}
	return c.Body
}

// swapParts returns a multipart body with two names of parts exchanged.
func swapParts(body []byte, boundary, name, other string) ([]byte, error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.SetBoundary(boundary); err != nil {
		return nil, err
	}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // as documented
			err := w.Close() // which writes the last boundary
			return out.Bytes(), err
		}
		if err != nil {
			return nil, err
		}
		kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil {
			return nil, err
		}
		params["name"] = exchangedName(params["name"], name, other)
		part.Header.Set("Content-Disposition", mime.FormatMediaType(kind, params))
		to, err := w.CreatePart(part.Header)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(to, part); err != nil {
			return nil, err
		}
	}
}

// exchangedName returns s with two names exchanged: other if s is name, name if s is
// other, and s itself if it is neither.
func exchangedName(s, name, other string) string {
	switch s {
	case name:
		return other
	case other:
		return name
	}
	return s
}

// withRequestNames returns a refusal whose parameters have the names that the request
// has used, instead of those that handlers know.
func withRequestNames(err error, rules []*disagreement) error {
	if err == nil || len(rules) == 0 {
		return err
	}
	refusal := wire.RefusalOf(err)
	rows, isList := refusal.Params.([]wire.Object)
	if !isList {
		return err
	}
	changed := *refusal // a copy, because other calls may use it
	renamed := make([]wire.Object, len(rows))
	for i, row := range rows {
		renamed[i] = slices.Clone(row)
		for j, m := range renamed[i] {
			if text, isText := m.Value.(string); isText && m.Key == "name" {
				renamed[i][j].Value = requestName(text, rules)
			}
		}
	}
	changed.Params = renamed
	return &changed
}

// requestName returns the name that the request has used for a parameter that handlers
// know as name. Rules have exchanged names in the request one after the other, so they
// are undone from the last one on.
func requestName(name string, rules []*disagreement) string {
	for _, d := range slices.Backward(rules) {
		for sent, other := range d.exchanges() {
			if renamed := exchangedName(name, sent, other); renamed != name {
				name = renamed
				break
			}
		}
	}
	return name
}

// applyRules returns a response changed by the edits of rules. An edit has no effect
// if the response does not have the place that it changes.
func applyRules(out wire.Reply, rules []*disagreement) wire.Reply {
	edits := editsOf(rules)
	if len(edits) == 0 {
		return out
	}
	if stream := out.Stream; stream != nil && wire.MediaType(out.Header) == eventStream {
		out.Stream = func(ctx context.Context, write func(string) bool) {
			stream(ctx, func(text string) bool { return write(editEvents(text, edits)) })
		}
	}
	r := edit.Response{Status: out.Status, Header: out.Header, Body: out.Body}
	for _, e := range edits {
		_ = e.Apply(&r)
	}
	out.Status, out.Body = r.Status, r.Body
	return out
}

// editsOf returns the edits of all rules.
func editsOf(rules []*disagreement) (all []edit.Edit) {
	for _, d := range rules {
		all = append(all, d.edits...)
	}
	return all
}

const (
	eventStream = "text/event-stream"
	eventData   = "data: "
)

// editJSON returns a JSON text, such as a message of a socket, changed by edits.
func editJSON(text []byte, edits []edit.Edit) []byte {
	r := edit.Response{Header: http.Header{}, Body: text}
	for _, e := range edits {
		_ = e.Apply(&r) // it fails if the text does not have what the edit changes
	}
	return r.Body
}

// editEvents changes the JSON in the data lines of server-sent events.
func editEvents(text string, edits []edit.Edit) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		data, isData := strings.CutPrefix(line, eventData)
		if !isData {
			continue
		}
		lineEnd := data[len(strings.TrimRight(data, "\r\n")):]
		lines[i] = eventData + string(editJSON([]byte(strings.TrimSuffix(data, lineEnd)), edits)) + lineEnd
	}
	return strings.Join(lines, "")
}
