package oauth

import (
	"cmp"
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
	"github.com/fastio-go/fastio/internal/input"
)

const (
	challengeLen = 43 // base64url of a SHA-256
	verifierMin  = 43
	verifierMax  = 128
	nameMax      = 128 // code points
)

// checkVerifier returns an error for a PKCE verifier that RFC 7636 does not
// allow.
func checkVerifier(args input.Args, v api.Secret) error {
	const rule = "must be 43 to 128 characters long"
	switch n := len(v.Reveal()); {
	case n < verifierMin || n > verifierMax:
		return args.Refuse("code_verifier", rule, strconv.Itoa(n))
	case strings.ContainsFunc(v.Reveal(), func(r rune) bool { return !unreserved(r) }):
		return args.Refuse("code_verifier", "must consist of letters, digits and -._~", "")
	}
	return nil
}

// unreserved reports whether a character needs no escape in a URL (RFC 3986).
func unreserved(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r)
}

// checkChallenge returns an error for a PKCE challenge that is not a SHA-256 sum
// in base64url.
func checkChallenge(args input.Args, c string) error {
	other := func(r rune) bool { return !unreserved(r) || r == '.' || r == '~' }
	if len(c) != challengeLen || strings.ContainsFunc(c, other) {
		return invalid(args, "PKCE.code_challenge", "must be 43 characters of base64url", c)
	}
	return nil
}

// invalid returns an error for a field that breaks a rule, with the quoted
// value.
func invalid(args input.Args, field, rule, got string) error {
	return args.Refuse(field, rule, strconv.Quote(got))
}

// joinScopes checks the scopes and returns them separated by blanks.
func joinScopes(args input.Args, scopes []Scope) (string, error) {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		if s == "" || strings.ContainsAny(string(s), " \t\r\n") {
			return "", invalid(args, input.At("scope", i), "must be a word without blanks", string(s))
		}
		words[i] = string(s)
	}
	return strings.Join(words, " "), nil
}

// checkOneOf returns an error with the rule if got is not one of the allowed
// values.
func checkOneOf[T ~string](args input.Args, field, rule string, got T, allowed ...T) error {
	if slices.Contains(allowed, got) {
		return nil
	}
	return invalid(args, field, rule, string(got))
}

func checkAccessMode(args input.Args, m AccessMode) error {
	return checkOneOf(args, "access_mode", "must be r, rw or rwa", m, "", AccessModeRead, AccessModeWrite, AccessModeAdmin)
}

// checkResource returns an error for a URL that RFC 8707 does not allow as a
// resource; "" is allowed.
func checkResource(args input.Args, resource string) error {
	if resource == "" {
		return nil
	}
	u, err := url.Parse(resource)
	if err != nil || !u.IsAbs() || u.Host == "" || u.Fragment != "" || strings.HasSuffix(resource, "#") || u.User != nil {
		return args.Refuse("resource", "must be an absolute URL without a user and a fragment", "")
	}
	return nil
}

// checkIssuer returns an error for an issuer that is not a URL, or has a query or
// fragment; "" is allowed.
func checkIssuer(args input.Args, issuer string) error {
	if issuer == "" {
		return nil
	}
	if u, err := url.Parse(issuer); err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return args.Refuse("Issuer", "must be a URL without a query and a fragment", "")
	}
	return nil
}

func isDots(segment string) bool { return segment == "." || segment == ".." }

// checkRedirectPath returns an error for a path that a browser might encode
// differently.
func checkRedirectPath(args input.Args, path string) error {
	plain := !strings.ContainsFunc(path, func(r rune) bool { return r != '/' && !unreserved(r) })
	if !strings.HasPrefix(path, "/") || !plain || slices.ContainsFunc(strings.Split(path, "/"), isDots) {
		return invalid(args, "RedirectPath", "must have a path of letters, digits, -._~ and slashes", path)
	}
	return nil
}

// checkRedirectPort returns an error for a number that is not a port; 0 means any
// port.
func checkRedirectPort(args input.Args, port int) error {
	if port < 0 || port > 0xffff {
		return args.Refuse("RedirectPort", "must be 0 to 65535", strconv.Itoa(port))
	}
	return nil
}

func checkOpenMode(args input.Args, m OpenMode) error {
	const rule = "must be an OpenMode"
	return checkOneOf(args, "OpenMode", rule, m, OpenModeAuto, OpenModePage, OpenModeDirect, OpenModeNone)
}

