package contract_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/members"
)

// groups calls f with every Service of a Client and every group of its methods.
func groups(client *fastio.Client, f func(name string, group reflect.Value)) {
	var visit func(name string, v reflect.Value)
	visit = func(name string, v reflect.Value) {
		if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return
		}
		f(name, v)
		for _, field := range reflect.VisibleFields(v.Elem().Type()) {
			if field.IsExported() {
				visit(name+"."+field.Name, v.Elem().FieldByIndex(field.Index))
			}
		}
	}
	v := reflect.ValueOf(client).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.IsExported() {
			visit(field.Name, v.FieldByIndex(field.Index))
		}
	}
}

// someID is an identifier that every method accepts.
const someID = "1234567890123456789"

// arguments returns a context and valid arguments of a method, without the
// variadic ones. Its identifiers are id.
func arguments(method reflect.Type, ctx reflect.Value, id string) []reflect.Value {
	args := []reflect.Value{ctx}
	for i := 1; i < method.NumIn(); i++ {
		if in := method.In(i); in != reflect.TypeFor[context.Context]() && in != reflect.TypeFor[[]api.CallOption]() {
			args = append(args, filled(in, id))
		}
	}
	return args
}

// filled returns a valid value of type t with the identifier id.
func filled(t reflect.Type, id string) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString(id)
		if t == reflect.TypeFor[members.Decision]() {
			v.SetString(string(members.DecisionAccept))
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem(), id)))
	case reflect.Struct:
		switch t {
		case reflect.TypeFor[api.Profile]():
			v.Set(reflect.ValueOf(api.Workspace(api.ID(id))))
			return v
		case reflect.TypeFor[comments.Target]():
			return reflect.ValueOf(comments.OnNode(api.FileShare(api.ID(id)), api.OpaqueID(id)))
		case reflect.TypeFor[api.Secret]():
			return reflect.ValueOf(api.NewSecret(id))
		}
		for f, field := range v.Fields() {
			if f.Type == reflect.TypeFor[api.Profile]() || f.Name == "Text" {
				field.Set(filled(f.Type, id))
			}
		}
	default:
	}
	return v
}

// misuse calls every method of group that takes a context with ctx. It reports
// those that panic or return no error.
func misuse(t *testing.T, name string, group, ctx reflect.Value) {
	t.Helper()
	for i := range group.NumMethod() {
		m := group.Type().Method(i)
		if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() {
			continue
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s.%s panics: %v", name, m.Name, p)
				}
			}()
			out := group.Method(i).Call(arguments(m.Type, ctx, someID))
			last := out[len(out)-1]
			if last.Type() == reflect.TypeFor[error]() {
				if last.IsNil() {
					t.Errorf("%s.%s returns no error", name, m.Name)
				}
				return
			}
			if last.Kind() == reflect.Func && last.Type().CanSeq2() {
				for _, err := range last.Seq2() {
					if err.IsNil() {
						t.Errorf("%s.%s yields no error", name, m.Name)
					}
					return
				}
				t.Errorf("%s.%s yields nothing", name, m.Name)
			}
		}()
	}
}

// A nil context and a Service that was not made by New are errors of every
// method, and nothing is sent.
func TestMisuseIsRejected(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	network := func(r *http.Request) (*http.Response, error) {
		sent.Add(1)
		return nil, fmt.Errorf("%s was sent", r.URL.Path)
	}
	client := overNetwork(t, network, fastio.WithToken("token"))
	groups(client, func(name string, group reflect.Value) {
		misuse(t, name+" without a context", group, reflect.Zero(reflect.TypeFor[context.Context]()))
		misuse(t, name+" of zero", reflect.New(group.Type().Elem()), reflect.ValueOf(t.Context()))
	})
	misuse(t, "Client without a context", reflect.ValueOf(client), reflect.Zero(reflect.TypeFor[context.Context]()))
	misuse(t, "Client of zero", reflect.ValueOf(new(fastio.Client)), reflect.ValueOf(t.Context()))
	if n := sent.Load(); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// A method with a context that takes a callback, a reader or a writer rejects nil before it
// sends anything.
func TestNilIsRejected(t *testing.T) {
	t.Parallel()
	client := overNetwork(t, func(*http.Request) (*http.Response, error) { return nil, errors.New("sent") },
		fastio.WithToken("token"))
	methods := map[string]reflect.Value{}
	groups(client, func(name string, group reflect.Value) {
		for m, method := range group.Methods() {
			if takesValue(method.Type()) {
				methods[name+"."+m.Name] = method
			}
		}
	})
	if len(methods) < 10 {
		t.Errorf("found %d methods", len(methods))
	}
	table.Bubbles(t, methods, func(t *testing.T, method reflect.Value) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		out := method.Call(arguments(method.Type(), reflect.ValueOf(ctx), someID))
		err, _ := reflect.TypeAssert[error](out[len(out)-1])
		if _, ok := errors.AsType[*api.InputError](err); !ok {
			t.Errorf("returns %v", err)
		}
	})
}

// takesValue reports whether a method takes a context, and a function or an interface
// besides.
func takesValue(method reflect.Type) bool {
	if method.NumIn() == 0 || method.In(0) != reflect.TypeFor[context.Context]() {
		return false
	}
	for i := 1; i < method.NumIn(); i++ {
		if k := method.In(i).Kind(); k == reflect.Func || k == reflect.Interface {
			return true
		}
	}
	return false
}

func TestSystemRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	c := overNetwork(t, nil)
	_, topic := c.System.DocsTopic(t.Context(), "")
	_, path := c.System.Introspect(t.Context(), api.Path("/current/event/{event_id}/details/", ""))
	for want, err := range map[string]error{
		`fastio: system.DocsTopic: topic must not be blank or consist of dots, got ""`:             topic,
		`fastio: system.Introspect: event (event_id) must not be blank or consist of dots, got ""`: path,
	} {
		if !errors.Is(err, api.ErrInvalid) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
