package fastiotest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jarcoal/httpmock"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/internal/redact"
)

// Replay returns the options of a client whose responses are the files in dir, written
// by [Record] or by hand in the same format:
//
//	client, err := fastio.New(fastiotest.Replay(t, "testdata/app")...)
//
// A request gets the response of the fixture with the same method, path, query and
// body; the host, headers, the order of parameters and members, the values of secrets
// and the parameters of [IgnoreQuery] are ignored. Several responses to one request are
// returned in the order of their numbers, and then the last one again. A request
// without a fixture fails the test; an unused fixture does not.
//
// It uses no network, so it works inside [testing/synctest].
func Replay(tb testing.TB, dir string, o ...ReplayOption) []fastio.Option {
	tb.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	return ReplayFS(tb, root.FS(), o...)
}

// A ReplayOption changes how requests are matched to fixtures. The zero value changes
// nothing.
type ReplayOption struct{ ignored []string }

// IgnoreQuery ignores query parameters, such as created-min if it depends on the
// clock.
func IgnoreQuery(names ...string) ReplayOption {
	return ReplayOption{slices.Clone(names)}
}

// ReplayFS is [Replay] for the files in the root of a file system, such as an
// [embed.FS].
func ReplayFS(tb testing.TB, fixtures fs.FS, o ...ReplayOption) []fastio.Option {
	tb.Helper()
	ignored := map[string]bool{}
	for _, option := range o {
		for _, name := range option.ignored {
			ignored[url.QueryEscape(name)] = true // as in the stored query
		}
	}
	all, err := load(fixtures)
	if err != nil {
		tb.Fatal(err)
	}
	if len(all) == 0 {
		tb.Fatal("fastiotest: there is no fixture to replay")
	}
	return []fastio.Option{
		fastio.WithBaseURL(host), fastio.WithToken("replayed-token"),
		fastio.WithHTTPClient(&http.Client{Transport: replay(tb, all, ignored)}),
	}
}

// load reads the fixtures in the order in which they were recorded: by name, and those
// of one name by their number.
func load(fixtures fs.FS) ([]*fixture, error) {
	names, err := fs.Glob(fixtures, "*.json")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int {
		nameA, numberA := splitNumber(a)
		nameB, numberB := splitNumber(b)
		byNumber := cmp.Or(cmp.Compare(len(numberA), len(numberB)), strings.Compare(numberA, numberB)) // 10 is longer than 9
		return cmp.Or(strings.Compare(nameA, nameB), byNumber)
	})
	all := make([]*fixture, 0, len(names))
	for _, name := range names {
		b, err := fs.ReadFile(fixtures, name)
		if err != nil {
			return nil, err
		}
		f, err := parseFixture(name, b)
		if err != nil {
			return nil, fmt.Errorf("fastiotest: %s is not a fixture: %w", name, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// splitNumber splits the file name of a fixture: "events.Search" and "2" for
// "events.Search-2.json".
func splitNumber(file string) (name, number string) {
	name = strings.TrimSuffix(file, ".json")
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		if _, err := strconv.ParseUint(name[i+1:], 10, 32); err == nil {
			return name[:i], name[i+1:]
		}
	}
	return name, ""
}

// replay returns a transport that responds to each request with its fixtures,
// in order. A request without a fixture fails the test; parameters in ignored
// are not compared.
func replay(tb testing.TB, all []*fixture, ignored map[string]bool) *httpmock.MockTransport {
	tb.Helper()
	byRequest := map[string]*answers{}
	mock := httpmock.NewMockTransport()
	anyURL := regexp.MustCompile("")
	for _, f := range all {
		f.Request.ignoreQuery(ignored)
		key := f.Request.compareKey()
		if a := byRequest[key]; a != nil {
			a.fixtures = append(a.fixtures, f)
			continue
		}
		a := &answers{fixtures: []*fixture{f}}
		byRequest[key] = a
		pattern := f.Request.pattern() // a masked value in the fixture matches any value
		same := httpmock.NewMatcher(f.name, func(r *http.Request) bool {
			asked := incoming(r)
			asked.ignoreQuery(ignored)
			return pattern.MatchString(asked.compareKey())
		})
		mock.RegisterRegexpMatcherResponder(f.Request.Method, anyURL, same, a.respond)
	}
	missing := &unanswered{tb: tb, fixtures: all, reported: map[string]bool{}}
	tb.Cleanup(missing.end)
	mock.RegisterNoResponder(missing.respond)
	return mock
}

// incoming returns a request in the form in which a fixture stores it.
func incoming(r *http.Request) asked {
	s := new(redact.Words)
	s.AddHeader(r.Header)
	body, _ := readRequest(r) // an unreadable body matches no fixture
	return requestOf(r, body, s)
}

// answers are the responses of one request, in order.
type answers struct {
	mu       sync.Mutex
	fixtures []*fixture
	next     int
}

// respond returns the next recorded response, and at the end the last one again and again.
func (a *answers) respond(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.fixtures[a.next]
	a.next = min(a.next+1, len(a.fixtures)-1)
	return f.Response.response(r), nil
}

// response returns the recorded response to r.
func (a *answered) response(r *http.Request) *http.Response {
	body := a.Content.bytes()
	resp := &http.Response{
		Status: strconv.Itoa(a.Status) + " " + http.StatusText(a.Status), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
	for name, value := range a.Header {
		resp.Header.Set(name, value)
	}
	return resp
}

// unanswered fails the test for requests without a fixture, once each.
type unanswered struct {
	tb       testing.TB
	fixtures []*fixture

	mu       sync.Mutex
	reported map[string]bool
	ended    bool
}

// end records that the test has ended: respond must not report errors to it any more.
func (u *unanswered) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
}

// respond fails the test because no fixture answers a request: once for equal requests,
// and not after the test has ended.
func (u *unanswered) respond(r *http.Request) (*http.Response, error) {
	u.tb.Helper()
	asked := incoming(r)
	err := fmt.Errorf("fastiotest: no fixture answers %s; %s", asked.String(), u.closest(&asked))
	u.mu.Lock()
	defer u.mu.Unlock()
	if key := asked.compareKey(); !u.reported[key] && !u.ended {
		u.reported[key] = true
		u.tb.Error(err)
	}
	return nil, err
}

// closest describes the fixture that is most similar to a request.
func (u *unanswered) closest(a *asked) string {
	best := slices.MaxFunc(u.fixtures, func(x, y *fixture) int {
		return cmp.Compare(a.likeness(&x.Request), a.likeness(&y.Request))
	})
	if best.Request.String() == a.String() {
		return "that of " + best.name + " has another body"
	}
	return "the closest is " + best.name + " with " + best.Request.String()
}

// likeness returns how similar two requests are: a larger number is more
// similar. An equal segment at the start of the path counts 1000, an equal
// parameter 2, and an equal method 1. Each parameter of b counts -1, so that of two
// requests with the same equal parameters the one with fewer others is more similar.
func (a *asked) likeness(b *asked) int {
	n := 0
	if a.Method == b.Method {
		n++
	}
	theirs := strings.Split(b.Path, "/")
	for i, segment := range strings.Split(a.Path, "/") {
		if i >= len(theirs) || theirs[i] != segment {
			break
		}
		n += 1000
	}
	for _, parameter := range a.Query {
		if slices.Contains(b.Query, parameter) {
			n += 2
		}
	}
	return n - len(b.Query)
}
