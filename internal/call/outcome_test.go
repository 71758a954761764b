package call_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Only what the platform itself refuses, and what is rejected locally, fails for
// good.
func TestFinalIsTheRefusalOfThePlatform(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"a refusal in the envelope": {&api.Error{
			Status: 403, Code: 10545,
			Body: []byte(`{"result":false,"error":{"code":10545}}`),
		}, true},
		"the same with its status for a code": {&api.Error{
			Status: 405, Code: 405,
			Body: []byte(`{"result":"no","error":{"code":"405"}}`),
		}, true},
		"an envelope without an error": {&api.Error{Status: 404, Body: []byte(`{"result":false}`)}, true},
		"a refusal in Markdown":        {&api.Error{Status: 404, Code: 10753, Body: []byte("# Error")}, true},
		"a page":                       {&api.Error{Status: 403, Body: []byte("<html>")}, false},
		"nothing":                      {&api.Error{Status: 404}, false},
		"JSON of a gateway": {&api.Error{
			Status: 403, Text: "Forbidden",
			Body: []byte(`{"message":"Forbidden"}`),
		}, false},
		"JSON with the status for a code": {&api.Error{
			Status: 403, Code: 403,
			Body: []byte(`{"error":{"code":403}}`),
		}, false},
		"JSON with a word": {&api.Error{
			Op: "events.Get", Status: 404, Name: "Not Found",
			Body: []byte(`{"error":"Not Found"}`),
		}, false},
		"a word of OAuth":              {&api.Error{Op: "oauth.Refresh", Status: 400, Name: "invalid_grant"}, true},
		"a page at the token endpoint": {&api.Error{Op: "oauth.Refresh", Status: 401, Body: []byte("<html>")}, false},
		"a failure of the platform": {
			&api.Error{Status: 500, Code: 10001, Body: []byte(`{"result":false}`)},
			false,
		},
		"a rate limit": {
			&api.Error{Status: 429, Code: 10368, Body: []byte(`{"result":false}`)},
			false,
		},
		"an answer that cannot be decoded":     {&json.SemanticError{Err: errors.New("no time")}, false},
		"an answer that is not JSON":           {errors.New("invalid character"), false},
		"an argument that is rejected locally": {&api.InputError{Field: "limit"}, true},
	} {
		if got := call.Final(fmt.Errorf("poll: %w", tt.err)); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	if call.Final(nil) {
		t.Error("no error is final")
	}
}
