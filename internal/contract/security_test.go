package contract_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// The rules of this file are those of CONTRIBUTING.md. Rules of a single area
// are tested in that area.

const (
	home   = "https://api.fast.io"
	bearer = "b34r3r-0f-th3-4cc0unt"
	canary = "s3cr3t 0f th3 l1nk"
	signed = "d0wnl04d-t0k3n"

	// A response that each of these calls accepts.
	whole = `{"result":true,"session":{"id":"u","status":"stored"},"versions":[],"share":{"id":"5"},"auth_token":"t",` +
		`"invitation":{"id":"i"},"comment":{"id":"c"},"node":{"id":"n"},"nodes":[{"id":"n"}],"content":"",` +
		`"fileshare":{"fileshare":"6012345678901234567","file":{"id":"f","name":"q","version":"v"}},` +
		`"workspace":{"id":"4"},"files":[],"buckets":{},"metadata_filter":{},"filter":{"id":"c1"},"answer":"So.",` +
		`"turn":{"id":"y"},"token":"t"}`
)

// internet serves all hosts and records the requests.
type internet struct {
	answer func(r *http.Request, n int) answer // n counts from 1
	seen   []*http.Request
	bodies []string
}

func (w *internet) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	w.seen, w.bodies = append(w.seen, r.Clone(r.Context())), append(w.bodies, string(body))
	return w.answer(r, len(w.seen)).response(r), nil
}

// visited returns the addresses of the requests.
func (w *internet) visited() []string {
	var all []string
	for _, r := range w.seen {
		all = append(all, r.URL.Scheme+"://"+r.URL.Host)
	}
	return all
}

func reply(status int, body string, header ...string) answer {
	a := answer{status, http.Header{"Content-Type": {"application/json"}}, []byte(body)}
	for i := 0; i < len(header); i += 2 {
		a.header.Set(header[i], header[i+1])
	}
	return a
}

// always returns an internet that sends the same response to each request.
func always(status int, body string, header ...string) *internet {
	return &internet{answer: func(*http.Request, int) answer { return reply(status, body, header...) }}
}

// redirecting returns an internet that redirects the first request.
func redirecting(status int, location string) *internet {
	return &internet{answer: func(_ *http.Request, n int) answer {
		if n == 1 {
			return reply(status, `{"result":false,"error":{"text":"over there"}}`, "Location", location)
		}
		return reply(200, "bytes")
	}}
}

