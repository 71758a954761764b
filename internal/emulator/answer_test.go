package emulator_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// answer is what a request is answered with.
type answer struct {
	status int
	header http.Header
	body   []byte
	json   json.RawMessage // nil for another type
	took   time.Duration
	err    error // that ended it
}

// checkStatus compares a response with a status, the whole error, and members.
func (p *scripted) checkStatus(a answer, want string) error {
	status, rest, _ := strings.Cut(want, " ")
	if a.err != nil && !strings.Contains(rest, "ended") {
		return a.err
	}
	if status == "any" {
		return p.check(a, rest)
	}
	n, err := strconv.Atoi(status)
	if err != nil {
		return fmt.Errorf("%q is no status", status)
	}
	if n != a.status {
		return fmt.Errorf("the status is %d, want %d: %s", a.status, n, a.body)
	}
	var signs []string
	for a.status >= http.StatusBadRequest && rest != "" {
		sign, more, _ := strings.Cut(rest, " ")
		if strings.ContainsAny(sign, "!=~>@") {
			break
		}
		signs, rest = append(signs, sign), more
	}
	if got, want := strings.Join(a.signs(), " "), strings.Join(signs, " "); got != want {
		err = fmt.Errorf("the error is %s, want %s: %s", cmp.Or(got, "none"), cmp.Or(want, "none"), a.body)
	}
	return errors.Join(err, p.check(a, rest))
}

// signs returns the parts of an error.
func (a answer) signs() []string {
	var said []string
	if code, ok := member(a.json, []string{"error", "code"}); ok {
		said = append(said, string(code))
	} else if word, ok := member(a.json, []string{"error"}); ok && word[0] == '"' {
		said = append(said, strings.Trim(string(word), `"`))
	}
	for _, name := range []string{"reason", "feature"} {
		if word, ok := member(a.json, []string{"error", "params", name}); ok {
			said = append(said, strings.Trim(string(word), `"`))
		}
	}
	params, _ := member(a.json, []string{"error", "params"})
	_, list, _ := elements(params)
	for _, it := range list {
		name, isParam := member(it, []string{"name"})
		if kind, ok := member(it, []string{"kind"}); ok && isParam {
			said = append(said, text(name)+":"+text(kind))
		}
	}
	return said
}

var expected = regexp.MustCompile(`^(!?)([^\s=~>]+)([=~>]?)`)

// check compares members of a response.
func (p *scripted) check(a answer, want string) error {
	want, err := p.expand(want, jsonQuoted)
	if err != nil {
		return err
	}
	var failed []error
	for want = strings.TrimSpace(want); want != ""; want = strings.TrimSpace(want) {
		m := expected.FindStringSubmatch(want)
		if m == nil {
			return fmt.Errorf("%.40s is no expectation", want)
		}
		e := expectation{not: m[1] == "!", path: m[2], operator: m[3]}
		want, err = e.parse(want[len(m[0]):])
		if err != nil {
			return fmt.Errorf("%s%s: %w", e.path, e.operator, err)
		}
		value, found := a.at(e.path)
		if e.operator == ">" && found {
			p.save(e.text, value)
		} else {
			failed = append(failed, e.check(value, found, p.names))
		}
	}
	return errors.Join(failed...)
}

// expectation is what is said of one member.
type expectation struct {
	not            bool
	path, operator string
	text           string // behind the operator
	value          any    // that it is in JSON
}

// parse reads what is behind the operator, and returns the rest of the line.
func (e *expectation) parse(line string) (rest string, err error) {
	switch e.operator {
	case "":
		return line, nil
	case ">":
		e.text, rest, _ = strings.Cut(line, " ")
		return rest, nil
	}
	d := json.NewDecoder(strings.NewReader(line))
	if err := d.Decode(&e.value); err != nil {
		return "", fmt.Errorf("%w in %.40s", err, line)
	}
	e.text = line[:d.InputOffset()]
	return line[d.InputOffset():], nil
}

