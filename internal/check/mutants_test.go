package check_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/drift"
	"github.com/fastio-go/fastio/internal/emulator/edit"
	"github.com/fastio-go/fastio/internal/table"
)

// A mutant is one place in which a platform differs from what the SDK believes: what the
// report of a run must name.
type mutant struct {
	key, op string // of the endpoint
	kind    mutantKind
	place   drift.Place
	edits   []string
	names   []string // of which the report must name one, with the operation
}

type mutantKind string

const (
	renamed  mutantKind = "renames"
	retyped  mutantKind = "kinds"
	dropped  mutantKind = "drops"
	assumed  mutantKind = "assumed names"
	moved    mutantKind = "paths"
	rewired  mutantKind = "envelopes"
	answered mutantKind = "statuses"
	refused  mutantKind = "errors"
)

// leastNamed are the parts of the mutants that reports must name.
func leastNamed() map[mutantKind]float64 {
	return map[mutantKind]float64{
		renamed: 0.98, retyped: 0.98, dropped: 0.9, assumed: 0.95, moved: 1, rewired: 1, answered: 1,
		refused: 1,
	}
}

func (m mutant) String() string {
	return fmt.Sprintf("%s of %s: %s.%s by %q", m.kind, m.key, m.place.Type, m.place.Member, m.edits)
}

// lot is a number by which mutants are drawn. A new member of the platform changes a draw by one
// at most.
func (m mutant) lot() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.String()))
	return h.Sum64()
}

func keyOf(e *check.Exchange) string { return e.Method + " " + e.Path }

// mutantsOf returns the mutants of the responses of a run: of each endpoint that it has
// reached, and of each of its typed members that they hold, under whichever of its names.
func mutantsOf(exchanges []check.Exchange) []mutant {
	searches := map[string]*search{}
	report := compared(exchanges)
	for i := range exchanges {
		e := &exchanges[i]
		key := keyOf(e)
		if report.Operations[key] == nil || report.Operations[key].Outcome == check.NotReached {
			continue
		}
		if searches[key] == nil {
			searches[key] = &search{
				op: e.Op, statuses: map[int]bool{}, members: map[drift.Place]*member{}, known: map[string]bool{},
			}
		}
		searches[key].add(e)
	}
	var all []mutant
	for _, key := range slices.Sorted(maps.Keys(searches)) {
		s := searches[key]
		m := mutant{key: key, op: s.op}
		all = append(all, m.ofEndpoint(s)...)
		names := report.Operations[key].Names
		for _, at := range slices.SortedFunc(maps.Keys(s.members), drift.Place.Compare) {
			m.place = at
			all = append(all, m.ofMember(s.members[at])...)
			if names != nil && slices.Contains(names.Confirmed, at.Member) {
				all = append(all, m.with(assumed, s.members[at].renamed(at.Member+suffix), at.Member))
			}
		}
	}
	return all
}

func (m mutant) with(kind mutantKind, edits []string, names ...string) mutant {
	m.kind, m.edits, m.names = kind, edits, names
	return m
}

// ofEndpoint returns the mutants of an endpoint as a whole.
func (m mutant) ofEndpoint(s *search) []mutant {
	gone := fmt.Sprintf(`text "{\"result\":false,\"error\":{\"code\":%d,\"text\":\"No.\"}}"`, codes.NoEndpoint)
	all := []mutant{m.with(moved, []string{"status 404", gone}, string(check.KindPath))}
	for _, status := range slices.Sorted(maps.Keys(s.statuses)) {
		all = append(all, m.with(answered, []string{fmt.Sprintf("status %d 299", status)}, string(check.KindStatus)))
	}
	if len(s.members) > 0 && strings.Contains(m.key, " /current/") {
		all = append(all,
			m.with(rewired, []string{"set /result 1"}, "result"), m.with(rewired, []string{"nest payload"}, "payload"))
	}
	if s.refused {
		all = append(all,
			m.with(refused, []string{"mv /error/code /error/number"}, "code", "number"),
			m.with(refused, []string{"mv /error/text /error/words"}, "text", "words"),
			m.with(refused, []string{"kind /error/text object"}, "text"))
	}
	if s.anonymous {
		all = append(all, m.with(refused, []string{"set /error/code 77"}, "code"))
	}
	return all
}

// suffix makes another name of one.
const suffix = "_v2"

// ofMember returns the mutants of a typed member.
func (m mutant) ofMember(at *member) []mutant {
	name := m.place.Member
	all := []mutant{
		m.with(renamed, at.renamed(name+suffix), name, name+suffix),
		m.with(dropped, at.edits("rm %s"), name),
	}
	for _, kind := range at.otherKinds() {
		all = append(all, m.with(retyped, at.edits("kind %s "+kind), name))
	}
	return all
}

// A member is where a place is in the responses of an endpoint.
type member struct {
	pointers map[string]bool
	value    any // the first one that is not null
}

// edits returns an edit for each pointer.
func (m *member) edits(format string) []string {
	var all []string
	for _, pointer := range slices.Sorted(maps.Keys(m.pointers)) {
		all = append(all, fmt.Sprintf(format, pointer))
	}
	return all
}