// clientOn returns a client with a token, and its log.
func clientOn(t *testing.T, w http.RoundTripper, opts ...fastio.Option) (*fastio.Client, *bytes.Buffer) {
	t.Helper()
	var logged bytes.Buffer
	c, err := fastio.New(append([]fastio.Option{
		fastio.WithBaseURL(home), fastio.WithHTTPClient(&http.Client{Transport: w}), fastio.WithToken(bearer),
		fastio.WithLogger(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		fastio.WithRetry(fastio.RetryPolicy{Attempts: 3, Base: time.Nanosecond, Cap: time.Nanosecond}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c, &logged
}

// A linkCall carries the password of a link, or another secret.
type linkCall struct {
	in string
	do func(ctx context.Context, c *fastio.Client, secret api.Secret) error
}

const (
	inPassword = "WithLinkPassword" // the option for a File Share, sent in the header
	inToken    = "WithLinkToken"    // the option for a share, sent in the same header
	inForm     = "form"             // a password that is to be set or exchanged
	elsewhere  = "key"              // the key of an invitation, or the token of a lock
	ofAccount  = "account"          // a password of the account, or a code or token from a mail
)

// openCalls returns the calls that accept an option for a link,
// by the kind of link. The part of a key after a space is not part of the method.
func openCalls() map[string]map[string]func(c call, o api.CallOption) (any, error) {
	upload := uploads.StartRequest{
		Target: uploads.Target{Profile: api.FileShare(loanID), File: deedFile},
		Name:   "q3.pdf",
		Size:   3,
	}
	empty := fileshares.ReplaceRequest{Content: strings.NewReader(""), Overwrite: true}
	loan, portal := comments.OnNode(api.FileShare(loanID), deedFile), api.Share(portalID)
	return map[string]map[string]func(c call, o api.CallOption) (any, error){
		inPassword: {
			"fileshares.Get":      func(c call, o api.CallOption) (any, error) { return c.FileShares.Get(c, loanID, o) },
			"fileshares.Metadata": func(c call, o api.CallOption) (any, error) { return c.FileShares.Metadata(c, loanID, o) },
			"fileshares.Download": func(c call, o api.CallOption) (any, error) {
				return content(c.FileShares.Download(c, loanID, nil, o))
			},
			"fileshares.DownloadTo": func(c call, o api.CallOption) (any, error) {
				return c.FileShares.DownloadTo(c, loanID, io.Discard, nil, o)
			},
			"fileshares.Preview": func(c call, o api.CallOption) (any, error) {
				return content(c.FileShares.Preview(c, loanID, storage.PreviewTypePDF, o))
			},
			"fileshares.Versions.List": func(c call, o api.CallOption) (any, error) {
				return c.FileShares.Versions.List(c, loanID, o)
			},
			"fileshares.Versions.Read": func(c call, o api.CallOption) (any, error) {
				return content(c.FileShares.Versions.Read(c, loanID, "v", nil, o))
			},
			"uploads.Start": func(c call, o api.CallOption) (any, error) { return c.Uploads.Start(c, upload, o) },
			"uploads.Put":   func(c call, o api.CallOption) (any, error) { return c.Uploads.Put(c, upload, []byte("abc"), o) },
			"uploads.Chunks.Send": func(c call, o api.CallOption) (any, error) {
				return nil, c.Uploads.Chunks.Send(c, "u", uploads.Chunk{Order: 1, Content: []byte("abc")}, o)
			},
			"uploads.Complete": func(c call, o api.CallOption) (any, error) { return nil, c.Uploads.Complete(c, "u", o) },
			"uploads.Get":      func(c call, o api.CallOption) (any, error) { return c.Uploads.Get(c, "u", o) },
			"uploads.Cancel":   func(c call, o api.CallOption) (any, error) { return nil, c.Uploads.Cancel(c, "u", o) },
			"fileshares.Replace": func(c call, o api.CallOption) (any, error) {
				return c.FileShares.Replace(c, loanID, empty, o)
			},
			"comments.List": func(c call, o api.CallOption) (any, error) { return c.Comments.List(c, loan, nil, o) },
			"comments.All": func(c call, o api.CallOption) (any, error) {
				return stub.All(c.Comments.All(c, loan, nil, o))
			},
			"comments.Create": func(c call, o api.CallOption) (any, error) {
				return c.Comments.Create(c, loan, comments.CreateRequest{Body: "Hi"}, o)
			},
		},
		inToken: {
			"shares.Get":       func(c call, o api.CallOption) (any, error) { return c.Shares.Get(c, portalID, o) },
			"shares.GetPublic": func(c call, o api.CallOption) (any, error) { return c.Shares.GetPublic(c, portalID, o) },
			"storage.List": func(c call, o api.CallOption) (any, error) {
				return c.Storage.List(c, portal, api.Root, nil, o)
			},
			"storage.Get": func(c call, o api.CallOption) (any, error) { return c.Storage.Get(c, portal, "n", o) },
			"storage.GetMany": func(c call, o api.CallOption) (any, error) {
				return c.Storage.GetMany(c, portal, []api.OpaqueID{"n"}, o)
			},
			"storage.Recent": func(c call, o api.CallOption) (any, error) { return c.Storage.Recent(c, portal, nil, o) },
			"storage.Notes.Get": func(c call, o api.CallOption) (any, error) {
				return c.Storage.Notes.Get(c, portal, "n", "", o)
			},

			"storage.Downloads.Token": func(c call, o api.CallOption) (any, error) {
				return c.Storage.Downloads.Token(c, portal, "n", "", o)
			},
			"storage.Downloads.Read": func(c call, o api.CallOption) (any, error) {
				return content(c.Storage.Downloads.Read(c, portal, "n", nil, o))
			},
			"storage.Texts.Get": func(c call, o api.CallOption) (any, error) {
				return c.Storage.Texts.Get(c, portal, "n", nil, o)
			},
			"storage.Previews.Authorize": func(c call, o api.CallOption) (any, error) {
				return c.Storage.Previews.Authorize(c, portal, "n", storage.PreviewTypePDF, o)
			},
			"storage.Transforms.Token": func(c call, o api.CallOption) (any, error) {
				return c.Storage.Transforms.Token(c, portal, "n", o)
			},
			"storage.Versions.List": func(c call, o api.CallOption) (any, error) {
				return c.Storage.Versions.List(c, portal, "n", o)
			},
		},
	}
}

func linkCalls() map[string]linkCall {
	type sends func(c call, p api.Secret) (any, error)
	all := map[string]linkCall{
		"a request by hand": {inPassword, func(ctx context.Context, c *fastio.Client, p api.Secret) error {
			return c.Call(ctx, &api.Request{
				Op: "fileshares.Seen", Method: http.MethodGet, Link: api.LinkTakesPassword,
				Path: api.Path("/current/fileshare/{id}/seen/", loanID),
			}, nil, api.WithLinkPassword(p))
		}},
	}
	add := func(in, name string, send sends) {
		all[name] = linkCall{in, func(ctx context.Context, c *fastio.Client, p api.Secret) error {
			_, err := send(call{ctx, c, new(world)}, p)
			return err
		}}
	}
	for in, calls := range openCalls() {
		for name, do := range calls {
			add(in, name, func(c call, p api.Secret) (any, error) { return do(c, opening(in, p)) })
		}
	}
	for name, send := range map[string]sends{
		"fileshares.Create": func(c call, p api.Secret) (any, error) {
			return c.FileShares.Create(c, workspaceID, fileshares.CreateRequest{NodeID: deedFile, Password: p})
		},
		"fileshares.Update": func(c call, p api.Secret) (any, error) {
			return c.FileShares.Update(c, loanID, fileshares.UpdateRequest{Password: api.Set(p)})
		},
		"shares.Create": func(c call, p api.Secret) (any, error) {
			r := shares.CreateRequest{Title: "Q4", Access: shares.AccessAnyone, Password: p}
			return c.Shares.Create(c, workspaceID, r)
		},
		"shares.Update": func(c call, p api.Secret) (any, error) {
			return nil, c.Shares.Update(c, portalID, shares.UpdateRequest{Password: api.Set(p)})
		},
		"shares.AuthPassword": func(c call, p api.Secret) (any, error) { return c.Shares.AuthPassword(c, portalID, p) },
	} {
		add(inForm, name, send)
	}
	for name, send := range map[string]sends{
		"members.JoinWithKey of a share": func(c call, key api.Secret) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Share(portalID), key, members.DecisionAccept)
		},
		"members.JoinWithKey of an organization": func(c call, key api.Secret) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Org(orgID), key, members.DecisionAccept)
		},
		"members.JoinWithKey of a workspace": func(c call, key api.Secret) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Workspace(workspaceID), key, members.DecisionDecline)
		},
		"orgs.Claim": func(c call, token api.Secret) (any, error) { return nil, c.Orgs.Claim(c, token) },
		"account.Invitations.GetByKey": func(c call, key api.Secret) (any, error) {
			return c.Account.Invitations.GetByKey(c, key)
		},
		"account.Invitations.List": func(c call, key api.Secret) (any, error) {
			return c.Account.Invitations.List(c, &account.InvitationListOptions{Key: key})
		},
		"account.Invitations.AcceptAll": func(c call, key api.Secret) (any, error) {
			return nil, c.Account.Invitations.AcceptAll(c, key)
		},
		"storage.Locks.Heartbeat": func(c call, token api.Secret) (any, error) {
			return nil, c.Storage.Locks.Heartbeat(c, api.Share(portalID), "n", token)
		},
		"storage.Locks.Release": func(c call, token api.Secret) (any, error) {
			return nil, c.Storage.Locks.Release(c, api.Share(portalID), "n", token)
		},
	} {
		add(elsewhere, name, send)
	}
	other := api.NewSecret("an0th3r s3cr3t")
	for name, send := range map[string]sends{
		"account.ChangePassword current": func(c call, p api.Secret) (any, error) {
			return nil, c.Account.ChangePassword(c, p, other)
		},
		"account.ChangePassword new": func(c call, p api.Secret) (any, error) {
			return nil, c.Account.ChangePassword(c, other, p)
		},
		"account.RequestEmailChange": func(c call, p api.Secret) (any, error) {
			return nil, c.Account.RequestEmailChange(c, "king@example.test", p)
		},
		"account.ConfirmEmailChange": func(c call, token api.Secret) (any, error) {
			return nil, c.Account.ConfirmEmailChange(c, token)
		},
		"account.PasswordReset.Check": func(c call, code api.Secret) (any, error) {
			return c.Account.PasswordReset.Check(c, code)
		},

		"account.PasswordReset.Complete code": func(c call, code api.Secret) (any, error) {
			return nil, c.Account.PasswordReset.Complete(c, code, other)
		},
		"account.PasswordReset.Complete new": func(c call, p api.Secret) (any, error) {
			return nil, c.Account.PasswordReset.Complete(c, other, p)
		},
	} {
		add(ofAccount, name, send)
	}
	return all
}

