package call_test

import (
	"errors"
	"fmt"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestEveryFormOfResultIsDecoded(t *testing.T) {
	t.Parallel()
	for result, refused := range map[string]bool{
		`true`: false, `"yes"`: false, `"Yes"`: false, `"1"`: false, `1`: false, `-0.5`: false,
		`false`: true, `"no"`: true, `""`: true, `"0"`: true, `0`: true, `[]`: true,
	} {
		answer := []byte(`{"result":` + result + `,"response":{"name":"a"}}`)
		payload, unwrapped := decode.Unwrap(answer)
		decoded, err := new(decode.Envelope[thing]).Decode(answer)
		if string(payload) != `{"name":"a"}` || unwrapped != refused || decoded != refused || err != nil {
			t.Errorf("%s: %s, refused %t, %t: %v", result, payload, unwrapped, decoded, err)
		}
	}
	if err := call.Do(t.Context(), stub.Answer(`[]`), request(), nil); err != nil {
		t.Errorf("an empty list: %v", err)
	}
	if _, err := new(decode.Envelope[thing]).Decode([]byte(`{"new":1}`), jsonv2.RejectUnknownMembers(true)); err == nil {
		t.Error("an unknown member is not rejected")
	}
}

// Only errors of the platform itself and local rejections are final.
func TestFinal(t *testing.T) {
	t.Parallel()
	const final = true
	answer := func(status int, code int64, body string) *api.Error {
		return &api.Error{Status: status, Code: code, Body: []byte(body)}
	}
	gateway := answer(403, 0, `{"message":"Forbidden"}`)
	gateway.Text = "Forbidden"
	word := &api.Error{Op: "events.Get", Status: 404, Name: "Not Found", Body: []byte(`{"error":"Not Found"}`)}
	type row struct {
		err  error
		want bool
	}
	for name, tt := range map[string]row{
		"a refusal in the envelope":    {answer(403, 10545, `{"result":false,"error":{"code":10545}}`), final},
		"with its status for a code":   {answer(405, 405, `{"result":"no","error":{"code":"405"}}`), final},
		"an envelope without an error": {answer(404, 0, `{"result":false}`), final},
		"a refusal in Markdown":        {answer(404, 10753, "# Error"), final},
		"a word of OAuth":              {&api.Error{Op: "oauth.Refresh", Status: 400, Name: "invalid_grant"}, final},
		"an argument that is rejected": {&api.InputError{Field: "limit"}, final},

		"a page":                           {answer(403, 0, "<html>"), !final},
		"nothing":                          {answer(404, 0, ""), !final},
		"JSON of a gateway":                {gateway, !final},
		"JSON with the status for a code":  {answer(403, 403, `{"error":{"code":403}}`), !final},
		"JSON with a word":                 {word, !final},
		"a page at the token endpoint":     {&api.Error{Op: "oauth.Refresh", Status: 401, Body: []byte("<html>")}, !final},
		"a failure of the platform":        {answer(500, 10001, `{"result":false}`), !final},
		"a rate limit":                     {answer(429, 10368, `{"result":false}`), !final},
		"an answer that cannot be decoded": {&jsonv2.SemanticError{Err: errors.New("no time")}, !final},
		"an answer that is not JSON":       {errors.New("invalid character"), !final},
	} {
		if got := call.Final(fmt.Errorf("poll: %w", tt.err)); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	if call.Final(nil) {
		t.Error("no error is final")
	}
}
