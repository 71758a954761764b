package emulator

import (
	"cmp"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

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
	return r.Profile == "" || r.Profile == profileID
}

// deliver sends a message, spoiled as the fault says.
func (k *socket) deliver(f frame, fault *SocketFault) {
	k.pause(fault.Delay)
	if kind, junk := junkMessage(fault.Junk); junk != nil {
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

func junkMessage(j seed.Junk) (websocket.MessageType, []byte) {
	switch j {
	case seed.BrokenJSON:
		return websocket.MessageText, []byte(`{"response":"activity","activity":["stor`)
	case seed.BrokenText:
		return websocket.MessageText, []byte("{\"response\":\"activity\",\"activity\":[\"storage\xff\xfe\"]}")
	case seed.BinaryJunk:
		return websocket.MessageBinary, []byte{0, 1, 2, 0xff}
	case seed.HugeJunk:
		return websocket.MessageText, []byte(`{"response":"activity","activity":["storage:` + strings.Repeat("2", 1<<20) + `"]}`)
	case seed.NoJunk:
	}
	return 0, nil
}
