package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/drift"
	"github.com/fastio-go/fastio/internal/facts"
)

// Compare compares the exchanges of a run with what the SDK believes of the platform, and
// returns the report. Writes are the endpoints of [Writes] that the run was allowed to call.
// The Words of the report are the texts in it that come from responses, apart from headers
// that are known to be of the platform: the user reads the Words before the report is
// written. Compare is pure: equal exchanges give equal reports.
func Compare(exchanges []Exchange, writes ...Write) *Report {
	c := &comparison{
		reads: withWrites(Reads(), writes), writeRules: map[string]rules{}, rows: rowsByKey(), words: wordsOf(exchanges),
		calls: map[string][]*seen{},
	}
	for _, w := range writes {
		c.writeRules[w.Key()] = w.rules()
	}
	for i := range exchanges {
		c.add(&exchanges[i])
	}
	r := &Report{Operations: map[string]*Operation{}}
	for _, read := range c.reads {
		r.Operations[read.Key()] = c.operation(read)
	}
	r.Limits = limitsOf(exchanges)
	for _, name := range r.Limits.Headers {
		if !isLimitHeader(name) { // a proxy may have added it: the user reads it, too
			c.words.said[name] = true
		}
	}
	r.Words = slices.Sorted(maps.Keys(c.words.said))
	return r
}

// withWrites returns the endpoints of both lists, each once: some writes are reads too.
func withWrites(reads []Read, writes []Write) []Read {
	listed := map[string]bool{}
	for _, r := range reads {
		listed[r.Key()] = true
	}
	for _, w := range writes {
		if key := w.Key(); !listed[key] {
			listed[key] = true
			reads = append(reads, w.Read)
		}
	}
	return reads
}

// A comparison is the state of Compare.
type comparison struct {
	reads      []Read
	writeRules map[string]rules          // for the fields that writes may have, by key
	rows       map[string]facts.Endpoint // by the key of the endpoint, as calls
	words      *words
	calls      map[string][]*seen
}

// seen is an exchange, and what drift has found in it.
type seen struct {
	*Exchange
	sight drift.Sight
	fault *fault // of a failure
}

// add adds an exchange to those of its operation, with what its response shows: the
// members of a success, or the error. An endpoint of no reviewed list is left out.
//
// It notes in c.words what no user has chosen, so that the report may show it: the names of
// the members that the SDK has, and the values of enumerations.
func (c *comparison) add(e *Exchange) {
	read, reviewed := findRead(c.reads, e.Method, e.Path)
	if !reviewed {
		return
	}
	s := &seen{Exchange: e}
	if e.Status/100 == 2 && e.Out != nil && !e.Stream {
		s.sight = drift.Look(e.Out, e.Body)
		for _, places := range [][]drift.Place{s.sight.Seen, s.sight.Missing} {
			for _, p := range places {
				c.words.known[bare(p.Member)] = true
			}
		}
		for _, d := range s.sight.Differences {
			if d.Kind == drift.KindValue {
				c.words.enums[text{op: e.Op, member: bare(d.Member), value: d.Got}] = true
			}
		}
	}
	if e.Status >= http.StatusBadRequest {
		s.fault = faultOf(e.Body)
		for _, p := range s.fault.params() {
			c.words.enums[text{op: e.Op, member: "kind", value: p.text("kind")}] = true
		}
	}
	c.calls[read.Key()] = append(c.calls[read.Key()], s)
}

// operation compares the calls of an endpoint with what this version of the SDK believes of
// it, and returns the result.
func (c *comparison) operation(read Read) *Operation {
	row := c.rows[read.Key()]
	o := &Operation{Op: read.Op, Area: read.Area(), Source: row.Source, Forms: map[Form]*FormResult{}}
	calls := c.calls[read.Key()]
	found := map[Difference]bool{} // a set: a difference in several calls is reported once
	note := func(d Difference) { found[d] = true }
	for _, s := range calls {
		c.noteDifferences(s, note)
	}
	byForm := map[Form][]*seen{}
	objects := map[int]object{} // by Group: the calls for one object have the same
	for _, s := range calls {
		byForm[s.Form] = append(byForm[s.Form], s)
		objects[s.Group] = objects[s.Group].including(s)
	}
	for form, calls := range byForm {
		o.Forms[form] = formResult(calls)
		noteStatuses(read, form, calls, objects, note)
	}
	compareLevels(calls, note)
	comparePages(calls, note)
	if refusedAlways(calls) {
		// The path may also fit the template of another operation. If the platform does not have this
		// endpoint, it has taken the requests for those of the other operation, and refused them.
		if other := c.otherOpAt(read); other != "" {
			text := "moved or missing, or refused; the path is one of " + other + " too"
			note(Difference{Kind: KindPath, Want: "an endpoint", Got: text})
		}
	}
	o.Names = assumedNames(row, calls)
	c.setOutcome(o, read, calls, found)
	return o
}

