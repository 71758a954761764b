package oauth

import (
	"cmp"
	"errors"
	"html/template"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

const (
	challengeLen = 43 // base64url of a SHA-256
	verifierMin  = 43
	verifierMax  = 128
	nameMax      = 128 // code points
)

func checkVerifier(op string, v api.Secret) error {
	const rule = "must be 43 to 128 characters long"
	switch n := len(v.Reveal()); {
	case n < verifierMin || n > verifierMax:
		return &api.InputError{Op: op, Field: "code_verifier", Rule: rule, Got: strconv.Itoa(n)}
	case strings.ContainsFunc(v.Reveal(), func(r rune) bool { return !unreserved(r) }):
		return &api.InputError{Op: op, Field: "code_verifier", Rule: "must consist of letters, digits and -._~"}
	}
	return nil
}

func unreserved(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r)
}

func checkChallenge(op, c string) error {
	other := func(r rune) bool { return !unreserved(r) || r == '.' || r == '~' }
	if len(c) != challengeLen || strings.ContainsFunc(c, other) {
		return invalid(op, "code_challenge", "must be 43 characters of base64url", c)
	}
	return nil
}

func invalid(op, field, rule, got string) error {
	return &api.InputError{Op: op, Field: field, Rule: rule, Got: strconv.Quote(got)}
}

func joinScopes(op string, scopes []Scope) (string, error) {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		if s == "" || strings.ContainsAny(string(s), " \t\r\n") {
			return "", invalid(op, "scope", "must be words without blanks", string(s))
		}
		words[i] = string(s)
	}
	return strings.Join(words, " "), nil
}

func checkOneOf[T ~string](op, field, rule string, got T, allowed ...T) error {
	if slices.Contains(allowed, got) {
		return nil
	}
	return invalid(op, field, rule, string(got))
}

func checkAccessMode(op string, m AccessMode) error {
	return checkOneOf(op, "access_mode", "must be r, rw or rwa", m, "", AccessModeRead, AccessModeWrite, AccessModeAdmin)
}

// checkResource rejects a URL that is not a resource of RFC 8707.
func checkResource(op, resource string) error {
	if resource == "" {
		return nil
	}
	u, err := url.Parse(resource)
	if err != nil || !u.IsAbs() || u.Host == "" || u.Fragment != "" || strings.HasSuffix(resource, "#") || u.User != nil {
		return &api.InputError{Op: op, Field: "resource", Rule: "must be an absolute URL without a user and a fragment"}
	}
	return nil
}

func checkIssuer(op, issuer string) error {
	if issuer == "" {
		return nil
	}
	if u, err := url.Parse(issuer); err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return &api.InputError{Op: op, Field: "issuer", Rule: "must be a URL without a query and a fragment"}
	}
	return nil
}

func dots(segment string) bool { return segment == "." || segment == ".." }

// checkRedirectPath rejects paths that a browser might encode differently.
func checkRedirectPath(op, path string) error {
	plain := !strings.ContainsFunc(path, func(r rune) bool { return r != '/' && !unreserved(r) })
	if !strings.HasPrefix(path, "/") || !plain || slices.ContainsFunc(strings.Split(path, "/"), dots) {
		return invalid(op, "redirect_uri", "must have a path of letters, digits, -._~ and slashes", path)
	}
	return nil
}

func checkRedirectPort(op string, port int) error {
	if port < 0 || port > 0xffff {
		return &api.InputError{Op: op, Field: "redirect_port", Rule: "must be 0 to 65535", Got: strconv.Itoa(port)}
	}
	return nil
}

func checkOpenMode(op string, m OpenMode) error {
	const rule = "must be an OpenMode"
	return checkOneOf(op, "open_mode", rule, m, OpenModeAuto, OpenModePage, OpenModeDirect, OpenModeNone)
}

const pageMax = 256 << 10 // bytes

