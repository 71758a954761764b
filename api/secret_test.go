package api_test

import (
	"bytes"
	stdjson "encoding/json"
	"encoding/xml"
	"fmt"
	htmltemplate "html/template"
	"log/slog"
	"strings"
	"testing"
	"text/template"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

// A Secret shows nowhere but where it is turned into a string.
func TestSecretShowsNowhere(t *testing.T) {
	t.Parallel()
	const canary = "canary-0123456789"
	secret := api.Secret(canary)
	type holder struct {
		Key  api.Secret
		Ptr  *api.Secret
		List []api.Secret
		Map  map[string]api.Secret
		Any  any
	}
	held := holder{secret, &secret, []api.Secret{secret}, map[string]api.Secret{"a": secret}, secret}
	var out bytes.Buffer
	for _, v := range []any{secret, &secret, held, &held, []any{held}, api.Token{AccessToken: secret}} {
		for verb := 'A'; verb <= 'z'; verb++ {
			if verb == 'p' || verb == 'w' { // with these fmt asks nobody, but go vet refuses them
				continue
			}
			for _, flags := range []string{"", "+", "#", "-", "0", " ", "20", ".3", "+#20.3"} {
				fmt.Fprintf(&out, "%"+flags+string(verb)+"\n", v)
			}
		}
		fmt.Fprintln(&out, v)
		for name, marshal := range map[string]func() ([]byte, error){
			"encoding/json": func() ([]byte, error) { return stdjson.Marshal(v) },
			"json v2":       func() ([]byte, error) { return json.Marshal(v) },
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
		if err := template.Must(template.New("").Parse("{{.}} {{printf `%s` .}} {{print .}}\n")).Execute(&out, v); err != nil {
			t.Error(err)
		}
		if err := htmltemplate.Must(htmltemplate.New("").Parse("{{.}} <script>x={{.}}</script><a href='?{{.}}'>\n")).Execute(&out, v); err != nil {
			t.Error(err)
		}
	}
	if b, err := xml.Marshal(secret); err != nil || bytes.Contains(b, []byte(canary)) {
		t.Errorf("as XML it is %s, %v", b, err)
	}
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("%d", []byte(canary)), canary[:6]} {
		if at := strings.Index(out.String(), form); at >= 0 {
			t.Errorf("it shows: %s", out.String()[max(0, at-80):at+len(form)])
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Error("nothing takes its place")
	}
	if string(secret) != canary {
		t.Errorf("it holds %s", string(secret))
	}
}

func TestSecretOfNothing(t *testing.T) {
	t.Parallel()
	if s := fmt.Sprintf("%v|%s|%#v", api.Secret(""), api.Secret(""), struct{ S api.Secret }{}); strings.Contains(s, "redacted") {
		t.Errorf("no secret prints as %s", s)
	}
	if got := api.Secret("").GoString() + api.Secret("a").GoString(); got != `"""[redacted]"` {
		t.Errorf("GoString is %s", got)
	}
	var read struct{ Token api.Secret }
	if err := json.Unmarshal([]byte(`{"Token":"t"}`), &read); err != nil || string(read.Token) != "t" {
		t.Errorf("it is read as %q, %v", string(read.Token), err)
	}
}
