package shares_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// Rule 9 of CONTRIBUTING.md. The rules that File Shares have as well are tested in
// internal/contract.
func TestMissingSharesHaveOneError(t *testing.T) {
	t.Parallel()
	const never = `{"result":false,"error":{"code":10,"text":"It is not available."}`
	var said []string
	for _, answer := range []string{never + "}", never + `,"expired":true}`} {
		s := fastiotest.New()
		s.Fail(fastiotest.Fault{
			Op: "shares.GetPublic", Status: http.StatusNotFound, Body: answer, ContentType: "application/json",
		})
		_, err := s.Client(t).Shares.GetPublic(t.Context(), portal)
		if !errors.Is(err, api.ErrNotFound) {
			t.Fatalf("%s: %v", answer, err)
		}
		said = append(said, err.Error())
	}
	if said[0] != said[1] {
		t.Errorf("they differ: %q", said)
	}
}