// parsePage parses a page of the program, and executes it once.
func parsePage(op, field, text string) (*template.Template, error) {
	if !utf8.ValidString(text) {
		return nil, &api.InputError{Op: op, Field: field, Rule: "must be UTF-8"}
	}
	if err := checkMost(op, field, len(text), pageMax, "256 KB"); err != nil {
		return nil, err
	}
	page, err := template.New(field).Parse(text)
	if err == nil {
		err = page.Execute(io.Discard, PageData{})
	}
	if err != nil {
		return nil, &api.InputError{Op: op, Field: field, Rule: "must be an html/template for a PageData: " + err.Error()}
	}
	return page, nil
}

// checkParameters rejects parameters that would replace one of the protocol, and
// repeated ones (RFC 6749, section 3.1).
func checkParameters(op string, all url.Values) error {
	const protocol = " client_id redirect_uri response_type response_mode response_format state code_challenge " +
		"code_challenge_method scope access_mode account_settings resource agent_name display_code request " +
		"request_uri client_secret client_assertion client_assertion_type grant_type code code_verifier device_code "
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return invalid(op, "parameters", "must have names without blanks", name)
		case strings.Contains(protocol, " "+name+" "):
			return invalid(op, "parameters", "must not be one of the protocol", name)
		case len(all[name]) != 1:
			return invalid(op, "parameters", "must have one value each", name)
		}
	}
	return nil
}

// checkMost rejects a length over a limit; words is the limit with its unit.
func checkMost(op, field string, n, limit int, words string) error {
	if n <= limit {
		return nil
	}
	return &api.InputError{Op: op, Field: field, Rule: "must be at most " + words + " long", Got: strconv.Itoa(n)}
}

func checkClientName(op, name string) error {
	return checkMost(op, "client_name", len(strings.TrimSpace(name)), nameMax, "128 bytes") // unlike other names
}

func checkDevice(op, name, kind string) error {
	return cmp.Or(checkName(op, "device_name", name), checkName(op, "device_type", kind))
}

func checkName(op, field, name string) error {
	return checkMost(op, field, utf8.RuneCountInString(name), nameMax, "128 characters")
}

// setLabel puts a name into an update, "" to clear it.
func setLabel(op string, form api.Form, field string, label api.Opt[string]) error {
	return checkName(op, field, setText(form, field, label))
}

// setText puts a text into an update, "" to clear it, and returns it.
func setText(form api.Form, field string, text api.Opt[string]) string {
	s, _ := text.Get()
	if !text.IsZero() {
		form[field] = []string{s}
	}
	return s
}

// setScopes puts scopes into a form unless they are nil. An empty list is rejected,
// because it would grant nothing.
func setScopes(op string, form api.Form, scopes []GrantedScope) error {
	if scopes == nil {
		return nil
	}
	if len(scopes) == 0 {
		return &api.InputError{Op: op, Field: "scopes", Rule: "must be nil or not empty"}
	}
	for _, g := range scopes {
		if _, err := ParseGrantedScope(g.join()); err != nil {
			if refused, ok := errors.AsType[*api.InputError](err); ok {
				refused.Op = op
			}
			return err
		}
	}
	packed, err := jsonv2.Marshal(scopes)
	form["scopes"] = []string{string(packed)}
	return err
}

// setCode puts a one-time code into a form unless it is blank.
func setCode(op string, form api.Form, code api.Secret) error {
	if code.IsZero() {
		return nil
	}
	plain, err := plainCode(op, code)
	form["token"] = []string{plain} // (assumed name)
	return err
}

type param struct{ name, value string }

// require puts parameters into a form, and rejects an empty one.
func require(op string, form map[string][]string, params ...param) error {
	for _, p := range params {
		if p.value == "" {
			return &api.InputError{Op: op, Field: p.name, Rule: "must be given"}
		}
		form[p.name] = []string{p.value}
	}
	return nil
}

// offer puts the parameters that are not empty into a form.
func offer(form map[string][]string, params ...param) {
	for _, p := range params {
		if p.value != "" {
			form[p.name] = []string{p.value}
		}
	}
}
