package fastiotest

import (
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/emulator"
)

// Script says how the platform's agent takes questions. Without one it looks its
// answers up in the files and notes of the workspace or share.
type Script struct {
	Match string // questions that hold it; "" is any
	Count int    // questions to take; 0 is no end

	Text        string   // the answer; "" is looked up
	Chunk       int      // bytes of it in one event of the stream; 0 is a few words
	Status      string   // how the turn ends: "failed"; "" is complete, and one that is no end leaves it there
	Steps       []string // statuses between pending and the end; nil is running
	Question    string   // what a turn that ends with "needs_input" asks back
	Error       string   // of a turn that failed
	Truncated   bool     // the answer was clipped
	NoCitations bool     // it names no sources
}

// AIPolicy is what an organization forbids its people to ask of the platform.
type AIPolicy struct {
	DenyAgent        bool
	DenyIntelligence bool            // where files are indexed
	IntelligenceIn   []api.ProfileID // the only workspaces it is for; nil is all
}

// StreamStyle says how the stream of a turn looks: the platform's documents
// leave that open. The zero value has names and ids for its events and the pieces
// of the answer as "delta".
type StreamStyle struct {
	Newline    string // "" is "\n"
	BOM        bool
	Comments   bool          // before every event
	SplitData  bool          // the data of an event over several lines
	Cumulative bool          // a piece of the answer comes with all that came before it, as "text"
	Unnamed    bool          // events have a "type" in their data instead of a name
	NoIDs      bool          // a stream taken up again begins anew
	Restart    bool          // it does so although its events have ids
	Retry      time.Duration // the pause it asks of those who come back; 0 is none
	JSON       bool          // the turn as JSON instead of a stream
	LateDone   bool          // of a turn that has ended the last event alone
	NoEnd      bool          // it ends without its last event
}

// Script makes the platform's agent take questions another way. Scripts add up;
// the first that matches a question and is not used up wins.
func (s *Server) Script(it Script) { s.platform.Script(emulator.Script(it)) }

func (p AIPolicy) emulator() emulator.AIPolicy {
	return emulator.AIPolicy{
		DenyAgent: p.DenyAgent, DenyIntelligence: p.DenyIntelligence, IntelligenceIn: convert[string](p.IntelligenceIn),
	}
}

func policyOf(p emulator.AIPolicy) AIPolicy {
	return AIPolicy{
		DenyAgent: p.DenyAgent, DenyIntelligence: p.DenyIntelligence, IntelligenceIn: convert[api.ProfileID](p.IntelligenceIn),
	}
}

func (y *StreamStyle) emulator() *emulator.StreamStyle {
	if y == nil {
		return nil
	}
	return new(emulator.StreamStyle(*y))
}
