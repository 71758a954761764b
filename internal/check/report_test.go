package check_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/checktest"
	"github.com/fastio-go/fastio/internal/table"
)

// outputs returns all that leaves the program.
func outputs(t *testing.T, r *check.Report) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, write := range map[string]func(w *strings.Builder) error{
		"report.json": func(w *strings.Builder) error { return check.WriteJSON(w, r) },
		"report.html": func(w *strings.Builder) error { return check.WriteHTML(w, r) },
		"the screen":  func(w *strings.Builder) error { return check.Show(w, r) },
		"the words":   func(w *strings.Builder) error { return check.ShowWords(w, r) },
	} {
		var text strings.Builder
		if err := write(&text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = text.String()
	}
	return all
}

// Words are shown in lines of at most 90 columns, with two blanks before each word.
func TestWordsAreWrapped(t *testing.T) {
	t.Parallel()
	r := &check.Report{Words: slices.Repeat([]string{"four", "six_45"}, 30)}
	_, lines, _ := strings.Cut(outputs(t, r)["the words"], ":\n")
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 90 || !strings.HasPrefix(line, "  ") || strings.HasSuffix(line, " ") {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
	if got := strings.Fields(lines); !slices.Equal(got, r.Words) {
		t.Errorf("words %v", got)
	}
}

// recorded returns the exchanges of a walk in a world with one of everything.
func recorded(t *testing.T, change ...func(o *seed.Options)) []check.Exchange {
	t.Helper()
	var all []check.Exchange
	synctest.Test(t, func(t *testing.T) {
		run := walk(t, checktest.New(t, change...))
		if run.Err != nil {
			t.Error(run.Err)
		}
		all = run.Exchanges
	})
	return all
}

// written returns the exchanges of a run with all writes.
func written(t *testing.T, change ...func(s *fastiotest.Server)) []check.Exchange {
	t.Helper()
	var all []check.Exchange
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		o := optionsToWrite(t, s, allFlags()...)
		for _, c := range change {
			c(s)
		}
		run := check.Walk(t.Context(), o)
		if run.Err != nil || run.Left != nil {
			t.Error(run.Err, run.Left)
		}
		all = run.Exchanges
	})
	return all
}

func allFlags() []check.With { return []check.With{check.WithAI, check.WithSecondKey} }

// compared returns the report of a run, with all writes.
func compared(exchanges []check.Exchange) *check.Report {
	return check.Compare(exchanges, check.Writes(allFlags()...)...)
}

func TestUnchangedPlatformIsAsBelieved(t *testing.T) {
	t.Parallel()
	for key, o := range check.Compare(recorded(t)).Operations {
		for _, d := range o.Differences {
			t.Errorf("%s (%s): %+v", o.Op, key, d)
		}
		for _, name := range o.Never {
			if member := name[strings.LastIndexByte(name, '.')+1:]; member != strings.ToLower(member[:1])+member[1:] {
				t.Errorf("%s: %s is a field, and no member of a response", o.Op, name)
			}
		}
		if o.Path == "refuted" || o.Names != nil && len(o.Names.Refuted) > 0 {
			t.Errorf("%s: refuted: %s %v", o.Op, o.Path, o.Names)
		}
	}
}

// No text that a person has chosen is in any output, nor any other value of a response that
// is not also a word of the SDK.
func TestNoValueLeavesTheProgram(t *testing.T) {
	t.Parallel()
	for name, exchanges := range map[string][]check.Exchange{"reads": recorded(t), "writes": written(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireNoValue(t, exchanges)
		})
	}
}

func requireNoValue(t *testing.T, exchanges []check.Exchange) {
	t.Helper()
	values := map[string]bool{}
	for _, e := range exchanges {
		var root any
		if json.Unmarshal(e.Body, &root) == nil {
			collect(root, values)
		}
	}
	const least = 200
	if len(values) < least {
		t.Fatalf("only %d values", len(values))
	}
	for name, text := range outputs(t, compared(exchanges)) {
		if strings.Contains(strings.ToLower(text), checktest.Canary) {
			t.Errorf("%s holds a canary", name)
		}
		for value := range values {
			if strings.Contains(text, value) {
				t.Errorf("%s holds the value %q", name, value)
			}
		}
	}
}

// collect adds the strings below v that cannot be words of the SDK: those with a digit and
// those with several words.
func collect(v any, to map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			collect(value, to)
		}
	case []any:
		for _, value := range v {
			collect(value, to)
		}
	case string:
		const least = 8
		if len(v) >= least && strings.ContainsAny(v, "0123456789 @") && !strings.HasPrefix(v, "/current/") {
			to[v] = true
		}
	}
}

