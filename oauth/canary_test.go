package oauth_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

const (
	canaryAccess  = "canary-access-0123456789"
	canaryRefresh = "canary-refresh-012345678"
	canaryKey     = "canary-key-of-32-bytes-012345678"
)

// printAll writes v in every way a program might.
func printAll(t *testing.T, out *bytes.Buffer, v any) {
	t.Helper()
	for verb := 'A'; verb <= 'z'; verb++ {
		if verb == 'p' || verb == 'w' { // with these fmt asks nobody, but go vet refuses them
			continue
		}
		for _, flags := range []string{"", "+", "#", "20.3"} {
			fmt.Fprintf(out, "%"+flags+string(verb)+"\n", v)
		}
	}
	fmt.Fprintln(out, v)
	if b, err := json.Marshal(v); err == nil { // what cannot be marshalled shows nothing
		out.Write(b)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(out, nil), slog.NewJSONHandler(out, nil)} {
		slog.New(h).Error("log", slog.Any("v", v))
	}
}

// silent makes sure that no canary sings, neither as text nor as numbers.
func silent(t *testing.T, out string) {
	t.Helper()
	for _, canary := range []string{canaryAccess, canaryRefresh, canaryKey} {
		for _, form := range []string{
			canary, canary[8:20], hex.EncodeToString([]byte(canary)), strings.ToUpper(hex.EncodeToString([]byte(canary))),
			strings.Trim(fmt.Sprintf("%d", []byte(canary[8:])), "[]"), base64.StdEncoding.EncodeToString([]byte(canary))[:20],
		} {
			if i := strings.Index(out, form); i >= 0 {
				t.Errorf("%q shows: %q", canary, out[max(0, i-100):min(len(out), i+100)])
			}
		}
	}
}

func TestNothingPrintsAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		memory := new(oauth.MemoryStore)
		file := oauth.FileStore{Path: filepath.Join(dir, "tokens"), Keys: oauth.StaticKey([]byte(canaryKey))}
		var out bytes.Buffer
		codes := []string{"invalid_client", "invalid_grant"}
		c := oauth.Config{
			ClientID: "client", Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
			HTTPClient: &http.Client{Transport: transportFunc(func(req *http.Request) (*http.Response, error) {
				said := req.Header.Get("Authorization")
				if req.Body != nil {
					b, err := io.ReadAll(req.Body)
					if err != nil {
						return nil, err
					}
					said += string(b)
				}
				w := httptest.NewRecorder()
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"error":%q,"error_description":%q}`, codes[0], "refused: "+said)
				codes = append(codes[1:], codes[0])
				return w.Result(), nil
			})},
		}
		for _, store := range []oauth.Store{memory, file} {
			c.Store = store
			token := &oauth.Token{AccessToken: api.NewSecret(canaryAccess), RefreshToken: api.NewSecret(canaryRefresh), Expiry: time.Now().Add(time.Hour)}
			if err := oauth.Save(t.Context(), store, c, token); err != nil {
				t.Fatal(err)
			}
			source := oauth.TokenSource(store, c)
			type holder struct {
				Source *oauth.Source
				Config oauth.Config
				inner  any
				store  oauth.Store
				source *oauth.Source
				config oauth.Config
				ptr    *oauth.Config
			}
			show := func() {
				synctest.Wait() // fmt looks at a mutex without asking
				h := holder{source, c, source, store, source, c, &c}
				for _, v := range []any{
					store, &store, source, c, &c, h, &h,
					[]any{h},
					map[string]any{"h": h},
					file.Keys, &file, oauth.KeyFile(filepath.Join(dir, "key")), token, *token,
				} {
					printAll(t, &out, v)
				}
			}
			show()
			want(t, source, canaryAccess)
			show()
			if _, err := source.Refresh(t.Context(), api.Token{AccessToken: api.NewSecret(canaryAccess)}); err == nil {
				t.Error("refreshed")
			}
			show()
			for range 3 { // of either answer, and of the verdict
				_, err := source.Token(t.Context())
				if err == nil {
					t.Error("no error")
				}
				printAll(t, &out, err)
				for e := err; e != nil; e = errors.Unwrap(e) {
					printAll(t, &out, e)
				}
				if refusal, ok := errors.AsType[*api.Error](err); ok {
					printAll(t, &out, refusal)
					out.Write(refusal.Body)
				}
				show()
				time.Sleep(time.Minute)
			}
			printAll(t, &out, oauth.SignOut(t.Context(), store, c))
			show()
		}
		if !strings.Contains(out.String(), "invalid_grant") || !strings.Contains(out.String(), "oauth.Refresh") {
			t.Error("nothing was printed")
		}
		silent(t, out.String())
	})
}
