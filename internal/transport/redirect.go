package transport

import "net/http"

// entrance is the first step. It hides every method of the others but RoundTrip:
// retryablehttp empties the pool of idle connections after each failure, and
// cannot without a method to call.
type entrance struct{ next http.RoundTripper }

func newEntrance(next http.RoundTripper) http.RoundTripper { return entrance{next} }

// RoundTrip also deletes a Location that is no URL: the response then becomes an
// error like any other, where that of net/http repeats the Location. One that the
// call looks at by itself is made absolute: only here is it known what it is
// relative to.
func (s entrance) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Host = req.URL.Host // http.Client copies the URL of a request that has one
	resp, err := s.next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNoResponse
	case resp.StatusCode/100 != http.StatusMultipleChoices/100:
		return resp, nil
	}
	location := resp.Header.Get("Location")
	to, bad := req.URL.Parse(location)
	switch x := exchangeOf(req.Context()); {
	case bad != nil:
		resp.Header.Del("Location")
	case location != "" && x != nil && x.request.NoRedirect:
		resp.Header.Set("Location", to.String())
	}
	return resp, nil
}

// checkRedirect follows redirects within one origin, and only for requests that
// carry nothing: any other is returned as it is and becomes an error.
func checkRedirect(req *http.Request, via []*http.Request) error {
	const most = 10
	first := via[0]
	r := exchangeOf(first.Context()).request
	if len(via) >= most || first.Method != http.MethodGet || r.NoRedirect || !r.Password.IsZero() ||
		req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.URL.User != nil {
		return http.ErrUseLastResponse
	}
	return nil
}
