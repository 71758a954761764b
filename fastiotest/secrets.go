package fastiotest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// secrets masks what nobody should find in a file. What it masked once, by the
// name it stood under, it masks from then on wherever the same text stands.
type secrets struct {
	known    map[string]string // what to write instead
	replacer *strings.Replacer // nil when known has changed
}

func newSecrets() *secrets { return &secrets{known: map[string]string{}} }

const shortestSecret = 8 // shorter ones would mask half an answer

// mask is what stands for a secret everywhere else, too.
func mask() string { return api.NewSecret("x").String() }

func (s *secrets) add(secret string) {
	if len(secret) >= shortestSecret && secret != mask() {
		s.replace(secret, mask())
	}
}

func (s *secrets) replace(old, with string) {
	if _, known := s.known[old]; !known {
		s.known[old] = with
		s.replacer = nil
	}
}

// header takes note of the credentials a header carries.
func (s *secrets) header(h http.Header) {
	for name, values := range h {
		if !transport.SecretHeader(name) {
			continue
		}
		for _, v := range values {
			s.add(v)
			_, credential, _ := strings.Cut(v, " ")
			s.add(credential)
			r := http.Request{Header: http.Header{"Authorization": {v}}}
			_, password, _ := r.BasicAuth()
			s.add(password)
			for pair := range strings.SplitSeq(v, ";") { // of a cookie
				_, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				s.add(value)
			}
		}
	}
}

// path takes note of the segments that were masked.
func (s *secrets) path(full, masked string) {
	if full == masked {
		return
	}
	s.replace(full, masked) // errors repeat it
	hidden := strings.Split(masked, "/")
	for i, segment := range strings.Split(full, "/") {
		if segment != hidden[i] {
			plain, _ := url.PathUnescape(segment)
			s.add(segment)
			s.add(plain)
		}
	}
}

// values masks a query or a form and returns its lines.
func (s *secrets) values(all url.Values) []string {
	out := url.Values{}
	for name, values := range transport.RedactValues(all) {
		for i, v := range values {
			if v != all[name][i] {
				s.add(all[name][i])
			}
			out.Add(s.text(name), s.text(v))
		}
	}
	return linesOf(out)
}

// json masks a JSON text.
func (s *secrets) json(body []byte) jsontext.Value {
	masked := transport.RedactJSON(body)
	var before, after any
	if json.Unmarshal(body, &before) == nil && json.Unmarshal(masked, &after) == nil {
		s.compare("", before, after)
	}
	var out bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(masked), lenient()), jsontext.NewEncoder(&out, lenient())
	for token, err := dec.ReadToken(); err == nil; token, err = dec.ReadToken() {
		if token.Kind() == '"' {
			token = jsontext.String(s.text(token.String()))
		}
		if err = enc.WriteToken(token); err != nil {
			break
		}
	}
	return bytes.TrimSpace(out.Bytes())
}

// compare takes note of the members that were masked. A code may be a word that
// occurs everywhere, so it is masked where it stands and nowhere else.
func (s *secrets) compare(name string, before, after any) {
	switch before := before.(type) {
	case map[string]any:
		if after, ok := after.(map[string]any); ok {
			for member, v := range before {
				s.compare(member, v, after[member])
			}
			return
		}
	case []any:
		if after, ok := after.([]any); ok && len(after) == len(before) {
			for i, v := range before {
				s.compare(name, v, after[i])
			}
			return
		}
	case string:
		if after != before && !strings.EqualFold(name, "code") {
			s.add(before)
		}
	}
}

// text masks every secret known so far.
func (s *secrets) text(t string) string {
	if len(s.known) == 0 {
		return t
	}
	if s.replacer == nil {
		s.replacer = strings.NewReplacer(s.pairs()...)
	}
	return s.replacer.Replace(t)
}

// pairs lists the secrets in every spelling, longest first, because one may be a
// part of another.
func (s *secrets) pairs() []string {
	var spellings [][2]string
	for secret, with := range s.known {
		for _, spelled := range []string{secret, quoted(secret), url.QueryEscape(secret), url.PathEscape(secret)} {
			spellings = append(spellings, [2]string{spelled, with})
		}
	}
	slices.SortFunc(spellings, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(len(b[0]), len(a[0])), cmp.Compare(a[0], b[0]))
	})
	pairs := make([]string, 0, 2*len(spellings))
	for _, p := range slices.Compact(spellings) {
		pairs = append(pairs, p[0], p[1])
	}
	return pairs
}

// quoted is how a text stands inside a JSON string.
func quoted(text string) string {
	b, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return text
	}
	return string(b[1 : len(b)-1])
}