// otherOpAt returns another operation whose path template also fits the path of an endpoint: a
// platform without that endpoint takes its requests for those of the operation. It returns "" if there is none.
func (c *comparison) otherOpAt(read Read) string {
	for _, key := range sortedKeys(c.rows) {
		row := c.rows[key]
		if row.Method == read.Method && row.Op != read.Op && (Read{Path: row.Path}).matches(read.Path) {
			return row.Op
		}
	}
	return ""
}

// refusedAlways reports whether no call of an endpoint has succeeded, and a plain call was
// refused with a status that does not mean missing rights. A response that says that
// there is no such endpoint does not count: it is a difference of its own.
func refusedAlways(calls []*seen) bool {
	refused := false
	for _, s := range calls {
		switch s.Status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusBadRequest, http.StatusNotAcceptable:
			refused = refused || s.Form == FormPlain && !s.withoutEndpoint()
		}
		if s.succeeded() {
			return false
		}
	}
	return refused
}

// setOutcome sets the outcome of an operation from its calls and the differences found
// in them.
func (c *comparison) setOutcome(o *Operation, read Read, calls []*seen, found map[Difference]bool) {
	o.Differences = slices.SortedFunc(maps.Keys(found), Difference.compare)
	o.Never = neverSeen(calls)
	o.Envelope = envelopes(calls)
	o.Path = assumedPath(o.Source, calls)
	ifRemoved := statusIfRemoved(read.Op) // 0 if the operation must not be refused
	asBelieved := func(s *seen) bool { return s.succeeded() || ifRemoved != 0 && s.Status == ifRemoved }
	switch {
	case len(found) > 0:
		o.Outcome = Different
	case slices.ContainsFunc(calls, asBelieved):
		o.Outcome = AsBelieved
	default:
		o.Outcome, o.Reason = NotReached, c.whyNotReached(read, calls)
	}
}

func (s *seen) succeeded() bool { return s.Status/100 == 2 }

// whyNotReached returns why no call of an endpoint has succeeded: no response, a
// refusal, or no object of the kind that it needs. Only calls for full output and by name
// count: those in other forms are variants of these, or are meant to fail.
func (c *comparison) whyNotReached(read Read, calls []*seen) string {
	statuses := map[int]bool{}
	for _, s := range calls {
		if s.Form == FormPlain || s.Form == FormByName {
			statuses[s.Status] = true
		}
	}
	switch {
	case statuses[0]: // 0 is the status of an exchange without a response
		return "no response"
	case len(statuses) > 0:
		all := slices.Sorted(maps.Keys(statuses))
		text := make([]string, len(all))
		for i, status := range all {
			text[i] = strconv.Itoa(status)
		}
		return "refused with status " + strings.Join(text, ", ")
	case read.Needs != "":
		return "no " + strings.TrimPrefix(strings.TrimPrefix(read.Needs, "an "), "a ") + " in the sample"
	}
	return "not called"
}

// noteDifferences calls note for each difference in one response. If the SDK does not know a
// name or value, and a person may have chosen it, c.words hides it.
func (c *comparison) noteDifferences(s *seen, note func(d Difference)) {
	for _, d := range s.sight.Differences {
		n := Difference{Kind: Kind(d.Kind), Type: typeName(d.Type), Member: d.Member}
		switch d.Kind {
		case drift.KindUnknown:
			n.Member = c.words.memberName(d.Member)
		case drift.KindValue:
			n.Got = c.words.enumValue(d.Got)
		case drift.KindShape:
			n.Want, n.Got = d.Want, d.Got
		}
		note(n)
	}
	if s.succeeded() && s.Err != nil {
		// An InputError is a wrong argument of this program, not of the response.
		if _, input := errors.AsType[*api.InputError](s.Err); !input {
			note(Difference{Kind: KindDecode, Form: s.Form, Want: "a response that can be decoded", Got: "none"})
		}
	}
	c.lookAtEnvelope(s, note)
	if s.fault != nil {
		c.lookAtFault(s, note)
	}
}

