package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	masked         = "[redacted]"
	shortestSecret = 8 // shorter ones would mask half an answer
)

// secretKey reports whether a member or parameter of this name holds something
// nobody should read in a log, an error or a fixture.
func secretKey(name string) bool {
	switch strings.ToLower(name) {
	case "secret", "token", "auth_token", "access_token", "refresh_token", "registration_access_token",
		"signing_secret", "inbound_signing_key", "outbound_secret", "api_key", "apikey",
		"password", "password1", "password2", "current_password", "private_key", "public_key", "encryption_key",
		"client_secret", "client_info", "hosted_invoice_url", "invoice_pdf", "code", "code_verifier",
		"email_token", "lock_token", "downloadtoken", "download_token", "invitation_key", "invite_url", "binding_uri",
		"x-ve-password", "authorization", "cookie", "set-cookie":
		return true
	}
	return false
}

// secretParam is secretKey for a query or form, where a sign-in has its state.
func secretParam(name string) bool { return secretKey(name) || strings.EqualFold(name, "state") }

// secretMember is secretKey for JSON, where the end of a consent has an address
// that holds the code.
func secretMember(name string) bool {
	return secretKey(name) || strings.EqualFold(name, "redirect_uri")
}

// SecretHeader reports whether a header carries a credential.
func SecretHeader(name string) bool {
	return secretKey(name) || strings.EqualFold(name, "Proxy-Authorization")
}

// RedactJSON masks the secrets in a JSON object or list, however deep. Of a text
// that breaks off it returns what comes before, completed; one that is neither
// object nor list holds no names, so that only its paths are masked.
func RedactJSON(b []byte) []byte { return redactor{}.redact(b) }

// redactor masks what stands under the name of a secret, and words wherever they
// stand.
type redactor struct {
	words []string
	cut   bool // the text is longer than what is there
}

