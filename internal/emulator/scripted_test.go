package emulator_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// scripted is the platform of a scenario. It runs in a bubble of package synctest, where its clock starts
// at noon on the first of June 2026.
type scripted struct {
	*emulator.Server
	ctx      context.Context //nolint:containedctx // of the test
	macros   map[string]string
	names    map[string]any    // in braces: a string, or JSON
	added    map[string]string // JSON of what was added, by name
	defaults map[string]string // JSON, by kind
	keys     map[string]string // tokens, by user or key
	pages    web
	client   http.RoundTripper // of the requests, the server itself unless a step says otherwise
	net      *network          // nil before a socket is opened
}

// web is the rest of the internet: pages by their address.
type web map[string]http.HandlerFunc

func (w web) RoundTrip(r *http.Request) (*http.Response, error) {
	page := w[r.URL.String()]
	if page == nil {
		return nil, errors.New("no such host")
	}
	out := httptest.NewRecorder()
	page(out, r)
	return out.Result(), nil
}

// newScripted returns a platform with the options that the steps set.
func newScripted(ctx context.Context, steps []step, change ...func(*seed.Options)) (*scripted, error) {
	p := &scripted{
		ctx: ctx, macros: map[string]string{}, names: map[string]any{}, added: map[string]string{},
		defaults: map[string]string{}, keys: map[string]string{}, pages: web{},
	}
	start := time.Now()
	o := seed.Options{Clock: func() time.Time { return noon.Add(time.Since(start)) }}
	for _, s := range steps {
		var err error
		verb, rest, _ := strings.Cut(p.macro(s.text), " ")
		switch verb {
		case "let":
			err = p.do(s.text)
		case "options":
			err = p.decode(rest, &o)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s\n%w", s.at, s.text, err)
		}
	}
	for _, c := range change {
		c(&o)
	}
	clear(p.macros)
	if o.OAuth.Fetch == nil {
		o.OAuth.Fetch = p.pages
	}
	p.Server = emulator.New(o)
	p.client = p.Server
	return p, nil
}

// do performs a step; testdata/README.md has all of them.
func (p *scripted) do(text string) error {
	if named, isLet := strings.CutPrefix(text, "let "); isLet {
		name, value, _ := strings.Cut(named, " ")
		if p.names[name] != nil {
			return fmt.Errorf("%s is a variable", name)
		}
		p.macros[name] = value
		return nil
	}
	steps := []string{p.macro(text)}
	if braced.FindString(text) == text {
		steps = strings.Split(steps[0], "; ")
	}
	for _, step := range steps {
		if err := p.perform(step); err != nil {
			return err
		}
	}
	return nil
}

var braced = regexp.MustCompile(`\{\w+\}`)

// macro replaces what "let" and "for" have named, from the outside to the inside, except for a name in its own value.
func (p *scripted) macro(text string, around ...string) string {
	return braced.ReplaceAllStringFunc(text, func(name string) string {
		value, known := p.macros[strings.Trim(name, "{}")]
		if !known || slices.Contains(around, name) {
			return name
		}
		return p.macro(value, append(slices.Clip(around), name)...)
	})
}

func (p *scripted) perform(text string) error {
	if isRequest.MatchString(text) {
		return p.exchange(text)
	}
	verb, rest, _ := strings.Cut(text, " ")
	first, step, _ := strings.Cut(rest, " ")
	if adds := kinds[verb]; adds != nil {
		return adds(p, verb, rest)
	}
	switch verb {
	case "options":
		return nil // of newScripted
	case "default":
		p.defaults[first] = step
		return nil
	case "repeat":
		n, err := strconv.Atoi(first)
		for i := 0; i < n && err == nil; i++ {
			err = p.do(strings.ReplaceAll(step, "{#}", strconv.Itoa(i)))
		}
		return err
	case "wait", "within", "later":
		d, err := time.ParseDuration(first)
		return errors.Join(err, p.timed(verb, d, step))
	case "page":
		return p.page(rest)
	case "listener":
		p.client = p.connect().client.Transport
		return nil
	case "load":
		text, err := p.expand(rest, jsonQuoted)
		return cmp.Or(err, p.Load(strings.NewReader(text)))
	case "fault":
		return given(p, rest, p.Fail)
	case "script":
		return given(p, rest, p.Script)
	case "disagree":
		var d seed.Disagreement
		if err := p.decode(rest, &d); err != nil {
			return err
		}
		_, err := p.Disagree(d)
		return err
	case "disturb":
		return given(p, rest, func(f seed.SocketFault) { p.FailSockets(f) })
	case "role", "code", "listen":
		text, err := p.expand(rest, nil)
		return errors.Join(err, p.words(verb, append(strings.Fields(text), "", "", "")))
	}
	return p.compare(verb, rest)
}

// given performs a step whose argument is JSON.
func given[T any](p *scripted, text string, do func(T)) error {
	var it T
	if err := p.decode(text, &it); err != nil {
		return err
	}
	do(it)
	return nil
}

