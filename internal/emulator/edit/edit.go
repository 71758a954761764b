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

// Parse reads an edit, such as "status 404" or "rm /node/name": its kind and what it
// concerns.
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

// ParseAll reads edits, and returns the error of the first that is not valid.
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

// verbs returns the parser of each kind of edit, by the first word of the edit. A
// parser gets the rest of the edit, and returns the function that changes a response.
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

// parseStatus reads "[FROM] TO". The edit sets the status to TO; with FROM, it fails
// for another status.
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
	from, to, hasFrom := numbers[0], numbers[len(numbers)-1], len(numbers) == 2
	return func(r *Response) error {
		if hasFrom && r.Status != from {
			return fmt.Errorf("the status is %d", r.Status)
		}
		r.Status = to
		return nil
	}, nil
}

// parseHeader reads "NAME [VALUE]". The edit sets a header or, without a value,
// removes it.
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

// parseText reads a quoted "BODY". The edit replaces the whole body by it.
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

// parseReplace reads two quoted texts "OLD" "NEW". The edit replaces every OLD in the
// body by NEW, and fails if there is none.
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

// readPointers reads one or more JSON pointers, separated by spaces, from the start of a
// text. It returns each as a list of names, and what follows them.
func readPointers(rest string) (all [][]string, left string, err error) {
	for strings.HasPrefix(rest, "/") {
		first, more, _ := strings.Cut(rest, " ")
		all, rest = append(all, parsePointer(first)), more
	}
	if all == nil {
		return nil, "", errNoPointer
	}
	return all, rest, nil
}

// parsePointer splits a JSON pointer into names, without their escapes.
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

// changeJSON returns a function that changes the JSON in the body of a response by change.
// It fails if the body is not JSON.
func changeJSON(change func(root *node) error) func(*Response) error {
	return func(r *Response) error {
		root, err := parseNode(r.Body)
		if err == nil {
			err = change(root)
		}
		if err == nil {
			r.Body = root.appendJSON(nil)
		}
		return err
	}
}