// opening returns the option of a kind.
func opening(in string, secret api.Secret) api.CallOption {
	if in == inToken {
		return api.WithLinkToken(&api.LinkToken{Secret: secret})
	}
	return api.WithLinkPassword(secret)
}

// sentIn returns the calls that send their secret in one of the places.
func sentIn(places ...string) map[string]linkCall {
	calls := linkCalls()
	for name, c := range calls {
		if !slices.Contains(places, c.in) {
			delete(calls, name)
		}
	}
	return calls
}

// holds reports whether a text contains a secret, in any encoding.
func holds(text, secret string) bool {
	hex := fmt.Sprintf("%x", secret)
	for _, s := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), hex, strings.ToUpper(hex)} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// printed returns all texts of an error that a program may print.
func printed(err error) string {
	var b strings.Builder
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(&b, "%v %+v %#v\n", err, err, err)
		if e, ok := errors.AsType[*api.Error](err); ok {
			fmt.Fprintln(&b, e.Text, e.Resource, string(e.Body), string(e.Details), e.Params)
		}
	}
	return b.String()
}

// Rule 1: the password of a link is in the header x-ve-password, a new password
// is in the form, and neither is in a URL, another header, a log or an error.
func TestPasswordIsInHeaderOrFormOnly(t *testing.T) {
	t.Parallel()
	const plain = `pässw0rd/?&=%"<☃`
	for name, call := range sentIn(inPassword, inToken, inForm) {
		for _, status := range []int{200, 401, 404, 500} {
			w := always(status, `{"result":false,"error":{"text":"no `+url.QueryEscape(plain)+`","code":10022}}`)
			if status == 200 {
				w = always(status, whole)
			}
			c, logged := clientOn(t, w)
			err := call.do(t.Context(), c, api.NewSecret(plain))
			if (err == nil) != (status == 200) || len(w.seen) == 0 || logged.Len() == 0 {
				t.Fatalf("%s, %d: it ends with %v", name, status, err)
			}
			for i, r := range w.seen {
				field := r.Header.Get("X-Ve-Password")
				r.Header.Del("X-Ve-Password")
				form, _ := url.ParseQuery(w.bodies[i])
				switch {
				case call.in == inForm && (field != "" || form.Get("password") != plain):
					t.Errorf("%s, %d: the secret is not in the form: %q, %q", name, status, field, w.bodies[i])
				case call.in != inForm && (field != plain || len(r.Header["Cookie"]) != 0 || holds(w.bodies[i], plain)):
					t.Errorf("%s, %d: the secret is not in the header: %q, %q", name, status, field, w.bodies[i])
				case holds(r.URL.String()+fmt.Sprint(r.Header), plain):
					t.Errorf("%s, %d: the secret is in %s or %v", name, status, r.URL, r.Header)
				}
			}
			if said := printed(err) + logged.String(); holds(said, plain) {
				t.Errorf("%s, %d: the secret is in the log or the error: %s", name, status, said)
			}
		}
	}
}

