// Package redact masks secrets in logs, errors, dumps and fixtures.
package redact

import (
	"bytes"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Mask replaces a secret.
const Mask = "[redacted]"

// isSecret reports whether a member or parameter of this name is a secret.
func isSecret(name string) bool {
	switch strings.ToLower(name) {
	case "secret", "token", "auth_token", "access_token", "refresh_token", "registration_access_token",
		"signing_secret", "inbound_signing_key", "outbound_secret", "api_key", "apikey",
		"password", "password1", "password2", "current_password", "private_key", "public_key", "encryption_key",
		"client_secret", "client_info", "hosted_invoice_url", "invoice_pdf", "code", "code_verifier",
		"device_code", "user_code", "verification_uri_complete",
		"email_token", "lock_token", "source_url", "downloadtoken", "download_token", "invitation_key", "invite_url",
		"binding_uri", "pin", "identity_hash",
		"x-ve-password", "authorization", "cookie", "set-cookie":
		return true
	}
	return false
}

// isSecretParam is isSecret for a query or form, with the state of a sign-in.
func isSecretParam(name string) bool { return isSecret(name) || strings.EqualFold(name, "state") }

// isSecretMember is isSecret for JSON, with the redirect URI of a consent, which
// contains the code.
func isSecretMember(name string) bool {
	return isSecret(name) || strings.EqualFold(name, "redirect_uri")
}

// Header reports whether a header contains a credential.
func Header(name string) bool {
	return isSecret(name) || strings.EqualFold(name, "Proxy-Authorization")
}

// JSON masks the secrets in a JSON object or list, at any depth. A truncated
// text is completed. In any other text only paths are masked.
func JSON(b []byte) []byte { return new(Words).JSON(b) }

// Path masks the one-time codes, keys and phone numbers in the paths of some
// endpoints, also within a text.
func Path(path string) string {
	if !strings.Contains(path, "/") {
		return path
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if !isCode(segments[:i], segment) {
			continue
		}
		end := strings.IndexAny(segment, " \t\r\n\"'`<>?#")
		if end < 0 {
			end = len(segment)
		}
		if end > 0 {
			segments[i] = Mask + segment[end:]
		}
	}
	return strings.Join(segments, "/")
}

// isCode reports whether a segment of a path is a secret, such as a one-time
// code, by the segments before it.
func isCode(before []string, segment string) bool {
	if len(before) < 2 {
		return false
	}
	if n := len(before); n > 2 && before[n-1] == "read" && before[n-3] == "preview" {
		return true // the token of a preview
	}
	switch strings.Join(before[len(before)-2:], "/") {
	case "user/password", "user/phone", "2factor/auth", "2factor/verify", "members/join", "user/invitation", "ai/share":
		return true
	case "auth/2factor":
		switch segment {
		case "sms", "totp", "whatsapp", "auth", "verify", "send": // a channel, or another endpoint
		default:
			return true
		}
	}
	return false
}

// Confidential reports whether the response to a path is a secret as a whole: the
// names of its members are not documented.
func Confidential(path string) bool { return strings.HasSuffix(path, "/user/pin/") }

// Cause returns the error that net/http wraps in a [url.Error], which prints the
// address with its query.
func Cause(err error) error {
	for {
		wrapped, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = wrapped.Err
	}
}

// Visible escapes control characters, line breaks, and characters that change the
// direction of a text.
func Visible(s string) string {
	q := strconv.QuoteToGraphic(s)
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(q[1 : len(q)-1])
}

// isNumber reports whether v is an integer other than 0, such as the code of an
// error, with or without quotes.
func isNumber[T ~string | ~[]byte](v T) bool {
	n, err := strconv.ParseInt(strings.TrimSpace(strings.Trim(string(v), `"`)), 10, 64)
	return err == nil && n != 0
}

// JSON masks a JSON text as the function [JSON] does, and the words in it. An object or list
// that was cut off is completed. Any other text is masked as text, also one that only begins
// with a quotation mark, which need not be JSON.
func (w *Words) JSON(b []byte) []byte {
	kind := jsontext.Value(b).Kind()
	isObjectOrList := kind == '{' || kind == '['
	isString := kind == '"' && jsontext.Value(b).IsValid()
	if !isObjectOrList && !isString {
		return []byte(w.Text(string(b)))
	}
	var out bytes.Buffer
	opts := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	dec, enc := jsontext.NewDecoder(bytes.NewReader(b), opts...), jsontext.NewEncoder(&out, opts...)
	const inError = false // the text as a whole is not an error object: see copyValue
	if w.copyValue(dec, enc, inError) != nil {
		complete(enc)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// complete closes all open objects and lists, after input that was cut off.
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

// copyValue copies the next JSON value with its secrets masked. InError is true inside of
// an error object, where a member "code" that is a number is the kind of the error, not a
// secret, and is shown.
func (w *Words) copyValue(dec *jsontext.Decoder, enc *jsontext.Encoder, inError bool) error {
	kind, err := w.copyToken(dec, enc)
	if err != nil || kind != '{' && kind != '[' {
		return err
	}
	for next := dec.PeekKind(); next != '}' && next != ']'; next = dec.PeekKind() {
		if kind == '{' {
			err = w.copyMember(dec, enc, inError)
		} else {
			err = w.copyValue(dec, enc, inError)
		}
		if err != nil {
			return err
		}
	}
	_, err = w.copyToken(dec, enc)
	return err
}

// copyToken copies the next token, with the words masked in a string. With w.All it
// masks every string and number.
func (w *Words) copyToken(dec *jsontext.Decoder, enc *jsontext.Encoder) (jsontext.Kind, error) {
	t, err := dec.ReadToken()
	if err != nil {
		return 0, err
	}
	kind := t.Kind()
	switch {
	case w.All && (kind == '"' || kind == '0'):
		t = jsontext.String(Mask)
	case kind == '"':
		t = jsontext.String(w.Text(t.String()))
	}
	return kind, enc.WriteToken(t)
}

// copyMember copies one member of an object. It masks the value if the name is that of a
// secret, but not null, and not a numeric code inside of an error.
func (w *Words) copyMember(dec *jsontext.Decoder, enc *jsontext.Encoder, inError bool) error {
	name, err := dec.ReadToken()
	if err != nil {
		return err
	}
	key := name.String()
	if err := enc.WriteToken(jsontext.String(w.Text(key))); err != nil {
		return err
	}
	if !isSecretMember(key) || dec.PeekKind() == 'n' {
		return w.copyValue(dec, enc, inError || strings.HasPrefix(key, "error"))
	}
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if inError && strings.EqualFold(key, "code") && isNumber(v) {
		return enc.WriteValue(v)
	}
	return enc.WriteToken(jsontext.String(Mask))
}
