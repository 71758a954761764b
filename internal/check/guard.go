package check

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// A guard sends the requests of reviewed endpoints to one origin, and refuses all others.
// It is the transport of the program, below the client, so that nothing passes it:
// redirects to other hosts are refused too.
type guard struct {
	next    http.RoundTripper
	base    transport.Base
	reads   []Read
	writes  []Write
	journal *Journal // what writes may name; nil without writes
}

// Allowed is what a guard sends.
type Allowed struct {
	Reads   []Read
	Writes  []Write  // only with IDs of the journal
	Journal *Journal // nil if there are no Writes
}

// Guard returns the transport of the program, which sends only what is allowed. Address is
// the base URL of the platform, as for fastio.WithBaseURL.
func Guard(next http.RoundTripper, address string, a Allowed) (http.RoundTripper, error) {
	base, err := transport.ParseBase(address)
	if err != nil {
		return nil, err
	}
	if a.Journal == nil { // without a journal it is not known which objects are of the run
		a.Writes = nil
	}
	return &guard{next, base, a.Reads, a.Writes, a.Journal}, nil
}

// RefusedError is the error of a request that the program must not send. It has no path,
// which may hold names.
type RefusedError struct{ Method, Reason string }

// Error returns the reason.
func (e *RefusedError) Error() string { return "this " + e.Method + " is never sent: " + e.Reason }

// RoundTrip sends a request if it is allowed. If the request makes objects and succeeds, it adds
// the values of the response, among them the new IDs, to the journal.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	checked, makes, reason := g.check(r)
	if reason != "" {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, &RefusedError{r.Method, reason}
	}
	resp, err := g.next.RoundTrip(checked)
	if err == nil && makes != "" && resp.StatusCode/100 == 2 {
		g.learn(resp, makes)
	}
	return resp, err
}

// learn adds the values of a response to the journal, as possible IDs of the kinds in makes. It
// reads the body and replaces it by one with the same content and the same error at the end.
func (g *guard) learn(resp *http.Response, makes string) {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), endOfBody{err}))
	fields, unreadable := jsonFields("", body)
	if unreadable == nil {
		for kind := range strings.FieldsSeq(makes) {
			g.journal.addSeen(kind, fields)
		}
	}
}

// endOfBody is the end of a body that was read: the error of that, or nil.
type endOfBody struct{ err error }

// Read returns the error, or [io.EOF] without one.
func (e endOfBody) Read([]byte) (int, error) { return 0, cmp.Or(e.err, io.EOF) }

// check returns the request to send, and the kinds of objects that it makes. If the request
// must not be sent, it returns only a reason. Only reviewed reads and writes may be sent, and
// writes only to objects of the run.
func (g *guard) check(r *http.Request) (_ *http.Request, makes, reason string) {
	if r.URL.Scheme != g.base.Scheme || r.URL.Host != g.base.Host || r.Host != "" && r.Host != g.base.Host {
		return nil, "", "it is for another host"
	}
	if namesMethod(r) {
		return nil, "", "it names another method"
	}
	path := r.URL.EscapedPath()
	atRoot := strings.HasPrefix(r.URL.Path, "/.well-known/") // of the host, without the prefix of the base URL
	if rest, prefixed := strings.CutPrefix(path, g.base.Prefix); prefixed && !atRoot {
		path = rest
	}
	if info, known := fastio.CallFromContext(r.Context()); known && !g.lists(r.Method, info.Route) {
		return nil, "", "its operation is not in the reviewed list"
	}
	// An endpoint of both lists is examined as a write: only then makes is set, and the journal
	// gets the new objects of the response.
	checked, makes, refusal := g.examineWrite(r, path)
	if refusal == "" {
		return checked, makes, ""
	}
	read, isRead := findRead(g.reads, r.Method, path)
	switch {
	case !isRead:
		return nil, "", refusal
	case read.Method == http.MethodGet && hasBody(r):
		return nil, "", "it has a body"
	}
	return r, "", ""
}

// hasBody reports whether a request has a body. If no length is announced, it reads one byte of
// the body. A request that has a body must then not be sent, since the byte is missing. If the
// read fails, the request counts as one with a body.
func hasBody(r *http.Request) bool {
	switch {
	case r.ContentLength != 0: // -1 is a body of unknown length
		return true
	case r.Body == nil:
		return false
	}
	n, err := io.ReadFull(r.Body, make([]byte, 1))
	isEmpty := n == 0 && errors.Is(err, io.EOF)
	return !isEmpty
}

