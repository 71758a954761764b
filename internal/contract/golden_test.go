package contract_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
)

func goldenFile(area string) string { return "testdata/" + area + ".golden" }

func compareGolden(t *testing.T, area, got string) {
	t.Helper()
	name := goldenFile(area)
	if *update {
		if entries := broken(readFile(t, name), got); len(entries) > 0 {
			t.Fatalf("%s is not written: these calls fail, and succeeded before or are new: %v; "+
				"if a success is to fail, remove its entry first", name, entries)
		}
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Split(readFile(t, name), "\n")
	if diff := cmp.Diff(want, strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// broken returns the entries that hold an error in the text now, and none in the text before,
// and those of new operations that only fail.
func broken(before, now string) []string {
	was, is := failures(before), failures(now)
	fine := map[string]bool{} // the operations that are known, or succeed now
	for _, entries := range []map[string]bool{was, is} {
		for entry, failed := range entries {
			operation, _, _ := strings.Cut(entry, "#")
			_, known := was[entry]
			fine[operation] = fine[operation] || known || !failed
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(is)), func(entry string) bool {
		operation, _, _ := strings.Cut(entry, "#")
		failed, known := was[entry]
		return !is[entry] || known && failed || !known && fine[operation]
	})
}

// failures reports which entries of a golden file hold an error.
func failures(text string) map[string]bool {
	failed, entry := map[string]bool{}, ""
	for line := range strings.Lines(text) {
		if name, ok := entryName(line); ok {
			entry = name
		}
		failed[entry] = failed[entry] || resultError.MatchString(line)
	}
	return failed
}

// entryName returns the name of the call whose entry begins with a line.
func entryName(line string) (string, bool) {
	if line == "" || strings.ContainsAny(line[:1], "<>~= \t\n") {
		return "", false
	}
	return strings.Fields(line)[0], true
}

// resultError matches the error in a line of a result.
var resultError = regexp.MustCompile(`^[< ] .*\berror [{"]`)

// render returns the entry of a call: the values of its path, its request and
// its result.
func (e *exchange) render(t *testing.T) string {
	t.Helper()
	head := []string{e.name}
	all := rows(t)
	i := slices.IndexFunc(all, func(r row) bool {
		return r.operation == e.request.Op && r.method == e.request.Method && r.pattern().MatchString(e.path())
	})
	var endpoint row
	if i >= 0 {
		endpoint = all[i]
		head = append(head, endpoint.pattern().FindStringSubmatch(e.path())[1:]...)
	}
	text := fill("", head)
	if sent := e.sent(t); len(sent) > 0 {
		text += fill("> ", sent)
	}
	returned := []string{strconv.Itoa(e.request.Status)}
	if v := reflect.ValueOf(e.result.value); v.IsValid() && !isNil(v) {
		returned = append(returned, tokens(v)...)
	}
	if e.result.err != nil {
		returned = append(append(returned, "error"), tokens(reflect.ValueOf(e.failure(endpoint)))...)
	}
	return text + fill("< ", returned)
}

// failure returns the error of a call, without the operation, status, resource and
// documentation if they are those of the entry, and with "none" for missing ones.
func (e *exchange) failure(endpoint row) error {
	whole, ok := e.result.err.(*api.Error) //nolint:errorlint // unwrapped
	if !ok {
		return e.result.err
	}
	failed := *whole
	besides := func(got, usual string) string {
		switch got {
		case usual:
			return ""
		case "":
			return "(none)"
		}
		return got
	}
	failed.Op = besides(failed.Op, e.op)
	failed.Resource = besides(failed.Resource, endpoint.resource())
	failed.DocumentationURL = besides(failed.DocumentationURL, "https://api.fast.io/llms.txt")
	switch failed.Status {
	case e.request.Status:
		failed.Status = 0
	case 0:
		failed.Status = -1
	}
	return &failed
}

// sent lists the parameters of a request by name.
func (e *exchange) sent(t *testing.T) []string {
	t.Helper()
	all := []string{}
	if e.request.Header.Get("X-Ve-Password") != "" {
		all = append(all, "password")
	}
	add := func(kind string, values url.Values) {
		if len(values) > 0 {
			all = append(all, kind)
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			for _, value := range values[name] {
				if kind != "json" {
					value = word(short(value))
				}
				all = append(all, name+"="+value)
			}
		}
	}
	query, err := url.ParseQuery(e.request.Query)
	if err != nil {
		t.Fatal(err)
	}
	add("query", query)
	contentType := e.request.Header.Get("Content-Type")
	if contentType == "" {
		return all
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case "application/json":
		var members map[string]json.RawMessage
		if err := json.Unmarshal(e.request.Body, &members); err != nil {
			t.Fatal(err)
		}
		values := url.Values{}
		for name, value := range members {
			values[name] = []string{canonical(value)}
		}
		add("json", values)
	case "multipart/form-data":
		add("multipart", parts(t, e.request.Body, params["boundary"]))
	case "application/octet-stream":
		all = append(all, "raw", quote(short(string(e.request.Body))))
	default:
		form, err := url.ParseQuery(string(e.request.Body))
		if err != nil {
			t.Fatal(err)
		}
		add("form", form)
	}
	return all
}

func parts(t *testing.T, body []byte, boundary string) url.Values {
	t.Helper()
	values := url.Values{}
	for r := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		part, err := r.NextPart()
		if err == io.EOF { //nolint:errorlint // readers return io.EOF unwrapped
			return values
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		name := part.FormName()
		if file := part.FileName(); file != "" {
			name += "(" + file + ")"
		}
		values.Add(name, string(text))
	}
}

// fill joins tokens to lines of at most 120 columns.
func fill(indent string, tokens []string) string {
	var text strings.Builder
	line := indent
	for i, token := range tokens {
		if i > 0 {
			if len(line)+1+len(token) > 120 {
				text.WriteString(line + "\n")
				line = "   "
			}
			line += " "
		}
		line += token
	}
	return text.String() + line + "\n"
}

func isNil(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil()
}

// tokens prints a value with the names of its Go fields, so that members
// decoded into the wrong field are noticed. Zero values are omitted.
func tokens(v reflect.Value) []string {
	if text, simple := scalar(v); simple {
		return []string{text}
	}
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
		if text, simple := scalar(v); simple {
			return []string{text}
		}
	}
	var all []string
	brackets := "{}"
	if v.Kind() == reflect.Slice {
		brackets = "[]"
	}
	for name, member := range membersOf(v) {
		inner := tokens(member)
		if v.Kind() != reflect.Slice {
			inner[0] = name + ":" + inner[0]
		}
		all = append(all, inner...)
	}
	if len(all) == 0 {
		return []string{brackets}
	}
	all[0] = brackets[:1] + all[0]
	all[len(all)-1] += brackets[1:]
	return all
}

// flat lists the scalars of a result by their paths, with undecoded ones if raw
// is set.
func (r result) flat(raw bool) map[string]string {
	all := map[string]string{}
	if r.value != nil && !isNil(reflect.ValueOf(r.value)) {
		flatten(all, "", reflect.ValueOf(r.value), raw)
	}
	if r.err != nil {
		flatten(all, "error", reflect.ValueOf(r.err), raw)
	}
	return all
}

func flatten(all map[string]string, at string, v reflect.Value, raw bool) {
	for {
		if v.Type() == reflect.TypeFor[json.RawMessage]() && !raw {
			return
		}
		if text, simple := scalar(v); simple {
			all[at] = text
			return
		}
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
			break
		}
		v = v.Elem()
	}
	empty := true
	for name, member := range membersOf(v) {
		empty = false
		flatten(all, strings.TrimPrefix(at+"."+name, "."), member, raw)
	}
	if empty {
		all[at] = "{}"
	}
}

// unknownMember is the member that a shape adds to every object.
const unknownMember = "_new"

// membersOf lists the members of a struct, map or list that are not zero.
func membersOf(v reflect.Value) func(yield func(string, reflect.Value) bool) {
	return func(yield func(string, reflect.Value) bool) {
		switch v.Kind() {
		case reflect.Struct:
			for field := range v.Type().Fields() {
				raw := slices.Contains([]string{"Attempts", "Body", "Rate"}, field.Name)
				f := v.FieldByIndex(field.Index)
				if !field.IsExported() || vacant(f) || raw && v.Type() == reflect.TypeFor[api.Error]() {
					continue
				}
				if !yield(field.Name, f) {
					return
				}
			}
		case reflect.Map:
			keys := v.MapKeys()
			slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
			for _, key := range keys {
				if key.String() != unknownMember && !yield(quote(key.String()), v.MapIndex(key)) {
					return
				}
			}
		default:
			for i := range v.Len() {
				if !yield(strconv.Itoa(i), v.Index(i)) {
					return
				}
			}
		}
	}
}

// vacant reports whether a field is empty: an empty list or map counts as none.
func vacant(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice:
		return v.Len() == 0
	case reflect.Map:
		unknown := reflect.ValueOf(unknownMember).Convert(v.Type().Key())
		return v.Len() == 0 || v.Len() == 1 && v.MapIndex(unknown).IsValid()
	default:
		return v.IsZero()
	}
}

