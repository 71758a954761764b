package check

import (
	"net/http"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/internal/transport"
)

// A guard sends the requests of reviewed endpoints to one origin, and refuses all others.
// It is the transport of the program, below the client, so that nothing passes it:
// redirects to other hosts are refused too.
type guard struct {
	next    http.RoundTripper
	base    transport.Base
	allowed []Read
}

// Guard returns the transport of the program, which sends only requests of allowed
// endpoints. Address is that of the platform, as of fastio.WithBaseURL.
func Guard(next http.RoundTripper, address string, allowed []Read) (http.RoundTripper, error) {
	base, err := transport.ParseBase(address)
	if err != nil {
		return nil, err
	}
	return &guard{next, base, allowed}, nil
}

// RefusedError is the error of a request that the program must not send. It has no path,
// which may hold names.
type RefusedError struct{ Method, Reason string }

// Error returns the reason.
func (e *RefusedError) Error() string { return "this " + e.Method + " is never sent: " + e.Reason }

// RoundTrip sends a request of an allowed endpoint.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if reason := g.refusal(r); reason != "" {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, &RefusedError{r.Method, reason}
	}
	return g.next.RoundTrip(r)
}

// refusal returns why a request must not be sent, "" if it may. Both its path
// and the operation that it was made for must be in the reviewed list.
func (g *guard) refusal(r *http.Request) string {
	if r.URL.Scheme != g.base.Scheme || r.URL.Host != g.base.Host || r.Host != "" && r.Host != g.base.Host {
		return "it is for another host"
	}
	path, atRoot := r.URL.EscapedPath(), strings.HasPrefix(r.URL.Path, "/.well-known/")
	if rest, prefixed := strings.CutPrefix(path, g.base.Prefix); prefixed && !atRoot {
		path = rest
	}
	read, reviewed := findRead(g.allowed, r.Method, path)
	if !reviewed {
		return "its path is not in the reviewed list"
	}
	info, known := fastio.CallFromContext(r.Context())
	if _, reviewed := findRead(g.allowed, r.Method, info.Route); known && !reviewed {
		return "its operation is not in the reviewed list"
	}
	if r.ContentLength != 0 && read.Method == http.MethodGet {
		return "it has a body"
	}
	return ""
}
