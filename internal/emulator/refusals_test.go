package emulator_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

// A refusal is an error row of the platform's documents, from testdata/refusals:
//
//	operation METHOD path
//	*cause: who METHOD path ?query body -> status code reason field:kind if step; step
//
// METHOD and path are only given where they differ from those of the operation.
// Codes 199001 to 199999 are invented, where the documents have none. The request is one
// of a script; see request_test.go. Steps, which come before it, are those of scripts and
// of this file. A * marks a row whose response equals that of another row.
type refusal struct {
	operation, cause, request, want string
	steps                           []string
	alike                           bool
}

func refusals(t *testing.T) []refusal {
	t.Helper()
	names, err := filepath.Glob("testdata/refusals/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []refusal
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := regexp.MustCompile(`\n\t(->|if) `).ReplaceAllString(string(b), " $1 ")
		var head []string
		for line := range strings.Lines(strings.ReplaceAll(text, "\n\t", "")) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case line == "":
			case line[0] != ' ' && line[0] != '*':
				head = strings.Fields(line)
			default:
				all = append(all, parseRefusal(t, head, line))
			}
		}
	}
	return all
}

func parseRefusal(t *testing.T, head []string, line string) refusal {
	t.Helper()
	line = repeat(line)
	cause, rest, ok := strings.Cut(line[1:], ": ")
	request, want, found := strings.Cut(rest, " -> ")
	if !ok || !found || len(head) != 3 {
		t.Fatalf("no refusal of %v: %.100s", head, line)
	}
	r := refusal{operation: head[0], cause: cause, alike: line[0] == '*'}
	want, steps, given := strings.Cut(want, " if ")
	if r.want = want; given {
		r.steps = strings.Split(steps, "; ")
	}
	credential, who, own := strings.Cut(request, "; ")
	if !own {
		credential, who = "", request
	}
	who, rest, _ = strings.Cut(who, " ")
	if !regexp.MustCompile(`^[A-Z]+ /`).MatchString(rest) {
		query, body, _ := strings.Cut(rest, " ")
		if !strings.HasPrefix(rest, "?") {
			query, body = "", rest
		}
		rest = head[1] + " " + head[2] + query + " " + body
	}
	r.request = credential + "; " + who + " " + rest
	return r
}

// Every request is rejected with the error that a program can branch on.
func TestRefusals(t *testing.T) {
	t.Parallel()
	before := stepsOf(t, "testdata/refusals-world.txt", worldSteps(t))
	all := refusals(t)
	for _, row := range all[:table.Rounds(len(all), len(all))] {
		t.Run(row.operation+"/"+row.cause, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { row.check(t, before) })
		})
	}
}

func (row *refusal) check(t *testing.T, before []step) {
	t.Helper()
	w := newRefusing(t, before, *row)
	w.Forget()
	err := w.ask(row.request, nil)
	if got := signs(err); got != row.want {
		t.Errorf("%s\n is refused with %s\n           want %s", row.request, got, row.want)
	}
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code > 999_999 { // the platform's have six digits at most
		t.Errorf("%s is refused with code %d", row.request, e.Code)
	}
	if sent := w.Requests(); len(sent) > 0 && sent[0].Op != row.operation && sent[0].Op != "" {
		t.Errorf("%s is a call of %s", row.request, sent[0].Op)
	}
}

var invented = regexp.MustCompile(` 199\d{3}`)

// Rows of one operation are rejected alike only if all of them are marked. Invented codes do not distinguish rows.
func TestRefusalsAreToldApart(t *testing.T) {
	t.Parallel()
	rows := refusals(t)
	for i := range rows {
		rows[i].want = invented.ReplaceAllString(rows[i].want, "")
	}
	for _, row := range rows {
		same := slices.ContainsFunc(rows, func(r refusal) bool {
			return r.operation == row.operation && r.want == row.want && r.cause != row.cause
		})
		if same != row.alike {
			t.Errorf("%s, %s: another row is refused alike: %t", row.operation, row.cause, same)
		}
	}
}

