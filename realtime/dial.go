package realtime

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
)

// Dialer opens sockets. The address holds a token: it must not be logged, nor be
// part of an error. A refused handshake should be a [*HandshakeError].
type Dialer interface {
	Dial(ctx context.Context, address string, header http.Header) (Conn, error)
}

// Conn is an open socket. ReadMessage is called by one goroutine; the other
// methods by others, at any time.
type Conn interface {
	// ReadMessage waits for a message, or until the Conn is closed.
	ReadMessage() (message []byte, text bool, err error)
	// Ping returns when the answer to a ping has come.
	Ping(ctx context.Context) error
	// Close ends all other calls. It may say goodbye first, but not for long.
	Close() error
}

// HandshakeError is a server's refusal to open a socket.
type HandshakeError struct {
	Status     int
	RetryAfter time.Duration // how long the server asks to be left alone; 0 when it does not
}

// Error tells the status.
func (e *HandshakeError) Error() string {
	return "the socket was refused (status " + strconv.Itoa(e.Status) + ")"
}

// TokenPlacement says where a socket's address or handshake carries the token.
type TokenPlacement string

// Places for the token.
const (
	TokenPlacementBareQuery  TokenPlacement = ""       // it is the whole query
	TokenPlacementNamedQuery TokenPlacement = "named"  // as the parameter token, for older servers
	TokenPlacementHeader     TokenPlacement = "header" // as a bearer; {token} in the address is then nothing
)

// dial knows how to open the sockets of a subscription.
type dial struct {
	dialer    Dialer
	template  string // with nothing left to fill in but the token
	placement TokenPlacement
	header    http.Header
}

// closeIdle closes the connections of the network that are not in use. It is for
// when one was found to be lost: others may be, and a request that takes one of
// them waits in vain.
func (s *Service) closeIdle() {
	if n, ok := s.c.(network); ok {
		if _, client := n.Network(); client != nil {
			client.CloseIdleConnections()
		}
	}
}

// dialing returns how to open sockets, nil if there can be none: without a network,
// or for a token in a header that a browser does not send.
func (s *Subscription) dialing() (*dial, error) {
	if s.o.PollOnly {
		return nil, nil
	}
	d := &dial{dialer: s.o.Dialer, template: s.o.Address, placement: s.o.Placement, header: http.Header{}}
	if n, ok := s.s.c.(network); ok {
		origin, client := n.Network()
		scheme := "wss"
		if origin.Scheme == "http" {
			scheme = "ws"
		}
		d.template = strings.NewReplacer("{ws}", scheme, "{host}", origin.Host).Replace(d.template)
		d.header.Set("Origin", origin.Scheme+"://"+origin.Host)
		if d.dialer == nil && (sendsHeaders || d.placement != TokenPlacementHeader) {
			d.dialer = &dialer{client, s.o.MaxMessageBytes}
		}
	}
	if s.o.Origin != "" {
		d.header.Set("Origin", s.o.Origin)
	}
	if d.dialer == nil || strings.Contains(d.template, "{host}") || strings.Contains(d.template, "{ws}") {
		return nil, nil // a Caller without a network
	}
	address, _, err := d.address(api.NewSecret("token"))
	u, bad := url.Parse(address)
	if err != nil || bad != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, refuse("address", "must be a ws or wss URL, a placement one of the known")
	}
	return d, nil
}

var errBadToken = errors.New("the token does not fit into an address")

func (d *dial) address(token api.Secret) (string, http.Header, error) {
	if strings.ContainsFunc(token.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }) {
		return "", nil, errBadToken
	}
	header := d.header.Clone()
	placed := ""
	switch d.placement {
	case TokenPlacementBareQuery:
		placed = token.Reveal()
	case TokenPlacementNamedQuery:
		placed = "token=" + url.QueryEscape(token.Reveal())
	case TokenPlacementHeader:
		header.Set("Authorization", "Bearer "+token.Reveal())
	default:
		return "", nil, errBadToken
	}
	address := strings.ReplaceAll(d.template, "{token}", placed)
	return strings.TrimRight(address, "?&"), header, nil
}

const dialTime = 10 * time.Second

func (d *dial) open(ctx context.Context, token api.Secret) (Conn, error) {
	address, header, err := d.address(token)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := d.dialer.Dial(ctx, address, header)
	if err != nil {
		return nil, withoutToken(redact.Cause(err), token)
	}
	return conn, nil
}

var errNotOpened = errors.New("the socket could not be opened")

// withoutToken returns err, or if its text repeats the token, an error without a
// cause.
func withoutToken(err error, token api.Secret) error {
	var secrets redact.Words
	secrets.Add(token.Reveal())
	if text := err.Error(); secrets.Text(text) != text {
		return errNotOpened
	}
	return err
}

type socket struct {
	ws  *websocket.Conn
	cut func() // ends the connection at once
}

// goodbye is how long a peer may take to answer the close frame.
const goodbye = 300 * time.Millisecond

func (s *socket) ReadMessage() ([]byte, bool, error) {
	kind, b, err := s.ws.Read(context.Background()) // Close ends it
	return b, kind == websocket.MessageText, err
}

func (s *socket) Ping(ctx context.Context) error { return s.ws.Ping(ctx) }

// Close says goodbye. The library waits five seconds for a peer that does not
// answer, unless the connection is gone.
func (s *socket) Close() error {
	t := time.AfterFunc(goodbye, s.cut)
	defer t.Stop()
	return s.ws.Close(websocket.StatusNormalClosure, "")
}
