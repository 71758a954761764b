package main

import (
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

// platform is what requests say about the platform and about the credential.
type platform struct {
	mu       sync.Mutex
	inFlight map[*http.Request]time.Time // since the rate limits have admitted them
	down     bool                        // the latest request had no response of the platform
	accepted bool                        // the credential, at least once
	refused  int                         // status of the latest response, if it refuses the credential
	offset   time.Duration               // of the local clock from that of the platform
}

// observe is a middleware of the client that records which requests are running, and
// their responses. It leaves out long polls and sockets, which have no response for a
// long time.
func (p *platform) observe(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/activity/poll/") || r.Header.Get("Upgrade") != "" {
			return next.RoundTrip(r)
		}
		sent := false
		trace := &httptrace.ClientTrace{GetConn: func(string) { // called after the wait for the rate limit
			sent = true
			p.begin(r)
		}}
		resp, err := next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
		if sent {
			p.end(r, resp)
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// begin records that a request is sent now: no rate limit delays it any more.
func (p *platform) begin(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight == nil {
		p.inFlight = map[*http.Request]time.Time{}
	}
	p.inFlight[r] = time.Now()
}

// end records the response to a request, nil if none arrived: whether the platform is
// up, whether it accepts the credential, and its clock. Only a search of events, the request
// that the relay needs, shows that the credential is accepted.
func (p *platform) end(r *http.Request, resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.inFlight, r)
	if resp == nil {
		if r.Context().Err() == nil { // the request was not canceled
			p.down = true
		}
		return
	}
	status, isSearch := resp.StatusCode, strings.HasSuffix(r.URL.Path, "/events/search/")
	switch {
	case status >= http.StatusInternalServerError:
		p.down = true
	case isSearch && status < http.StatusMultipleChoices:
		isOfPlatform := strings.Contains(resp.Header.Get("Content-Type"), "json") // and not the page of another server
		p.down, p.refused = !isOfPlatform, 0
		p.accepted = p.accepted || isOfPlatform
	default:
		p.down = false
		if status == http.StatusUnauthorized || status == http.StatusForbidden {
			p.refused = status
		}
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		p.offset = time.Since(date)
	}
}

// platformState is the state of a platform at a time.
type platformState struct {
	up, accepted bool
	refused      int
	offset       time.Duration
}

// state returns the state. The platform is not up if the latest request had no
// response of the platform, or a request has been running for the time of patience.
func (p *platform) state(patience time.Duration) platformState {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := platformState{up: !p.down, accepted: p.accepted, refused: p.refused, offset: p.offset}
	for _, began := range p.inFlight {
		s.up = s.up && time.Since(began) < patience
	}
	return s
}