// namesMethod reports whether a header or a query parameter of a request may name a method
// that some servers use in place of its own.
func namesMethod(r *http.Request) bool {
	names := slices.Concat(slices.Collect(maps.Keys(r.Header)), slices.Collect(maps.Keys(r.URL.Query())))
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(name), "method") })
}

const notListed = "its path is not in the reviewed list"

// lists reports whether the template of an endpoint is in the reviewed lists.
func (g *guard) lists(method, template string) bool {
	if _, ok := findRead(g.reads, method, template); ok {
		return true
	}
	for _, w := range g.writes {
		if _, ok := findRead([]Read{w.Read}, method, template); ok {
			return true
		}
	}
	return false
}

// examineWrite looks for a reviewed write that has the method and path of the request and
// allows all its fields. It returns the request to send and the kinds of objects that the write
// makes. If there is none, it returns the reason of the refusal. It reads the body only if a write
// has the method and path.
func (g *guard) examineWrite(r *http.Request, path string) (_ *http.Request, makes, reason string) {
	reason = notListed
	var fields []field
	haveFields := false
	for _, w := range g.writes {
		if w.Method != r.Method || !w.matches(path) {
			continue
		}
		if !haveFields {
			all, checked, err := readFields(r)
			if err != nil {
				return nil, "", err.Error()
			}
			fields, r, haveFields = all, checked, true
		}
		reason = w.whyRefused(g.journal, path, fields)
		if reason == "" {
			return r, w.Makes, ""
		}
	}
	return nil, "", reason
}

// whyRefused returns why a request must not be sent, "" if it may: each of its fields
// and each placeholder of its path must be listed, and the IDs must be of the run.
func (w *Write) whyRefused(j *Journal, path string, fields []field) string {
	if w.Makes == kindWorkspace && len(j.all(kindWorkspace)) > 0 {
		return "this run has its workspace"
	}
	rules := w.rules()
	given := map[string]bool{}
	segments := strings.Split(path, "/") // as many as w.Path has, because path matches it
	for i, name := range strings.Split(w.Path, "/") {
		if !strings.HasPrefix(name, "{") {
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil {
			return "its path is malformed"
		}
		fields = append(fields, field{name, value})
	}
	for _, f := range fields {
		rule, listed := rules.ruleFor(f.name)
		given[rule.name] = true
		switch {
		case !listed:
			return "a field of it is not in the reviewed list"
		case rule.kind != "" && !j.mayName(rule.kind, f.value): // without a kind any value is allowed
			return "it names an object that this run has not made"
		}
	}
	for _, rule := range rules {
		if rule.required && !given[rule.name] {
			return "a field is missing that limits it to this run"
		}
	}
	return ""
}

// mayName reports whether a value may stand where an object is named: it is the ID of an object
// in the journal, or one of the texts that stand for an object. Kind is one or more of the
// kinds of [Write.Fields], separated by bars.
func (j *Journal) mayName(kind, value string) bool {
	isMarkerWritten := j.owns(kindIntent, j.Marker) // without that, -clean would not look for new objects with the marker
	for one := range strings.SplitSeq(kind, "|") {
		switch {
		case one == "root" && value == string(api.Root):
			return true
		case strings.HasPrefix(one, ":") && value == one[1:]: // a fixed value
			return true
		case one == "address" && value == j.address(): // that the run invites
			return true
		case one == "marker" && strings.HasPrefix(value, j.Marker) && isMarkerWritten: // a new name
			return true
		case j.owns(one, value):
			return true
		}
	}
	return false
}

// A rule is what is reviewed of a field.
type rule struct {
	name     string
	kind     string // of the object that it names; "" if it names none
	required bool
}

type rules []rule

// rules returns the rules for the fields of w. The text of w.Fields is a list of "name",
// "name=kind" and, for required fields, "name=kind!", separated by blanks.
func (w *Write) rules() rules {
	var all rules
	for text := range strings.FieldsSeq(w.Fields) {
		name, kind, _ := strings.Cut(text, "=")
		kind, required := strings.CutSuffix(kind, "!")
		all = append(all, rule{name, kind, required})
	}
	return all
}

// ruleFor returns the rule for a field, false if none is listed. A name that ends with
// .* stands for the field before that and all fields below it.
func (all rules) ruleFor(name string) (rule, bool) {
	for _, r := range all {
		above, isTree := strings.CutSuffix(r.name, "*") // above ends with a dot
		if r.name == name || isTree && strings.HasPrefix(name+".", above) {
			return r, true
		}
	}
	return rule{}, false
}