// Rule 2: an empty secret, and one that is invalid in a header, is rejected
// locally. The error names the option and not the value.
func TestPasswordInvalidInHeaderIsRejected(t *testing.T) {
	t.Parallel()
	for name, call := range sentIn(inPassword, inToken) {
		for _, bad := range []string{
			canary + "\r\nX: y", canary + "\x00", canary + "\n", canary + "\x7f", " " + canary, canary + " ", " ",
			"\t" + canary, canary + "\t", "",
		} {
			w := always(200, whole)
			c, _ := clientOn(t, w)
			err := call.do(t.Context(), c, api.NewSecret(bad))
			stub.Refused(t, map[string][]error{call.in: {err}}, canary)
			if len(w.seen) > 0 {
				t.Errorf("%s with %q: %d requests", name, bad, len(w.seen))
			}
		}
	}
}

// Rule 2: a secret is sent to its kind of link only. Every method is called
// with both kinds.
func TestLinkSecretsAreSentToTheirLinksOnly(t *testing.T) {
	t.Parallel()
	w, sent := always(200, whole), map[string]bool{}
	client, _ := clientOn(t, w)
	eachMethod(t, client, func(op string, rows []row, method reflect.Value) {
		if !method.Type().IsVariadic() {
			return
		}
		for _, in := range []string{inPassword, inToken} {
			for _, profile := range []api.Profile{api.Workspace(someID), api.Share(someID)} {
				args := arguments(method.Type(), reflect.ValueOf(t.Context()), someID)
				for i, arg := range args {
					if arg.Type() == reflect.TypeFor[api.Profile]() {
						args[i] = reflect.ValueOf(profile)
					}
				}
				w.seen = nil
				invoke(method, append(args, reflect.ValueOf(opening(in, api.NewSecret(canary))))...)
				for _, r := range w.seen {
					sent[op] = true
					protected := slices.ContainsFunc(rows, func(row row) bool {
						return strings.HasSuffix(row.auth, "+password") && row.matches(r) &&
							(in == inToken) == strings.HasPrefix(row.path, "/current/share/")
					})
					if !protected || r.Header.Get("X-Ve-Password") != canary {
						t.Errorf("%s with %s: %s %s with %v", op, in, r.Method, r.URL, r.Header)
					}
				}
			}
		}
	})
	if len(sent) < 12 {
		t.Errorf("calls of %d methods were sent", len(sent))
	}
}

// Rule 3: a redirect of a request with a password is not followed, even to the
// same host. It is an error after one request, with neither the address nor the
// secret. The same applies to all writes.
func TestRedirectsWithPasswordAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"https://evil.test/", home + ":8443/", "http://api.fast.io/", "https://me@api.fast.io/", "//evil.test/",
		"https://аpi.fast.io/", home + "/current/other/", "/current/other/", "../other/",
		"https://api.fast.io@evil.test/", "https://files.elsewhere.test/?token=" + signed,
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for name, call := range sentIn(inPassword, inToken, inForm, ofAccount) {
				if name == "fileshares.Preview" && status == 307 { // see rule 4
					continue
				}
				w := redirecting(status, location)
				c, _ := clientOn(t, w)
				err := call.do(t.Context(), c, api.NewSecret(canary))
				e, ok := errors.AsType[*api.Error](err)
				if !ok || e.Status != status || len(w.seen) != 1 {
					t.Errorf("%s, %d to %s: %v after requests to %s", name, status, location, err, w.visited())
				} else if said := err.Error(); holds(said, canary) || holds(said, signed) ||
					strings.Contains(said, "evil") || strings.Contains(said, "://") {
					t.Errorf("%s, %d to %s: the error holds a secret or an address: %v", name, status, location, err)
				}
			}
		}
	}
	w := redirecting(307, home+"/current/other/")
	c, _ := clientOn(t, w)
	target := uploads.Target{Profile: api.FileShare(loanID), File: deedFile}
	_, err := c.Uploads.Put(t.Context(), uploads.StartRequest{Target: target, Name: "n"}, []byte("x"))
	if len(w.seen) != 1 || err == nil {
		t.Errorf("a replacement without a password: %v at %s", err, w.visited())
	}
}

