package check_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/orgs"
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

// An endpoint none of whose calls had a response was not reached.
func TestEndpointWithoutAResponseIsNotReached(t *testing.T) {
	t.Parallel()
	exchange := check.Exchange{Op: "account.Me", Method: http.MethodGet, Path: "/current/user/me/details/"}
	o := check.Compare([]check.Exchange{exchange}).Operations["GET "+exchange.Path]
	if o.Outcome != check.NotReached || o.Reason != "no response" {
		t.Errorf("outcome %q, reason %q, want not reached for lack of a response", o.Outcome, o.Reason)
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

// An unknown value of an enumeration is shown only if it is no part of any other text of the
// run: in any case, of a member of the same name elsewhere, or of a header.
func TestValuesThatAreInOtherTextsAreNotShown(t *testing.T) {
	t.Parallel()
	got := func(op, path, body string, out any) check.Exchange {
		return check.Exchange{Op: op, Method: http.MethodGet, Path: path, Status: http.StatusOK, Out: out, Body: []byte(body)}
	}
	nodes := func(kind string) []check.Exchange {
		const ofWorkspace = "/current/workspace/{workspace_id}/storage/"
		body := `{"result":true,"id":"n","type":"` + kind + `"}`
		return []check.Exchange{
			got("storage.Get", ofWorkspace+"{node_id}/details/", body, new(decode.Envelope[storage.Node])),
			got("storage.Notes.Get", ofWorkspace+"{node_id}/readnote/", body, new(decode.Envelope[storage.Node])),
		}
	}
	org := func(text string) check.Exchange {
		return got("orgs.Get", "/current/org/{org_id}/details/", `{"result":true,"org":`+text+`}`, &decode.Envelope[orgs.Org]{Member: "org"})
	}
	file := nodes("folder")[0]
	file.Header = http.Header{"Content-Disposition": {`attachment; filename="acme.pdf"`}}
	for name, c := range map[string]struct {
		kind  string
		other check.Exchange
		shown bool
	}{
		"no other text":          {"acme", org(`{"name":"Works"}`), true},
		"of the same operations": {"acme", nodes("acme")[0], true},
		"a part":                 {"acme", org(`{"name":"my acme works"}`), false},
		"in capitals":            {"acme", org(`{"name":"ACME Works"}`), false},
		"of the same member":     {"acme", org(`{"type":"acme"}`), false},
		"a key":                  {"acme", org(`{"Acme works":1}`), false},
		"a header":               {"acme", file, false},
		"the public documents": {
			"acme",
			check.Exchange{
				Op: "system.Docs", Method: http.MethodGet, Path: "/current/llms/", Status: http.StatusOK,
				Body: []byte("Of type acme."),
			},
			true,
		},
		"a text of others": {
			"acme",
			check.Exchange{
				Op: "ai.ReadExport", Method: http.MethodGet, Path: "/current/x/", Status: http.StatusOK,
				Body: []byte("Of type acme."),
			},
			false,
		},
	} {
		r := check.Compare(append(nodes(c.kind), c.other))
		if shown := slices.Contains(r.Words, c.kind); shown != c.shown {
			t.Errorf("%s: shown is %t, want %t", name, shown, c.shown)
		}
	}
}

// A header of a limit that is none of the platform's is listed among the words of the report.
func TestHeadersOfProxiesAreWords(t *testing.T) {
	t.Parallel()
	r := check.Compare([]check.Exchange{{
		Op: "system.Ping", Method: http.MethodGet, Path: "/current/ping/", Status: http.StatusOK, Body: []byte(`{"result":true}`),
		Header: http.Header{"X-Ve-Limit-Max": {"5"}, "X-Acme-Limit": {"1"}},
	}})
	if diff := cmp.Diff([]string{"X-Acme-Limit"}, r.Words); diff != "" {
		t.Errorf("the words (-want +got):\n%s", diff)
	}
}

// What is left of a limit before and after a call without the credential shows what the limit
// is counted by, unless other calls were counted too.
func TestLimitsAreCountedByCredentialOrAddress(t *testing.T) {
	t.Parallel()
	trial := func(before, after, attempts int) []check.Exchange {
		of := func(form check.Form, left int) check.Exchange {
			return check.Exchange{
				Op: "account.Me", Method: http.MethodGet, Path: "/current/user/me/details/", Form: form, Status: http.StatusOK,
				Attempts: attempts, Rate: api.RateLimit{Limit: 20, Remaining: left},
			}
		}
		return []check.Exchange{of(check.FormLimit, before), of(check.FormLimitOther, 0), of(check.FormLimit, after)}
	}
	for want, exchanges := range map[string][]check.Exchange{
		"credential": slices.Concat(trial(9, 8, 1), trial(7, 6, 1)),
		"address":    slices.Concat(trial(9, 7, 1), trial(6, 4, 1)),
		"unclear":    slices.Concat(trial(9, 8, 1), trial(7, 5, 1)),
		"not seen":   slices.Concat(trial(9, 8, 2), trial(7, 20, 1), trial(9, 3, 1)),
	} {
		if got := check.Compare(exchanges).Limits.CountedBy; got != want {
			t.Errorf("counted by %q, want %q", got, want)
		}
	}
}

// The rows of a page are those of its documented list, and not of a longer one beside it.
func TestPagesAreComparedByTheirRows(t *testing.T) {
	t.Parallel()
	const one, two = `{"id":"1"}`, `{"id":"2"}`
	const users = `[{"id":"7"},{"id":"8"},{"id":"9"}]`
	for name, c := range map[string]struct {
		path, page, next string
		out              any
		want             []check.Difference
	}{
		"a named list": {
			"/current/orgs/list/", `{"orgs":[` + one + `],"users":` + users + `}`, `{"orgs":[` + two + `],"users":` + users + `}`,
			&decode.Envelope[[]*orgs.Org]{Member: "orgs"}, nil,
		},
		"a field": {
			"/current/user/invitations/list/",
			`{"response":{"a_users":` + users + `,"invitations":[]}}`, `{"invitations":[` + one + `],"users":` + users + `}`,
			&decode.Envelope[account.InvitationPage]{}, nil,
		},
		"another name of a field": {
			"/current/org/{org_id}/transfer/token/list/",
			`{"tokens":[` + one + `],"users":` + users + `}`, `{"tokens":[` + one + `],"users":[]}`,
			&decode.Envelope[orgs.TransferTokenPage]{},
			[]check.Difference{
				{Kind: check.KindPaging, Form: check.FormNext, Want: "other rows", Got: "rows of the page before"},
			},
		},
		"an unknown name": {
			"/current/orgs/list/", `{"organizations":` + users + `}`, `{"organizations":[` + one + `]}`,
			&decode.Envelope[[]*orgs.Org]{Member: "orgs"},
			[]check.Difference{{Kind: check.KindPaging, Form: check.FormPage, Want: "at most 2 rows", Got: "more"}},
		},
	} {
		exchange := check.Exchange{Method: http.MethodGet, Path: c.path, Group: 1, Status: http.StatusOK, Out: c.out}
		first, second := exchange, exchange
		first.Form, first.Body = check.FormPage, []byte(c.page)
		second.Form, second.Body = check.FormNext, []byte(c.next)
		differences := check.Compare([]check.Exchange{first, second}).Operations["GET "+c.path].Differences
		differences = slices.DeleteFunc(differences, func(d check.Difference) bool { return d.Kind != check.KindPaging })
		if diff := cmp.Diff(c.want, differences, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Pages with too many rows, or the rows of the page before, are differences, and so is a
// member that full output lacks. A longer list of texts does not hide the rows.
func TestPagesAndLevelsAreCompared(t *testing.T) {
	t.Parallel()
	const path = "/current/orgs/list/"
	got := func(form check.Form, rows string) check.Exchange {
		return check.Exchange{
			Op: "orgs.List", Method: http.MethodGet, Path: path, Form: form, Group: 1, Status: http.StatusOK,
			Out:  &decode.Envelope[[]*orgs.Org]{Member: "orgs"},
			Body: []byte(`{"result":true,"status":["a","b","c","d"],"orgs":[` + rows + `]}`),
		}
	}
	const one, two, three = `{"id":"1","name":"a"}`, `{"id":"2","name":"b"}`, `{"id":"3","name":"c"}`
	for name, c := range map[string]struct {
		exchanges []check.Exchange
		want      []check.Difference
	}{
		"as believed": {[]check.Exchange{got(check.FormPage, one+","+two), got(check.FormNext, three)}, nil},
		"three rows": {
			[]check.Exchange{got(check.FormPage, one+","+two+","+three)},
			[]check.Difference{{Kind: check.KindPaging, Form: check.FormPage, Want: "at most 2 rows", Got: "more"}},
		},
		"the same rows": {
			[]check.Exchange{got(check.FormPage, one+","+two), got(check.FormNext, two)},
			[]check.Difference{
				{Kind: check.KindPaging, Form: check.FormNext, Want: "other rows", Got: "rows of the page before"},
			},
		},
		"more at a lower level": {
			[]check.Exchange{got(check.FormPlain, `{"id":"1"}`), got(check.FormTerse, one)},
			[]check.Difference{{
				Kind: check.KindLevel, Form: check.FormTerse, Type: "orgs.Org", Member: "name", Want: "at full output", Got: "none",
			}},
		},
	} {
		for range 20 { // the lists of a response are in no order: each time gives the same result
			if diff := cmp.Diff(c.want, check.Compare(c.exchanges).Operations["GET "+path].Differences); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}
