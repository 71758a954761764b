package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

var (
	errNoName    = errors.New("needs a name")
	errNoPayload = errors.New("the body is no success")
	errNoPointer = errors.New("needs a JSON pointer, which begins with a slash")
	errNotJSON   = errors.New("not one JSON value")
)

// star stands for every element of a list or map in a pointer.
const star = "*"

// A node is a JSON value.
type node struct {
	kind  byte     // '{', '[' or, for another value, 0
	text  string   // of another value
	names []string // of the members of an object
	items []*node
}

// parseNode parses a JSON text.
func parseNode(text []byte) (*node, error) {
	if !json.Valid(text) {
		return nil, errNotJSON
	}
	return parseValid(text)
}

// parseValid parses a text that is valid JSON. The nodes keep what a map would lose: the
// order of members, and the spelling of numbers.
func parseValid(text []byte) (*node, error) {
	text = bytes.TrimSpace(text)
	if text[0] != '{' && text[0] != '[' {
		return &node{text: string(text)}, nil
	}
	n, d := &node{kind: text[0]}, json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		if n.kind == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			text, _ := name.(string)
			n.names = append(n.names, text)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		item, err := parseValid(raw)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, nil
}

// appendJSON appends the JSON of a value.
func (n *node) appendJSON(b []byte) []byte {
	if n.kind == 0 {
		return append(b, n.text...)
	}
	b = append(b, n.kind)
	for i, item := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == '{' {
			b = append(append(b, quote(n.names[i])...), ':')
		}
		b = item.appendJSON(b)
	}
	return append(b, n.kind+2) // in ASCII, ] is two after [, and } two after {
}

// quote returns a text as a JSON string with its quotes.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(text)
}

// indexOf returns the index of the member of an object with a name, or of the element of
// a list whose index is the name. It returns -1 if there is none.
func (n *node) indexOf(name string) int {
	if n.kind == '{' {
		return slices.Index(n.names, name)
	}
	i, err := strconv.Atoi(name)
	if n.kind != '[' || err != nil || i < 0 || i >= len(n.items) {
		return -1
	}
	return i
}

// keys returns the names of the members, or the indexes of the elements.
func (n *node) keys() []string {
	if n.kind == '{' {
		return slices.Clone(n.names)
	}
	keys := make([]string, len(n.items))
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	return keys
}

// get returns a member or element, nil if there is none.
func (n *node) get(name string) *node {
	if i := n.indexOf(name); i >= 0 {
		return n.items[i]
	}
	return nil
}

// setItem sets a member of an object, or an element of a list: the index behind the last
// element adds one. It returns false for any other index, and if n is neither object nor list.
func (n *node) setItem(name string, value *node) bool {
	isNextElement := n.kind == '[' && name == strconv.Itoa(len(n.items))
	switch i := n.indexOf(name); {
	case i >= 0:
		n.items[i] = value
	case n.kind == '{':
		n.names, n.items = append(n.names, name), append(n.items, value)
	case isNextElement:
		n.items = append(n.items, value)
	default:
		return false
	}
	return true
}

// setAt sets what a pointer leads to, and adds the objects around it that are missing. It
// returns false if a value on the way has no members, or a list no such index.
func (n *node) setAt(pointer []string, value *node) bool {
	if len(pointer) == 1 {
		return n.setItem(pointer[0], value)
	}
	inner := n.get(pointer[0])
	if inner == nil {
		inner = &node{kind: '{'}
		if isAdded := n.setItem(pointer[0], inner); !isAdded {
			return false
		}
	}
	return inner.setAt(pointer[1:], value)
}

// holds reports whether a member is of a kind.
func (n *node) holds(name string, kind byte) bool {
	member := n.get(name)
	return member != nil && member.kind == kind
}

// removeItem removes a member or element and returns it, nil if there is none.
func (n *node) removeItem(name string) *node {
	i := n.indexOf(name)
	if i < 0 {
		return nil
	}
	value := n.items[i]
	n.items = slices.Delete(n.items, i, i+1)
	if n.kind == '{' {
		n.names = slices.Delete(n.names, i, i+1)
	}
	return value
}

// removeGaps removes the members or elements that are nil.
func (n *node) removeGaps() {
	names, items := n.names, n.items
	n.names, n.items = nil, nil
	for i, item := range items {
		if item == nil {
			continue
		}
		n.items = append(n.items, item)
		if n.kind == '{' {
			n.names = append(n.names, names[i])
		}
	}
}

// rename gives a member another name, in place of a member that has it already. It
// reports whether n is an object with the member.
func (n *node) rename(name, other string) bool {
	if n.kind != '{' || n.indexOf(name) < 0 {
		return false
	}
	if name != other {
		n.removeItem(other)
		n.names[n.indexOf(name)] = other
	}
	return true
}

// swapNames exchanges two names of members; their values stay where they are.
func (n *node) swapNames(name, other string) {
	for i, each := range n.names {
		switch each {
		case name:
			n.names[i] = other
		case other:
			n.names[i] = name
		}
	}
}

// A place is where a pointer leads to. The name may be that of no member yet.
type place struct {
	holder *node
	name   string
	stars  []string // what each * of the pointer stands for
}

// find returns the places that a pointer leads to. A star stands for every member or
// item; a place has the names that were found for the stars.
func (n *node) find(pointer []string) []place {
	var all []place
	var visit func(n *node, pointer, stars []string)
	visit = func(n *node, pointer, stars []string) {
		names := pointer[:1]
		if names[0] == star {
			names = n.keys()
		}
		for _, name := range names {
			within := stars
			if pointer[0] == star {
				within = append(slices.Clip(stars), name) // a copy, so that the names of a place stay its own
			}
			if len(pointer) == 1 {
				all = append(all, place{n, name, within})
			} else if item := n.get(name); item != nil {
				visit(item, pointer[1:], within)
			}
		}
	}
	visit(n, pointer, nil)
	return all
}

// converted returns a value of another kind that resembles n where that is possible:
//   - list, object: n is its one element
//   - bool: false if n or the text in it is "", 0, false, null or no, and otherwise true
//   - string: the text of n
//   - number: n or the number in its text, 0 for false and null, 1 for anything else
//   - any other kind: null
//
// To a bool, string or number, a list or object is converted as "" is.
func (n *node) converted(kind string) *node {
	switch kind {
	case "list":
		return &node{kind: '[', items: []*node{n}}
	case "object":
		return &node{kind: '{', names: []string{"value"}, items: []*node{n}}
	}
	text := "null"
	plain := strings.Trim(n.text, `"`)
	switch kind {
	case "bool":
		text = strconv.FormatBool(!slices.Contains([]string{"", "0", "false", "null", "no"}, plain))
	case "string":
		text = n.text
		if !strings.HasPrefix(text, `"`) {
			text = quote(plain)
		}
	case "number":
		text = "1"
		if plain != "" && strings.Contains("-0123456789", plain[:1]) && json.Valid([]byte(plain)) {
			text = plain
		} else if plain == "false" || plain == "null" {
			text = "0"
		}
	}
	return &node{text: text}
}