// scalar returns the text of a value without members.
func scalar(v reflect.Value) (string, bool) {
	if isNil(v) {
		return "nil", true
	}
	if err, ok := reflect.TypeAssert[error](v); ok {
		if _, ours := err.(*api.Error); !ours { //nolint:errorlint // unwrapped
			return quote(err.Error()), true
		}
	}
	if v.Type() == reflect.TypeFor[api.Error]() {
		return "", false
	}
	switch value := v.Interface().(type) {
	case time.Time:
		return "(time)", true // depends on the day of the test
	case api.Time:
		return value.UTC().Format(time.RFC3339Nano), true
	case []byte:
		return quote(short(string(value))), true
	case api.Secret:
		if value.IsZero() {
			return `""`, true
		}
		return "(secret)", true
	case json.RawMessage:
		return canonical(value), true
	}
	switch v.Kind() {
	case reflect.String:
		return quote(short(v.String())), true
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Pointer, reflect.Interface:
		return "", false
	default:
		return fmt.Sprint(v.Interface()), true
	}
}

// quote is word, but distinguishes texts from values of other types.
func quote(s string) string {
	if s == "nil" || s == "true" || s == "false" {
		return strconv.Quote(s)
	}
	return word(s)
}

var plain = regexp.MustCompile(`^[-\w.@]+$`)

// word removes the quotation marks of a plain word.
func word(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// short abbreviates a long text.
func short(s string) string {
	const most = 160
	if len(s) <= most {
		return s
	}
	begin, sum := strings.ToValidUTF8(s[:40], ""), sha256.Sum256([]byte(s))
	return fmt.Sprintf("%s... (%d bytes, SHA-256 %.4x)", begin, len(s), sum)
}

// canonical returns a JSON text with sorted members.
func canonical(text []byte) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return quote(string(text))
	}
	return short(encode(v))
}

// encode returns a decoded value as JSON, without unknown members.
func encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
