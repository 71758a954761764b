package emulator

import (
	"cmp"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// Junk is something a socket sends that is no message of the platform's.
type Junk int

// Kinds of junk.
const (
	NoJunk     Junk = iota
	BrokenJSON      // text that breaks off
	BrokenText      // text that is not UTF-8
	BinaryJunk      // a binary message
	HugeJunk        // an activity message of more than a MiB
)

// SocketFault is a rule that spoils what sockets send. It strikes messages, or with Age whole sockets, and what the
// other fields say happens in their order. A handshake is a call like others: see [Server.Fail] with the operation
// realtime.Socket.
type SocketFault struct {
	ProfileID   string        // of the socket, "" is any
	Age         time.Duration // strike sockets when they have been open so long, 0 is messages
	Skip        int           // messages, or sockets, to let pass first
	Count       int           // to spoil, 0 is no end
	Probability float64       // 0 is always
	Seed        uint64        // of the probability

	Delay    time.Duration // before the message and all behind it
	Junk     Junk          // ahead of the message
	Overtake bool          // the message behind goes first, if one comes within a second
	Lose     bool          // the message is not sent
	Copies   int           // of the message, further ones
	HalfOpen bool          // from then on nothing is sent, read or answered, and the connection stands
	Close    int           // close with this code
	Drop     bool          // reset the connection instead of sending the message, without a close frame
}

// overtaking is how long a message waits for another to go first.
const overtaking = time.Second

type socketRule struct {
	SocketFault
	aim
}

// aim decides which of the matching things a rule strikes.
type aim struct {
	skip, count  int
	probability  float64
	seen, struck int
	dice         *rand.Rand
}

func (s *Server) newAim(skip, count int, probability float64, seed uint64) aim {
	dice := rand.New(rand.NewPCG(seed, s.o.Seed)) //nolint:gosec // repeatable on purpose
	return aim{skip: skip, count: count, probability: probability, dice: dice}
}

func (a *aim) strikes() bool {
	if a.count > 0 && a.struck >= a.count {
		return false
	}
	a.seen++
	if a.seen <= a.skip || a.probability > 0 && a.dice.Float64() >= a.probability {
		return false
	}
	a.struck++
	return true
}

// FailSockets adds a rule. The first rule that matches a message and is not used up decides; of the rules with an age
// every one does. [Server.Heal] removes them, too.
func (s *Server) FailSockets(f SocketFault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	r := &socketRule{SocketFault: f, aim: s.newAim(f.Skip, f.Count, f.Probability, f.Seed)}
	s.faults.sockets = append(s.faults.sockets, r)
}

// pickFrame returns the fault of the next message of a socket, one without effect when no rule strikes.
func (f *faults) pickFrame(profileID string) *SocketFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.sockets {
		if r.Age == 0 && r.concerns(profileID) && r.strikes() {
			return &r.SocketFault
		}
	}
	return &SocketFault{}
}

// aged returns the faults that a socket which has just opened will meet.
func (f *faults) aged(profileID string) []*SocketFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*SocketFault
	for _, r := range f.sockets {
		if r.Age > 0 && r.concerns(profileID) && r.strikes() {
			list = append(list, &r.SocketFault)
		}
	}
	return list
}

func (r *socketRule) concerns(profileID string) bool {
	return r.ProfileID == "" || r.ProfileID == profileID
}

// deliver sends a message, spoiled as the fault says.
func (k *socket) deliver(f frame, fault *SocketFault) {
	k.pause(fault.Delay)
	if kind, junk := fault.Junk.message(); junk != nil {
		k.send(kind, junk)
	}
	if fault.Overtake {
		k.overtake()
	}
	if f.text != nil && !fault.Lose && !fault.Drop {
		for range 1 + fault.Copies {
			k.send(websocket.MessageText, f.text(k.s.now()))
		}
	}
	switch {
	case fault.HalfOpen:
		k.line.silent.Store(true)
	case fault.Close != 0:
		k.end(closing{code: websocket.StatusCode(fault.Close), reason: "closed on request"})
	case fault.Drop:
		k.end(closing{reason: "dropped on request", reset: true})
	}
}

func (k *socket) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-k.ctx.Done():
	}
}

// overtake sends the next message, whole, if there is one soon.
func (k *socket) overtake() {
	t := time.NewTimer(overtaking)
	defer t.Stop()
	select {
	case next := <-k.queue:
		k.deliver(next, cmp.Or(next.fault, &SocketFault{}))
	case <-t.C:
	case <-k.ctx.Done():
	}
}

func (j Junk) message() (websocket.MessageType, []byte) {
	switch j {
	case BrokenJSON:
		return websocket.MessageText, []byte(`{"response":"activity","activity":["stor`)
	case BrokenText:
		return websocket.MessageText, []byte("{\"response\":\"activity\",\"activity\":[\"storage\xff\xfe\"]}")
	case BinaryJunk:
		return websocket.MessageBinary, []byte{0, 1, 2, 0xff}
	case HugeJunk:
		return websocket.MessageText, []byte(`{"response":"activity","activity":["storage:` + strings.Repeat("2", 1<<20) + `"]}`)
	case NoJunk:
	}
	return 0, nil
}
