package metadata_test

import (
	"encoding/json"
	"errors"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/storage"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	for want, filter := range map[string]metadata.Filter{
		`{"field":"total","operator":"=","value":9007199254740993}`: metadata.Equals("total", int64(9007199254740993)),
		`{"field":"paid","operator":"=","value":false}`:             metadata.Equals("paid", false),
		`{"field":"Payée le","operator":"=","value":""}`:            metadata.Equals("Payée le", ""),
		`{"field":"paid","operator":"exists"}`:                      metadata.Exists("paid"),
		`{"field":"paid","operator":"not_exists"}`:                  metadata.NotExists("paid"),
		`{"field":"total","operator":">=","value":1250.5}`: metadata.Where(
			"total", metadata.OperatorGreaterOrEqual, 1250.5),
		`{"field":"state","operator":"in","value":["due","paid"]}`: metadata.Where(
			"state", metadata.OperatorIn, []string{"due", "paid"}),
		`{"field":"total","operator":"confidence_gte","value":"high"}`: metadata.Where(
			"total", metadata.OperatorConfidenceAtLeast, storage.FactConfidenceHigh),
		`{"field":"paid","operator":"~","value":1,"unit":"EUR"}`: {
			Field: "paid", Operator: "~", Value: json.RawMessage("1"),
			Extra: map[string]json.RawMessage{"unit": json.RawMessage(`"EUR"`)},
		},
	} {
		b, err := jsonv2.Marshal(filter)
		if err != nil || string(b) != want {
			t.Errorf("wrote %s, %v; want %s", b, err, want)
		}
		read, err := decode.Value[metadata.Filter](b)
		if diff := cmp.Diff(&filter, read); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", b, err, diff)
		}
	}
	none, err := decode.Value[metadata.Filter]([]byte(`{"field":"paid","operator":"exists","value":null}`))
	if diff := cmp.Diff(new(metadata.Exists("paid")), none); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestNodeErrors(t *testing.T) {
	t.Parallel()
	kinds := map[string]error{"invalid": api.ErrInvalid, "missing": api.ErrNotFound, "busy": api.ErrUnavailable}
	for code, want := range map[int64]string{
		191878: "invalid", 150183: "invalid", 147196: "invalid", 196136: "invalid", 191049: "missing", 133123: "missing",
		146950: "missing", 146256: "busy", 190770: "busy", 157684: "busy", 179961: "",
	} {
		e := &storage.NodeError{NodeID: "2a", Code: code}
		for name, kind := range kinds {
			if got := errors.Is(e, kind); got != (name == want) {
				t.Errorf("%v is %s: %t", e, name, got)
			}
		}
	}
	for want, e := range map[string]*storage.NodeError{
		"fastio: node 2a: Gone. (code 133123)": {NodeID: "2a", Code: 133123, Message: "Gone."},
		"fastio: node 2a: refused":             {NodeID: "2a"},
	} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
	}
}

func TestNodeErrorsDecoded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]storage.NodeError{
		`{"node_id":"2a","code":133123,"message":"Gone."}`: {NodeID: "2a", Code: 133123, Message: "Gone."},
		`{"node_id":"2a","code":"133123"}`:                 {NodeID: "2a", Code: 133123},
		`{"code":"gone","since":1}`: {
			Extra: map[string]json.RawMessage{"code": json.RawMessage(`"gone"`), "since": json.RawMessage(`1`)},
		},
		`{"code":null}`: {},
	} {
		got, err := decode.Value[storage.NodeError]([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
