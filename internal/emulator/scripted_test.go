package emulator_test

import (
	"bytes"
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

// scripted is the platform of a scenario or a refusal. It runs in a bubble of package synctest, where its clock starts
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
	start, noon := time.Now(), time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	o := seed.Options{Clock: func() time.Time { return noon.Add(time.Since(start)) }}
	for _, s := range steps {
		verb, rest, _ := strings.Cut(p.macro(s.text), " ")
		var err error
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

// A step is a request, or one of these:
//
//	options JSON             the emulator's, with Go field names; "5s" is a duration
//	let NAME TEXT            replaces {NAME} by the text in the steps that follow; a step that is just {NAME} performs
//	                         the steps in the text, which are separated by "; "
//	KIND [NAME] JSON         adds an object in the form of a seed file; {NAME} is its id, {NAME-} the id with
//	                         hyphens, {NAME.member} a member. A NAME that exists is changed. A user has a key.
//	default KIND JSON        is where additions of a kind start from
//	repeat N STEP            performs a step N times, with {#} replaced by 0, 1, ...
//	role PROFILE USER [ROLE] makes a member, or ends its membership
//	load JSON                loads a seed file
//	fails STEP               performs a step that must fail
//	wait DURATION            lets time pass
//	fault JSON               disturbs calls, with Go field names
//	invalidate cursors       makes those of now invalid
//	expire changes           ends the retention of the change feed
//	script JSON              the agent's, with Go field names
//	later DURATION STEP      performs a step then, beside those that follow; it may not name anything
//	page URL STATUS TYPE BODY  is what a client has on its host; STATUS 302 leads to the address BODY
//	decide URL JSON -> ...   answers the request for access at a login URL: redirect, code and error
//	mails ADDRESS -> ...     what was sent there
//	credits ORG N            compares what an organization has spent
//	within DURATION STEP     performs a step whose requests are given up then
//	listener                 sends the requests that follow over connections in memory
//	requests -> ...          compares the record of requests, with Go field names; forget empties it
//	cut polls                cuts the polls that are held
//	listen NAME WHO PROFILE  opens a socket; heard NAME -> ... compares what it heard since the last time
//	deaf NAME WHO PROFILE    opens a socket that is not read before "heard"
//	dial NAME TOKEN          opens a socket with a token
//	disturb JSON             disturbs sockets, with Go field names; heal ends all disturbances
//	block PROFILE            does not serve the location of the caller any more
//	sockets N                compares how many are open
//	drop PROFILE N           drops those of a profile, - stands for all, and compares how many
//	code KIND USER NAME      saves a code: "onetime" of a second factor, or "validation" of an
//	                         address; the NAME - stands for no code
func (p *scripted) do(text string) error {
	if steps := strings.Split(p.macros[strings.Trim(text, "{}")], "; "); len(steps) > 1 && text[0] == '{' {
		for _, step := range steps {
			if err := p.do(step); err != nil {
				return err
			}
		}
		return nil
	}
	text = p.macro(text)
	if isRequest.MatchString(text) && !strings.HasPrefix(text, "repeat ") {
		return p.exchange(text)
	}
	verb, rest, _ := strings.Cut(text, " ")
	if add := kinds[verb]; add != nil {
		return add(p, verb, rest)
	}
	return p.act(verb, rest)
}

// macro replaces what "let" and "for" name, also in one another, up to a depth: a value may contain its own name.
func (p *scripted) macro(text string) string {
	for depth, before := 0, ""; before != text && depth < 9; depth++ {
		before = text
		for name, value := range p.macros {
			text = strings.ReplaceAll(text, "{"+name+"}", value)
		}
	}
	return text
}

// act performs a step that is no addition.
func (p *scripted) act(verb, rest string) error {
	switch verb {
	case "options":
		return nil // of newScripted
	case "repeat":
		times, step, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(times)
		for i := 0; i < n && err == nil; i++ {
			err = p.do(strings.ReplaceAll(step, "{#}", strconv.Itoa(i)))
		}
		return err
	case "fails":
		if p.do(rest) == nil {
			return errors.New("the step succeeds")
		}
		return nil
	case "let":
		name, value, _ := strings.Cut(rest, " ")
		if p.names[name] != nil {
			return fmt.Errorf("%s is a variable", name)
		}
		p.macros[name] = value
		return nil
	case "default":
		kind, text, _ := strings.Cut(rest, " ")
		p.defaults[kind] = text
		return nil
	case "role", "code", "credits", "listen", "deaf", "dial", "sockets", "drop", "block":
		text, err := p.expand(rest, nil)
		if words := strings.Fields(text); err == nil {
			err = p.words(verb, append(words, "", "", ""))
		}
		return err
	case "load":
		text, err := p.expand(rest, jsonQuoted)
		if err != nil {
			return err
		}
		return p.Load(strings.NewReader(text))
	case "wait":
		d, err := time.ParseDuration(rest)
		time.Sleep(d)
		return err
	case "fault":
		var f seed.Fault
		err := p.decode(rest, &f)
		p.Fail(f)
		return err
	case "invalidate":
		p.InvalidateCursors()
		return nil
	case "expire":
		p.ExpireChanges()
		return nil
	case "script":
		var s seed.Script
		err := p.decode(rest, &s)
		p.Script(s)
		return err
	case "disturb":
		var f world.SocketFault
		err := p.decode(rest, &f)
		p.FailSockets(f)
		return err
	case "heal":
		p.Heal()
		return nil
	case "heard":
		name, want, _ := strings.Cut(rest, " -> ")
		return p.heard(name, want)
	case "listener":
		p.client = p.connect().client.Transport
		return nil
	case "requests":
		synctest.Wait()
		text, err := json.Marshal(p.Requests())
		return errors.Join(err, p.check(answer{json: text}, strings.TrimPrefix(rest, "-> ")))
	case "forget":
		p.Forget()
		return nil
	case "cut":
		p.CutPolls()
		return nil
	case "within":
		limit, step, _ := strings.Cut(rest, " ")
		d, err := time.ParseDuration(limit)
		q, cancel := p.within(d)
		defer cancel()
		return errors.Join(err, q.do(step))
	case "later":
		after, step, _ := strings.Cut(rest, " ")
		d, err := time.ParseDuration(after)
		q := p.fork()
		time.AfterFunc(d, func() {
			if err := q.do(step); err != nil && p.ctx.Err() == nil {
				panic(err)
			}
		})
		return err
	case "page":
		return p.page(rest)
	case "decide":
		return p.decide(rest)
	case "mails":
		return p.mails(rest)
	}
	return fmt.Errorf("there is no step %q", verb)
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
	case "listen", "deaf":
		token, err := p.socketToken(words[1], words[2])
		if err == nil {
			err = p.dial(words[0], token, verb == "listen")
		}
		return err
	case "dial":
		return p.dial(words[0], words[1], true)
	case "block":
		p.BlockLocation(words[0], true)
	case "sockets":
		synctest.Wait()
		return differ(words[0], p.Sockets())
	case "drop":
		return differ(words[1], p.DropSockets(strings.Trim(words[0], "-")))
	case "credits":
		return differ(words[1], p.Credits(words[0]))
	}
	return nil
}

// differ returns an error if the number is not the one that is wanted.
func differ(want string, got any) error {
	if fmt.Sprint(got) != want {
		return fmt.Errorf("%v, want %s", got, want)
	}
	return nil
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

// decide answers a request for access.
func (p *scripted) decide(rest string) error {
	rest, want, _ := strings.Cut(rest, " -> ")
	login, decision, _ := strings.Cut(rest, " ")
	var d world.Decision
	login, err := p.expand(login, nil)
	if err := errors.Join(err, p.decode(decision, &d)); err != nil {
		return err
	}
	o, err := p.Decide(login, d)
	text := fmt.Sprintf(`{"redirect":%s,"code":%q,"error":%q}`, quoted(o.Redirect), o.Code, fmt.Sprint(err))
	return p.check(answer{json: []byte(text)}, want)
}

func (p *scripted) mails(rest string) error {
	address, want, _ := strings.Cut(rest, " -> ")
	address, err := p.expand(address, nil)
	if err != nil {
		return err
	}
	text, err := json.Marshal(append([]world.Mail{}, p.Mails(address)...))
	if err != nil {
		return err
	}
	return p.check(answer{json: text}, want)
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
		if object, path, _ := strings.Cut(name, "."); found == nil {
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
		var all strings.Builder
		for i := range n {
			all.WriteString(strings.ReplaceAll(m[2], "{#}", strconv.Itoa(i)))
		}
		return all.String()
	})
}
