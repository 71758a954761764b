package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fastio-go/fastio/api"
)

// This file has the course of a run that writes: what it owns, in which order it changes that,
// and how it ends. The calls are in the files change_*.go.

// Changes are what a [Walk] with writes needs.
type Changes struct {
	Journal *Journal
	Org     api.ID     // in which the workspace is created
	AI      bool       // also calls what costs credits
	Second  api.Client // of another person; nil without one
}

// ErrNotWritable is why a run with writes has not finished if the organization has no
// workspace for it.
var ErrNotWritable = errors.New("no workspace could be created in the organization")

// makeChanges creates the workspace of the run and its share, which are its own places, and
// makes the calls that create and change objects in them. Calls that cost credits or need a
// second person are made only if the flags allow them.
//
// A failure (w.failed) ends the whole walk. Without a workspace to write in (w.unwritable) no
// other write is made, and the walk goes on with the reads.
func (w *walk) makeChanges() {
	if w.isOver() {
		return
	}
	j := w.changes.Journal
	w.failed = j.write(kindMe, string(w.me)) // so that the guard lets the second person transfer places back to this one
	if w.things["second"] == string(w.me) {
		w.failed = errors.New("the second key is of the same person")
	}
	if w.failed != nil {
		return
	}
	w.creates = true                  // even if the create fails: the workspace may exist all the same
	w.before = idsOf(w.run.Exchanges) // no ID of a new object can be one of these
	createWorkspace, others := workspaceChanges()[:1], workspaceChanges()[1:]
	visit(w, "change", createWorkspace, struct{}{})
	if w.things[kindWorkspace] == "" { // it was not created
		w.unwritable = firstError(w.unwritable, ErrNotWritable)
		return
	}
	visit(w, "change", others, struct{}{})
	own := w.ownPlaces() // the workspace, then its share
	workspace := own[:1]
	each(w, "change", own, nodeChanges(), trashChanges(), inviteChanges())
	each(w, "change", workspace, noteChanges(), intentChanges(), fieldChanges(), uploadChanges())
	if w.changes.AI {
		each(w, "change", own, agentChanges())
		each(w, "change", workspace, costlyChanges())
	}
	if w.changes.Second != nil {
		each(w, "change", own, secondChanges())
		each(w, "change", workspace, grantChanges())
	}
	w.addOwnPlaces(own)
}

// addOwnPlaces adds the places that the run has created to those that the walk reads, unless a
// list of the platform had them already.
func (w *walk) addOwnPlaces(own []place) {
	for _, p := range own {
		list := &w.shares
		if p.Kind == api.ProfileKindWorkspace {
			list = &w.workspaces
		}
		isInSample := w.inSample[string(p.Kind)+" "+string(p.ID)]
		if !isInSample {
			*list = append(*list, p)
		}
	}
}

// makeLastChanges makes the calls that delete what the run has created in its workspace and
// share. First are the objects of the AI, then those that both places have, and last those that
// only the workspace has. The workspace and the share themselves remain.
func (w *walk) makeLastChanges() {
	if w.things[kindWorkspace] == "" {
		return
	}
	own := w.ownPlaces() // the first is the workspace
	if w.changes.AI {
		each(w, "change", own, lastOfAgent())
	}
	each(w, "change", own, lastOfPlace())
	each(w, "change", own[:1], lastChanges())
}

// ownPlaces returns the workspace of the run, and then its share if there is one.
func (w *walk) ownPlaces() []place {
	marker := w.changes.Journal.Marker
	all := []place{{Profile: api.Workspace(api.ID(w.things[kindWorkspace])), Name: marker, Org: w.changes.Org}}
	if id := w.things[kindShare]; id != "" {
		all = append(all, place{Profile: api.Share(api.ID(id)), Name: marker})
	}
	return all
}

// readSecondID stores the ID of the person of the second key, and enters it in the journal, so
// that the guard lets later calls name that person. A key that does not work ends the walk.
// The call is the first of the run, and is not recorded.
func (w *walk) readSecondID() {
	if w.changes == nil || w.changes.Second == nil {
		return
	}
	me, err := areasOver(plainClient{w.changes.Second}).Account.Me(w.ctx)
	if err != nil {
		w.failed = fmt.Errorf("the second key: %w", err)
		return
	}
	w.things["second"] = string(me.ID)
	w.failed = w.changes.Journal.write(kindPerson, string(me.ID))
}

const cleanUpTime = time.Minute // in which a run deletes what it has created, also after an interrupt

// cleanUp deletes the uploads, the workspace and the journal of the run, or only the journal
// if nothing was created. It has a context of its own: that of the walk may be done.
func (w *walk) cleanUp() error {
	if !w.creates {
		return w.changes.Journal.remove()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), cleanUpTime)
	defer cancel()
	w.rec.form = FormPlain // its calls are recorded as plain ones
	return (&cleaner{areas: w.areas, journal: w.changes.Journal, second: w.changes.Second}).deleteRunAndJournal(ctx)
}

// A thing names an object of the run.
type thing string

// id returns the ID of an object of the run, "" if it was not created.
func (c call) id(name thing) api.OpaqueID { return api.OpaqueID(c.things[name]) }

// await calls done every two seconds, until it returns true, for a minute at most. The run
// does not record the requests that done sends with the services it gets.
func (c call) await(done func(unrecorded *areas) bool) {
	const tries, interval = 30, 2 * time.Second
	unrecorded := areasOver(c.rec.next)
	for range tries {
		if done(unrecorded) || c.rec.wait(c, interval) != nil {
			return
		}
	}
}

// thingOf returns the name of a thing of a workspace or share.
func thingOf(p place, name thing) thing { return thing(p.Kind) + " " + name }

// name returns a name with the marker of the run.
func (c call) name(of string) string { return c.changes.Journal.Marker + " " + of }
