package realtime

import (
	"context"
	"time"

	"github.com/coder/websocket"
)

// socket is a Conn of the websocket library.
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