// previews returns the calls that follow a redirect. Only File Shares have a password.
func previews() map[string]func(c *fastio.Client, p api.Secret, opts ...api.CallOption) (any, error) {
	ctx := context.Background()
	return map[string]func(c *fastio.Client, p api.Secret, opts ...api.CallOption) (any, error){
		"fileshares.Preview": func(c *fastio.Client, p api.Secret, opts ...api.CallOption) (any, error) {
			if !p.IsZero() {
				opts = append(opts, api.WithLinkPassword(p))
			}
			return wholeText(c.FileShares.Preview(ctx, loanID, storage.PreviewTypeHLS, opts...))
		},
		"shares.QuickShares.Preview": func(c *fastio.Client, _ api.Secret, opts ...api.CallOption) (any, error) {
			return wholeText(c.Shares.QuickShares.Preview(ctx, "q1", storage.PreviewTypeHLS, opts...))
		},
		"storage.Previews.Read": func(c *fastio.Client, _ api.Secret, opts ...api.CallOption) (any, error) {
			const path = "/current/share/5/storage/2a/preview/hlsstream/read/t0k3n/file/playlist.m3u8"
			return wholeText(c.Storage.Previews.Read(ctx, &storage.PreviewAccess{Path: secret(path)}, "", opts...))
		},
	}
}

// Rule 4: a preview is the response, or follows one redirect with status 307.
// That request carries nothing of the call.
func TestPreviewFollowsOneRedirectWithoutCredentials(t *testing.T) {
	t.Parallel()
	for name, preview := range previews() {
		for _, location := range []string{
			"https://cdn.test/p.m3u8?download_token=" + signed, "https://cdn.test:8443/p", "//cdn.test/p",
			home + "/current/p", "/current/p?download_token=" + signed, "../file/", "?x=1",
		} {
			for _, password := range []api.Secret{{}, api.NewSecret(canary)} {
				w := redirecting(307, location)
				c, logged := clientOn(t, w)
				got, err := preview(c, password)
				if got != "bytes" || err != nil || len(w.seen) != 2 {
					t.Errorf("%s, %s: %q, %v at %s", name, location, got, err, w.visited())
					continue
				}
				first, hop := w.seen[0], w.seen[1]
				sent, token := first.Header.Get("X-Ve-Password"), first.Header.Get("Authorization")
				if name == "fileshares.Preview" && (sent != password.Reveal() || token != "Bearer "+bearer) {
					t.Errorf("%s, %s: first %s with %v", name, location, first.URL, first.Header)
				}
				want, _ := first.URL.Parse(location)
				if diff := cmp.Diff(http.Header{"Accept-Encoding": {"identity"}}, hop.Header); diff != "" ||
					hop.URL.String() != want.String() || hop.Method != http.MethodGet || w.bodies[1] != "" {
					t.Errorf("%s, %s: then %s (-want +got)\n%s", name, location, hop.URL, diff)
				}
				if strings.Contains(logged.String(), "cdn") || strings.Contains(logged.String(), signed) {
					t.Errorf("%s, %s: logged %s", name, location, logged)
				}
			}
		}
		w := always(200, "bytes")
		c, _ := clientOn(t, w)
		if got, err := preview(c, api.NewSecret(canary)); got != "bytes" || err != nil || len(w.seen) != 1 {
			t.Errorf("%s, without a redirect: %q, %v", name, got, err)
		}
	}
}

// Rule 4: any other redirect, a second one, and a redirect to an invalid address
// is an error with the status only. Rule 5: signed addresses are in no error.
func TestPreviewRejectsOtherRedirects(t *testing.T) {
	t.Parallel()
	const cdn = "https://cdn.test/?download_token=" + signed
	check := func(w *internet, status, requests int) {
		t.Helper()
		for name, preview := range previews() {
			w.seen = nil
			c, logged := clientOn(t, w)
			_, err := preview(c, api.NewSecret(canary))
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Status != status || len(w.seen) != requests || holds(printed(err)+logged.String(), signed) {
				t.Errorf("%s, %d: %v after requests to %s", name, status, err, w.visited())
			}
		}
	}
	for _, location := range []string{
		"", "ftp://cdn.test/", "javascript:alert(1)", "file:///etc/passwd", "data:text/plain,x",
		"https://me:pw@cdn.test/", "http://cdn.test/" + signed, "https:///" + signed, "https://[::1" + signed,
		"https://me:" + signed + "@cdn.test/",
	} {
		check(redirecting(307, location), 307, 1)
	}
	for _, status := range []int{301, 302, 303, 308} {
		check(redirecting(status, cdn), status, 1)
	}
	for _, status := range []int{201, 204, 206, 301, 302, 303, 307, 308, 401, 403, 404, 429, 500, 503} {
		for _, next := range []string{"https://evil.test/" + signed, "/" + signed, "http://cdn.test/", "//cdn.test/"} {
			check(&internet{answer: func(_ *http.Request, n int) answer {
				if n == 1 {
					return reply(307, "", "Location", cdn)
				}
				return reply(status, "you asked for ?download_token="+signed, "Location", next)
			}}, status, 2)
		}
	}
}