const pageMax = 256 << 10 // bytes

// parsePage parses a page that the program provides, and executes it once to
// find errors.
func parsePage(args input.Args, field, text string) (*template.Template, error) {
	if !utf8.ValidString(text) {
		return nil, args.Refuse(field, "must be UTF-8", "")
	}
	if err := checkLength(args, field, len(text), pageMax, "256 KB"); err != nil {
		return nil, err
	}
	page, err := template.New(field).Parse(text)
	if err == nil {
		err = page.Execute(io.Discard, PageData{})
	}
	if err != nil {
		return nil, args.Refuse(field, "must be an html/template for a PageData: "+err.Error(), "")
	}
	return page, nil
}

// checkParameters returns an error for parameters that would replace one of the
// protocol, and for repeated ones (RFC 6749, section 3.1).
func checkParameters(args input.Args, all url.Values) error {
	const protocol = " client_id redirect_uri response_type response_mode response_format state code_challenge " +
		"code_challenge_method scope access_mode account_settings resource agent_name display_code request " +
		"request_uri client_secret client_assertion client_assertion_type grant_type code code_verifier device_code "
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return invalid(args, "Parameters", "must have names without blanks", name)
		case strings.Contains(protocol, " "+name+" "):
			return invalid(args, "Parameters", "must not be one of the protocol", name)
		case len(all[name]) != 1:
			return invalid(args, "Parameters", "must have one value each", name)
		}
	}
	return nil
}

// checkLength returns an error if n is above a limit. Words is the limit with its unit,
// such as "64 KB".
func checkLength(args input.Args, field string, n, limit int, words string) error {
	if n <= limit {
		return nil
	}
	return args.Refuse(field, "must be at most "+words+" long", strconv.Itoa(n))
}

// checkClientName returns an error for a name of a program that is too long.
func checkClientName(args input.Args, name string) error {
	return checkLength(args, "client_name", len(strings.TrimSpace(name)), nameMax, "128 bytes") // unlike other names
}

// checkDevice returns an error for a name or a type of a device that is too
// long.
func checkDevice(args input.Args, name, kind string) error {
	return cmp.Or(checkName(args, "device_name", name), checkName(args, "device_type", kind))
}

func checkName(args input.Args, field, name string) error {
	return checkLength(args, field, utf8.RuneCountInString(name), nameMax, "128 characters")
}

// setLabel puts a name into an update, "" to clear it.
func setLabel(args input.Args, form api.Form, field string, label api.Opt[string]) error {
	return checkName(args, field, setText(form, field, label))
}

// setText sets a form field if text is set; "" and null clear it. It returns the
// text.
func setText(form api.Form, field string, text api.Opt[string]) string {
	s, _ := text.Get()
	if !text.IsZero() {
		form[field] = []string{s}
	}
	return s
}

// setScopes sets the form field for scopes; nil leaves it out. An empty list is
// rejected, because it would grant nothing.
func setScopes(args input.Args, form api.Form, scopes []GrantedScope) error {
	if scopes == nil {
		return nil
	}
	if len(scopes) == 0 {
		return args.Refuse("scopes", "must be nil or not empty", "")
	}
	for i, g := range scopes {
		if _, err := ParseGrantedScope(g.join()); err != nil {
			return args.Refuse(input.At("scopes", i), "must be entity:id:mode", g.join())
		}
	}
	packed, err := jsonv2.Marshal(scopes)
	form["scopes"] = []string{string(packed)}
	return err
}

// setCode sets the form field for a one-time code unless that is empty.
func setCode(args input.Args, form api.Form, code api.Secret) error {
	if code.IsZero() {
		return nil
	}
	plain, err := plainCode(args, code)
	form["token"] = []string{plain} // no document of the platform shows this name (assumed name)
	return err
}

type param struct{ name, value string }

// setRequired sets form fields, up to the first one without a value, for which it
// returns an error.
func setRequired(args input.Args, form map[string][]string, params ...param) error {
	for _, p := range params {
		if p.value == "" {
			return args.Refuse(p.name, "must be given", "")
		}
		form[p.name] = []string{p.value}
	}
	return nil
}

// setGiven sets the form fields that have a value, and leaves out the others.
func setGiven(form map[string][]string, params ...param) {
	for _, p := range params {
		if p.value != "" {
			form[p.name] = []string{p.value}
		}
	}
}
