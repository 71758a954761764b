package oauth_test

import (
	"bytes"
	"context"
	"encoding/gob"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

const canary = "canary-0123456789"

// secretHolders are all that this package exports and that can hold a secret,
// each full of them.
func secretHolders(t *testing.T) []any {
	t.Helper()
	s := over(t, &answering{status: 400, body: `{"error":"invalid_grant","error_description":"refresh_token=` + canary + `","access_token":"` + canary + `"}`})
	_, refusal := s.Refresh(t.Context(), oauth.RefreshRequest{ClientID: clientID, RefreshToken: api.NewSecret(canary)})
	if _, ok := errors.AsType[*oauth.Error](refusal); !ok {
		t.Fatal(refusal)
	}
	return []any{
		oauth.PKCE{Verifier: api.NewSecret(canary), State: api.NewSecret(canary)},
		oauth.AuthorizationRequest{PKCE: oauth.PKCE{Verifier: api.NewSecret(canary), State: api.NewSecret(canary)}},
		oauth.CompletedAuthorization{RedirectURI: api.NewSecret(canary), Code: api.NewSecret(canary)},
		oauth.ExchangeRequest{Code: api.NewSecret(canary), CodeVerifier: api.NewSecret(canary)},
		oauth.RefreshRequest{RefreshToken: api.NewSecret(canary)},
		oauth.Token{AccessToken: api.NewSecret(canary), RefreshToken: api.NewSecret(canary)},
		oauth.Registration{AccessToken: api.NewSecret(canary)},
		oauth.Key{Secret: api.NewSecret(canary)},
		oauth.KeyRequest{Code: api.NewSecret(canary)},
		oauth.UpdateKeyRequest{Code: api.NewSecret(canary), AgentName: api.Set("a"), Expires: api.Null[time.Time]()},
		oauth.DeleteKeyOptions{Code: api.NewSecret(canary)},
		oauth.TwoFactorSetup{BindingURI: api.NewSecret(canary)},
		api.Token{AccessToken: api.NewSecret(canary)},
		oauth.FromOAuth2(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: canary, RefreshToken: canary})),
		oauth.ToOAuth2(t.Context(), api.StaticToken(api.NewSecret(canary))),
		s,
		refusal,
	}
}

// A secret shows nowhere but where it is turned into a string.
func TestNothingPrintsItsSecrets(t *testing.T) {
	t.Parallel()
	for _, v := range secretHolders(t) {
		t.Run(fmt.Sprintf("%T", v), func(t *testing.T) {
			t.Parallel()
			pointer := reflect.New(reflect.TypeOf(v))
			pointer.Elem().Set(reflect.ValueOf(v))
			type holder struct{ Held any }
			type hider struct{ held any } // fmt prints where it is
			var out bytes.Buffer
			for _, verb := range []string{"%v", "%+v", "%#v"} {
				fmt.Fprintf(&out, verb+"\n", hider{pointer.Interface()})
			}
			forms := []any{
				v, pointer.Interface(),
				[]any{v, pointer.Interface()},
				map[string]any{"a": v, "b": pointer.Interface()},
				holder{v},
				holder{pointer.Interface()},
				&holder{pointer.Interface()}, fmt.Errorf("wrapped: %v", v),
			}
			if reflect.ValueOf(v).Comparable() {
				forms = append(forms, map[any]int{v: 1})
			}
			for _, form := range forms {
				for verb := 'A'; verb <= 'z'; verb++ {
					for _, flags := range []string{"", "+", "#", "20", ".3"} {
						fmt.Fprintf(&out, "%"+flags+string(verb)+"\n", form)
					}
				}
				fmt.Fprintln(&out, form)
				_ = gob.NewEncoder(&out).Encode(form) // which may refuse it
				for _, marshal := range []func(any) ([]byte, error){
					stdjson.Marshal, func(v any) ([]byte, error) { return json.Marshal(v) },
				} {
					if b, err := marshal(form); err == nil { // a source is a function, which no encoder takes
						out.Write(b)
					}
				}
				for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
					slog.New(h).Error("log", slog.Any("v", form), slog.Group("g", slog.Any("v", form)))
				}
			}
			for _, shown := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%d", []byte(canary)), canary[:8]} {
				if at := strings.Index(out.String(), shown); at >= 0 {
					t.Errorf("it shows: %s", out.String()[max(0, at-80):at+len(shown)])
				}
			}
		})
	}
}

// No type of the package that can hold a secret is missing above.
func TestEverySecretHolderIsTried(t *testing.T) {
	t.Parallel()
	tried := map[reflect.Type]bool{}
	for _, v := range secretHolders(t) {
		tried[reflect.TypeOf(v)] = true
	}
	var visit func(of reflect.Type)
	visit = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || of.PkgPath() != reflect.TypeFor[oauth.Token]().PkgPath() {
			return
		}
		for field := range of.Fields() {
			if field.Type == reflect.TypeFor[api.Secret]() && !tried[of] {
				t.Errorf("%s.%s is not tried", of, field.Name)
			}
			visit(field.Type)
		}
	}
	for _, service := range []reflect.Type{
		reflect.TypeFor[*oauth.Service](), reflect.TypeFor[*oauth.Sessions](), reflect.TypeFor[*oauth.Keys](), reflect.TypeFor[*oauth.TwoFactor](),
	} {
		for method := range service.Methods() {
			for in := range method.Type.Ins() {
				if in != service {
					visit(in)
				}
			}
			for out := range method.Type.Outs() {
				visit(out)
			}
		}
	}
}

