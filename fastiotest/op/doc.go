// Package op has the names of the operations, for the faults and rate limits of an emulator.
//
//	server.Fail(seed.Fault{Op: op.EventsSearch, Status: http.StatusServiceUnavailable, Count: 1})
//
// There is one for each endpoint, beside those of the emulator alone.
package op

import "github.com/fastio-go/fastio/fastiotest/seed"

// RealtimeSocket is the handshake of a WebSocket.
const RealtimeSocket seed.Op = "realtime.Socket"
