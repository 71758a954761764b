package transport

import (
	"errors"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Base is the address of the platform: an origin and the prefix before
// /current.
type Base struct {
	Scheme, Host string
	Prefix       string // "" or "/api", or the prefix of a proxy; no trailing slash
}

const root = "/current"

// ParseBase parses an address with or without a scheme, a trailing slash, /api or
// /current. The default scheme is https, for this machine http.
//
// On dedicated API hosts, whose first label is api, paths have no prefix; on any other
// host they start with /api. Another prefix, such as that of a proxy, is kept before
// it.
func ParseBase(address string) (Base, error) {
	address = strings.TrimSpace(address)
	if address == "" {
		return Base{}, errors.New("the address is empty")
	}
	hasScheme := strings.Contains(address, "://")
	if !hasScheme {
		address = "https://" + strings.TrimPrefix(address, "//")
	}
	u, err := url.Parse(address)
	if err != nil { // the error of url.Parse contains the address, which may have a password
		return Base{}, errors.New("the address is not a URL")
	}
	if err := checkAddress(u); err != nil {
		return Base{}, err
	}
	if !hasScheme && loopback(u.Hostname()) {
		u.Scheme = "http"
	}
	b := Base{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}
	b.Prefix, err = cleanPrefix(u.Path)
	if err != nil {
		return Base{}, err
	}
	const prefix = "/api"
	b.Prefix = trimSuffixFold(b.Prefix, root) // /current, which each path has
	withoutAPI := trimSuffixFold(b.Prefix, prefix)
	isAPIHost := strings.HasPrefix(strings.ToLower(u.Hostname())+".", "api.")
	switch {
	case !isAPIHost:
		b.Prefix = withoutAPI + prefix
	case withoutAPI == "": // the prefix was /api alone; a longer one, of a proxy, stays as it is
		b.Prefix = ""
	}
	return b, nil
}

// checkAddress returns an error for a URL that is more than a scheme, a host, and
// optionally a port and a path, or has no host.
func checkAddress(u *url.URL) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the scheme must be https or http")
	case u.Hostname() == "":
		return errors.New("the host is missing")
	case u.User != nil:
		return errors.New("the address must not hold a user or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the address must not hold a query or fragment")
	case strings.HasSuffix(u.Host, ":"):
		return errors.New("the port is missing")
	case u.RawPath != "":
		return errors.New("the path must not hold escaped slashes")
	}
	return nil
}

// cleanPrefix returns p with a single slash before each segment and none at its end. It
// refuses "." and "..", which would change the path.
func cleanPrefix(p string) (string, error) {
	if segments := strings.Split(p, "/"); slices.Contains(segments, ".") || slices.Contains(segments, "..") {
		return "", errors.New("the path must not hold dot segments")
	}
	return strings.TrimSuffix(path.Clean("/"+p), "/"), nil
}

// trimSuffixFold returns s without a suffix, whose letter case is ignored.
func trimSuffixFold(s, suffix string) string {
	if at := len(s) - len(suffix); at >= 0 && strings.EqualFold(s[at:], suffix) {
		return s[:at]
	}
	return s
}

// ParsePrefix parses the prefix that paths have before /current, whatever the host is; ""
// means none.
func ParsePrefix(prefix string) (string, error) {
	if strings.ContainsAny(prefix, "?#%") {
		return "", errors.New("the prefix must be a plain path")
	}
	return cleanPrefix(prefix)
}

// loopback reports whether a host is this machine: a loopback address, localhost, or a
// name below localhost. Names are not resolved.
func loopback(host string) bool {
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}

// Exposed reports whether others can read what is sent: over http to another machine.
func (b Base) Exposed() bool {
	return b.Scheme == "http" && !loopback((&url.URL{Host: b.Host}).Hostname())
}

// Origin returns the scheme and the host.
func (b Base) Origin() string { return b.Scheme + "://" + b.Host }

// String returns the address without /current.
func (b Base) String() string {
	return (&url.URL{Scheme: b.Scheme, Host: b.Host, Path: b.Prefix}).String()
}
