package check

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/drift"
)

// A fault is the error in a response, as the documents describe it: the envelope with a
// result that is false and an error with a code, a text, and fields or reasons.
type fault struct {
	root, body map[string]json.RawMessage
	code       int64
}

// faultOf decodes the body of a failure as far as it can: its members, the
// object "error" and its code.
func faultOf(body []byte) *fault {
	f := &fault{}
	if json.Unmarshal(body, &f.root) != nil {
		return f
	}
	_ = json.Unmarshal(f.root["error"], &f.body)
	f.code, _ = strconv.ParseInt(strings.Trim(string(f.body["code"]), `"`), 10, 64)
	return f
}

// kinds are the members of an object, and the JSON kinds that they have.
type kinds map[string][]string

// The members of errors that the documents have.
var (
	rootKinds = kinds{ //nolint:gochecknoglobals // it is a constant
		"result": {"bool"}, "error": {"object"}, "status": nil, "current_api_version": nil, "response": nil,
	}
	errorKinds = kinds{ //nolint:gochecknoglobals // it is a constant
		"code": {"number"}, "text": {"string"}, "message": {"string"}, "documentation_url": {"string"},
		"resource": {"string"}, "params": {"list", "object"}, "reason": {"string"},
	}
	paramKinds = kinds{ //nolint:gochecknoglobals // it is a constant
		"name": {"string"}, "kind": {"string"}, "message": {"string"}, "code": {"number"},
		"expected_type": {"string"}, "received_alias": {"string"},
	}
)

// lookAtFault calls note for each difference of an error response from the
// documented form.
func (c *comparison) lookAtFault(s *seen, note func(d Difference)) {
	if s.Area() == "oauth" && !strings.HasPrefix(s.Path, "/current/") {
		return // errors there have the form of OAuth
	}
	f := s.fault
	if f.root == nil {
		note(Difference{Kind: KindError, Form: s.Form, Want: "object", Got: kindOf(s.Body)})
		return
	}
	if f.body == nil && kindOf(f.root["errors"]) == "list" { // several objects were requested, and none exists
		return
	}
	c.compareKinds("error", f.root, rootKinds, note)
	if f.body == nil {
		note(Difference{
			Kind: KindError, Form: s.Form, Type: "error", Member: "error", Want: "object", Got: kindOf(f.root["error"]),
		})
		return
	}
	c.compareKinds("error", f.body, errorKinds, note)
	for _, name := range []string{"code", "text"} {
		if f.body[name] == nil {
			note(Difference{Kind: KindError, Type: "error", Member: name, Want: errorKinds[name][0], Got: "none"})
		}
	}
	for _, p := range f.params() {
		c.compareKinds("error.params", p, paramKinds, note)
		c.compareParam(p, note)
		c.compareRefusedField(s, p, note)
	}
}

// A param is a field that an error names.
type param map[string]json.RawMessage

// params returns the fields that an error names, none if its params are no list.
func (f *fault) params() []param {
	var all []param
	if kindOf(f.body["params"]) != "list" || json.Unmarshal(f.body["params"], &all) != nil {
		return nil
	}
	return all
}

// text returns the text of a member, "" if the member is missing or is not a text.
func (p param) text(name string) string {
	var text string
	if json.Unmarshal(p[name], &text) != nil {
		return ""
	}
	return text
}

// compareParam calls note if a refused field of an error has an unknown kind.
func (c *comparison) compareParam(p param, note func(d Difference)) {
	if kind := p.text("kind"); kind != "" && !isParamKind(kind) {
		note(Difference{Kind: KindValue, Type: "error.params", Member: "kind", Got: c.words.enumValue(kind)})
	}
}

// isParamKind reports whether a kind of refused fields is one of the documented ones.
func isParamKind(kind string) bool {
	return slices.Contains([]api.ParamKind{
		api.ParamKindMissing, api.ParamKindInvalid, api.ParamKindTypeMismatch,
	}, api.ParamKind(kind))
}

// compareRefusedField calls note if a write in the plain form was refused for a field that
// [Write.Fields] lists. A run sends such fields with right values, and leaves out only those
// that the platform should not require: so no refusal for one of them is expected.
func (c *comparison) compareRefusedField(s *seen, p param, note func(d Difference)) {
	name, kind := p.text("name"), p.text("kind")
	if name == "" || kind == "" || s.Form != FormPlain {
		return
	}
	// The error names the top member of a nested field.
	isRuleForField := func(r rule) bool { return (field{name: r.name}).root() == name }
	if !slices.ContainsFunc(c.writeRules[s.Method+" "+s.Path], isRuleForField) {
		return
	}
	if !isParamKind(kind) { // an unknown kind may be data of a user
		kind = c.words.enumValue(kind)
	}
	note(Difference{Kind: KindRequest, Member: name, Want: "accepted", Got: kind})
}

// compareKinds calls note for each member of an object that want does not list, and for
// each whose JSON kind is not one of those in want. No kinds in want mean any, and null is
// always allowed. Of is what the report calls the object. The report may show the name of a member
// only as far as memberName allows, if want does not list it.
func (c *comparison) compareKinds(of string, object map[string]json.RawMessage, want kinds, note func(d Difference)) {
	for name, value := range object {
		allowed, known := want[name]
		switch got := kindOf(value); {
		case !known:
			note(Difference{Kind: Kind(drift.KindUnknown), Type: of, Member: c.words.memberName(name)})
		case allowed != nil && got != "null" && !slices.Contains(allowed, got):
			note(Difference{Kind: KindShape, Type: of, Member: name, Want: strings.Join(allowed, " or "), Got: got})
		}
	}
}

// Area is the package of the operation.
func (e *Exchange) Area() string { return Read{Op: e.Op}.Area() }
