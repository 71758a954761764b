package realtime

// Scopes of realtime tokens.
const (
	socketScope = "websocket"
	roomScope   = "realtime"
)