func (r redactor) redact(b []byte) []byte {
	switch kind := jsontext.Value(b).Kind(); {
	case kind == '{', kind == '[', kind == '"' && jsontext.Value(b).IsValid():
	default:
		return []byte(r.text(string(b)))
	}
	var out bytes.Buffer
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	enc := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if r.value(dec, enc, false) != nil {
		complete(enc)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// complete ends every object and list that is still open.
func complete(enc *jsontext.Encoder) {
	for depth := enc.StackDepth(); depth > 0; depth-- {
		end := jsontext.EndArray
		if kind, n := enc.StackIndex(depth); kind == '{' {
			end = jsontext.EndObject
			if n%2 != 0 { // a name without a value
				_ = enc.WriteToken(jsontext.Null)
			}
		}
		_ = enc.WriteToken(end)
	}
}

// text masks what [mask] does, and what a path in s must not show.
func (r redactor) text(s string) string { return MaskPath(mask(s, r.words, r.cut)) }

// failure returns err, a failure of the network or of reading an answer, or if it
// repeats a secret or what is not visible, its masked text.
func (r redactor) failure(err error) error {
	text := err.Error()
	if shown := Visible(r.text(text)); shown != text {
		return errors.New(shown)
	}
	return err
}

// value masks the value that comes next. In a fault, a code is not a secret.
func (r redactor) value(dec *jsontext.Decoder, enc *jsontext.Encoder, fault bool) error {
	kind := dec.PeekKind()
	if kind != '{' && kind != '[' {
		return r.scalar(dec, enc)
	}
	open, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if err := enc.WriteToken(open); err != nil {
		return err
	}
	for next := dec.PeekKind(); next != '}' && next != ']'; next = dec.PeekKind() {
		if kind == '{' {
			err = r.member(dec, enc, fault)
		} else {
			err = r.value(dec, enc, fault)
		}
		if err != nil {
			return err
		}
	}
	end, err := dec.ReadToken()
	if err != nil {
		return err
	}
	return enc.WriteToken(end)
}

func (r redactor) scalar(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
	if dec.PeekKind() != '"' {
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		return enc.WriteValue(v)
	}
	t, err := dec.ReadToken()
	if err != nil {
		return err
	}
	return enc.WriteToken(jsontext.String(r.text(t.String())))
}

func (r redactor) member(dec *jsontext.Decoder, enc *jsontext.Encoder, fault bool) error {
	name, err := dec.ReadToken()
	if err != nil {
		return err
	}
	key := name.String()
	if err := enc.WriteToken(jsontext.String(r.text(key))); err != nil {
		return err
	}
	if !secretMember(key) || dec.PeekKind() == 'n' {
		return r.value(dec, enc, fault || strings.HasPrefix(key, "error"))
	}
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if fault && strings.EqualFold(key, "code") && number(v) != 0 {
		return enc.WriteValue(v) // the one of a sign-in stands elsewhere
	}
	return enc.WriteToken(jsontext.String(masked))
}

// RedactValues masks the secrets among query or form values.
func RedactValues(values url.Values) url.Values {
	out := url.Values{}
	for key, vs := range values {
		for _, v := range vs {
			if secretParam(key) {
				v = masked
			}
			out.Add(key, v)
		}
	}
	return out
}

// MaskPath hides the one-time codes and keys that some endpoints carry in
// their path, also where the path stands in a text.
func MaskPath(path string) string {
	if !strings.Contains(path, "/") {
		return path
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if codeFollows(segments[:i], segment) {
			end := strings.IndexAny(segment, " \t\r\n\"'`<>?#")
			if end < 0 {
				end = len(segment)
			}
			if end > 0 {
				segments[i] = masked + segment[end:]
			}
		}
	}
	return strings.Join(segments, "/")
}

// codeFollows reports whether a segment after the ones before it is a secret.
func codeFollows(before []string, segment string) bool {
	switch {
	case follows(before, "user", "password"), follows(before, "2factor", "auth"), follows(before, "2factor", "verify"),
		follows(before, "members", "join"), follows(before, "user", "invitation"), follows(before, "ai", "share"):
		return true
	case follows(before, "auth", "2factor"):
		switch segment {
		case "sms", "totp", "whatsapp", "auth", "verify", "send":
		default:
			return true
		}
	}
	return false
}

func follows(segments []string, a, b string) bool {
	n := len(segments)
	return n >= 2 && segments[n-2] == a && segments[n-1] == b
}

// RedactEcho masks in a text of the server's what a form that was sent holds under
// the names of secrets.
func RedactEcho(text string, sent url.Values) string {
	return redactor{words: long(secretValues(nil, sent))}.text(text)
}

// redactor masks what an answer to the call must not reveal, should it repeat it:
// the credentials, and what the request holds under the name of a secret.
func (k *call) redactor() redactor {
	r := k.request
	found := []string{k.token.AccessToken.Reveal(), r.Password.Reveal(), r.Credential.Reveal()}
	found = append(found, afterSpace(r.Credential.Reveal()), basicPassword(r.Credential.Reveal()))
	found = secretValues(found, r.Query)
	path, _ := r.Path.Split()
	shown := strings.Split(MaskPath(path), "/")
	for i, segment := range strings.Split(path, "/") {
		if segment != shown[i] {
			found = append(found, segment)
		}
	}
	return redactor{words: long(k.bodySecrets(found))}
}

// long leaves out the words that would mask half an answer.
func long(words []string) []string {
	return slices.DeleteFunc(words, func(s string) bool { return len(s) < shortestSecret })
}

func (k *call) bodySecrets(found []string) []string {
	content, err := k.wire.BodyBytes()
	if err != nil || len(content) == 0 {
		return found
	}
	switch contentType := k.wire.Header.Get("Content-Type"); {
	case strings.Contains(contentType, "form-urlencoded"):
		if values, err := url.ParseQuery(string(content)); err == nil {
			found = secretValues(found, values)
		}
	case strings.Contains(contentType, "json"):
		var v any
		if json.Unmarshal(content, &v) == nil {
			found = secretsIn(v, false, found)
		}
	}
	return found
}

func secretValues(found []string, values url.Values) []string {
	for key, vs := range values {
		if secretParam(key) {
			found = append(found, vs...)
		}
	}
	return found
}

// secretsIn walks a decoded JSON value that may be a secret itself.
func secretsIn(v any, secret bool, found []string) []string {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			found = secretsIn(member, secret || secretParam(key), found)
		}
	case []any:
		for _, row := range v {
			found = secretsIn(row, secret, found)
		}
	case string:
		if secret {
			found = append(found, v)
		}
	}
	return found
}

// basicPassword returns the password of a Basic credential, "" of any other.
func basicPassword(credential string) string {
	r := http.Request{Header: http.Header{headerAuthorization: {credential}}}
	_, password, _ := r.BasicAuth()
	return password
}

func afterSpace(s string) string {
	_, s, _ = strings.Cut(s, " ")
	return s
}
