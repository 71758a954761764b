package events

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/world"
)

// WritePast writes the past of workspaces from what is in them: when their nodes were
// added, changed and deleted. Reads, such as downloads, are added until the log has the
// given number of events, and are divided among the workspaces by their numbers of nodes. The
// same seed and state give the same log.
func (h *Handlers) WritePast(events int, seed uint64, workspaces ...string) {
	h.w.Lock()
	defer h.w.Unlock()
	now := h.w.Now()
	first := len(h.w.Log.Entries)
	pasts := make([]*past, 0, len(workspaces))
	byProfile := map[string][]*world.Node{}
	for _, id := range h.w.NodeIDs() {
		n := h.w.AnyNode(id)
		byProfile[n.Profile] = append(byProfile[n.Profile], n)
	}
	nodesLeft := 0 // those of the pasts that have no reads yet
	for i, id := range workspaces {
		source := rand.NewPCG(seed, world.Mix(h.w.Options.Seed)+uint64(i))
		p := h.pastOf(id, byProfile[id], rand.New(source)) //nolint:gosec // repeatable on purpose
		p.writeEvents()
		pasts = append(pasts, p)
		nodesLeft += len(p.nodes)
	}
	readsLeft := max(0, events-len(h.w.Log.Entries))
	h.w.Log.Entries = slices.Grow(h.w.Log.Entries, readsLeft)
	for _, p := range pasts {
		if len(p.nodes) == 0 {
			continue
		}
		reads := readsLeft * len(p.nodes) / nodesLeft
		readsLeft, nodesLeft = readsLeft-reads, nodesLeft-len(p.nodes)
		p.addReads(reads)
		// A history that is generated later would invent changes that the files do not show, so
		// it may only add reads of the newest files.
		h.readsOnly[p.at.Workspace] = true
		h.recent[p.at.Workspace] = slices.Clone(p.files[max(0, len(p.files)-world.Remembered):])
	}
	if len(h.w.Log.Entries) > first {
		indexRows(&h.w.Log, world.Number(first))
	}
	h.wakePolls(now, first)
}

// past is the generator of a workspace with nodes.
type past struct {
	generator

	nodes []*world.Node // by creation
	from  time.Time
}

// pastOf returns the generator for the past of a workspace with these nodes, perhaps none.
// Its writeEvents records how the nodes were made and changed, and its addReads invents only
// reads (readsOnly): invented changes would contradict the nodes.
func (h *Handlers) pastOf(workspaceID string, nodes []*world.Node, dice *rand.Rand) *past {
	org, now := h.w.OrgOf(workspaceID), h.w.Now()
	p := &past{generator: generator{
		state: h, dice: dice, at: world.Scope{Org: org, Workspace: workspaceID}, now: now.UnixNano(), readsOnly: true,
	}, nodes: nodes, from: now} // without nodes, nothing has happened before now
	p.people = h.peopleOf(workspaceID, dice)
	slices.SortFunc(p.nodes, func(a, b *world.Node) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	if len(p.nodes) > 0 {
		p.from = p.nodes[0].Created
	}
	p.numberPlaces() // the workspace and its organization get numbers in the log
	p.recordNames()  // for the texts of the events
	p.fillHours()    // who works at which hour
	return p
}

// writeEvents adds the events of each node: of a folder its creation; of a file its creation,
// further versions, and its deletion or, if it was not deleted, the summary that the platform
// wrote of it. Two times are invented: a deletion is an hour after the last change of the node,
// and a summary a minute. Files that still exist are added to p.files, and their creation to
// p.begins, for addReads.
func (p *past) writeEvents() {
	for _, n := range p.nodes {
		l := &p.state.w.Log
		nextRow := world.Number(len(l.Entries))
		object := l.ObjectNumber(nextRow, n.ID, n.Name)
		if n.Kind == world.KindFolder {
			p.addEventAt("workspace_storage_folder_created", n.Creator, n.Created, object)
			continue
		}
		for i, v := range n.Versions {
			name := "workspace_storage_file_updated"
			if i == 0 {
				name = fileAdded
			}
			p.addEventAt(name, v.Creator, v.Created, object)
		}
		if n.Trashed {
			p.addEventAt("workspace_storage_file_deleted", n.Creator, n.Updated.Add(time.Hour), object)
			continue
		}
		p.addEventAt("node_ai_summary_created", platform, n.Updated.Add(time.Minute), object)
		p.files = append(p.files, object)
		p.begins = append(p.begins, n.Created.Unix())
	}
}

// platform stands for the user of an event that no user causes.
const platform = ""

// addEventAt adds an event of a user or of the platform about the object with this number
// in the log. It becomes visible at once, even if it was created long ago.
func (p *past) addEventAt(name, user string, at time.Time, object uint32) {
	l := &p.state.w.Log
	p.state.w.RecordNames(world.Number(len(l.Entries)), user)
	l.Entries = append(l.Entries, world.Entry{
		Created: at.Unix(), Shown: max(at.UnixNano(), p.now), Place: p.place, Object: object, Kind: l.KindNamed(name),
		Caller: l.Names.Intern(user), Actor: l.Actors.Intern(*p.state.w.Actor(user)),
	})
}

// addReads adds a number of random reads of files, such as downloads, from the creation of the
// first node until now. Without files it adds none.
func (p *past) addReads(events int) {
	if len(p.files) == 0 || events == 0 {
		return
	}
	to := time.Unix(0, p.now)
	for created := range p.eventTimes(world.History{Events: events, From: p.from, To: to}) {
		p.addEvent(created)
	}
}
