package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/search"
)

// Every method is called with arguments at random. The Field of an InputError begins with
// a parameter of the method or with the type of one, or of a field of one, and each
// further word is a field. Wire is a name of the wire, which the text shows if it differs.
func TestInputErrorsNameArguments(t *testing.T) {
	t.Parallel()
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	params := parameters(t)
	found := map[string]bool{}
	network := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody}, nil
	}
	synctest.Test(t, func(t *testing.T) { // in which waits take no time
		client := overNetwork(t, network, fastio.WithToken("token"))
		groups(client, func(_ string, group reflect.Value) {
			for m, method := range group.Methods() {
				of := typeName(group.Type().Elem()) + "." + m.Name
				names := params[of]
				if method.Type().NumIn() < 2 || names == nil {
					continue
				}
				g := generator{rand.New(rand.NewPCG(1, uint64(len(found)))), texts(), t.TempDir()}
				arguments := argumentTypes(method.Type(), names)
				for range rounds {
					e, ok := errors.AsType[*api.InputError](g.call(t, method, names))
					if !ok || found[of+" "+e.Field] {
						continue
					}
					found[of+" "+e.Field] = true
					if problem := arguments.problem(e); problem != "" {
						t.Errorf("%s: %v: %s", of, e, problem)
					}
				}
			}
		})
	})
	t.Logf("%d arguments were refused", len(found))
	if len(found) < 700 && !testing.Short() {
		t.Errorf("only %d arguments were refused", len(found))
	}
}

// parameters returns the names of the parameters of all methods, by package, type and
// method.
func parameters(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, p := range load(t) {
		for _, m := range p.methods() {
			for _, of := range params(m.decl) {
				all[p.name+"."+m.name] = append(all[p.name+"."+m.name], of.name)
			}
		}
	}
	return all
}

func typeName(t reflect.Type) string { return path.Base(t.PkgPath()) + "." + t.Name() }

// argumentsOf are the types of a method by the words that a Go path may begin with.
type argumentsOf map[string]reflect.Type

func argumentTypes(method reflect.Type, names []string) argumentsOf {
	of := argumentsOf{}
	for i := range method.NumIn() {
		of[names[i]] = method.In(i)
		of.add(method.In(i))
	}
	return of
}

// add adds the structs of a type of this repository.
func (of argumentsOf) add(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || of[t.Name()] != nil || !strings.Contains(t.PkgPath(), "fastio") {
		return
	}
	of[t.Name()] = t
	for f := range t.Fields() {
		if f.IsExported() {
			of.add(f.Type)
		}
	}
}