// timed performs a step that has a duration.
func (p *scripted) timed(verb string, d time.Duration, step string) error {
	switch verb {
	case "wait":
		time.Sleep(d)
	case "within":
		q, cancel := p.within(d)
		defer cancel()
		return q.do(step)
	case "later":
		q := p.fork()
		time.AfterFunc(d, func() {
			if err := q.do(step); err != nil && p.ctx.Err() == nil {
				panic(err)
			}
		})
	}
	return nil
}

// words performs a step whose arguments are words.
func (p *scripted) words(verb string, words []string) error {
	switch verb {
	case "role":
		p.SetMember(words[0], words[1], seed.Role(words[2]))
	case "code":
		code := p.ValidationCode(words[1])
		if words[0] == "onetime" {
			code = p.OneTimeCode(words[1])
		}
		if (code == "") != (words[2] == "-") {
			return fmt.Errorf("the code is %q", code)
		}
		p.names[words[2]] = code
	case "listen":
		token, err := words[1], error(nil)
		if words[2] != "" {
			token, err = p.socketToken(words[1], words[2])
		}
		return cmp.Or(err, p.dial(words[0], token, words[3] != "deaf"))
	}
	return nil
}

// methods are those of the server for the step of that name.
var methods = map[string]func(s *emulator.Server, argument string) any{
	"BlockLocation":     func(s *emulator.Server, org string) any { s.BlockLocation(org, true); return "" },
	"Credits":           func(s *emulator.Server, profile string) any { return s.Credits(profile) },
	"CutPolls":          func(s *emulator.Server, _ string) any { s.CutPolls(); return "" },
	"DropSockets":       func(s *emulator.Server, profile string) any { return s.DropSockets(profile) },
	"ExpireChanges":     func(s *emulator.Server, _ string) any { s.ExpireChanges(); return "" },
	"Forget":            func(s *emulator.Server, _ string) any { s.ForgetRequests(); return "" },
	"Heal":              func(s *emulator.Server, _ string) any { s.Heal(); return "" },
	"InvalidateCursors": func(s *emulator.Server, _ string) any { s.InvalidateCursors(); return "" },
	"Sockets":           func(s *emulator.Server, _ string) any { synctest.Wait(); return s.Sockets() },
}

// compare performs a step that compares something with what is behind the arrow.
func (p *scripted) compare(verb, rest string) error {
	rest, want, _ := strings.Cut(rest, "-> ")
	rest, err := p.expand(strings.TrimSpace(rest), nil)
	if err != nil {
		return err
	}
	var got any
	switch verb {
	case "server":
		name, argument, _ := strings.Cut(rest, " ")
		method := methods[name]
		if method == nil {
			return fmt.Errorf("the server has no method %q", name)
		}
		want, err := p.expand(want, nil)
		if got := fmt.Sprint(method(p.Server, argument)); got != want {
			err = cmp.Or(err, fmt.Errorf("%s, want %s", got, want))
		}
		return err
	case "heard":
		return p.heard(rest, want)
	case "requests":
		synctest.Wait()
		got = p.Requests()
	case "mails":
		got = append([]world.Mail{}, p.Mails(rest)...)
	case "decide":
		var d world.Decision
		login, decision, _ := strings.Cut(rest, " ")
		if err := p.decode(decision, &d); err != nil {
			return err
		}
		o, err := p.Decide(login, d)
		got = map[string]string{"redirect": o.Redirect, "code": o.Code, "error": fmt.Sprint(err)}
	default:
		return fmt.Errorf("there is no step %q", verb)
	}
	text, err := json.Marshal(got)
	return cmp.Or(err, p.check(answer{json: text}, want))
}

// page makes a page of the internet.
func (p *scripted) page(rest string) error {
	text, err := p.expand(rest, nil)
	parts := strings.SplitN(text, " ", 4)
	if err != nil || len(parts) != 4 {
		return fmt.Errorf("page %v: %w", parts, err)
	}
	status, err := strconv.Atoi(parts[1])
	p.pages[parts[0]] = func(w http.ResponseWriter, r *http.Request) {
		if status == http.StatusFound {
			http.Redirect(w, r, parts[3], status)
			return
		}
		w.Header().Set("Content-Type", strings.ReplaceAll(parts[2], "+", " "))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, parts[3])
	}
	return err
}

