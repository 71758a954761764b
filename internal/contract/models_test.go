package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/realtime"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/system"
	"github.com/fastio-go/fastio/uploads"
	"github.com/fastio-go/fastio/workspaces"
)

// unmodeled are the members of responses without a field: those in the Extra of a
// type by the name of the type, others by their path. None of them is documented.
var unmodeled = map[string][]string{
	"": {
		"/status", "/current_api_version", // of every envelope
	},

	"account.AvailableProfiles": {"profiles"},                      // undocumented
	"account.OrgLimits":         {"limits"},                        // undocumented
	"account.PhoneCheck":        {"phone_country", "phone_number"}, // undocumented
	"orgs.Credits":              {"credits"},                       // undocumented
	"workspaces.Limits":         {"limits"},                        // undocumented
}

// Every member of a response has a field or is listed in unmodeled.
func TestModelsAreComplete(t *testing.T) {
	t.Parallel()
	found := map[string]map[string]string{} // by type and member: a fixture that has it
	for _, calls := range live(t) {
		for _, e := range calls {
			if !e.decoded() {
				continue
			}
			for _, m := range unknownMembers(t, e) {
				if found[m.of] == nil {
					found[m.of] = map[string]string{}
				}
				found[m.of][m.name] = e.name
			}
		}
	}
	for of, members := range found {
		for member, name := range members {
			if !slices.Contains(unmodeled[of], member) {
				t.Errorf("%s: %s has no field for %s", name, of, member)
			}
		}
	}
	for of, members := range unmodeled {
		for _, member := range members {
			if found[of][member] == "" {
				t.Errorf("%s of %s is listed, but not in any fixture", member, of)
			}
		}
	}
}

// member is one without a field. Of is empty if its type has no Extra.
type member struct{ of, name string }

// unknownMembers decodes a response as the call does and lists the members
// without a field.
func unknownMembers(t *testing.T, e *exchange) []member {
	t.Helper()
	s, w := &strict{body: e.answer.body}, e.before
	value, err := e.do(call{t.Context(), overCaller(s), &w})
	if err != nil {
		t.Errorf("%s: %v", e.name, err)
	}
	if value == nil { // a call without a result needs no field
		return nil
	}
	return append(s.unknown, extras(reflect.ValueOf(value))...)
}

// overCaller returns a Client without a transport.
func overCaller(s api.Client) *fastio.Client {
	return &fastio.Client{
		Account: account.New(s), Members: members.New(s), Orgs: orgs.New(s), Workspaces: workspaces.New(s),
		Activity: activity.New(s), AI: ai.New(s), Assets: assets.New(s),
		Comments: comments.New(s, nil), Events: events.New(s, nil), HowTo: howto.New(s),
		Metadata: metadata.New(s), OAuth: oauth.New(s),
		Realtime: realtime.New(s, nil), Search: search.New(s), Shares: shares.New(s), Storage: storage.New(s),
		System: system.New(s), Uploads: uploads.New(s),
		FileShares: fileshares.New(s),
	}
}

// strict is a Caller that returns one body and rejects unknown members.
type strict struct {
	stub.NotOpened
	body    jsontext.Value
	unknown []member
}

func (s *strict) Call(_ context.Context, _ *api.Request, out any, opts ...api.CallOption) error {
	for {
		err := jsonv2.Unmarshal(s.body, out, jsonv2.RejectUnknownMembers(true))
		e, ok := errors.AsType[*jsonv2.SemanticError](err)
		if !ok || !errors.Is(e.Err, jsonv2.ErrUnknownName) {
			return err
		}
		at := regexp.MustCompile(`/\d+`).ReplaceAllString(string(e.JSONPointer), "/*")
		s.unknown = append(s.unknown, member{"", at})
		s.body = without(s.body, string(e.JSONPointer))
	}
}

// extras lists the members of a value in its Extra fields.
func extras(v reflect.Value) []member {
	var all []member
	walk(v, "", func(_ string, v reflect.Value) {
		if v.Kind() != reflect.Struct {
			return
		}
		for field, f := range v.Fields() {
			if !strings.HasSuffix(field.Tag.Get("json"), ",unknown") {
				continue
			}
			for _, key := range f.MapKeys() {
				all = append(all, member{v.Type().String(), key.String()})
			}
		}
	})
	return all
}

// without removes a member from a JSON text.
func without(text []byte, at string) []byte {
	root, _ := cutMember(decode(text), pointer(at))
	return []byte(encode(root))
}

// Every result survives a round trip through both JSON packages, except for
// secrets, which are written as null.
func TestResultsSurviveJSON(t *testing.T) {
	t.Parallel()
	same := cmp.Options{
		cmpopts.IgnoreTypes(api.Secret{}), cmpopts.IgnoreUnexported(realtime.SocketToken{}), cmpopts.EquateEmpty(),
		cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, cmp.Comparer(equalJSON)),
	}
	for _, calls := range live(t) {
		for _, e := range calls {
			v := reflect.ValueOf(e.result.value)
			if e.result.err != nil || !v.IsValid() {
				continue
			}
			for name, codec := range map[string]struct {
				marshal   func(any) ([]byte, error)
				unmarshal func([]byte, any) error
			}{
				"encoding/json": {json.Marshal, json.Unmarshal},
				"json v2": {
					func(v any) ([]byte, error) { return jsonv2.Marshal(v) },
					func(b []byte, v any) error { return jsonv2.Unmarshal(b, v) },
				},
			} {
				again := reflect.New(v.Type())
				b, err := codec.marshal(v.Interface())
				if err == nil {
					err = codec.unmarshal(b, again.Interface())
				}
				if diff := cmp.Diff(v.Interface(), again.Elem().Interface(), same); err != nil || diff != "" {
					t.Errorf("%s, %s: %v, after %s (-want +got):\n%s", e.name, name, err, b, diff)
				}
			}
		}
	}
}

func equalJSON(a, b json.RawMessage) bool {
	canonical := func(v jsontext.Value) string {
		v = v.Clone()
		_ = v.Canonicalize()
		return strings.TrimSuffix(string(v), "null")
	}
	return canonical(jsontext.Value(a)) == canonical(jsontext.Value(b))
}