// signs returns the status, the code, the word and the reason of an error, and the fields that were rejected.
func signs(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return fmt.Sprintf("%T %v", err, err)
	}
	said := []string{strconv.Itoa(e.Status)}
	if e.Code != 0 {
		said = append(said, strconv.FormatInt(e.Code, 10))
	}
	for _, word := range []string{e.Name, e.Reason, e.Feature} {
		if word != "" {
			said = append(said, word)
		}
	}
	for _, p := range e.Params {
		said = append(said, p.Name+":"+string(p.Kind))
	}
	return strings.Join(said, " ")
}

// ask sends what a row says: a credential of its own or none, "; ", and a request as in scripts.
func (w *refusing) ask(request string, out any) error {
	w.Helper()
	credential, request, _ := strings.Cut(w.macro(request), "; ")
	credential, err := w.expand(credential, nil)
	w.must(err)
	asked, err := w.parse(request)
	w.must(err)
	r := &api.Request{
		Op: "refusal", Method: asked.method, Path: api.Path(asked.path), Query: asked.query, Replay: api.ReplayOnce,
		Credential: api.NewSecret(credential),
	}
	if asked.password != "" {
		r.Link, r.Options.Password = api.LinkTakesPassword, api.NewSecret(asked.password)
	}
	switch {
	case asked.form != nil:
		r.Body = api.Form(asked.form)
	case asked.body != "":
		r.Body = api.Bytes(asked.contentType, []byte(asked.body))
	}
	if asked.who == "anon" {
		asked.who, r.Auth = "ada", api.AuthNone
	}
	return w.client(asked.who).Call(w.Context(), r, out)
}

// refusing is the platform that a refusal is asked of, and who asks.
type refusing struct {
	*testing.T
	*scripted
	row     refusal
	clients map[string]*fastio.Client
}

// newRefusing returns the platform of a row after its steps, in a bubble of package synctest.
func newRefusing(t *testing.T, before []step, row refusal) *refusing {
	t.Helper()
	w := &refusing{T: t, row: row, clients: map[string]*fastio.Client{}}
	steps := slices.Clip(before)
	for _, text := range row.steps {
		steps = append(steps, step{row.operation, text})
	}
	var err error
	w.scripted, err = newScripted(t.Context(), steps, func(o *seed.Options) {
		if slices.Contains(row.steps, "spent") { // by another program of ada's: room for one call in an hour
			o.Limits.Rules = []seed.Limit{{Ops: []seed.Op{seed.Op(row.operation)}, Max: 1, Size: time.Hour}}
		}
	})
	w.must(err)
	for _, s := range before {
		w.must(w.do(s.text))
	}
	w.names["token"], w.names["chat"] = "x", "2n0th1ngh3r3b3ta1234567890123" // of none, until a step makes one
	for _, text := range row.steps {
		for text := range strings.SplitSeq(w.macro(text), "; ") {
			w.perform(text)
		}
	}
	return w
}

// client returns the client of a user or a key.
func (w *refusing) client(who string) *fastio.Client {
	w.Helper()
	if c := w.clients[who]; c != nil {
		return c
	}
	if w.keys[who] == "" {
		w.Fatalf("no user %q", who)
	}
	c, err := fastio.New(
		fastio.WithBaseURL("http://emulator.localhost"), fastio.WithHTTPClient(&http.Client{Transport: w.Server}),
		fastio.WithToken(w.keys[who]), fastio.WithRetry(fastio.RetryPolicy{Attempts: 1}),
	)
	w.must(err)
	w.clients[who] = c
	return c
}

// perform makes a step of a row.
func (w *refusing) perform(text string) {
	w.Helper()
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "fault":
		w.fail(rest)
	case "spent":
		_, request, _ := strings.Cut(w.row.request, " ")
		_, request, _ = strings.Cut(request, " ")
		_ = w.ask("; reader "+request, nil) // whether it is rejected does not matter
	default:
		w.must(w.do(text))
	}
}

func (w *refusing) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// fail has the platform fail inside, for which there is no other cause.
func (w *refusing) fail(how string) {
	status, code, _ := strings.Cut(how, " ")
	f := seed.Fault{Op: seed.Op(w.row.operation)}
	f.Status, _ = strconv.Atoi(status)
	if _, err := strconv.Atoi(code); code != "" && err != nil { // in the words of OAuth
		f.Body = `{"error":"` + code + `"}`
	}
	f.Code, _ = strconv.ParseInt(code, 10, 64)
	w.Server.Fail(f)
}
