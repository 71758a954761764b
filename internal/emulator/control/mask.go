package control

import (
	"net/http"
	"regexp"
	"strings"
)

const masked = "…"

// shown is how many characters of a credential are shown, to tell one from another.
const shown = 8

// secretNames are the names of fields that hold credentials.
const secretNames = `[A-Za-z_]*(?:password|token|secret|api_key|verifier|device_code)|code` //nolint:gosec // a pattern

var (
	secretMember = regexp.MustCompile(`("(?:` + secretNames + `)"\s*:\s*)"(?:[^"\\]|\\.)*"?`)
	secretField  = regexp.MustCompile(`((?:^|[?&])(?:` + secretNames + `)=)[^&#]*`)
)

// maskHeader returns a copy of a header without credentials.
func maskHeader(header http.Header) map[string][]string {
	out := make(map[string][]string, len(header))
	for name, values := range header {
		for _, value := range values {
			switch name {
			case "Authorization", "Proxy-Authorization":
				value = maskCredential(value)
			case "Cookie", "Set-Cookie", "X-Ve-Password", "Sec-Websocket-Protocol":
				value = masked
			case "Location", "Referer":
				value = maskQuery(value)
			}
			out[name] = append(out[name], value)
		}
	}
	return out
}

// maskCredential returns the scheme and the beginning of a credential.
func maskCredential(value string) string {
	scheme, token, found := strings.Cut(value, " ")
	if !found {
		return masked
	}
	return scheme + " " + shorten(token)
}

// shorten returns the beginning of a credential, and of a short one nothing.
func shorten(token string) string {
	if len(token) < 3*shown {
		return masked
	}
	return token[:shown] + masked
}

// maskQuery returns a query, form or URL without the values of credentials.
func maskQuery(text string) string { return secretField.ReplaceAllString(text, "${1}"+masked) }

// maskBody returns a body without the values of credentials.
func maskBody(contentType, text string) string {
	if strings.HasPrefix(contentType, "application/x-www-form-urlencoded") {
		return maskQuery(text)
	}
	return secretMember.ReplaceAllString(text, `${1}"`+masked+`"`)
}
