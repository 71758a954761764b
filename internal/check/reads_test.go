package check_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/facts"
)

// The list holds GETs and search.Compound. Every other GET has a reason not to be in it.
func TestReadsAreReviewed(t *testing.T) {
	t.Parallel()
	refused := check.Refused()
	listed := map[string]string{}
	for _, r := range check.Reads() {
		if r.Method != http.MethodGet && r.Op != "search.Compound" {
			t.Errorf("%s is no read", r.Key())
		}
		if refused[r.Op] != "" {
			t.Errorf("%s is listed and refused", r.Op)
		}
		if listed[r.Key()] != "" {
			t.Errorf("%s is listed twice", r.Key())
		}
		listed[r.Key()] = r.Op
	}
	known := map[string]bool{}
	for _, e := range facts.Endpoints() {
		key := e.Method + " " + e.Path
		known[key] = true
		switch {
		case listed[key] != "" && listed[key] != e.Op:
			t.Errorf("%s is %s, listed as %s", key, e.Op, listed[key])
		case e.Method == http.MethodGet && listed[key] == "" && refused[e.Op] == "":
			t.Errorf("%s (%s) is neither listed nor refused with a reason", key, e.Op)
		}
	}
	for key := range listed {
		if !known[key] {
			t.Errorf("%s is listed, but no endpoint", key)
		}
	}
}

// Of the GETs with an effect only those that create a read or socket token are listed.
func TestReadsWithAnEffectOnlyCreateTokens(t *testing.T) {
	t.Parallel()
	tokens := []string{
		"realtime.SocketToken", "realtime.RoomToken", "realtime.NoteToken", "storage.Downloads.Token",
		"storage.Previews.Authorize", "storage.Transforms.Token",
	}
	listed := map[string]bool{}
	for _, r := range check.Reads() {
		listed[r.Key()] = true
	}
	for _, e := range facts.Endpoints() {
		effect := strings.Contains(e.Note, "side effect") || strings.Contains(e.Note, "mints")
		if effect && listed[e.Method+" "+e.Path] && !slices.Contains(tokens, e.Op) {
			t.Errorf("%s has an effect: %s", e.Op, e.Note)
		}
	}
}