// everywhere returns a function that calls change for all places in the body to which
// the pointers lead: the last place first, because a removal moves the elements behind it.
// It fails if a pointer has no place for which change returns true.
func everywhere(all [][]string, change func(p place) bool) func(*Response) error {
	return changeJSON(func(root *node) error {
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

// parseSet reads "POINTER ... JSON". The edit sets the members to the JSON value;
// without a pointer, the whole body.
func parseSet(rest string) (func(*Response) error, error) {
	text, isWholeBody := strings.CutPrefix(rest, " ") // two blanks follow "set" if there is no pointer
	var at [][]string
	if !isWholeBody {
		var err error
		at, text, err = readPointers(rest)
		if err != nil {
			return nil, err
		}
	}
	if _, err := parseNode([]byte(text)); err != nil {
		return nil, err
	}
	newValue := func() *node { // one for each place, because later edits may change one of them
		n, _ := parseNode([]byte(text)) // it was parsed before without an error
		return n
	}
	if isWholeBody {
		return changeJSON(func(root *node) error {
			*root = *newValue()
			return nil
		}), nil
	}
	return everywhere(at, func(p place) bool { return p.holder.setItem(p.name, newValue()) }), nil
}

// parseRemove reads "POINTER ...". The edit removes the members to which the pointers
// lead.
func parseRemove(rest string) (func(*Response) error, error) {
	at, left, err := readPointers(rest)
	if err != nil || left != "" {
		return nil, errNoPointer
	}
	return everywhere(at, func(p place) (isFound bool) {
		removed := p.holder.removeItem(p.name)
		return removed != nil
	}), nil
}

// parseMove reads "FROM [TO]", two pointers. The edit moves each member to which FROM
// leads; without TO, it makes the member the whole body. A * in FROM stands for every
// member, and the * in TO for the same member as that in FROM.
func parseMove(rest string) (func(*Response) error, error) {
	first, second, _ := strings.Cut(rest, " ")
	if !strings.HasPrefix(first, "/") || second != "" && !strings.HasPrefix(second, "/") {
		return nil, errNoPointer
	}
	from, to := parsePointer(first), parsePointer(second) // to is nil without TO
	return changeJSON(func(root *node) error {
		moved := false
		places := root.find(from)
		for _, p := range places {
			moved = moveMember(root, p, fillStars(from, p.stars), fillStars(to, p.stars)) || moved
		}
		for _, p := range places { // moveMember leaves gaps
			p.holder.removeGaps()
		}
		if !moved {
			return fmt.Errorf("no member %s", first)
		}
		return nil
	}), nil
}

// moveMember moves the member at p, whose pointer is source, to the pointer target, and reports
// whether it could. If target is nil, it makes the member the whole body. A member that
// gets another name in the same object keeps its position there. A member that moves to
// another object leaves a gap (nil), so that the indexes of the members that parseMove moves
// next stay valid.
func moveMember(root *node, p place, source, target []string) bool {
	value := p.holder.get(p.name)
	switch {
	case value == nil:
		return false
	case target == nil:
		*root = *value
		return true
	}
	last := len(target) - 1
	oldParent, newParent, newName := source[:len(source)-1], target[:last], target[last]
	if slices.Equal(oldParent, newParent) {
		return p.holder.rename(p.name, newName)
	}
	p.holder.setItem(p.name, nil)
	isMoved := root.setAt(target, value)
	if !isMoved {
		p.holder.setItem(p.name, value) // back
	}
	return isMoved
}

// fillStars returns a pointer with its first * replaced by the first of stars, and so on.
func fillStars(pointer, stars []string) []string {
	filled := slices.Clone(pointer)
	for i, part := range filled {
		if part == star && len(stars) > 0 {
			filled[i], stars = stars[0], stars[1:]
		}
	}
	return filled
}

// parseKind reads "POINTER ... KIND". The edit converts the members to a JSON kind,
// such as a number to a string.
func parseKind(rest string) (func(*Response) error, error) {
	at, kind, err := readPointers(rest)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"string", "number", "bool", "list", "object", "null"}, kind) {
		return nil, fmt.Errorf("a kind must be string, number, bool, list, object or null, got %q", kind)
	}
	return everywhere(at, func(p place) bool {
		value := p.holder.get(p.name)
		return value != nil && p.holder.setItem(p.name, value.converted(kind))
	}), nil
}

// parseLift reads "POINTER ...". The edit replaces an object by its members, which
// move into the object around it.
func parseLift(rest string) (func(*Response) error, error) {
	at, left, err := readPointers(rest)
	if err != nil || left != "" {
		return nil, errNoPointer
	}
	return everywhere(at, func(p place) bool {
		value := p.holder.get(p.name)
		if value == nil || value.kind != '{' || p.holder.kind != '{' {
			return false
		}
		p.holder.removeItem(p.name)
		for i, name := range value.names {
			p.holder.setItem(name, value.items[i])
		}
		return true
	}), nil
}

// parseNest reads the NAME of a new member. The edit moves all members of a successful
// response into it, except for those of every response, such as "result".
func parseNest(name string) (func(*Response) error, error) {
	if name == "" {
		return nil, errNoName
	}
	return changeJSON(func(root *node) error {
		if root.kind != '{' || root.holds("error", '{') {
			return errNoPayload
		}
		outer, inner := &node{kind: '{'}, &node{kind: '{'}
		for i, member := range root.names {
			holder := inner
			if slices.Contains([]string{"result", "current_api_version", "server_date"}, member) {
				holder = outer
			}
			holder.setItem(member, root.items[i])
		}
		outer.setItem(name, inner)
		*root = *outer
		return nil
	}), nil
}

// Swap exchanges the names of two members of an object in a JSON body, so that each has the
// value of the other. The path, with slashes and perhaps *, leads to one of them, and other
// is the name of the other one. Swap returns a body that is not JSON as it is.
func Swap(body []byte, path, other string) []byte {
	root, err := parseNode(body)
	if err != nil {
		return body
	}
	for _, p := range root.find(strings.Split(path, "/")) {
		p.holder.swapNames(p.name, other)
	}
	return root.appendJSON(nil)
}
