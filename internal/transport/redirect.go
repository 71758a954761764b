package transport

import (
	"net/http"
	"net/url"
)

// fixLocation deletes a Location that is no URL: the response then becomes an error
// like any other, where that of net/http repeats the Location. One that the call
// looks at by itself is made absolute.
func (x *exchange) fixLocation(resp *http.Response, base *url.URL) {
	location := resp.Header.Get("Location")
	switch to, err := base.Parse(location); {
	case err != nil:
		resp.Header.Del("Location")
	case location != "" && x.request.NoRedirect:
		resp.Header.Set("Location", to.String())
	}
}

// checkRedirect follows redirects within one origin, and only for requests that
// carry nothing: any other is returned as it is and becomes an error.
func checkRedirect(req *http.Request, via []*http.Request) error {
	const most = 10
	first := via[0]
	r := exchangeOf(first.Context()).request
	if len(via) >= most || first.Method != http.MethodGet || r.NoRedirect || !linkSecret(r).IsZero() ||
		req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.URL.User != nil {
		return http.ErrUseLastResponse
	}
	return nil
}