// What goes wrong on the road is told without the secrets that were under way,
// also if the server repeats them.
func TestFailuresTellNoSecret(t *testing.T) {
	t.Parallel()
	const limited, code = "limited-" + canary, "12345678" // a code as long as any
	calls := map[string]func(ctx context.Context, s *oauth.Service) error{
		"Complete": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.TwoFactor.Complete(ctx, api.NewSecret(limited), api.NewSecret(code)))
		},
		"VerifySetup": func(ctx context.Context, s *oauth.Service) error {
			return s.TwoFactor.VerifySetup(ctx, api.NewSecret(code))
		},
		"Disable": func(ctx context.Context, s *oauth.Service) error {
			return s.TwoFactor.Disable(ctx, api.NewSecret(code))
		},
		"Send": func(ctx context.Context, s *oauth.Service) error {
			return s.TwoFactor.Send(ctx, api.NewSecret(limited), oauth.ChannelSMS)
		},
		"SignIn": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.SignIn(ctx, "ada@example.test", api.NewSecret(canary)))
		},
		"Keys.Create": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.Keys.Create(ctx, oauth.KeyRequest{Code: api.NewSecret(code)}))
		},
		"Keys.Delete": func(ctx context.Context, s *oauth.Service) error {
			return s.Keys.Delete(ctx, "k", &oauth.DeleteKeyOptions{Code: api.NewSecret(code)})
		},
		"UpdateRegistration": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.UpdateRegistration(ctx, api.NewSecret(canary), oauth.UpdateRegistrationRequest{ClientID: "c", ClientName: "a"}))
		},
		"Refresh": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.Refresh(ctx, oauth.RefreshRequest{ClientID: "c", RefreshToken: api.NewSecret(canary)}))
		},
		"Revoke": func(ctx context.Context, s *oauth.Service) error { return s.Revoke(ctx, api.NewSecret(canary)) },
		"Exchange": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.Exchange(ctx, oauth.ExchangeRequest{ClientID: "c", RedirectURI: loopback, Code: api.NewSecret(canary), CodeVerifier: api.NewSecret(verifier)}))
		},
	}
	for name, call := range calls {
		for ending, network := range map[string]http.RoundTripper{
			"an echo":                echo{status: 406},
			"a bare echo":            echo{status: 400, bare: true},
			"an echo of success":     echo{status: 200},
			"a bare echo of success": echo{status: 200, bare: true},
			"a dead line":            deadLine{},
			"a wrong form":           &answering{body: `{"auth_token":{"a":"` + canary + `"},"access_token":["` + canary + `"],"id":["` + canary + `"]}`},
		} {
			t.Run(name+" and "+ending, func(t *testing.T) {
				t.Parallel()
				var log bytes.Buffer
				s := over(
					t, network, fastio.WithLogger(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
					fastio.WithRetry(fastio.Retry{Attempts: 1}),
				)
				err := call(t.Context(), s)
				text := fmt.Sprintf("%v %+v %#v %q", err, err, err, err) + log.String()
				if e, ok := errors.AsType[*api.Error](err); ok {
					text += string(e.Body) + fmt.Sprintf("%+v", *e)
				}
				for _, secret := range []string{canary, code, verifier, "YWRhQGV4YW1wbGUudGVzdDpjYW5hcnk"} {
					if at := strings.Index(text, secret); at >= 0 {
						t.Errorf("tells %s", text[max(0, at-80):at+len(secret)])
					}
				}
				if log.Len() == 0 {
					t.Error("nothing was logged")
				}
			})
		}
	}
}

// echo refuses by repeating all that it was sent.
type echo struct {
	status int
	bare   bool
}

func (e echo) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(b)
	}
	_, password, _ := r.BasicAuth()
	said := fmt.Sprint("You sent ", r.Method, " ", r.URL, " with ", r.Header["Authorization"], " and ", password, " and ", body)
	var answer any = map[string]any{
		"result": false, "error": map[string]any{"code": 10022, "text": said, "resource": r.Method + " " + r.URL.Path, "params": []any{map[string]any{"message": said}}},
	}
	if e.bare {
		answer = map[string]any{"error": "invalid_request", "error_description": said, "error_uri": "https://acme.test/?" + body}
	}
	b, err := stdjson.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return (&answering{status: e.status, body: string(b)}).RoundTrip(r)
}

// deadLine breaks under a request, as loudly as it can.
type deadLine struct{}

func (deadLine) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, errors.New("the line broke")
}
