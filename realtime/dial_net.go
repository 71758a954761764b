//go:build !js

package realtime

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/wait"
)

const sendsHeaders = true

// dialer opens sockets over the network of the client.
type dialer struct {
	client *http.Client
	limit  int64
}

// Dial opens a socket through the transport of the client, without following redirects. The
// socket gets the function cut to close its network connection, because the Close of the
// library waits too long for the peer.
func (d *dialer) Dial(ctx context.Context, address string, header http.Header) (Conn, error) {
	network := d.client.Transport
	if network == nil {
		network = http.DefaultTransport
	}
	keeper := &connKeeper{next: network}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o := &websocket.DialOptions{HTTPClient: &http.Client{Transport: keeper, CheckRedirect: noRedirect}, HTTPHeader: header}
	ws, resp, err := websocket.Dial(ctx, address, o) //nolint:bodyclose // the library does
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			after := wait.RetryAfter(resp.Header, new(servertime.Clock))
			return nil, &HandshakeError{Status: resp.StatusCode, RetryAfter: after}
		}
		return nil, err
	}
	ws.SetReadLimit(d.limit)
	return &socket{ws, keeper.cut}, nil
}

// connKeeper keeps the connection of a handshake.
type connKeeper struct {
	next http.RoundTripper

	mu   sync.Mutex
	conn io.Closer
}

// RoundTrip keeps the connection that becomes the socket, so that cut can close it.
func (k *connKeeper) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := k.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.conn = resp.Body
	}
	return resp, err
}

// cut closes the network connection, if there is one.
func (k *connKeeper) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn != nil {
		_ = k.conn.Close()
	}
}
