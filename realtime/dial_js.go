package realtime

import (
	"context"
	"net/http"

	"github.com/coder/websocket"
)

// A browser sets the headers of a handshake itself.
const sendsHeaders = false

// dialer opens the sockets of a browser.
type dialer struct {
	client *http.Client
	limit  int64
}

// Dial opens a socket of the browser, which sends no headers of its own.
func (d *dialer) Dial(ctx context.Context, address string, _ http.Header) (Conn, error) {
	ws, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(d.limit)
	return &socket{ws, func() { _ = ws.CloseNow() }}, nil
}
