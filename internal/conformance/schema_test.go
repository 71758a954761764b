package conformance_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fastio-go/fastio/internal/emulator/seedfile"
)

// nothing is a world without objects.
type nothing struct{}

func (nothing) NewID(string) string        { return strings.Repeat("4", 19) }
func (nothing) Exists(string, string) bool { return false }

// Another implementation of JSON Schema admits the same seed files as Read does.
func TestSchemaOfSeedFiles(t *testing.T) {
	t.Parallel()
	parse := func(text string) any {
		t.Helper()
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	if err := c.AddResource("seed.json", parse(string(seedfile.Schema()))); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("seed.json")
	if err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile(filepath.Join("..", "emulator", "seedfile", "testdata", "full.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(parse(string(sample))); err != nil {
		t.Errorf("the sample: %v", err)
	}
	broken := breaks(map[string]any{})
	for name, list := range parse(string(sample)).(map[string]any) {
		for _, item := range list.([]any) {
			for _, other := range breaks(item) {
				broken = append(broken, map[string]any{name: []any{other}})
			}
		}
	}
	for _, file := range broken {
		text, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = seedfile.Read(strings.NewReader(string(text)), nothing{}, anyFile)
		rejected := err != nil && strings.Contains(err.Error(), "want") // and not for a reference
		if err := schema.Validate(parse(string(text))); rejected != (err != nil) {
			t.Errorf("%s\nRead rejects it: %t; schema: %v", text, rejected, err)
		}
	}
	if len(broken) < 1000 {
		t.Errorf("%d broken files", len(broken))
	}
}

// anyFile opens every file beside a seed file.
func anyFile(string) ([]byte, error) { return nil, nil }

// breaks returns copies of a value, in each of which one part is replaced by a
// value that is mostly of the wrong type.
func breaks(v any) []any {
	all := []any{nil, "no such value", json.Number("-1"), json.Number("1.5"), true, []any{}, map[string]any{"x": true}}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			for _, broken := range breaks(item) {
				all = append(all, slices.Concat(v[:i], []any{broken}, v[i+1:]))
			}
		}
	case map[string]any:
		for name, member := range v {
			for _, broken := range append(breaks(member), "left out") {
				other := maps.Clone(v)
				other[name] = broken
				if broken == "left out" {
					delete(other, name)
				}
				all = append(all, other)
			}
		}
	}
	return all
}
