package api_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	htmltemplate "html/template"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"text/template"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
)

func TestSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	const canary = "canary-0123456789"
	secret := api.NewSecret(canary)
	type holder struct {
		Key  api.Secret
		Ptr  *api.Secret
		List []api.Secret
		Map  map[string]api.Secret
		Any  any

		hidden  api.Secret
		pointer *api.Secret
		keys    map[api.Secret]bool
	}
	held := holder{
		secret, &secret,
		[]api.Secret{secret},
		map[string]api.Secret{"a": secret},
		secret,
		secret, &secret,
		map[api.Secret]bool{secret: true},
	}
	var out bytes.Buffer
	for _, v := range []any{secret, &secret, held, &held, []any{held}, api.Token{AccessToken: secret}} {
		for verb := 'A'; verb <= 'z'; verb++ {
			for _, flags := range []string{"", "+", "#", "-", "0", " ", "20", ".3", "+#20.3"} {
				fmt.Fprintf(&out, "%"+flags+string(verb)+"\n", v)
			}
		}
		fmt.Fprintln(&out, v)
		for name, marshal := range map[string]func() ([]byte, error){
			"encoding/json": func() ([]byte, error) { return json.Marshal(v) },
			"json v2":       func() ([]byte, error) { return jsonv2.Marshal(v) },
		} {
			b, err := marshal()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			out.Write(b)
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).With(slog.Any("with", v)).Error("log", slog.Any("v", v), slog.Group("g", slog.Any("v", v)))
		}
		if err := template.Must(
			template.New("").Parse("{{.}} {{printf `%s` .}} {{print .}}\n"),
		).Execute(&out, v); err != nil {
			t.Error(err)
		}
		if err := htmltemplate.Must(
			htmltemplate.New("").Parse("{{.}} <script>x={{.}}</script><a href='?{{.}}'>\n"),
		).Execute(&out, v); err != nil {
			t.Error(err)
		}
	}
	for _, v := range []any{secret, held, map[api.Secret]bool{secret: true}} { // an error is allowed
		_ = gob.NewEncoder(&out).Encode(v)
		for _, marshal := range []func(any) ([]byte, error){
			json.Marshal, xml.Marshal, func(v any) ([]byte, error) { return jsonv2.Marshal(v) },
		} {
			b, _ := marshal(v)
			out.Write(b)
		}
	}
	another := api.NewSecret(canary + "-2") // with which a printer of differences looks further than String
	for _, pair := range [][2]any{
		{secret, another},
		{api.Token{AccessToken: secret}, api.Token{AccessToken: another}},
		{holder{hidden: secret, pointer: &secret}, holder{hidden: another, pointer: &another}},
		{map[api.Secret]bool{secret: true}, map[api.Secret]bool{another: true}},
	} {
		out.WriteString(cmp.Diff(pair[0], pair[1], cmp.Exporter(func(reflect.Type) bool { return true })))
	}
	for _, form := range []string{
		canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("%d", []byte(canary)), canary[:6],
	} {
		if at := strings.Index(out.String(), form); at >= 0 {
			t.Errorf("the secret is printed: %s", out.String()[max(0, at-80):at+len(form)])
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Error("the mask is not printed")
	}
	if secret.Reveal() != canary {
		t.Errorf("the secret is %s", secret.Reveal())
	}
}

// A Secret is a value as before it was hidden: equal by its text, also after a collection
// of garbage, and read without an allocation.
func TestSecretIsAValue(t *testing.T) { //nolint:paralleltest // it counts allocations of the whole process
	text := func() string { return strings.Repeat("canary", 3) } // not a constant
	m := map[api.Secret]int{api.NewSecret(text()): 1}
	for range 3 {
		runtime.GC()
	}
	if again := api.NewSecret(text()); m[again] != 1 || !again.Equal(api.NewSecret(text())) || again == api.NewSecret("other") {
		t.Errorf("secrets of one text are not equal: %v", m)
	}
	for s := range m {
		if s.Reveal() != text() {
			t.Error("the text is gone")
		}
		if n := testing.AllocsPerRun(100, func() { _ = s.Reveal() }); n != 0 {
			t.Errorf("Reveal takes %v allocations", n)
		}
	}
}

func TestEmptySecret(t *testing.T) {
	t.Parallel()
	if s := fmt.Sprintf(
		"%v|%s|%#v", api.NewSecret(""), api.NewSecret(""), struct{ S api.Secret }{},
	); strings.Contains(s, "redacted") {
		t.Errorf("an empty secret prints as %s", s)
	}
	if got := api.NewSecret("").GoString() + api.NewSecret("a").GoString(); got != `"""[redacted]"` {
		t.Errorf("GoString is %s", got)
	}
}

func TestSecretIsReadFromJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"t\u00f6"`: "tö", `"1"`: "1", `12345678901234567890`: "12345678901234567890", `""`: "", `null`: "", `{"a":1}`: "",
		`[1]`: "", `true`: "",
	} {
		for name, unmarshal := range map[string]func([]byte, any) error{
			"encoding/json": json.Unmarshal, "json v2": func(b []byte, v any) error { return jsonv2.Unmarshal(b, v) },
		} {
			read := struct{ Token api.Secret }{api.NewSecret("old")}
			if err := unmarshal([]byte(`{"Token":`+in+`}`), &read); err != nil || read.Token.Reveal() != want {
				t.Errorf("%s reads %s as %q, %v", name, in, read.Token.Reveal(), err)
			}
		}
	}
}
