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

// Dialer opens sockets. Dial must return when ctx is done: other subscriptions of the
// client may wait for it. The address holds a token, so it must not be part of logs
// or errors. A refused handshake should be a [*HandshakeError].
type Dialer interface {
	Dial(ctx context.Context, address string, header http.Header) (Conn, error)
}

// Conn is an open socket. ReadMessage is called by one goroutine at a time, the
// other methods concurrently.
type Conn interface {
	// ReadMessage returns the next message. It fails once the Conn is closed.
	ReadMessage() (message []byte, text bool, err error)
	// Ping sends a ping and returns when the pong has arrived.
	Ping(ctx context.Context) error
	// Close ends all other calls. It may send a close frame first.
	Close() error
}

// HandshakeError is a server's refusal to open a socket.
type HandshakeError struct {
	Status     int
	RetryAfter time.Duration // delay of the Retry-After header; 0 without one
}

// Error includes the status.
func (e *HandshakeError) Error() string {
	return "the socket was refused (status " + strconv.Itoa(e.Status) + ")"
}

// TokenPlacement is where the address or handshake of a socket holds the token.
type TokenPlacement string

// Placements of the token.
const (
	TokenPlacementBareQuery  TokenPlacement = ""       // the token is the whole query
	TokenPlacementNamedQuery TokenPlacement = "named"  // the parameter "token", for older servers
	TokenPlacementHeader     TokenPlacement = "header" // a bearer token; {token} in the address becomes ""
)

// dial holds the settings for the sockets of a subscription.
type dial struct {
	dialer    Dialer
	template  string // an address that lacks only the token
	placement TokenPlacement
	header    http.Header
}

// closeIdle closes the idle connections of the client. It is called after one
// connection was found broken: others may be broken as well, and a request on one
// of them would time out.
func (s *Service) closeIdle() {
	if s.net != nil {
		s.net.Client.CloseIdleConnections()
	}
}

// dialSettings returns the settings for opening sockets, nil if there can be none: with
// PollOnly, without a Dialer, or without the host that the Address requires. The network of
// the client supplies both, if there is one; in a browser it supplies no Dialer for a token
// in a header. An Address that does not become a ws or wss URL is refused.
func (s *Subscription) dialSettings() (*dial, error) {
	if s.o.PollOnly {
		return nil, nil
	}
	d := &dial{dialer: s.o.Dialer, template: s.o.Address, placement: s.o.Placement, header: http.Header{}}
	if s.s.net != nil {
		d.fillFrom(s.s.net, s.o.MaxMessageBytes)
	}
	if s.o.Origin != "" {
		d.header.Set("Origin", s.o.Origin)
	}
	lacksHost := strings.Contains(d.template, "{host}") || strings.Contains(d.template, "{ws}") // fillFrom replaces both
	if d.dialer == nil || lacksHost {
		return nil, nil
	}
	anyToken := api.NewSecret("token") // to test the URL
	address, _, err := d.urlAndHeader(anyToken)
	u, errParse := url.Parse(address)
	isSocketURL := errParse == nil && u.Host != "" && (u.Scheme == "ws" || u.Scheme == "wss")
	if err != nil || !isSocketURL {
		return nil, refuse("Address", "must be a ws or wss URL, with a known placement")
	}
	return d, nil
}

// fillFrom completes settings with the origin and the HTTP client of a network. A browser
// cannot send the token in a header: then d.dialer stays nil.
func (d *dial) fillFrom(n *Network, maxMessage int64) {
	scheme := "wss"
	if n.Origin.Scheme == "http" {
		scheme = "ws"
	}
	d.template = strings.NewReplacer("{ws}", scheme, "{host}", n.Origin.Host).Replace(d.template)
	d.header.Set("Origin", n.Origin.Scheme+"://"+n.Origin.Host)
	canSendToken := sendsHeaders || d.placement != TokenPlacementHeader
	if d.dialer == nil && canSendToken {
		d.dialer = &dialer{n.Client, maxMessage}
	}
}

var errBadToken = errors.New("the token has characters that an address cannot hold")

// urlAndHeader returns the URL and the header for opening a socket. The placement
// decides which of them holds the token, and in what form. It refuses a token that is
// not printable ASCII, or that holds a #, which would end the query.
func (d *dial) urlAndHeader(token api.Secret) (string, http.Header, error) {
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
	default: // an unknown placement
		return "", nil, errBadToken
	}
	address := strings.ReplaceAll(d.template, "{token}", placed)
	return strings.TrimRight(address, "?&"), header, nil
}

const dialTime = 10 * time.Second

// open opens a socket. Its errors do not contain the token.
func (d *dial) open(ctx context.Context, token api.Secret) (Conn, error) {
	address, header, err := d.urlAndHeader(token)
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

// withoutToken returns err, or errNotOpened if the text of err contains the
// token.
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
	cut func() // closes the connection without a handshake
}

// closeTimeout is how long a peer may take to answer the close frame.
const closeTimeout = 300 * time.Millisecond

func (s *socket) ReadMessage() ([]byte, bool, error) {
	kind, b, err := s.ws.Read(context.Background()) // Close ends it
	return b, kind == websocket.MessageText, err
}

func (s *socket) Ping(ctx context.Context) error { return s.ws.Ping(ctx) }

// Close sends a close frame. The library would wait five seconds for a peer that does not
// answer; cut closes the connection sooner.
func (s *socket) Close() error {
	t := time.AfterFunc(closeTimeout, s.cut)
	defer t.Stop()
	return s.ws.Close(websocket.StatusNormalClosure, "")
}
