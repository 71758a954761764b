package control

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard decides which requests may use the control API.
type guard struct {
	off   bool
	token string   // "" means that none is required, as on a loopback address
	hosts []string // names of this machine, beside localhost
}

// problemf returns a Problem with a formatted message.
func problemf(status int, format string, args ...any) *Problem {
	return &Problem{status, fmt.Sprintf(format, args...)}
}

// refuseRequest returns the reason why a request may not use the control API, nil if it
// may.
func (g *guard) refuseRequest(r *http.Request) error {
	switch {
	case g.off:
		return problemf(http.StatusForbidden,
			"the control API is off, because this is not a loopback address: -control=TOKEN turns it on")
	case !g.isThisMachine(r.Host):
		return problemf(http.StatusForbidden, "the host %q is not this machine: -allow-host adds a name", hostname(r.Host))
	case !fromHere(r):
		return problemf(http.StatusForbidden, "a page of another origin may not use the control API")
	case !g.authorized(r):
		return problemf(http.StatusUnauthorized, "the token of -control is required: Authorization: Bearer TOKEN")
	}
	return nil
}

// isThisMachine reports whether a Host header names this machine: by an address, as
// localhost, or by a name that is allowed. A page of an attacker whose domain resolves to
// this machine (DNS rebinding) sends the name of that domain, which is not allowed.
func (g *guard) isThisMachine(host string) bool {
	name := strings.ToLower(hostname(host))
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	return slices.ContainsFunc(g.hosts, func(allowed string) bool { return strings.EqualFold(allowed, name) })
}

// hostname returns a host without its port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// fromHere reports whether a request comes from a page of this origin, from no page, or
// by a link to the inspector. Browsers that do not send Sec-Fetch-Site name the origin
// of a page in Origin.
func fromHere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
		origin := r.Header.Get("Origin")
		return origin == "" || origin == scheme(r)+"://"+r.Host
	}
	isLink := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return isLink && r.Method == http.MethodGet && r.URL.Path == Root
}

// scheme returns the scheme of the URL of a request.
func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// authorized reports whether a request has the token, as a bearer token or as the
// password that a browser asks for.
func (g *guard) authorized(r *http.Request) bool {
	isRequired := g.token != ""
	if !isRequired {
		return true
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if _, password, isBasic := r.BasicAuth(); isBasic {
		given = password
	} else if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(given), []byte(g.token)) == 1
}
