package emulator_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

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
		fastio.WithBaseURL("http://emulator.test"), fastio.WithHTTPClient(&http.Client{Transport: w.Server}),
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
