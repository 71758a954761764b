package events

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

const (
	askAgain  = 10 * time.Minute // how old the latest Date may be
	clockSkew = 5 * time.Minute  // between the servers that write events and those that answer
)

// now returns the server's time by the Dates of pages, or of a ping if none came
// lately.
func (s *Service) now(ctx context.Context, o api.CallOptions) (time.Time, error) {
	if age, known := s.clock.Age(); !known || age >= askAgain {
		if err := s.ping(ctx, o); err != nil {
			return time.Time{}, err
		}
	}
	return s.clock.Earliest(), nil
}

// ping observes the Date of the cheapest call. A refusal has one as well.
func (s *Service) ping(ctx context.Context, o api.CallOptions) error {
	var a api.Response
	r := endpoint.SystemPing()
	r.Options = api.CallOptions{
		Response: &a, Header: o.Header, Timeout: o.Timeout, Attempts: o.Attempts, MaxWait: o.MaxWait,
	}
	err := call.Do(ctx, s.c, r, nil)
	if _, refused := errors.AsType[*api.Error](err); err != nil && !refused {
		return err
	}
	if a.Header.Get("Date") == "" { // the local clock has to do
		a.Header = http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	}
	s.clock.Observe(a.Header)
	return nil
}