// lookAtEnvelope calls note if the envelope of a JSON response, an object with
// a member "result", is not as documented.
func (c *comparison) lookAtEnvelope(s *seen, note func(d Difference)) {
	if !s.succeeded() || s.Out == nil || s.Stream || !strings.HasPrefix(s.Path, "/current/") {
		return
	}
	if _, isText := s.Out.(*string); isText { // a document, which has no envelope
		return
	}
	var root map[string]json.RawMessage
	if json.Unmarshal(s.Body, &root) != nil {
		if kindOf(s.Body) != "list" { // which some endpoints send without an envelope
			note(Difference{Kind: KindEnvelope, Want: "object", Got: kindOf(s.Body)})
		}
		return
	}
	result, hasResult := root["result"]
	switch text := strings.ToLower(strings.Trim(string(result), `"`)); { // a bool, or the text "yes"
	case !hasResult:
		note(Difference{Kind: KindEnvelope, Member: "result", Want: "bool", Got: "none"})
	case kindOf(result) != "bool" && text != "yes":
		note(Difference{Kind: KindEnvelope, Member: "result", Want: "bool", Got: kindOf(result)})
	}
}

// envelopes returns in which places the successful responses had their payload, each
// once, for the report: a list, under "response", at the root, or a text.
func envelopes(calls []*seen) []string {
	all := map[string]bool{}
	for _, s := range calls {
		var root map[string]json.RawMessage
		switch {
		case !s.succeeded() || s.Out == nil || s.Stream:
		case kindOf(s.Body) == "list":
			all["a list"] = true
		case json.Unmarshal(s.Body, &root) == nil && kindOf(root["response"]) == "object":
			all["under response"] = true
		case kindOf(s.Body) == "object":
			all["at the root"] = true
		default:
			all["a text"] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// kindOf returns the kind of a JSON value.
func kindOf(v json.RawMessage) string {
	switch text := strings.TrimSpace(string(v)); {
	case text == "":
		return "none"
	case text == "null":
		return "null"
	case text == "true", text == "false":
		return "bool"
	case text[0] == '"':
		return "string"
	case text[0] == '[':
		return "list"
	case text[0] == '{':
		return "object"
	case json.Valid([]byte(text)):
		return "number"
	}
	return "text"
}

// formResult returns how often a form was called, as a range, and with which statuses and
// error codes it was answered. Impossible error codes are left out.
func formResult(calls []*seen) *FormResult {
	statuses, failures := map[int]bool{}, map[int64]bool{}
	for _, s := range calls {
		statuses[s.Status] = true
		if s.fault != nil && s.fault.code > 0 && s.fault.code < maxCode {
			failures[s.fault.code] = true
		}
	}
	return &FormResult{
		bucket(len(calls)), slices.Sorted(maps.Keys(statuses)), slices.Sorted(maps.Keys(failures)),
	}
}

const maxCode = 1_000_000 // codes of the platform have six digits at most

// An object is what became of the calls for one object, in all forms.
type object struct {
	reached      bool // one of them has succeeded
	plainRefusal int  // the status of the plain one, unless that succeeded
}

// including returns what is known of an object with another exchange included.
func (o object) including(s *seen) object {
	o.reached = o.reached || s.succeeded()
	if s.Form == FormPlain && !s.succeeded() {
		o.plainRefusal = s.Status
	}
	return o
}

// noteStatuses calls note for each status and error code that calls of a form should not
// have. Objects has, by Group, what became of the calls for one object.
//
// A denial is not noted if the caller may only lack a right to this object. That is so in
// three cases:
//   - The form works for another object.
//   - The plain call for this object was refused with the same status.
//   - A success was expected, but nothing shows that this call should succeed: no call for
//     the object has succeeded, or this is the plain call, about which other calls show nothing.
func noteStatuses(read Read, form Form, calls []*seen, objects map[int]object, note func(d Difference)) {
	if slices.ContainsFunc(calls, (*seen).withoutEndpoint) {
		note(Difference{Kind: KindPath, Want: "an endpoint", Got: "none"})
		return
	}
	want := expectedAnswer(read, form)
	isExpected := func(s *seen) bool { return slices.Contains(want.statuses, s.Status) }
	formWorks := slices.ContainsFunc(calls, isExpected)
	for _, s := range calls {
		asExpected := isExpected(s)
		hasOtherCode := s.fault != nil && want.codes != nil && !slices.Contains(want.codes, s.fault.code)
		called := objects[s.Group]
		plainCallRefusedToo := called.plainRefusal == s.Status
		isPlain := form == FormPlain // the simplest call: no other one can show that it should succeed
		objectMayBeHidden := want.success() && (isPlain || !called.reached)
		mayLackRights := denied(s.Status) && (formWorks || plainCallRefusedToo || objectMayBeHidden)
		switch {
		case asExpected && hasOtherCode:
			note(Difference{
				Kind: KindError, Form: form, Member: "code", Want: numbers(want.codes), Got: codeText(s.fault.code),
			})
		case asExpected, mayLackRights, s.Status == 0: // 0: no response
		default:
			note(Difference{Kind: KindStatus, Form: form, Want: numbers(want.statuses), Got: strconv.Itoa(s.Status)})
		}
	}
}

// withoutEndpoint reports whether the platform has no endpoint of that path.
func (s *seen) withoutEndpoint() bool {
	return s.fault != nil && s.Status == http.StatusNotFound && s.fault.code == codes.NoEndpoint
}

// An answer is what a form of a call gets.
type answer struct {
	statuses []int
	codes    []int64 // nil if they are not published
}

func (a answer) success() bool { return a.statuses[0] == http.StatusOK }

// expectedAnswer returns the status codes and error codes that a call of a form should
// have. Nil error codes mean any.
func expectedAnswer(read Read, form Form) answer {
	switch {
	case form == FormNoToken, form == FormLimitOther: // both without a credential, see [FormLimitOther]
		return answer{[]int{http.StatusUnauthorized}, []int64{codes.DeadToken, codes.BadToken}}
	case form == FormBad && read.Area() == "activity" && strings.Contains(read.Path, "/poll/"): // unlike all others
		return answer{[]int{http.StatusBadRequest}, nil}
	case form == FormBad:
		return answer{[]int{http.StatusNotAcceptable, http.StatusBadRequest}, nil}
	case form == FormUnknown && read.Op == "activity.PollProfile": // unlike all others
		return answer{[]int{http.StatusBadRequest}, nil}
	case form == FormUnknown:
		return answer{[]int{http.StatusNotFound}, nil}
	case strings.HasSuffix(read.Op, ".CheckName"), strings.HasSuffix(read.Op, ".CheckDomain"):
		return answer{[]int{http.StatusOK, http.StatusAccepted}, nil}
	case statusIfRemoved(read.Op) != 0:
		return answer{[]int{statusIfRemoved(read.Op)}, nil}
	case read.changes():
		return answer{[]int{http.StatusOK, http.StatusCreated, http.StatusAccepted}, nil}
	case strings.HasSuffix(read.Path, "/read/"): // a part of a file is requested
		return answer{[]int{http.StatusOK, http.StatusPartialContent}, nil}
	}
	return answer{[]int{http.StatusOK}, nil}
}

// statusIfRemoved returns the status with which the platform refuses an operation that it
// no longer supports or does not support yet. It returns 0 for all other operations.
func statusIfRemoved(op string) int {
	if op == "ai.Threads.Publish" || op == "shares.QuickShares.Create" {
		return http.StatusForbidden
	}
	return 0
}

// denied reports whether a status may mean that the caller, or its plan, has no right to
// an object, or that the object has nothing to read, and not that the endpoint differs.
func denied(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusBadRequest, http.StatusNotAcceptable, http.StatusConflict, http.StatusPreconditionFailed,
		http.StatusLocked:
		return true
	}
	return false
}

// numbers joins the expected status or error codes with " or ", for a report.
func numbers[N int | int64](all []N) string {
	text := make([]string, len(all))
	for i, n := range all {
		text[i] = strconv.FormatInt(int64(n), 10)
	}
	return strings.Join(text, " or ")
}

// codeText returns a code as text, "none" if it is not a code of the platform.
func codeText(code int64) string {
	if code > 0 && code < maxCode {
		return strconv.FormatInt(code, 10)
	}
	return "none"
}

// neverSeen returns the members that the SDK has a field for, but that were missing in a
// response of an operation, and that none of its responses held.
func neverSeen(calls []*seen) []string {
	missing := map[string]bool{}
	for _, s := range calls {
		for _, p := range s.sight.Missing {
			missing[typeName(p.Type)+"."+p.Member] = true
		}
	}
	for _, s := range calls {
		for _, p := range s.sight.Seen {
			delete(missing, typeName(p.Type)+"."+p.Member)
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

// compareLevels calls note for each member that is in a response at a lower level of output,
// but not in the one for the same object at full output, which is the plain form.
func compareLevels(calls []*seen, note func(d Difference)) {
	full := map[int]map[drift.Place]bool{} // by Group: the calls for one object have the same
	for _, s := range calls {
		if s.Form != FormPlain || !s.succeeded() {
			continue
		}
		if full[s.Group] == nil {
			full[s.Group] = map[drift.Place]bool{}
		}
		for _, p := range s.sight.Seen {
			full[s.Group][p] = true
		}
	}
	for _, s := range calls {
		isAtLowerLevel := s.Form == FormStandard || s.Form == FormTerse
		hasFull := full[s.Group] != nil // a response at full output has succeeded
		if !isAtLowerLevel || !hasFull {
			continue
		}
		for _, p := range s.sight.Seen {
			if !full[s.Group][p] && !isOnlyAtLowerLevels(p) {
				note(Difference{
					Kind: KindLevel, Form: s.Form, Type: typeName(p.Type), Member: p.Member, Want: "at full output", Got: "none",
				})
			}
		}
	}
}

// isOnlyAtLowerLevels reports whether a member is documented for the lower levels of output alone, so
// that full output lacks it rightly.
func isOnlyAtLowerLevels(p drift.Place) bool {
	return p == drift.Place{Type: "storage.Preview", Member: "ready"} ||
		p == drift.Place{Type: "storage.Facts", Member: "fields"}
}

// comparePages calls note for pages with more rows than requested, and for a next page
// of the same list (the same group) with rows of the page before.
func comparePages(calls []*seen, note func(d Difference)) {
	var before *seen
	for _, s := range calls {
		if !s.succeeded() || s.Form != FormPage && s.Form != FormNext {
			continue
		}
		rows := rowsOf(s)
		if len(rows) > pageSize {
			note(Difference{Kind: KindPaging, Form: s.Form, Want: fmt.Sprintf("at most %d rows", pageSize), Got: "more"})
		}
		if s.Form == FormNext && before != nil && before.Group == s.Group && len(rows) > 0 {
			rowsBefore := rowsOf(before)
			if slices.ContainsFunc(rows, func(row string) bool { return slices.Contains(rowsBefore, row) }) {
				note(Difference{Kind: KindPaging, Form: s.Form, Want: "other rows", Got: "rows of the page before"})
			}
		}
		before = s
	}
}

// rowsOf returns the rows of a page as JSON: the objects in the list that the SDK decodes as the
// rows or, if the page has no such list, in the list with the most objects.
func rowsOf(s *seen) []string {
	var root map[string]json.RawMessage
	if json.Unmarshal(s.Body, &root) != nil {
		return nil
	}
	if nested := root["response"]; kindOf(nested) == "object" {
		_ = json.Unmarshal(nested, &root) // which adds its members to those of the root
	}
	for _, name := range drift.NamesOfRows(s.Out) {
		if kindOf(root[name]) == "list" {
			return objectsIn(root[name])
		}
	}
	var most []string
	for _, name := range sortedKeys(root) { // in order, so that equal pages give equal rows
		if rows := objectsIn(root[name]); len(rows) > len(most) {
			most = rows
		}
	}
	return most
}

// objectsIn returns the objects in a JSON list. It returns nil for any other value.
func objectsIn(value json.RawMessage) []string {
	var elements []json.RawMessage
	_ = json.Unmarshal(value, &elements) // it stays empty unless the value is a list
	var objects []string
	for _, e := range elements {
		if kindOf(e) == "object" {
			objects = append(objects, string(e))
		}
	}
	return objects
}