// A broken preview on another host is not requested again, and its address is
// not in the response of WithResponse. Rule 5: nor is it in an error, even one
// of net/http. The timeout of the call applies.
func TestFailedPreviewHidesItsAddress(t *testing.T) {
	t.Parallel()
	down := errors.New("dial cdn.test: no route to ?download_token=" + signed)
	for name, preview := range previews() {
		hops := 0
		var hop func(r *http.Request) (*http.Response, error)
		c, logged := clientOn(t, stub.Network(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "cdn.test" {
				return reply(307, "", "Location", "https://cdn.test/?download_token="+signed).response(r), nil
			}
			hops++
			return hop(r)
		}))
		hop = func(r *http.Request) (*http.Response, error) {
			resp := reply(200, "byt", "ETag", `"1"`).response(r)
			resp.ContentLength = 5
			return resp, nil
		}
		var raw api.Response
		got, err := preview(c, api.Secret{}, api.WithResponse(&raw))
		if got != "byt" || !errors.Is(err, io.ErrUnexpectedEOF) || hops != 1 {
			t.Errorf("%s: %q, %v after %d requests elsewhere", name, got, err, hops)
		}
		if raw.Status != 307 || holds(fmt.Sprintf("%+v", raw), signed) {
			t.Errorf("%s: the answer is %+v", name, raw)
		}
		hop = func(*http.Request) (*http.Response, error) { return nil, down }
		_, err = preview(c, api.NewSecret(canary))
		if !errors.Is(err, down) || holds(err.Error()+logged.String(), signed) || strings.Contains(err.Error(), "cdn") {
			t.Errorf("%s, host not reachable: %v", name, err)
		}
		hop = func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := preview(c, api.Secret{}, api.WithTimeout(7*time.Second))
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 7*time.Second ||
				err.Error() != "fastio: "+name+": context deadline exceeded" {
				t.Errorf("%v after %s", err, time.Since(start))
			}
		})
	}
}

// Rules 5 and 6: secrets of a request that the server repeats in a response are
// masked.
func TestRepeatedSecretsAreMasked(t *testing.T) {
	t.Parallel()
	for name, call := range linkCalls() {
		for _, status := range []int{200, 307, 401, 403, 404, 406, 500, 503} {
			w := &internet{answer: func(r *http.Request, _ int) answer {
				sent := r.Header.Get("Authorization")
				echo := `"` + strings.Join([]string{canary, sent, r.URL.String(), url.PathEscape(canary)}, " ") + `"`
				if status == http.StatusOK { // not the expected form
					return reply(status,
						`{"result":true,"share":`+echo+`,"invitation":7,"invitations":7,"auth_token":{},`+
							`"fileshare":`+echo+`,"versions":7,"session":`+echo+`}`)
				}
				return reply(status, `{"result":false,"error":{"code":1,"text":`+echo+`,"resource":`+echo+
					`,"x-ve-password":"`+canary+`"}}`)
			}}
			var hooks []string
			c, logged := clientOn(t, w, fastio.WithHooks(api.Hooks{OnRetry: func(_ context.Context, r api.RetryEvent) {
				hooks = append(hooks, fmt.Sprintf("%+v", r))
			}}))
			err := call.do(t.Context(), c, api.NewSecret(canary))
			if err == nil && status != http.StatusOK {
				t.Errorf("%s, %d: no error", name, status)
			}
			text := printed(err) + logged.String() + strings.Join(hooks, " ")
			if holds(text, canary) || holds(text, bearer) {
				t.Errorf("%s, %d: a secret is in %s", name, status, text)
			}
		}
	}
}

// Recorded files contain no secret of a request or response.
func TestSecretsAreNotRecorded(t *testing.T) {
	t.Parallel()
	calls := linkCalls()
	for op, do := range map[string]func(c call) (any, error){
		"account.SupportPIN":      func(c call) (any, error) { return c.Account.SupportPIN(c) },
		"orgs.Billing.ChangePlan": func(c call) (any, error) { return c.Orgs.Billing.ChangePlan(c, orgID, "growth") },
		"orgs.Billing.Details":    func(c call) (any, error) { return c.Orgs.Billing.Details(c, orgID) },
		"orgs.Billing.Invoices":   func(c call) (any, error) { return c.Orgs.Billing.Invoices(c, orgID, nil) },
	} {
		calls[op] = linkCall{"", func(ctx context.Context, c *fastio.Client, _ api.Secret) error {
			got, err := do(call{ctx, c, new(world)})
			if text := fmt.Sprintf("%+v %#v", got, got) + encode(got); holds(text, canary) {
				t.Errorf("the result of %s prints the secret: %s", op, text)
			}
			return err
		}}
	}
	echo := `"` + canary + ` or ` + url.PathEscape(canary) + `"`
	for name, call := range calls {
		for status, body := range map[int]string{
			200: strings.TrimSuffix(whole, "}") + `,"pin":` + echo + `,"setup_intent":{"client_secret":` + echo +
				`},"public_key":` + echo + `,"customer":{"intents":[{"client_secret":` + echo +
				`}]},"invoices":[{"id":"1","hosted_invoice_url":` + echo + `,"invoice_pdf":` + echo + `}]}`,
			406: `{"result":false,"error":{"code":1,"text":` + echo + `}}`,
		} {
			if call.in == "" && name != "account.SupportPIN" && status != http.StatusOK { // no secret to repeat
				continue
			}
			dir := t.TempDir()
			c, _ := clientOn(t, fastiotest.Record(dir, always(status, body)))
			_ = call.do(t.Context(), c, api.NewSecret(canary)) // its error is checked elsewhere
			files, err := os.ReadDir(dir)
			if err != nil || len(files) == 0 {
				t.Errorf("%s, %d: nothing was recorded: %v", name, status, err)
			}
			for _, f := range files {
				if text := readFile(t, filepath.Join(dir, f.Name())); holds(text, canary) || holds(text, bearer) {
					t.Errorf("%s, %d: a secret is in %s", name, status, text)
				}
			}
		}
	}
}