// renamed returns the edits that give the member another name.
func (m *member) renamed(name string) []string {
	all := m.edits("mv %s")
	for i, text := range all {
		all[i] = text + " " + strings.TrimPrefix(text[:strings.LastIndexByte(text, '/')+1], "mv ") + name
	}
	return all
}

var timeText = regexp.MustCompile(`^\d{4}-\d\d-\d\d`)

// otherKinds returns the JSON kinds that the value is changed to. The documents have times
// that are numbers, and objects that are texts.
func (m *member) otherKinds() []string {
	switch value := m.value.(type) {
	case string:
		if timeText.MatchString(value) {
			return []string{"bool", "object"}
		}
		return []string{"number", "object"}
	case float64, bool:
		return []string{"string", "object"}
	case []any:
		return []string{"string", "object"}
	case map[string]any:
		return []string{"number", "list"}
	}
	return nil
}

// A search looks for the typed members of the responses of an endpoint. It does not know
// the types: a member is typed if a response without it holds one typed member less.
type search struct {
	op       string
	statuses map[int]bool // of successes
	members  map[drift.Place]*member
	known    map[string]bool // whether members are typed, by pointer

	refused, anonymous bool // whether there is an error, and one without a credential

	out  any // of a response
	root any
}

// elements is the number of elements of a list or map that are looked at.
const elements = 5

// add adds the members of a response.
func (s *search) add(e *check.Exchange) {
	if e.Status/100 != 2 {
		s.refused = s.refused || e.Status >= http.StatusBadRequest
		s.anonymous = s.anonymous || e.Form == check.FormNoToken
		return
	}
	s.statuses[e.Status] = true
	s.out, s.root = e.Out, nil
	if e.Out != nil && !e.Stream && json.Unmarshal(e.Body, &s.root) == nil {
		s.visit(nil, nil, s.root)
	}
}

// visit adds the typed members below v. At is its pointer, and pattern the same one with *
// for the elements of lists and maps.
func (s *search) visit(at, pattern []string, v any) {
	below := func(name, as string, v any) ([]string, []string, any) {
		return append(slices.Clip(at), name), append(slices.Clip(pattern), as), v
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v[:min(len(v), elements)] {
			s.visit(below(strconv.Itoa(i), "*", item))
		}
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		unknown := func(name string) bool { return !s.isTyped(below(name, name, v[name])) }
		typed := slices.DeleteFunc(slices.Clone(names), unknown)
		for _, name := range typed {
			s.visit(below(name, name, v[name]))
		}
		if len(typed) == 0 { // a map
			for _, name := range names[:min(len(names), elements)] {
				s.visit(below(name, "*", v[name]))
			}
		}
	}
}

// isTyped reports whether a member is typed, and adds it then.
func (s *search) isTyped(at, pattern []string, v any) bool {
	pointer := "/" + strings.Join(pattern, "/")
	typed, known := s.known[pointer]
	if known && (!typed || v == nil) {
		return typed
	}
	if !known {
		s.known[pointer] = s.addPlace(at, pointer)
	}
	for _, m := range s.members {
		if m.value == nil && m.pointers[pointer] {
			m.value = v
		}
	}
	return s.known[pointer]
}

// addPlace adds the place of a member, and reports whether it has one.
func (s *search) addPlace(at []string, pointer string) bool {
	without := s.seen(at[:len(at)-1])
	for place := range s.seen(at) {
		switch {
		case without[place]:
			continue
		case place.Type == "" && slices.Contains([]string{"result", "status", "current_api_version"}, place.Member):
		case s.members[place] == nil:
			s.members[place] = &member{pointers: map[string]bool{pointer: true}}
		default:
			s.members[place].pointers[pointer] = true
		}
		return true
	}
	return false
}

// seen returns the typed members of the response without all that is beside a pointer.
func (s *search) seen(at []string) map[drift.Place]bool {
	text, err := json.Marshal(only(s.root, at))
	if err != nil {
		panic(err)
	}
	all := map[drift.Place]bool{}
	for _, place := range drift.Look(s.out, text).Seen {
		all[place] = true
	}
	return all
}

// only returns a value without what is beside and below a pointer.
func only(v any, at []string) any {
	switch v := v.(type) {
	case map[string]any:
		if len(at) == 0 {
			return map[string]any{}
		}
		return map[string]any{at[0]: only(v[at[0]], at[1:])}
	case []any:
		if len(at) == 0 {
			return []any{}
		}
		i, err := strconv.Atoi(at[0])
		if err != nil {
			panic(err)
		}
		return []any{only(v[i], at[1:])}
	}
	return v
}

// change returns an exchange with a platform that has the mutant.
func (m mutant) change(e check.Exchange) check.Exchange {
	all, err := edit.ParseAll(m.edits...)
	if err != nil {
		panic(err)
	}
	r := edit.Response{Status: e.Status, Header: e.Header.Clone(), Body: e.Body}
	for _, change := range all {
		_ = change.Apply(&r) // not each response has each member
	}
	e.Status, e.Header, e.Body = r.Status, r.Header, r.Body
	return e
}

