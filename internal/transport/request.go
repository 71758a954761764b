package transport

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/endpoint"
)

const (
	headerAuthorization = "Authorization"
	headerPassword      = "X-Ve-Password"
)

// applyOptions checks the options against the request, and returns the query with the
// output parameter.
func applyOptions(r *api.Request, o *api.CallOptions) (url.Values, error) {
	if o.Err != nil {
		return nil, o.Err
	}
	for key, values := range o.Header {
		if err := checkHeader(r, key, values); err != nil {
			return nil, err
		}
	}
	err := cmp.Or(
		checkLink(r, "WithLinkPassword", o.Password, api.LinkTakesPassword),
		checkLink(r, "WithLinkToken", o.Token, api.LinkTakesToken),
	)
	if err != nil || len(o.Output) == 0 {
		return r.Query, err
	}
	return withOutput(r, o.Output)
}

// completeRequest returns a copy of a request that was made without an operation, as
// programs make them: with the operation of its endpoint, and with what the options
// WithQuery and WithReplay add. For a request with an operation it returns an error: these
// options must not be used with an operation, and without them accept does not call completeRequest.
func completeRequest(r *api.Request, o *api.CallOptions) (*api.Request, error) {
	if r.Op != "" {
		field := "WithQuery"
		if o.Replay != nil {
			field = "WithReplay"
		}
		return nil, &api.InputError{Op: r.Op, Field: field, Rule: "must be left out: the request has an operation"}
	}
	n := endpoint.Named(r)
	if o.Replay != nil {
		n.Replay = *o.Replay
	}
	if o.Query != nil {
		n.Query = maps.Clone(o.Query)
		for name, values := range r.Query {
			n.Query[name] = append(slices.Clip(values), n.Query[name]...)
		}
	}
	return n, nil
}

// linkSecret returns the secret for the link of a request.
func linkSecret(o *api.CallOptions) api.Secret { return cmp.Or(o.Password, o.Token) }

// checkLink returns an error for a password or token of a link (option is the name of
// its option) if the request does not take it, or if it cannot be the value of a
// header.
func checkLink(r *api.Request, option string, secret api.Secret, takes api.Link) error {
	text := secret.Reveal()
	switch {
	case text == "":
		return nil
	case r.Link != takes:
		return &api.InputError{Field: option, Rule: "must be left out: " + linkRule(r.Link)}
	case controlAt(text) != "":
		return &api.InputError{Field: option, Rule: "must not hold control characters", Got: controlAt(text)}
	case strings.Trim(text, " ") != text:
		return &api.InputError{Field: option, Rule: "must not begin or end with a blank, which HTTP removes from a header"}
	}
	return nil
}

// linkRule says which option a request takes for the secret of its link.
func linkRule(takes api.Link) string {
	switch takes {
	case api.LinkTakesToken:
		return "a share takes WithLinkToken, with the token of shares.AuthPassword"
	case api.LinkTakesPassword:
		return "a File Share takes WithLinkPassword"
	default:
		return "the request goes through no link that takes one"
	}
}

const fieldHeader = "WithHeader"

// checkHeader returns an error for a header that a caller must not set. The error
// does not contain its values.
func checkHeader(r *api.Request, key string, values []string) error {
	if !isToken(key) {
		const rule = "must have a name without blanks and separators"
		return &api.InputError{Field: fieldHeader, Rule: rule, Got: strconv.Quote(key)}
	}
	key = http.CanonicalHeaderKey(key)
	for _, v := range values {
		if at := controlAt(v); at != "" {
			return &api.InputError{Field: fieldHeader, Wire: key, Rule: "must not hold control characters", Got: at}
		}
	}
	switch key {
	case headerAuthorization, headerPassword, "Cookie", "Proxy-Authorization":
		return &api.InputError{Field: fieldHeader, Wire: key, Rule: "must not be set by hand: it is a credential"}
	case "Idempotency-Key", "X-Idempotency-Key":
		if r.Replay == api.ReplayOnce {
			const rule = "must not be set: net/http would repeat a call that must be sent once"
			return &api.InputError{Field: fieldHeader, Wire: key, Rule: rule}
		}
	}
	return nil
}

// isToken reports whether s is a token of RFC 9110, the syntax of methods and header
// names.
func isToken(s string) bool {
	isOther := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }
	return s != "" && !strings.ContainsFunc(s, isOther)
}

// controlAt returns the place of the first control character in s, which is invalid in
// a header, as text for an InputError; "" if there is none.
func controlAt(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
	if i < 0 {
		return ""
	}
	return "one at byte " + strconv.Itoa(i)
}

// withOutput returns the query with the output parameter, a comma-separated list
// without duplicates of which one member at most may be a level of detail. It returns an
// error for an endpoint of OAuth, and for one whose response is a file.
func withOutput(r *api.Request, output []api.Output) (url.Values, error) {
	for _, noRecord := range []string{"/oauth/", "/read/", "/download/"} {
		if strings.Contains(r.Path.Template(), noRecord) {
			return nil, &api.InputError{Field: "WithOutput", Wire: "output", Rule: "must be left out: the response is not a record"}
		}
	}
	words := make([]string, 0, len(output))
	levels := 0
	for _, v := range output {
		if slices.Contains(words, string(v)) {
			continue
		}
		if v == api.Terse || v == api.Standard || v == api.Full {
			levels++
		}
		words = append(words, string(v))
	}
	if levels > 1 {
		return nil, &api.InputError{Field: "WithOutput", Wire: "output", Rule: "must name one level", Got: strings.Join(words, ",")}
	}
	q := url.Values{}
	maps.Copy(q, r.Query)
	q.Set("output", strings.Join(words, ","))
	return q, nil
}

// unsigned returns a request without its credentials.
func unsigned(req *http.Request) *http.Request {
	plain := req.Clone(req.Context())
	plain.Header.Del(headerAuthorization)
	plain.Header.Del(headerPassword)
	return plain
}
