package check_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/storage"
)

// An object that the platform refuses in each form was not reached. One that it has in one
// form only is a difference.
func TestRefusedObjectsAreNotReached(t *testing.T) {
	t.Parallel()
	const path = "/current/workspace/{workspace_id}/storage/{node_id}/details/"
	with := func(group int, form check.Form, status int, body string) check.Exchange {
		return check.Exchange{
			Op: "storage.Get", Method: http.MethodGet, Path: path, Form: form, Group: group, Status: status,
			Out: new(storage.Node), Body: []byte(body),
		}
	}
	const (
		refused = `{"result":false,"error":{"code":10023,"text":"No."}}`
		several = `{"result":true,"format":"multi","nodes":[],"errors":[{"code":10023}]}`
	)
	exchanges := []check.Exchange{
		with(1, check.FormPlain, http.StatusNotAcceptable, refused),
		with(1, check.FormTerse, http.StatusNotAcceptable, refused),
		with(1, check.FormPlain, http.StatusNotFound, several),
	}
	o := check.Compare(exchanges).Operations["GET "+path]
	if o.Outcome != check.NotReached || o.Reason == "" || len(o.Differences) > 0 {
		t.Errorf("refused: %+v", o)
	}
	exchanges = append(exchanges,
		with(2, check.FormPlain, http.StatusOK, `{"result":true}`),
		with(2, check.FormTerse, http.StatusNotAcceptable, refused))
	o = check.Compare(exchanges).Operations["GET "+path]
	want := []check.Difference{{Kind: check.KindStatus, Form: check.FormTerse, Want: "200", Got: "406"}}
	if diff := cmp.Diff(want, o.Differences); diff != "" {
		t.Errorf("reached in one form (-want +got):\n%s", diff)
	}
}

// An object whose plain call is refused says nothing of a bad parameter: the platform refuses
// both for the same reason.
func TestRefusedObjectHasNoOtherStatusForABadParameter(t *testing.T) {
	t.Parallel()
	const path = "/current/share/{share_id}/storage/search/"
	called := func(form check.Form, status, group int) check.Exchange {
		return check.Exchange{
			Op: "search.Files", Method: "GET", Path: path, Form: form, Group: group, Status: status,
			Body: []byte(`{"result": false, "error": {"code": 139420, "text": "No."}}`),
		}
	}
	found := func(exchanges ...check.Exchange) int {
		return len(check.Compare(exchanges).Operations["GET "+path].Differences)
	}
	if n := found(called(check.FormPlain, 404, 1), called(check.FormBad, 404, 1)); n > 0 {
		t.Errorf("%d differences of an object that is refused", n)
	}
	if n := found(called(check.FormPlain, 404, 1), called(check.FormBad, 404, 2)); n != 1 {
		t.Errorf("%d differences of another object, want 1", n)
	}
}