// isNamed reports whether the report of an operation names the mutant, and that of the
// unchanged platform does not.
func (m mutant) isNamed(before, after *check.Operation) bool {
	if m.kind == dropped {
		return slices.ContainsFunc(after.Never, func(name string) bool {
			return strings.HasSuffix(name, "."+m.names[0]) && !slices.Contains(before.Never, name)
		})
	}
	if m.kind == assumed { // refuted or not seen: another type may have a member of the same name
		return !slices.Contains(after.Names.Confirmed, m.names[0])
	}
	return slices.ContainsFunc(after.Differences, func(d check.Difference) bool {
		name := strings.TrimRight(d.Member, "[]{}")
		if m.kind == moved || m.kind == answered {
			name = string(d.Kind)
		}
		return slices.Contains(m.names, name) && !slices.Contains(before.Differences, d)
	})
}

// Reports name the mutants of the members that a run has seen: of all of them with the build
// tag soak, else of half of them. One mutant of each endpoint
// is compared at a time, since endpoints are compared independently.
func TestReportsNameMutants(t *testing.T) {
	t.Parallel()
	table.Large(t)
	requireMutants(t, recorded(t), slices.Collect(maps.Keys(leastNamed()))...)
}

// Reports name the mutants of the responses to writes, which have the same forms, but no
// refusals.
func TestReportsNameMutantsOfWrites(t *testing.T) {
	t.Parallel()
	table.Large(t)
	exchanges := slices.DeleteFunc(written(t), func(e check.Exchange) bool {
		return !slices.ContainsFunc(check.Writes(allFlags()...), func(w check.Write) bool { return w.Key() == keyOf(&e) })
	})
	requireMutants(t, exchanges, renamed, retyped, dropped, assumed, moved, rewired, answered)
}

// requireMutants requires that reports name the mutants of what a run has seen.
func requireMutants(t *testing.T, exchanges []check.Exchange, kinds ...mutantKind) {
	t.Helper()
	before := compared(exchanges)
	parts := make([]map[string][]mutant, runtime.GOMAXPROCS(0))
	for _, m := range mutantsOf(exchanges) {
		if m.lot()%uint64(table.Rounds(2, 1)) != 0 {
			continue
		}
		part := &parts[len(m.key)%len(parts)]
		if *part == nil {
			*part = map[string][]mutant{}
		}
		(*part)[m.key] = append((*part)[m.key], m)
	}
	scores := make([]score, len(parts))
	var work sync.WaitGroup
	for i, left := range parts {
		work.Go(func() { scores[i].addAll(slices.Clone(exchanges), left, before) })
	}
	work.Wait()
	var all score
	for _, s := range scores {
		all.missed = append(all.missed, s.missed...)
		all.found = append(all.found, s.found...)
	}
	all.log(t)
	all.require(t, kinds...)
}

// A score has the mutants that reports name, and those that none does.
type score struct{ found, missed []mutant }

func (s *score) add(m mutant, found bool) {
	if found {
		s.found = append(s.found, m)
	} else {
		s.missed = append(s.missed, m)
	}
}

// addAll compares the mutants of several endpoints.
func (s *score) addAll(exchanges []check.Exchange, left map[string][]mutant, before *check.Report) {
	for len(left) > 0 {
		exchanges = slices.DeleteFunc(exchanges, func(e check.Exchange) bool { return left[keyOf(&e)] == nil })
		changed := make([]check.Exchange, len(exchanges))
		for i := range exchanges {
			changed[i] = left[keyOf(&exchanges[i])][0].change(exchanges[i])
		}
		after := compared(changed)
		for key, mutants := range left {
			s.add(mutants[0], mutants[0].isNamed(before.Operations[key], after.Operations[key]))
			left[key] = mutants[1:]
			if len(mutants) == 1 {
				delete(left, key)
			}
		}
	}
}

// count returns the number of mutants of a kind.
func count(mutants []mutant, kind mutantKind) int {
	n := 0
	for _, m := range mutants {
		if m.kind == kind {
			n++
		}
	}
	return n
}

// log lists the mutants that no report names.
func (s *score) log(t *testing.T) {
	t.Helper()
	missed := make([]string, len(s.missed))
	for i, m := range s.missed {
		missed[i] = m.String()
	}
	slices.Sort(missed)
	for _, m := range missed {
		t.Logf("missed: %s", m)
	}
	for _, kind := range slices.Sorted(maps.Keys(leastNamed())) {
		found := count(s.found, kind)
		t.Logf("%s: %d of %d", kind, found, found+count(s.missed, kind))
	}
}

// require requires the score of [leastNamed].
func (s *score) require(t *testing.T, kinds ...mutantKind) {
	t.Helper()
	for _, kind := range kinds {
		found := count(s.found, kind)
		all := found + count(s.missed, kind)
		if float64(found) < leastNamed()[kind]*float64(all) || all == 0 {
			t.Errorf("reports name %d of %d %s, want %.0f %%", found, all, kind, 100*leastNamed()[kind])
		}
	}
}