func (e *expectation) check(value json.RawMessage, found bool, names map[string]any) error {
	if e.operator == "" {
		if found != e.not {
			return nil
		}
		want := map[bool]string{true: "absent", false: "any"}[found]
		return fmt.Errorf("%s is %s, want %s", e.path, shown(value), want)
	}
	if !found {
		return fmt.Errorf("%s is absent, want %s", e.path, e.text)
	}
	var same bool
	if e.operator == "~" {
		pattern, err := regexp.Compile(fmt.Sprint(e.value))
		if err != nil {
			return err
		}
		groups := pattern.FindStringSubmatch(text(value))
		same = groups != nil
		for i, name := range pattern.SubexpNames() {
			if same && name != "" {
				names[name] = groups[i]
			}
		}
	} else {
		var got any
		if err := json.Unmarshal(value, &got); err != nil {
			return err
		}
		same = gocmp.Equal(got, e.value)
	}
	if same != e.not {
		return nil
	}
	not := map[bool]string{true: "not "}[e.not]
	return fmt.Errorf("%s is %s, want %s%s%s", e.path, shown(value), not, strings.Trim(e.operator, "="), e.text)
}

// text returns a JSON value, without the quotes of a string.
func text(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

func shown(value json.RawMessage) string {
	if value == nil {
		return "absent"
	}
	return string(value)
}

// at returns the member at a path.
func (a answer) at(path string) (json.RawMessage, bool) {
	name, isHeader := strings.CutPrefix(path, "@")
	switch {
	case isHeader:
		values := a.header.Values(name)
		return quoted(strings.Join(values, ", ")), len(values) > 0
	case path == "body":
		return quoted(string(a.body)), true
	case path == "took":
		return quoted(a.took.String()), true
	case path == "ended":
		return quoted(a.ended()), true
	case path == "body.length":
		return json.RawMessage(strconv.Itoa(len(a.body))), true
	}
	return member(a.json, strings.Split(path, "."))
}

// ended says how a request failed, "" if it did not.
func (a answer) ended() string {
	switch {
	case a.err == nil:
		return ""
	case errors.Is(a.err, io.ErrUnexpectedEOF):
		return "cut"
	case errors.Is(a.err, io.EOF):
		return "dropped"
	case errors.Is(a.err, context.DeadlineExceeded):
		return "late"
	}
	return a.err.Error()
}

func quoted(s string) json.RawMessage {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return text
}

func member(value json.RawMessage, path []string) (json.RawMessage, bool) {
	if len(path) == 0 {
		return value, value != nil
	}
	if parts := strings.Split(text(value), "."); path[0] == "claims" && len(parts) == 3 {
		claims, err := base64.RawURLEncoding.DecodeString(parts[1])
		found, ok := member(claims, path[1:])
		return found, ok && err == nil
	}
	names, values, ok := elements(value)
	if !ok {
		return nil, false
	}
	if i := slices.Index(names, path[0]); i >= 0 {
		return member(values[i], path[1:])
	}
	switch path[0] {
	case "length":
		return json.RawMessage(strconv.Itoa(len(values))), true
	case "keys":
		return quoted(strings.Join(slices.Sorted(slices.Values(names)), " ")), true
	case "*":
		var column [][]byte
		for _, v := range values {
			v, ok := member(v, path[1:])
			if !ok {
				v = []byte("null")
			}
			column = append(column, v)
		}
		return slices.Concat([]byte("["), bytes.Join(column, []byte(",")), []byte("]")), true
	}
	return nil, false
}

// elements are those of a list or an object in their order on the wire.
func elements(value json.RawMessage) (names []string, values []json.RawMessage, ok bool) {
	d := json.NewDecoder(bytes.NewReader(value))
	first, err := d.Token()
	if _, ok := first.(json.Delim); err != nil || !ok {
		return nil, nil, false
	}
	for d.More() {
		name := strconv.Itoa(len(values))
		if first == json.Delim('{') {
			token, _ := d.Token()
			name, _ = token.(string)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, nil, false
		}
		names, values = append(names, name), append(values, v)
	}
	return names, values, true
}
