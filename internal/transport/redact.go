package transport

import (
	"bytes"
	"net/url"
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
		"password", "password1", "password2", "current_password", "private_key", "public_key",
		"client_secret", "client_info", "hosted_invoice_url", "invoice_pdf", "code", "code_verifier",
		"email_token", "lock_token", "downloadtoken", "invitation_key", "invite_url", "binding_uri",
		"x-ve-password", "authorization", "cookie", "set-cookie":
		return true
	}
	return false
}

// SecretHeader reports whether a header carries a credential.
func SecretHeader(name string) bool {
	return secretKey(name) || strings.EqualFold(name, "Proxy-Authorization")
}

// RedactJSON masks the secrets in a JSON text, however deep. Of a text that
// breaks off it returns what comes before; one that is not JSON comes back as
// it is.
func RedactJSON(b []byte) []byte {
	var out bytes.Buffer
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	enc := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := redactValue(dec, enc); err != nil && out.Len() == 0 {
		return b
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func redactValue(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
	kind := dec.PeekKind()
	if kind != '{' && kind != '[' {
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		return enc.WriteValue(v)
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
			err = redactMember(dec, enc)
		} else {
			err = redactValue(dec, enc)
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

func redactMember(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
	name, err := dec.ReadToken()
	if err != nil {
		return err
	}
	key := name.String()
	if err := enc.WriteToken(jsontext.String(key)); err != nil {
		return err
	}
	if !secretKey(key) || dec.PeekKind() == 'n' {
		return redactValue(dec, enc)
	}
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if strings.EqualFold(key, "code") && number(v) != 0 {
		return enc.WriteValue(v) // of an error
	}
	return enc.WriteToken(jsontext.String(masked))
}

// RedactValues masks the secrets among query or form values.
func RedactValues(values url.Values) url.Values {
	out := url.Values{}
	for key, vs := range values {
		for _, v := range vs {
			if secretKey(key) || strings.EqualFold(key, "state") { // of a sign-in
				v = masked
			}
			out.Add(key, v)
		}
	}
	return out
}

// MaskPath hides the one-time codes and keys that some endpoints carry in
// their path.
func MaskPath(path string) string {
	segments := strings.Split(path, "/")
	for i := range segments {
		before := segments[:i]
		switch {
		case segments[i] == "":
		case follows(before, "user", "password"), follows(before, "2factor", "auth"), follows(before, "2factor", "verify"),
			follows(before, "members", "join"), follows(before, "ai", "share"):
			segments[i] = masked
		case follows(before, "auth", "2factor"):
			switch segments[i] {
			case "sms", "totp", "whatsapp", "auth", "verify", "send":
			default:
				segments[i] = masked
			}
		}
	}
	return strings.Join(segments, "/")
}

func follows(segments []string, a, b string) bool {
	n := len(segments)
	return n >= 2 && segments[n-2] == a && segments[n-1] == b
}
