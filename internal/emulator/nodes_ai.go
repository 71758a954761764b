package emulator

import (
	"strings"
	"time"
)

// States of a file on its way into the index.
const (
	aiDisabled   = "disabled"
	aiPending    = "pending"
	aiInProgress = "in_progress"
	aiReady      = "ready"
	aiIndexed    = "indexed"
	aiFailed     = "failed"
)

// indexPace is how long a file stays in each state when the options do not say.
const indexPace = 2 * time.Second

// usable tells whether the platform's agent can read a node.
func (n *node) usable() bool { return n.AIState == aiReady || n.AIState == aiIndexed }

// intelligent tells whether the contents of a profile are indexed.
func (st *state) intelligent(profileID string) bool {
	owner, _ := st.storageOf(profileID)
	if h := st.shares[owner]; h != nil {
		return !h.it.NoIntelligence
	}
	w := st.workspaces[owner]
	return w != nil && !w.it.NoIntelligence
}

// goal is the state a node ends in.
func (s *Server) goal(n *node) string {
	switch {
	case !n.hasContent():
		return ""
	case s.o.Storage.FailIndexing != "" && strings.Contains(strings.ToLower(n.Name), strings.ToLower(s.o.Storage.FailIndexing)):
		return aiFailed
	case s.state.intelligent(n.Profile):
		return aiIndexed
	}
	return aiReady
}

// index puts a node into a state and lets it go on from there.
func (s *Server) index(n *node, from string) {
	n.AIState = from
	s.goOn(n)
}

// goOn plans the next state of a node. A node that was written again or replaced meanwhile has plans of its own, and what
// is not indexed any more has none.
func (s *Server) goOn(n *node) {
	next := s.nextState(n)
	if next == "" {
		return
	}
	pace := s.o.Storage.IndexPace
	if pace == 0 {
		pace = indexPace
	}
	before, version := n.AIState, n.current().ID
	s.later(s.now().Add(max(0, pace)), func() {
		if s.state.nodes[n.ID] != n || n.AIState != before || n.current().ID != version || s.nextState(n) != next {
			return
		}
		n.AIState = next
		s.announceState(n)
		s.goOn(n)
	})
}

// nextState is the state after that of a node, "" at the end.
func (s *Server) nextState(n *node) string {
	goal := s.goal(n)
	switch {
	case n.AIState == aiPending:
		return aiInProgress
	case n.AIState == aiInProgress && goal == aiFailed:
		return aiFailed
	case n.AIState == aiInProgress:
		return aiReady
	case n.AIState == aiReady && goal == aiIndexed:
		return aiIndexed
	}
	return ""
}

// ingestion is what indexing a page costs, in credits; a file or note counts as one.
const ingestion = 10

// setIntelligence says whether the files of a workspace or share are indexed. Without it their embeddings are gone;
// having them made again is billed.
func (s *Server) setIntelligence(profileID, userID string, on bool) {
	st := &s.state
	if st.intelligent(profileID) == on {
		return
	}
	if w := st.workspaces[profileID]; w != nil {
		w.it.NoIntelligence = !on
	} else if h := st.shares[profileID]; h != nil {
		h.it.NoIntelligence = !on
	}
	for _, id := range st.nodeList {
		switch n := st.nodes[id]; {
		case n.Profile != profileID:
		case on && n.AIState == aiReady && s.goal(n) == aiIndexed:
			st.credits[st.payer(profileID, userID)] += ingestion
			s.goOn(n)
		case !on && n.AIState == aiIndexed:
			n.AIState = aiReady
			s.tellNode(n, Event{Name: "node_ai_state_set"})
			s.tellNode(n, Event{Name: "node_ai_removed_from_rag"})
		}
	}
}

func (s *Server) announceState(n *node) {
	s.tellNode(n, Event{Name: "node_ai_state_set"})
	switch n.AIState {
	case aiReady:
		s.tellNode(n, Event{Name: "node_ai_summary_created"})
	case aiIndexed:
		s.tellNode(n, Event{Name: "node_ai_added_to_rag"})
	}
}

// tellNode writes an event about a node.
func (s *Server) tellNode(n *node, e Event) {
	e.Object, e.ObjectName = n.ID, n.Name
	if s.state.kind(n.Profile) == kindShare {
		e.Share = n.Profile
	} else {
		e.Workspace = n.Profile
	}
	s.write(e)
}
