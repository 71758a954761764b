package emulator

import (
	"math/rand/v2"

	"github.com/fastio-go/fastio/internal/emulator/world"
)

// socketRule is a rule for the messages of sockets.
type socketRule struct {
	world.SocketFault
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
	dice := rand.New(rand.NewPCG(seed, s.Options.Seed)) //nolint:gosec // repeatable on purpose
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
func (s *Server) FailSockets(f world.SocketFault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	r := &socketRule{SocketFault: f, aim: s.newAim(f.Skip, f.Count, f.Probability, f.Seed)}
	s.faults.sockets = append(s.faults.sockets, r)
}

// Next returns the fault of the next message of a socket, one without effect when no rule strikes.
func (f *faults) Next(profileID string) *world.SocketFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.sockets {
		if r.Age == 0 && r.concerns(profileID) && r.strikes() {
			return &r.SocketFault
		}
	}
	return &world.SocketFault{}
}

// Aged returns the faults that a socket which has just opened will meet.
func (f *faults) Aged(profileID string) []*world.SocketFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*world.SocketFault
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
