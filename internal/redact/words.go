package redact

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Words are secrets to mask wherever they occur, also escaped, together with
// the values of secret names. The zero value has no words.
type Words struct {
	Cut   bool // the text is truncated and may end within a word
	All   bool // every text and number of JSON is a secret
	known []string
}

const shortest = 8 // shorter words would mask other text

// Add adds secrets, except for short ones, which may occur in other text.
func (w *Words) Add(secrets ...string) {
	for _, s := range secrets {
		if len(s) >= shortest && s != Mask && !slices.Contains(w.known, s) {
			w.known = append(w.known, s)
		}
	}
}

// AddHeader adds the credentials in a header: the value, the part after its scheme, the
// password of Basic authentication, and the values of cookies.
func (w *Words) AddHeader(h http.Header) {
	for name, values := range h {
		if !Header(name) {
			continue
		}
		for _, v := range values {
			_, credential, _ := strings.Cut(v, " ")
			r := http.Request{Header: http.Header{"Authorization": {v}}}
			_, password, _ := r.BasicAuth()
			w.Add(v, credential, password)
			if !strings.HasSuffix(strings.ToLower(name), "cookie") {
				continue
			}
			for pair := range strings.SplitSeq(v, ";") {
				_, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				w.Add(value)
			}
		}
	}
}

// AddPath adds the secrets that [Path] masks.
func (w *Words) AddPath(path string) {
	shown := strings.Split(Path(path), "/")
	for i, segment := range strings.Split(path, "/") {
		if segment != shown[i] {
			plain, _ := url.PathUnescape(segment)
			w.Add(segment, plain)
		}
	}
}

// AddValues adds the secrets among query or form values.
func (w *Words) AddValues(values url.Values) {
	for name, vs := range values {
		if isSecretParam(name) {
			w.Add(vs...)
		}
	}
}

// AddBody adds the secrets in the body of a request.
func (w *Words) AddBody(contentType string, content []byte) {
	switch {
	case isForm(contentType):
		if values, err := url.ParseQuery(string(content)); err == nil {
			w.AddValues(values)
		}
	case isJSON(contentType):
		w.addJSON(content, isSecretParam)
	}
}

// Searches reports whether AddBody finds secrets in a body of this type.
func Searches(contentType string) bool { return isForm(contentType) || isJSON(contentType) }

func isForm(contentType string) bool { return strings.Contains(contentType, "form-urlencoded") }
func isJSON(contentType string) bool { return strings.Contains(contentType, "json") }

// AddJSON adds the secrets in a JSON text, except for codes, which may be common
// words.
func (w *Words) AddJSON(content []byte) {
	w.addJSON(content, func(name string) bool { return isSecretMember(name) && !strings.EqualFold(name, "code") })
}

// addJSON adds the values of all members of a JSON text whose name is that of a
// secret. Text that is not JSON adds nothing.
func (w *Words) addJSON(content []byte, isSecretName func(name string) bool) {
	var v any
	if json.Unmarshal(content, &v) == nil {
		const allIsSecret = false // only members with a secret name are
		w.addValue(v, allIsSecret, isSecretName)
	}
}

// addValue adds the strings of a decoded JSON value: all of them if it is a secret, else
// those of members whose name is secret.
func (w *Words) addValue(v any, isSecret bool, isSecretName func(name string) bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			w.addValue(member, isSecret || isSecretName(name), isSecretName)
		}
	case []any:
		for _, row := range v {
			w.addValue(row, isSecret, isSecretName)
		}
	case string:
		if isSecret {
			w.Add(v)
		}
	}
}

// Values masks query or form values.
func (w *Words) Values(values url.Values) url.Values {
	out := url.Values{}
	for name, vs := range values {
		for _, v := range vs {
			if isSecretParam(name) {
				v = Mask
			}
			out.Add(w.Text(name), w.Text(v))
		}
	}
	return out
}

// Text masks the words, the values of secret names, and the secrets of [Path].
func (w *Words) Text(s string) string { return Path(mask(s, w.known, w.Cut)) }

// Error returns err, or an error with the masked text if the text of err contains a
// secret or is not printable.
func (w *Words) Error(err error) error {
	text := err.Error()
	if shown := Visible(w.Text(text)); shown != text {
		return errors.New(shown)
	}
	return err
}
