// Package edit changes responses by edits of one line, which [seed.Disagreement]
// explains, and the names of fields in requests. It keeps the order of members, and
// values as they are written.
//
//	e, err := edit.Parse("mv /comments/*/body /comments/*/text")
//	if err == nil {
//		err = e.Apply(&response)
//	}
//
// [seed.Disagreement]: https://pkg.go.dev/github.com/fastio-go/fastio/fastiotest/seed#Disagreement
package edit

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A Response is what an edit changes.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// An Edit is one change of a response.
type Edit struct {
	text string
	do   func(*Response) error
}

// String returns the edit as it was parsed.
func (e Edit) String() string { return e.text }

// Apply changes a response. It returns an error, and changes nothing, if the response
// does not have what the edit concerns.
func (e Edit) Apply(r *Response) error {
	if err := e.do(r); err != nil {
		return fmt.Errorf("edit: %s: %w", e.text, err)
	}
	return nil
}

// Parse reads an edit.
func Parse(text string) (Edit, error) {
	verb, rest, _ := strings.Cut(text, " ")
	parse, known := verbs()[verb]
	if !known {
		return Edit{}, fmt.Errorf("edit: %s: no edit has this name", text)
	}
	do, err := parse(rest)
	if err != nil {
		return Edit{}, fmt.Errorf("edit: %s: %w", text, err)
	}
	return Edit{text, do}, nil
}

// ParseAll reads edits.
func ParseAll(texts ...string) ([]Edit, error) {
	all := make([]Edit, len(texts))
	for i, text := range texts {
		var err error
		all[i], err = Parse(text)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Verbs returns the first words of all edits.
func Verbs() []string { return slices.Sorted(maps.Keys(verbs())) }

func verbs() map[string]func(rest string) (func(*Response) error, error) {
	return map[string]func(rest string) (func(*Response) error, error){
		"status":  parseStatus,
		"header":  parseHeader,
		"text":    parseText,
		"replace": parseReplace,
		"set":     parseSet,
		"rm":      parseRemove,
		"mv":      parseMove,
		"kind":    parseKind,
		"lift":    parseLift,
		"nest":    parseNest,
	}
}

// parseStatus reads [FROM] TO.
func parseStatus(rest string) (func(*Response) error, error) {
	words := strings.Fields(rest)
	numbers := make([]int, len(words))
	for i, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil || n < 100 || n > 599 {
			return nil, fmt.Errorf("a status must be 100 to 599, got %q", word)
		}
		numbers[i] = n
	}
	if len(numbers) != 1 && len(numbers) != 2 {
		return nil, fmt.Errorf("needs one status or two, got %d", len(numbers))
	}
	return func(r *Response) error {
		if len(numbers) == 2 && r.Status != numbers[0] {
			return fmt.Errorf("the status is %d", r.Status)
		}
		r.Status = numbers[len(numbers)-1]
		return nil
	}, nil
}

// parseHeader reads NAME [VALUE].
func parseHeader(rest string) (func(*Response) error, error) {
	name, value, _ := strings.Cut(rest, " ")
	if name == "" {
		return nil, errNoName
	}
	return func(r *Response) error {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
		return nil
	}, nil
}

// parseText reads "BODY".
func parseText(rest string) (func(*Response) error, error) {
	body, err := strconv.Unquote(rest)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, rest)
	}
	return func(r *Response) error {
		r.Body = []byte(body)
		return nil
	}, nil
}

// parseReplace reads "OLD" "NEW".
func parseReplace(rest string) (func(*Response) error, error) {
	first, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, rest)
	}
	before, err := strconv.Unquote(first)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, rest)
	}
	after, err := strconv.Unquote(strings.TrimSpace(rest[len(first):]))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, rest)
	}
	return func(r *Response) error {
		if !strings.Contains(string(r.Body), before) {
			return fmt.Errorf("the body does not contain %q", before)
		}
		r.Body = []byte(strings.ReplaceAll(string(r.Body), before, after))
		return nil
	}, nil
}

// pointers reads POINTER ... and returns what follows.
func pointers(rest string) (all [][]string, left string, err error) {
	for strings.HasPrefix(rest, "/") {
		first, more, _ := strings.Cut(rest, " ")
		all, rest = append(all, parsePointer(first)), more
	}
	if all == nil {
		return nil, "", errNoPointer
	}
	return all, rest, nil
}

// parsePointer splits a JSON pointer.
func parsePointer(text string) []string {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, "/")[1:]
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts
}

// inJSON returns a change of a response by a change of the JSON in its body.
func inJSON(change func(root *node) error) func(*Response) error {
	return func(r *Response) error {
		root, err := parseNode(r.Body)
		if err == nil {
			err = change(root)
		}
		if err == nil {
			r.Body = root.append(nil)
		}
		return err
	}
}