var (
	index    = regexp.MustCompile(`^(\w+)((?:\[\d+\])?)$`)
	wireName = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$`)
)

// problem returns what is wrong with the names of an error, "" if nothing is.
func (of argumentsOf) problem(e *api.InputError) string {
	if e.Wire != "" && !wireName.MatchString(e.Wire) {
		return e.Wire + " is no name of the wire"
	}
	var in reflect.Type
	for word := range strings.SplitSeq(e.Field, ".") {
		m := index.FindStringSubmatch(word)
		if m == nil {
			return word + " is no word of a Go path"
		}
		if in == nil {
			in = of[m[1]]
		} else {
			f, ok := in.FieldByName(m[1])
			if !ok {
				return in.String() + " has no field " + m[1]
			}
			in = f.Type
		}
		if in == nil {
			return "there is no argument " + m[1]
		}
		if in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if m[2] != "" {
			if in.Kind() != reflect.Slice {
				return in.String() + " has no elements"
			}
			in = in.Elem()
		}
		for in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if in.Kind() != reflect.Struct { // which has no fields
			in = reflect.TypeFor[struct{}]()
		}
	}
	return ""
}

// A generator makes arguments.
type generator struct {
	*rand.Rand

	texts []string
	dir   string
}

// call calls a method with arguments at random and returns its error.
func (g generator) call(t *testing.T, method reflect.Value, names []string) (err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%v panics: %v", names, p)
		}
	}()
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		switch in := method.Type().In(i); {
		case in == reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(ctx))
		case in == reflect.TypeFor[[]api.CallOption]():
		case names[i] == "path" || names[i] == "local":
			args = append(args, reflect.ValueOf(filepath.Join(g.dir, "a")))
		default:
			v := reflect.New(in).Elem()
			g.fill(v)
			args = append(args, v)
		}
	}
	out := method.Call(args)
	last := out[len(out)-1]
	if last.Kind() == reflect.Func && last.Type().CanSeq2() {
		for _, v := range last.Seq2() {
			err, _ = reflect.TypeAssert[error](v)
			return err
		}
		return nil
	}
	for _, v := range out {
		if c, ok := reflect.TypeAssert[io.Closer](v); ok && !v.IsZero() {
			_ = c.Close()
		}
	}
	err, _ = reflect.TypeAssert[error](last)
	return err
}

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

// texts returns texts that some arguments accept, and others that none does.
func texts() []string {
	return []string{
		someID, someID, someID, "", " ", "null", "-", "abcdef", "a name\x00", "\xff", "a@example.test", "root", "trash",
		"note.md", "a text of some length", "https://example.test/a", "http://example.test/", "123456",
		strings.Repeat("x", 9000),
	}
}

func (g generator) text() string { return g.texts[g.IntN(len(g.texts))] }

// fill sets v to a value at random.
func (g generator) fill(v reflect.Value) {
	if g.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(g.text())
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int64, reflect.Uint32:
		n := pick[int64](g, 0, 0, 1, 2, 100, 1<<20, -1, 1<<40)
		if v.Type() == reflect.TypeFor[time.Duration]() {
			n *= int64(time.Second)
		}
		if v.Kind() == reflect.Uint32 {
			v.SetUint(uint64(g.Uint32()))
		} else {
			v.SetInt(n)
		}
	case reflect.Uint8: // the state of an api.Opt
		v.SetUint(g.Uint64N(3))
	case reflect.Float64:
		v.SetFloat(g.Float64())
	case reflect.Slice:
		for range pick(g, 0, 1, 1, 2, 2, 2, 3, 3, 300) {
			one := reflect.New(v.Type().Elem()).Elem()
			g.fill(one)
			v.Set(reflect.Append(v, one))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range pick(g, 0, 1, 1, 200) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			g.fill(key)
			g.fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Pointer:
		if g.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem())
		}
	case reflect.Func:
		zero := func([]reflect.Value) (out []reflect.Value) {
			for o := range v.Type().Outs() {
				out = append(out, reflect.Zero(o))
			}
			return out
		}
		if g.IntN(3) > 0 {
			v.Set(reflect.MakeFunc(v.Type(), zero))
		}
	case reflect.Struct:
		whole := strings.HasPrefix(v.Type().Name(), "Opt[") || v.Type() == reflect.TypeFor[search.Scope]()
		for f, field := range v.Fields() {
			switch {
			case g.IntN(3) == 0 && !whole: // is left out
			case f.IsExported():
				g.fill(field)
			case whole:
				g.fill(reflect.NewAt(f.Type, unsafe.Pointer(field.UnsafeAddr())).Elem())
			}
		}
	default:
	}
}

// special sets v if its type has values of its own.
func (g generator) special(v reflect.Value) bool {
	past := time.Now().Add(time.Duration(pick(g, -1, 1, 1<<20)) * time.Hour)
	var value any
	switch v.Interface().(type) {
	case api.Profile:
		kind := pick(g, api.ProfileKindWorkspace, api.ProfileKindShare, api.ProfileKindOrg, api.ProfileKindUser,
			api.ProfileKindFileShare, "moon", "")
		value = api.Profile{Kind: kind, ID: api.ID(pick(g, someID, someID, "a-name", ""))}
	case comments.Target:
		var in api.Profile
		g.fill(reflect.ValueOf(&in).Elem())
		value = pick(g, comments.On(in), comments.OnNode(in, api.OpaqueID(g.text())))
	case api.Secret:
		value = api.NewSecret(g.text())
	case api.Route:
		value = api.Path("/current/user/{user_id}/details/", someID) // a path names its own placeholders
	case time.Time:
		value = pick(g, time.Time{}, past, time.Date(11_000, 1, 1, 0, 0, 0, 0, time.UTC))
	case json.RawMessage:
		value = json.RawMessage(pick(g, "null", "{", `{"a":1}`, `"a"`, ""))
	case []byte:
		value = bytes.Repeat([]byte("a"), pick(g, 0, 0, 10, 10, 1<<22+1))
	default:
		return g.implement(v)
	}
	v.Set(reflect.ValueOf(value))
	return true
}

// implement sets v if it is an interface, perhaps to nil.
func (g generator) implement(v reflect.Value) bool {
	if v.Kind() != reflect.Interface {
		return false
	}
	for _, value := range []any{
		strings.NewReader("content"), new(bytes.Buffer), fs.FS(fstest.MapFS{"a": {Data: []byte("a")}}),
		strconv.Itoa(g.IntN(5)),
	} {
		if g.IntN(4) > 0 && reflect.TypeOf(value).Implements(v.Type()) {
			v.Set(reflect.ValueOf(value))
			break
		}
	}
	return true
}