// kinds add objects.
var kinds = map[string]func(p *scripted, kind, rest string) error{
	"user":        adding((*emulator.Server).AddUser),
	"org":         adding((*emulator.Server).AddOrg),
	"workspace":   adding((*emulator.Server).AddWorkspace),
	"share":       adding((*emulator.Server).AddShare),
	"member":      adding((*emulator.Server).AddMembership),
	"invitation":  adding((*emulator.Server).AddInvitation),
	"node":        adding((*emulator.Server).AddNode),
	"fileshare":   adding((*emulator.Server).AddFileShare),
	"quickshare":  adding((*emulator.Server).AddQuickShare),
	"comment":     adding((*emulator.Server).AddComment),
	"event":       adding((*emulator.Server).AddEvent),
	"field":       adding((*emulator.Server).AddField),
	"key":         adding((*emulator.Server).AddKey),
	"oauthclient": adding(func(s *emulator.Server, c world.Client) world.Client { return s.AddClient(c) }),
	"history":     adding(func(s *emulator.Server, h world.History) world.History { s.Generate(h); return h }),
	"fact":        adding(func(s *emulator.Server, f world.Fact) error { return s.AddFact(f) }),
}

// adding returns a step that adds an object of a kind, described by JSON.
func adding[In, Out any](add func(*emulator.Server, In) Out) func(p *scripted, kind, rest string) error {
	return func(p *scripted, kind, rest string) error {
		name, text, named := strings.Cut(rest, " ")
		if !named || strings.HasPrefix(rest, "{") {
			name, text = "", rest
		}
		var it In
		start, known := p.added[name]
		if !known || name == "" {
			start = p.defaults[kind]
		}
		for _, text := range []string{start, text} {
			if text == "" {
				continue
			}
			if err := p.decode(text, &it); err != nil {
				return err
			}
		}
		out := any(add(p.Server, it))
		if err, failed := out.(error); failed {
			return err
		}
		if name == "" {
			name = kind
		}
		return p.keep(name, out)
	}
}

// keep names the members of what was added.
func (p *scripted) keep(name string, it any) error {
	text, err := json.Marshal(it)
	if err != nil {
		return err
	}
	p.added[name] = string(text)
	switch it := it.(type) {
	case world.User:
		if p.keys[name] == "" {
			p.keys[name] = p.AddKey(world.Key{User: it.ID}).Token
			p.names[name+".token"] = p.keys[name]
		}
	case world.Key:
		p.keys[name] = it.Token
	}
	if id, ok := member(text, []string{"id"}); ok {
		p.save(name, id)
	}
	return nil
}

// save names a JSON value.
func (p *scripted) save(name string, value json.RawMessage) { p.names[name] = unquoted(value) }

// unquoted returns a JSON value, where a string is without its quotes, and nil is none.
func unquoted(value json.RawMessage) any {
	var s string
	switch {
	case value == nil:
		return nil
	case json.Unmarshal(value, &s) == nil:
		return s
	}
	return value
}

var duration = regexp.MustCompile(`"-?(\d+(ms|s|m|h))+"`)

// decode reads JSON with variables and durations, and rejects members that there are not.
func (p *scripted) decode(text string, into any) error {
	text, err := p.expand(text, jsonQuoted)
	if err != nil {
		return err
	}
	text = duration.ReplaceAllStringFunc(text, func(s string) string {
		d, _ := time.ParseDuration(strings.Trim(s, `"`))
		return strconv.FormatInt(int64(d), 10)
	})
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err == nil || d.More() {
		return fmt.Errorf("invalid character after %.40s", text)
	}
	return nil
}

var variable = regexp.MustCompile(`\{[a-zA-Z][\w.]*[-*]?\}`)

// expand replaces variables, and fails for those that are unknown.
func (p *scripted) expand(text string, quote func(string) string) (string, error) {
	var unknown error
	text = variable.ReplaceAllStringFunc(text, func(braced string) string {
		name, hyphens := strings.CutSuffix(braced[1:len(braced)-1], "-")
		name, members := strings.CutSuffix(name, "*")
		found := p.names[name]
		object, path, _ := strings.Cut(name, ".")
		if found == nil {
			value, _ := member([]byte(p.added[object]), strings.Split(path, "."))
			found = unquoted(value)
		}
		switch value := found.(type) {
		case string:
			if hyphens {
				value = strings.Join(slices.Collect(chunks(value, 5)), "-")
			}
			if quote != nil {
				value = quote(value)
			}
			return value
		case json.RawMessage:
			if members {
				value = value[1 : len(value)-1]
			}
			return string(value)
		}
		unknown = fmt.Errorf("%s is unknown", braced)
		return braced
	})
	return text, unknown
}

func chunks(s string, n int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for chunk := range slices.Chunk([]byte(s), n) {
			if !yield(string(chunk)) {
				return
			}
		}
	}
}

// jsonQuoted returns a text within the quotes of JSON.
func jsonQuoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(text[1 : len(text)-1])
}

var repeated = regexp.MustCompile(`<(\d+)\*([^>]*)>`)

func repeat(text string) string {
	return repeated.ReplaceAllStringFunc(text, func(s string) string {
		m := repeated.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[1])
		if !strings.Contains(m[2], "{#}") {
			return strings.Repeat(m[2], n)
		}
		var all strings.Builder
		for i := range n {
			all.WriteString(strings.ReplaceAll(m[2], "{#}", strconv.Itoa(i)))
		}
		return all.String()
	})
}
