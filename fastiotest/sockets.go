package fastiotest

import (
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/emulator"
)

// Junk is something a WebSocket sends that is no message of the platform's.
type Junk int

// Kinds of junk.
const (
	NoJunk     Junk = iota
	BrokenJSON      // text that breaks off
	BrokenText      // text that is not UTF-8
	BinaryJunk      // a binary message
	HugeJunk        // an activity message of more than a MiB
)

// SocketFault is a rule that spoils what WebSockets send. It strikes messages,
// or with Age whole sockets, and what the fields from Delay on say happens in
// their order.
//
// A handshake is a call like any other: a [Fault] of the operation
// "realtime.Socket" refuses, delays or resets it.
type SocketFault struct {
	Profile     api.ProfileID // of the socket; "" is any
	Age         time.Duration // strikes sockets when they have been open so long; 0 strikes messages
	Skip        int           // messages, or sockets, to let pass first
	Count       int           // to spoil; 0 is no end
	Probability float64       // of each to be spoiled; 0 is 1
	Seed        uint64        // decides which

	Delay    time.Duration // before the message and all behind it
	Junk     Junk          // ahead of the message
	Overtake bool          // the message behind goes first, if one comes within a second
	Lose     bool          // the message is not sent
	Copies   int           // of the message, further ones
	HalfOpen bool          // from then on nothing is sent, read or answered, and the connection stands
	Close    int           // the code to close with; 4001 is an expired token
	Drop     bool          // reset the connection instead of sending the message, without a close frame
}

// FailSockets makes WebSockets go wrong. The first rule that matches a message
// wins; of the rules with an age every one does. [Server.Heal] takes them back.
func (s *Server) FailSockets(f SocketFault) { s.platform.FailSockets(f.emulator()) }

// Sockets returns how many WebSockets are open.
func (s *Server) Sockets() int { return s.platform.Sockets() }

// DropSockets resets the connections of the WebSockets of a profile, or of all
// when it is "", and returns how many there were. They are gone by then.
func (s *Server) DropSockets(profile api.ProfileID) int {
	return s.platform.DropSockets(string(profile))
}

// CutPolls ends every poll that is held now, as a proxy does that it takes too
// long: with 504, or as [Options].PollCutReset says.
func (s *Server) CutPolls() { s.platform.CutPolls() }

// Close ends the WebSockets for good and returns when they are gone; everything
// else goes on. It is for tests that serve s themselves on a listener of their
// own: [Server.Start], [Server.StartInMemory] and [Server.Listen] take care of
// theirs.
func (s *Server) Close() error { return s.platform.Close() }

func (f SocketFault) emulator() emulator.SocketFault {
	return emulator.SocketFault{
		ProfileID: string(f.Profile), Age: f.Age, Skip: f.Skip, Count: f.Count, Probability: f.Probability, Seed: f.Seed,
		Delay: f.Delay, Junk: emulator.Junk(f.Junk), Overtake: f.Overtake, Lose: f.Lose, Copies: f.Copies,
		HalfOpen: f.HalfOpen, Close: f.Close, Drop: f.Drop,
	}
}
