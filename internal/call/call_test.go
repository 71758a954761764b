package call_test

import (
	"errors"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type thing struct {
	Name  string   `json:"name"`
	Count int      `json:"count"`
	Tags  []string `json:"tags"`
	Inner *thing   `json:"inner"`
}

func request() *api.Request {
	return &api.Request{Op: "things.Get", Method: http.MethodGet, Path: api.Path("/current/things/")}
}

// The payload is found at every place where the platform puts it.
func TestOne(t *testing.T) {
	t.Parallel()
	full := thing{Name: "a", Count: 2, Tags: []string{"x"}, Inner: &thing{Name: "b"}}
	const members = `"name":"a","count":2,"tags":["x"],"inner":{"name":"b"}`
	type row struct {
		answer string
		want   thing
	}
	table.Each(t, map[string]row{
		"beside the envelope's members":      {`{"result":true,` + members + `}`, full},
		"before them":                        {`{` + members + `,"result":true}`, full},
		"without an envelope":                {`{` + members + `}`, full},
		"under response":                     {`{"result":"yes","response":{` + members + `}}`, full},
		"under response, before the verdict": {`{"response":{` + members + `},"result":1}`, full},
		"beside a response that is a word":   {`{"result":true,"response":"ok",` + members + `}`, full},
		"beside a response that is null":     {`{"result":true,"response":null,` + members + `}`, full},
		"beside a response that is a list":   {`{"result":true,"response":[1,{"name":"z"}],` + members + `}`, full},
		"partly here and partly there": {`{"result":true,"name":"a","count":2,"response":{"tags":["x"],` +
			`"inner":{"name":"b"}}}`, full},
		"among unknown members": {`{"result":true,"status":"ok","current_api_version":"1.0",` +
			`"new":{"deep":[]},` + members + `}`, full},
		"with a member twice":  {`{"result":true,"name":"z",` + members + `}`, full},
		"empty":                {`{"result":true}`, thing{}},
		"empty under response": {`{"result":true,"response":{}}`, thing{}},
	}, func(t *testing.T, test row) {
		got, err := call.Payload[thing](t.Context(), stub.Answer(test.answer), request(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&test.want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestOneWithName(t *testing.T) {
	t.Parallel()
	want := &thing{Name: "a", Count: 2}
	for _, answer := range []string{
		`{"result":true,"thing":{"name":"a","count":2}}`,
		`{"thing":{"name":"a","count":"2"},"result":"yes"}`,
		`{"result":1,"name":"z","things":[{"name":"z"}],"thing":{"name":"a","count":2,"new":{"thing":{"name":"z"}}}}`,
		`{"result":true,"response":{"thing":{"name":"a","count":2},"result":false}}`,
		`{"result":true,"response":{"thing":{"name":"a","count":"2"}}}`,
		`{"result":true,"response":[{"name":"z"}],"thing":{"name":"a","count":2}}`,
		`{"result":true,"response":"ok","thing":{"name":"a","count":2}}`,
		`{"result":true,"thing":null,"thing":{"name":"a","count":2}}`,
	} {
		got, err := call.One[thing](t.Context(), stub.Answer(answer), request(), "thing", nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", answer, err, diff)
		}
	}
	for _, answer := range []string{
		`{}`, `null`, `{"thing":null}`, `{"name":"a"}`, `{"response":{"response":{"thing":{}}}}`,
		`{"response":[{"name":"a"}]}`,
	} {
		got, err := call.One[thing](t.Context(), stub.Answer(answer), request(), "thing", nil)
		if got != nil || err == nil || err.Error() != "fastio: things.Get: the response holds no thing" {
			t.Errorf("%s: %v, %v", answer, got, err)
		}
	}
	for _, answer := range []string{
		`{"thing":"a"}`, `{"thing":[{}]}`, `{"response":{"thing":1}}`, `[{"thing":{}}]`, `"thing"`, `{"thing":{}`,
		`{"thing"}`,
	} {
		got, err := call.One[thing](t.Context(), stub.Answer(answer), request(), "thing", nil)
		if got != nil || err == nil {
			t.Errorf("%s: %v", answer, got)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string][]*thing{
		`{"result":true,"things":[{"name":"a"},null,{"name":"b"}]}`: {{Name: "a"}, {Name: "b"}},
		`{"response":{"things":[{"name":"a","count":"1"}]}}`:        {{Name: "a", Count: 1}},
		`{"result":true,"response":[{"name":"a"},null]}`:            {{Name: "a"}},
		`{"things":[{"name":"a"}],"response":[{"name":"z"}]}`:       {{Name: "a"}},
		`{"response":[{"name":"z"}],"things":[{"name":"a"}]}`:       {{Name: "a"}},
		`[{"name":"a"},{"name":"b","count":"1"}]`:                   {{Name: "a"}, {Name: "b", Count: 1}},
		`{"result":true}`: nil, `{"things":null}`: nil, `{"things":[]}`: {},
	} {
		got, err := call.List[*thing](t.Context(), stub.Answer(answer), request(), "things", nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", answer, err, diff)
		}
	}
	for _, answer := range []string{`{"things":{"a":1}}`, `{"things":"a"}`} {
		if got, err := call.List[*thing](t.Context(), stub.Answer(answer), request(), "things", nil); err == nil {
			t.Errorf("%s: %v", answer, got)
		}
	}
}

func TestInvalidPathIsRejected(t *testing.T) {
	t.Parallel()
	r, c := request(), stub.Answer(`{}`)
	r.Path = api.Path("/current/things/{id}/", " ")
	err := call.Do(t.Context(), c, r, nil)
	if e, ok := errors.AsType[*api.InputError](err); !ok || e.Op != "things.Get" || e.Field != "id" || len(c.Got) > 0 {
		t.Error(err)
	}
}

func TestResultsDoNotShareMemory(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{"result":true,"name":"a"}`)
	first, err := call.Payload[thing](t.Context(), c, request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Answer = `{"result":true,"count":7}`
	second, err := call.Payload[thing](t.Context(), c, request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.Name != "a" || first.Count != 0 || second.Name != "" || second.Count != 7 {
		t.Errorf("got %+v and %+v", first, second)
	}
}

func TestOptionsAndErrors(t *testing.T) {
	t.Parallel()
	opts := []api.CallOption{api.WithOutput(api.Terse), api.WithTimeout(time.Second)}
	want, broken := api.Resolve(opts), errors.New("broken")
	for name, way := range map[string]func(c api.Caller) (any, error){
		"One":  func(c api.Caller) (any, error) { return call.Payload[thing](t.Context(), c, request(), opts) },
		"List": func(c api.Caller) (any, error) { return call.List[*thing](t.Context(), c, request(), "a", opts) },
		"Do":   func(c api.Caller) (any, error) { return nil, call.Do(t.Context(), c, request(), opts) },
		"Text": func(c api.Caller) (any, error) { return call.Text(t.Context(), c, request(), opts) },
	} {
		c := stub.Fail(broken)
		got, err := way(c)
		if v := reflect.ValueOf(got); v.IsValid() && !v.IsZero() || !errors.Is(err, broken) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if diff := cmp.Diff(want, c.Options[0]); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	got, err := call.Text(t.Context(), stub.Answer(`"# Title\n"`), request(), nil)
	if err != nil || got != "# Title\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
