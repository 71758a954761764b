package realtime

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	headerLimit = 8192            // bytes of a handshake
	poweredBy   = "Ratchet/0.4.4" // the library the platform's sockets run on
)

// Handshake reads the token of a request for a socket, or returns the refusal. A status above 0 is the order to refuse.
func (h *Handlers) Handshake(
	w http.ResponseWriter, r *http.Request, status int, why string,
) (world.Token, *wire.Reply) {
	var t world.Token
	if status == 0 {
		status, why = h.acceptable(r)
	}
	if status == 0 {
		t, status, why = h.ticket(r)
	}
	if status == 0 && !upgradable(w) {
		status, why = http.StatusNotImplemented, "This connection cannot become a WebSocket."
	}
	if status != 0 {
		return t, h.turnAway(r, status, why)
	}
	return t, nil
}

// acceptable looks at everything but the token. The socket server refuses in plain HTTP.
func (h *Handlers) acceptable(r *http.Request) (status int, why string) {
	header := r.Header
	switch {
	case headerSize(r) > headerLimit:
		return http.StatusRequestEntityTooLarge, "The handshake is longer than 8192 bytes."
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "A handshake is a GET."
	case r.ProtoMajor != 1 || r.ProtoMinor != 1:
		return http.StatusBadRequest, "A handshake is HTTP/1.1."
	case !names(header, "Upgrade", "websocket"), !names(header, "Connection", "upgrade"):
		return http.StatusUpgradeRequired, "The Upgrade header must be provided."
	case header.Get("Sec-Websocket-Version") != "13":
		return http.StatusUpgradeRequired, "The version of the protocol is 13."
	case len(header.Get("Sec-Websocket-Key")) != 24:
		return http.StatusBadRequest, "The key of the handshake is malformed."
	case header.Get("Sec-Websocket-Protocol") != "":
		return http.StatusUpgradeRequired, "There are no sub-protocols."
	case h.Options.Realtime.Origins != nil && !allows(h.Options.Realtime.Origins, header.Get("Origin")):
		return http.StatusForbidden, "This origin is not allowed."
	}
	return 0, ""
}

// headerSize is the length of the request line and the headers as they came.
func headerSize(r *http.Request) int {
	const line = len(": \r\n")
	n := len(r.Method) + len(r.URL.RequestURI()) + len("  HTTP/1.1\r\n") + len("Host") + len(r.Host) + line + len("\r\n")
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + line
		}
	}
	return n
}

// names reports whether a header lists a token.
func names(h http.Header, header, token string) bool {
	for _, line := range h.Values(header) {
		for word := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(word), token) {
				return true
			}
		}
	}
	return false
}

// allows matches an origin against hosts; a star stands for exactly one label.
func allows(hosts []string, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" {
		return false
	}
	host := strings.ToLower(u.Hostname())
	_, parent, _ := strings.Cut(host, ".")
	return slices.Contains(hosts, host) || slices.Contains(hosts, "*."+parent)
}

// ticket reads the token of a handshake. With CloseOnBadToken its faults are told after the handshake.
func (h *Handlers) ticket(r *http.Request) (t world.Token, status int, why string) {
	token := r.URL.RawQuery
	if h.Options.Realtime.NamedToken {
		token = r.URL.Query().Get("token")
	}
	t = h.OpenToken(token)
	if t.Scope != socketScope {
		t.Genuine = false
	}
	switch {
	case h.Options.Realtime.CloseOnBadToken:
		return t, 0, ""
	case !t.Genuine:
		return t, http.StatusUnauthorized, "The token is not that of a socket or has ended."
	}
	h.RLock()
	defer h.RUnlock()
	switch {
	case h.closed:
		return t, http.StatusServiceUnavailable, "The server is closing."
	case !h.mayListen(&t.Claims):
		return t, http.StatusForbidden, "You may not listen to this profile any more."
	}
	return t, 0, ""
}

// mayListen reports whether the holder of a socket token still may do what it was issued for.
func (h *Handlers) mayListen(c *world.Claims) bool {
	return h.MayPoll(&wire.Credential{Key: world.Key{User: c.User}}, c.Profile)
}

// upgradable reports whether a connection can be taken over.
func upgradable(w http.ResponseWriter) bool {
	for {
		if _, can := w.(http.Hijacker); can {
			return true
		}
		wrapper, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return false
		}
		w = wrapper.Unwrap()
	}
}

// turnAway is a refused handshake.
func (h *Handlers) turnAway(r *http.Request, status int, why string) *wire.Reply {
	out := &wire.Reply{Status: status, Header: http.Header{}, Body: []byte(why)}
	out.Header.Set("X-Powered-By", poweredBy)
	out.Header.Set("Content-Type", "text/plain; charset=UTF-8")
	out.Header.Set("Date", h.Now().Add(h.Options.ClockSkew).UTC().Format(http.TimeFormat))
	switch status {
	case http.StatusMethodNotAllowed:
		out.Header.Set("Allow", http.MethodGet)
	case http.StatusUpgradeRequired:
		out.Header.Set("Upgrade", "websocket")
		out.Header.Set("Sec-WebSocket-Version", "13")
		if r.ProtoMajor == 1 {
			out.Header.Set("Connection", "Upgrade")
		}
	}
	return out
}