// A phone number is in neither errors nor logs nor recorded files.
func TestPhoneNumbersAreNotPrinted(t *testing.T) {
	t.Parallel()
	const number = "2079460000"
	for _, status := range []int{307, 406, 500} {
		dir := t.TempDir()
		w := &internet{answer: func(r *http.Request, _ int) answer {
			return reply(status, `{"result":false,"error":{"code":1,"resource":"GET `+r.URL.Path+`"}}`,
				"Location", r.URL.Path+"?x=1")
		}}
		c, logged := clientOn(t, fastiotest.Record(dir, w))
		_, err := c.Account.CheckPhone(t.Context(), "44", number)
		recorded := readFile(t, filepath.Join(dir, "account.CheckPhone.json"))
		if text := printed(err) + logged.String() + recorded; err == nil || strings.Contains(text, number) {
			t.Errorf("%d: %v: %s", status, err, text)
		}
	}
}

// Rule 6: a value with a secret prints without it, with every verb.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	secret := api.NewSecret(canary)
	set, token, password := api.Set(secret), &api.LinkToken{Secret: secret}, api.WithLinkPassword(secret)
	options := api.Resolve([]api.CallOption{api.WithLinkToken(token), password})
	link, invitation := &shares.Share{Title: "Q4", Password: secret}, &members.Invitation{ID: "i1", Key: secret}
	for _, v := range []any{
		&fileshares.CreateRequest{Password: secret}, &fileshares.UpdateRequest{Password: set}, token, &password, &options,
		&api.Request{Credential: secret}, &shares.CreateRequest{Password: secret}, &shares.UpdateRequest{Password: set},
		&account.InvitationListOptions{Key: secret}, link, invitation, &shares.Page{Shares: []*shares.Share{link}},
		&shares.Public{Share: link}, &members.Added{Invitation: invitation}, &account.Invitation{ID: "i1", Key: secret},
		&members.InvitationPage{Invitations: []*members.Invitation{invitation}}, &account.SignUpRequest{Password: secret},
		&storage.PreviewAccess{Token: secret, Path: secret}, &storage.DownloadOptions{Token: secret},
		&storage.Lock{Token: secret},
		&account.SupportPIN{PIN: secret, IdentityHash: secret, Extra: map[string]api.Secret{"other": secret}},
		&orgs.TransferToken{Token: secret}, &orgs.Org{EncryptionKey: secret},
		&orgs.TransferTokenPage{Tokens: []*orgs.TransferToken{{Token: secret}}},
		&account.SignedUp{Token: &api.Token{AccessToken: secret}},
		&orgs.Subscription{PublicKey: secret, SetupIntent: &orgs.SetupIntent{ClientSecret: secret}},
		&orgs.BillingDetails{PublicKey: secret, PaymentIntent: &orgs.SetupIntent{ClientSecret: secret}},
		&orgs.Invoice{HostedURL: secret, PDF: secret},
	} {
		var b bytes.Buffer
		for _, value := range []any{v, reflect.ValueOf(v).Elem().Interface(), []any{v}, struct{ V any }{v}} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
				fmt.Fprintf(&b, verb+"\n", value)
			}
			slog.New(slog.NewTextHandler(&b, nil)).Info("text", slog.Any("v", value))
			slog.New(slog.NewJSONHandler(&b, nil)).Info("json", slog.Any("v", value))
		}
		if holds(b.String(), canary) {
			t.Errorf("%T prints the secret: %s", v, b.String())
		}
	}
}

// tokenSource counts how often its token was rejected.
type tokenSource struct {
	err       error
	refreshed int
}

func (s *tokenSource) Token(context.Context) (api.Token, error) {
	return api.Token{AccessToken: api.NewSecret(bearer)}, s.err
}

func (s *tokenSource) Refresh(ctx context.Context, _ api.Token) (api.Token, error) {
	s.refreshed++
	return s.Token(ctx)
}

// Rule 9: the error of an invalid link does not refresh the token and is not
// that of a missing sign-in.
func TestInvalidLinkDoesNotRefreshToken(t *testing.T) {
	t.Parallel()
	for name, call := range sentIn(inPassword, inToken, inForm) {
		for _, code := range []string{"0", "10022", "199800", "144499", "183836"} {
			w := always(401, `{"result":false,"error":{"code":`+code+`,"text":"The password is missing or wrong."}}`)
			source := new(tokenSource)
			c, _ := clientOn(t, w, fastio.WithTokenSource(source))
			err := call.do(t.Context(), c, api.NewSecret(canary))
			forbidden := errors.Is(err, api.ErrForbidden) && !errors.Is(err, api.ErrUnauthenticated)
			if !forbidden && name != "shares.AuthPassword" || source.refreshed != 0 || len(w.seen) != 1 {
				t.Errorf("%s, code %s: %v, %d refreshes, %d requests", name, code, err, source.refreshed, len(w.seen))
			}
		}
	}
}