// everywhere changes what the pointers lead to, the last place first. It returns an error if
// one of them leads nowhere.
func everywhere(all [][]string, change func(p place) bool) func(*Response) error {
	return inJSON(func(root *node) error {
		for _, at := range all {
			done := false
			for _, p := range slices.Backward(root.find(at)) {
				done = change(p) || done
			}
			if !done {
				return fmt.Errorf("no member /%s", strings.Join(at, "/"))
			}
		}
		return nil
	})
}

// parseSet reads POINTER ... JSON. No pointer stands for the whole body.
func parseSet(rest string) (func(*Response) error, error) {
	text, whole := strings.CutPrefix(rest, " ")
	var at [][]string
	var err error
	if !whole {
		at, text, err = pointers(rest)
	}
	value := func() *node {
		n, _ := parseNode([]byte(text)) // parsed before; each place has its own
		return n
	}
	switch {
	case err != nil:
		return nil, err
	case value() == nil:
		return nil, errNotJSON
	case whole:
		return inJSON(func(root *node) error {
			*root = *value()
			return nil
		}), nil
	}
	return everywhere(at, func(p place) bool { return p.holder.set(p.name, value()) }), nil
}

// parseRemove reads POINTER ...
func parseRemove(rest string) (func(*Response) error, error) {
	at, left, err := pointers(rest)
	if err != nil || left != "" {
		return nil, errNoPointer
	}
	return everywhere(at, func(p place) bool { return p.holder.cut(p.name) != nil }), nil
}

// parseMove reads POINTER POINTER; the second one may be missing.
func parseMove(rest string) (func(*Response) error, error) {
	first, second, _ := strings.Cut(rest, " ")
	from, to := parsePointer(first), parsePointer(second)
	if !strings.HasPrefix(first, "/") || second != "" && !strings.HasPrefix(second, "/") {
		return nil, errNoPointer
	}
	return inJSON(func(root *node) error {
		moved := false
		for _, p := range root.find(from) {
			moved = move(root, from, p, fill(to, p.stars)) || moved
		}
		if !moved {
			return fmt.Errorf("no member %s", first)
		}
		return nil
	}), nil
}

// move moves a member to another place.
func move(root *node, from []string, p place, to []string) bool {
	switch value := p.holder.get(p.name); {
	case value == nil:
		return false
	case to == nil:
		*root = *value
		return true
	case slices.Equal(fill(from[:len(from)-1], p.stars), to[:len(to)-1]):
		return p.holder.rename(p.name, to[len(to)-1])
	default:
		p.holder.cut(p.name)
		return root.put(to, value)
	}
}

// fill replaces each * of a pointer by what it stands for.
func fill(pointer, stars []string) []string {
	filled := slices.Clone(pointer)
	for i, part := range filled {
		if part == star && len(stars) > 0 {
			filled[i], stars = stars[0], stars[1:]
		}
	}
	return filled
}

// parseKind reads POINTER ... KIND.
func parseKind(rest string) (func(*Response) error, error) {
	at, kind, err := pointers(rest)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"string", "number", "bool", "list", "object", "null"}, kind) {
		return nil, fmt.Errorf("a kind must be string, number, bool, list, object or null, got %q", kind)
	}
	return everywhere(at, func(p place) bool {
		value := p.holder.get(p.name)
		return value != nil && p.holder.set(p.name, value.as(kind))
	}), nil
}

// parseLift reads POINTER ...
func parseLift(rest string) (func(*Response) error, error) {
	at, left, err := pointers(rest)
	if err != nil || left != "" {
		return nil, errNoPointer
	}
	return everywhere(at, func(p place) bool {
		value := p.holder.get(p.name)
		if value == nil || value.kind != '{' {
			return false
		}
		p.holder.cut(p.name)
		for i, name := range value.names {
			p.holder.set(name, value.items[i])
		}
		return true
	}), nil
}

// parseNest reads NAME.
func parseNest(name string) (func(*Response) error, error) {
	if name == "" {
		return nil, errNoName
	}
	return inJSON(func(root *node) error {
		if root.kind != '{' || root.holds("error", '{') {
			return errNoPayload
		}
		outer, inner := &node{kind: '{'}, &node{kind: '{'}
		for i, member := range root.names {
			holder := inner
			if slices.Contains([]string{"result", "current_api_version", "server_date"}, member) {
				holder = outer
			}
			holder.set(member, root.items[i])
		}
		outer.set(name, inner)
		*root = *outer
		return nil
	}), nil
}

// Swap exchanges the name of a member of a JSON object, whose path has slashes and may
// have *, with another name beside it. It returns other bodies as they are.
func Swap(body []byte, path, other string) []byte {
	root, err := parseNode(body)
	if err != nil {
		return body
	}
	for _, p := range root.find(strings.Split(path, "/")) {
		p.holder.swap(p.name, other)
	}
	return root.append(nil)
}
