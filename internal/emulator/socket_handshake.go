package emulator

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// opSocket names handshakes in the record and in faults.
const opSocket = "realtime.Socket"

const (
	headerLimit = 8192            // bytes of a handshake
	poweredBy   = "Ratchet/0.4.4" // the library the platform's sockets run on
)

// isSocket tells whether a request goes to the address of the sockets.
func (s *Server) isSocket(r *http.Request) bool {
	inner, found := s.below(r)
	return found && inner.URL.Path == "/websocket/"
}

// handshake answers a request for a socket: with a refusal, or by becoming the socket until that ends.
func (s *Server) handshake(w http.ResponseWriter, r *http.Request) {
	entry := s.record.begin(opSocket, r, nil, s.now())
	f := s.faults.pick(opSocket)
	f.wait(r.Context(), f.Delay)
	if f.Reset == seed.BeforeHeader {
		panic(http.ErrAbortHandler)
	}
	status, why := s.admit(r)
	var t opened
	if status == 0 {
		t, status, why = s.ticket(r)
	}
	if status == 0 && !upgradable(w) {
		status, why = http.StatusNotImplemented, "This connection cannot become a WebSocket."
	}
	if f.Status != 0 {
		status, why = f.Status, f.Body
	}
	if status != 0 {
		s.record.end(entry, f.deliver(w, r, s.turnAway(r, status, why)))
		return
	}
	s.record.end(entry, http.StatusSwitchingProtocols)
	s.becomeSocket(w, r, t)
}

// admit looks at everything but the token. The socket server refuses in plain HTTP.
func (s *Server) admit(r *http.Request) (status int, why string) {
	h := r.Header
	switch {
	case headerSize(r) > headerLimit:
		return http.StatusRequestEntityTooLarge, "The handshake is longer than 8192 bytes."
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "A handshake is a GET."
	case r.ProtoMajor != 1 || r.ProtoMinor != 1:
		return http.StatusBadRequest, "A handshake is HTTP/1.1."
	case !names(h, "Upgrade", "websocket"), !names(h, "Connection", "upgrade"):
		return http.StatusUpgradeRequired, "The Upgrade header must be provided."
	case h.Get("Sec-Websocket-Version") != "13":
		return http.StatusUpgradeRequired, "The version of the protocol is 13."
	case len(h.Get("Sec-Websocket-Key")) != 24:
		return http.StatusBadRequest, "The key of the handshake is malformed."
	case h.Get("Sec-Websocket-Protocol") != "":
		return http.StatusUpgradeRequired, "There are no sub-protocols."
	case s.o.Realtime.Origins != nil && !allows(s.o.Realtime.Origins, h.Get("Origin")):
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

// names tells whether a header lists a token.
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
func (s *Server) ticket(r *http.Request) (t opened, status int, why string) {
	token := r.URL.RawQuery
	if s.o.Realtime.NamedToken {
		token = r.URL.Query().Get("token")
	}
	t = s.open(token)
	if t.Scope != socketScope {
		t.genuine = false
	}
	switch {
	case s.o.Realtime.CloseOnBadToken:
		return t, 0, ""
	case !t.genuine:
		return t, http.StatusUnauthorized, "The token is not that of a socket or has ended."
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.state.closed:
		return t, http.StatusServiceUnavailable, "The server is closing."
	case !s.state.mayListen(&t.claims):
		return t, http.StatusForbidden, "You may not listen to this profile any more."
	}
	return t, 0, ""
}

// mayListen tells whether the holder of a socket token still may do what it was issued for.
func (st *state) mayListen(c *claims) bool {
	return st.mayPoll(&credential{Key: Key{User: c.User}}, c.Profile)
}

// upgradable tells whether a connection can be taken over.
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
func (s *Server) turnAway(r *http.Request, status int, why string) reply {
	out := reply{status: status, header: http.Header{}, body: []byte(why)}
	out.header.Set("X-Powered-By", poweredBy)
	out.header.Set("Content-Type", "text/plain; charset=UTF-8")
	out.header.Set("Date", s.now().Add(s.o.ClockSkew).UTC().Format(http.TimeFormat))
	switch status {
	case http.StatusMethodNotAllowed:
		out.header.Set("Allow", http.MethodGet)
	case http.StatusUpgradeRequired:
		out.header.Set("Upgrade", "websocket")
		out.header.Set("Sec-WebSocket-Version", "13")
		if r.ProtoMajor == 1 {
			out.header.Set("Connection", "Upgrade")
		}
	}
	return out
}
