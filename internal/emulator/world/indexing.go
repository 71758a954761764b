package world

import (
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// States of a file on its way into the index.
const (
	aiDisabled   = "disabled"
	AIPending    = "pending"
	AIInProgress = "in_progress"
	aiReady      = "ready"
	AIIndexed    = "indexed"
	aiFailed     = "failed"
)

// indexPace is how long a file stays in each state when the options do not say.
const indexPace = 2 * time.Second

// Usable reports whether the platform's agent can read a node.
func (n *Node) Usable() bool { return n.AIState == aiReady || n.AIState == AIIndexed }

// Intelligent reports whether the contents of a profile are indexed.
func (w *Directory) Intelligent(profileID string) bool {
	owner, _ := w.storageOf(profileID)
	if h := w.Shares[owner]; h != nil {
		return !h.Value.NoIntelligence
	}
	workspace := w.Workspaces[owner]
	return workspace != nil && !workspace.Value.NoIntelligence
}

// goal is the state a node ends in.
func (w *World) goal(n *Node) string {
	switch {
	case !n.HasContent():
		return ""
	case w.Options.Storage.FailIndexing != "" &&
		strings.Contains(strings.ToLower(n.Name), strings.ToLower(w.Options.Storage.FailIndexing)):
		return aiFailed
	case w.Intelligent(n.Profile):
		return AIIndexed
	}
	return aiReady
}

// Index puts a node into a state and lets it go on from there.
func (w *World) Index(n *Node, from string) {
	n.AIState = from
	w.goOn(n)
}

// goOn plans the next state of a node. A node that was written again or replaced meanwhile has plans of its own, and
// what is not indexed any more has none.
func (w *World) goOn(n *Node) {
	next := w.nextState(n)
	if next == "" {
		return
	}
	pace := w.Options.Storage.IndexPace
	if pace == 0 {
		pace = indexPace
	}
	before, version := n.AIState, n.Current().ID
	w.Later(w.Now().Add(max(0, pace)), func() {
		if w.Nodes[n.ID] != n || n.AIState != before || n.Current().ID != version || w.nextState(n) != next {
			return
		}
		n.AIState = next
		w.announceState(n)
		w.goOn(n)
	})
}

// nextState is the state after that of a node, "" at the end.
func (w *World) nextState(n *Node) string {
	goal := w.goal(n)
	switch {
	case n.AIState == AIPending:
		return AIInProgress
	case n.AIState == AIInProgress && goal == aiFailed:
		return aiFailed
	case n.AIState == AIInProgress:
		return aiReady
	case n.AIState == aiReady && goal == AIIndexed:
		return AIIndexed
	}
	return ""
}

// ingestion is what indexing a page costs, in credits; a file or note counts as one.
const ingestion = 10

// SetIntelligence says whether the files of a workspace or share are indexed. Without it their embeddings are gone;
// having them made again is billed.
func (w *World) SetIntelligence(profileID, userID string, on bool) {
	if w.Intelligent(profileID) == on {
		return
	}
	if workspace := w.Workspaces[profileID]; workspace != nil {
		workspace.Value.NoIntelligence = !on
	} else if h := w.Shares[profileID]; h != nil {
		h.Value.NoIntelligence = !on
	}
	for _, id := range w.NodeList {
		switch n := w.Nodes[id]; {
		case n.Profile != profileID:
		case on && n.AIState == aiReady && w.goal(n) == AIIndexed:
			w.Credits[w.Payer(profileID, userID)] += ingestion
			w.goOn(n)
		case !on && n.AIState == AIIndexed:
			n.AIState = aiReady
			w.NodeEvent(n, Event{Name: "node_ai_state_set"})
			w.NodeEvent(n, Event{Name: "node_ai_removed_from_rag"})
		}
	}
}

func (w *World) announceState(n *Node) {
	w.NodeEvent(n, Event{Name: "node_ai_state_set"})
	switch n.AIState {
	case aiReady:
		w.NodeEvent(n, Event{Name: "node_ai_summary_created"})
	case AIIndexed:
		w.NodeEvent(n, Event{Name: "node_ai_added_to_rag"})
	}
}

// NodeEvent writes an event about a node.
func (w *World) NodeEvent(n *Node, e Event) {
	e.Object, e.ObjectName = n.ID, n.Name
	if w.KindOf(n.Profile) == wire.KindShare {
		e.Share = n.Profile
	} else {
		e.Workspace = n.Profile
	}
	w.WriteEvent(e)
}