// Values are replaced in all responses, of one operation at a time: names, words and keys in
// every place where the platform could send one.
func TestCanariesInEveryValueStayInside(t *testing.T) {
	t.Parallel()
	exchanges := written(t)
	for name, plant := range map[string]func(v any) any{
		"values": func(v any) any { return plantValues(v, func(int) string { return "Zqcanary of mine" }) },
		"words":  func(v any) any { return plantValues(v, func(int) string { return "zqcanary" }) },
		"words in texts": func(v any) any {
			n := 0
			return plantValues(v, func(int) string { n++; return []string{"zqcanary", "my zqcanary"}[n%2] })
		},
		"digits":       func(v any) any { return plantValues(v, func(int) string { return "zqcanary12345" }) },
		"keys":         plantKeys,
		"keys of maps": plantMapKeys,
	} {
		if testing.Short() && name != "words in texts" && name != "keys of maps" {
			continue
		}
		changed := slices.Clone(exchanges)
		for i := range changed {
			var root any
			if changed[i].Out != nil && json.Unmarshal(changed[i].Body, &root) == nil {
				b, err := json.Marshal(plant(root))
				if err != nil {
					t.Fatal(err)
				}
				changed[i].Body = b
			}
			changed[i].Err = fmt.Errorf("a text with %s", checktest.Canary)
		}
		for output, text := range outputs(t, compared(changed)) {
			if at := strings.Index(strings.ToLower(text), checktest.Canary); at >= 0 {
				t.Errorf("%s: %s holds a canary: ...%s", name, output, text[max(0, at-100):min(len(text), at+40)])
			}
		}
	}
}

// plantValues replaces all strings.
func plantValues(v any, text func(n int) string) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(keysOf(v)) {
			v[name] = plantValues(v[name], text)
		}
	case []any:
		for i := range v {
			v[i] = plantValues(v[i], text)
		}
	case string:
		return text(len(v))
	}
	return v
}

// plantKeys adds an unknown member to all objects, whose keys and values are canaries.
func plantKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			plantKeys(value)
		}
		v["brand_new"] = map[string]any{"zqcanary": "zqcanary", "list": []any{map[string]any{"zqcanary": 1}}}
		v["Zqcanary Ada"], v["zqcanary@example.test"], v["zqcanary12345"] = 1, "x", map[string]any{"zqcanary": 2}
	case []any:
		for _, value := range v {
			plantKeys(value)
		}
	}
	return v
}

// plantMapKeys adds a canary to all objects that the SDK believes to be maps by their name.
func plantMapKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			plantMapKeys(value)
			if m, is := value.(map[string]any); is && slices.Contains(mapNames(), name) {
				m["zqcanary"] = map[string]any{"zqcanary": "zqcanary"}
			}
		}
	case []any:
		for _, value := range v {
			plantMapKeys(value)
		}
	}
	return v
}

func mapNames() []string {
	return []string{"properties", "reactions", "capabilities", "previews", "users", "chunks", "files", "values"}
}

func keysOf(m map[string]any) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

// Ten walks of equal platforms have one report, and so has one where each operation is
// refused once for a reason that passes.
func TestReportDoesNotDependOnFailuresThatPass(t *testing.T) {
	t.Parallel()
	text := func(exchanges []check.Exchange) string { return outputs(t, check.Compare(exchanges))["report.json"] }
	want := text(recorded(t))
	for range table.Rounds(4, 9) {
		if diff := cmp.Diff(want, text(recorded(t))); diff != "" {
			t.Fatalf("two runs differ (-first +other):\n%s", diff)
		}
	}
	var troubled []check.Exchange
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		o := optionsFor(t, s)
		troubles := []seed.Fault{
			{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"2"}}},
			{Status: http.StatusServiceUnavailable},
			{Reset: "before"},
			{Reset: "after"},
		}
		refused := map[string]bool{}
		for i, r := range check.Reads() {
			f := troubles[i%len(troubles)]
			if refused[r.Op] {
				continue
			}
			refused[r.Op] = true
			f.Op, f.Count = seed.Op(r.Op), 2
			s.Fail(f)
		}
		s.Fail(seed.Fault{Op: op.AccountMe, Skip: 1, Count: 4, Status: http.StatusServiceUnavailable})
		troubled = check.Walk(t.Context(), o).Exchanges
	})
	if diff := cmp.Diff(want, text(troubled)); diff != "" {
		t.Errorf("a run with 429, 503 and resets differs (-want +got):\n%s", diff)
	}
}

// So has a run with writes, whose requests are refused for such a reason, or lost before they
// arrive.
func TestReportOfWritesDoesNotDependOnFailuresThatPass(t *testing.T) {
	t.Parallel()
	want := compared(written(t))
	for range table.Rounds(1, 9) {
		if diff := cmp.Diff(want, compared(written(t))); diff != "" {
			t.Fatalf("two runs differ (-first +other):\n%s", diff)
		}
	}
	troubles := []seed.Fault{
		{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"2"}}},
		{Status: http.StatusServiceUnavailable},
		{Reset: "before"},
	}
	troubled := written(t, func(s *fastiotest.Server) {
		for i, w := range check.Writes(allFlags()...) {
			f := troubles[i%len(troubles)]
			f.Op, f.Count = seed.Op(w.Op), 2
			if w.Method != http.MethodGet && w.Op != "workspaces.Create" {
				s.Fail(f)
			}
		}
	})
	// what takes time, such as a summary or the end of an intent, comes sooner or later then
	loose := cmpopts.IgnoreFields(check.Operation{}, "Never", "Forms")
	if diff := cmp.Diff(want, compared(troubled), loose); diff != "" {
		t.Errorf("a run with 429, 503 and resets differs (-want +got):\n%s", diff)
	}
}