// Rule 10: if the token source fails, no request is sent without a token.
func TestFailedTokenSourceSendsNothing(t *testing.T) {
	t.Parallel()
	locked := errors.New("the keyring is locked")
	for name, call := range sentIn(inPassword, inToken) {
		w := always(200, whole)
		c, _ := clientOn(t, w, fastio.WithTokenSource(&tokenSource{err: locked}))
		if err := call.do(t.Context(), c, api.NewSecret(canary)); !errors.Is(err, locked) || len(w.seen) != 0 {
			t.Errorf("%s without the token: %v after %d requests", name, err, len(w.seen))
		}
		w = always(401, `{"result":false,"error":{"code":10011}}`)
		c, _ = clientOn(t, w)
		err := call.do(t.Context(), c, api.NewSecret(canary))
		if !errors.Is(err, api.ErrUnauthenticated) || len(w.seen) != 1 {
			t.Errorf("%s with an expired token: %v after %d requests", name, err, len(w.seen))
		}
	}
}

// Rule 12: an identifier stays in its path segment, and blank ones and dots are
// rejected. Every method is called with the same text for all identifiers.
func TestIdentifiersStayInTheirSegment(t *testing.T) {
	t.Parallel()
	w := always(200, whole)
	client, _ := clientOn(t, w)
	calls := 0
	eachMethod(t, client, func(op string, rows []row, method reflect.Value) {
		if !strings.Contains(rows[0].path, "{") || op == "account.AutoSyncPhoto" { // of a word, not an identifier
			return
		}
		for _, id := range []string{"../a b/ü?x=1#y%2F@", "", " ", ".", ".."} {
			w.seen = nil
			invoke(method, arguments(method.Type(), reflect.ValueOf(t.Context()), id)...)
			if len(w.seen) == 0 {
				continue
			}
			calls++
			sent := w.seen[0]
			if len(id) < 3 || !slices.ContainsFunc(rows, func(r row) bool { return r.matches(sent) }) {
				t.Errorf("%s of %q goes to %s", op, id, sent.URL.EscapedPath())
			}
		}
	})
	if calls < 100 {
		t.Errorf("%d calls were sent", calls)
	}
}

// A word that is a path of its own is not sent in place of an organization.
func TestReservedWordsAreNotOrganizations(t *testing.T) {
	t.Parallel()
	w := always(200, whole)
	client, _ := clientOn(t, w)
	sent := func(method reflect.Value, org string) bool {
		w.seen = nil
		args := arguments(method.Type(), reflect.ValueOf(t.Context()), org)
		for _, arg := range args {
			switch arg.Type() {
			case reflect.TypeFor[api.Profile]():
				arg.Set(reflect.ValueOf(api.Org(api.ID(org))))
			case reflect.TypeFor[api.Person]():
				arg.SetString(string(api.Me))
			}
		}
		invoke(method, args...)
		return len(w.seen) > 0
	}
	methods := 0
	eachMethod(t, client, func(op string, rows []row, method reflect.Value) {
		ofOrg := func(r row) bool { return strings.HasPrefix(r.path, "/current/org/{org_id}/") }
		if !slices.ContainsFunc(rows, ofOrg) || !sent(method, "acme") {
			return
		}
		methods++
		for _, word := range []string{"create", "transfer", "billing", "assets", "Billing"} {
			if sent(method, word) {
				t.Errorf("%s sends %s", op, word)
			}
		}
	})
	if methods < 25 {
		t.Errorf("%d methods were called", methods)
	}
	for _, word := range []string{"create", "assets"} {
		w.seen = nil
		if _, err := client.Assets.List(t.Context(), api.Org(api.ID(word))); err == nil || len(w.seen) > 0 {
			t.Errorf("the pictures of %s: %v", word, err)
		}
	}
}

// eachMethod calls f with every method of a client that has rows.
func eachMethod(t *testing.T, client *fastio.Client, f func(op string, rows []row, method reflect.Value)) {
	t.Helper()
	listed := map[string][]row{}
	for _, r := range rows(t) {
		for _, op := range r.methods() {
			listed[op] = append(listed[op], r)
		}
	}
	groups(client, func(name string, group reflect.Value) {
		area, _, _ := strings.Cut(name, ".")
		for m, method := range group.Methods() {
			op := strings.ToLower(area) + strings.TrimPrefix(name, area) + "." + m.Name
			if len(listed[op]) > 0 {
				f(op, listed[op], method)
			}
		}
	})
}

// invoke calls a method and closes its results.
func invoke(method reflect.Value, args ...reflect.Value) {
	if c, ok := reflect.TypeAssert[io.Closer](method.Call(args)[0]); ok && !isNil(reflect.ValueOf(c)) {
		_ = c.Close()
	}
}
