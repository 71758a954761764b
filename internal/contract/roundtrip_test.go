package contract_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/realtime"
)

// Every result survives being written and read by both JSON packages, but for its
// secrets, which are written as null, and a download, which is read and not kept.
func TestResultsSurviveJSON(t *testing.T) {
	t.Parallel()
	same := cmp.Options{
		cmpopts.IgnoreTypes(api.Secret{}), cmpopts.IgnoreUnexported(realtime.SocketToken{}), cmpopts.EquateEmpty(),
		cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, cmp.Comparer(equalJSON)),
	}
	for _, calls := range live(t) {
		for _, e := range calls {
			v := reflect.ValueOf(e.result.value)
			if e.result.err != nil || !v.IsValid() || e.op == "shares.QuickShares.Download" {
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
