package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fastio-go/fastio/api"
)

// ErrNotWritable is why a run with writes has not finished if the organization has no
// workspace for it.
var ErrNotWritable = errors.New("no workspace could be created in the organization")

// change makes the calls that create and change objects. It ends the walk if there is no
// workspace.
func (w *walk) change() {
	j := w.changes.Journal
	if err := errors.Join(j.write(kindMe, string(w.me)), w.meetSecond()); err != nil {
		w.failed = err
		return
	}
	visit(w, "change", workspaceChanges()[:1], struct{}{})
	if w.things[kindWorkspace] == "" {
		w.unwritable = true
		return
	}
	visit(w, "change", workspaceChanges()[1:], struct{}{})
	own := w.ownPlaces()
	each(w, "change", own, nodeChanges(), inviteChanges())
	each(w, "change", own[:1], noteChanges(), fieldChanges(), uploadChanges())
	if w.changes.AI {
		each(w, "change", own, agentChanges())
		each(w, "change", own[:1], costlyChanges())
	}
	if w.changes.Second != nil {
		each(w, "change", own, secondChanges())
		each(w, "change", own[:1], grantChanges())
	}
	for _, p := range own {
		list := &w.shares
		if p.Kind == api.ProfileKindWorkspace {
			list = &w.workspaces
		}
		if !w.seen[string(p.Kind)+" "+string(p.ID)] {
			*list = append(*list, p)
		}
	}
}

// ownPlaces returns the workspace of the run, and its share if there is one.
func (w *walk) ownPlaces() []place {
	marker := w.changes.Journal.Marker
	all := []place{{api.Workspace(api.ID(w.things[kindWorkspace])), marker, w.changes.Org}}
	if id := w.things[kindShare]; id != "" {
		all = append(all, place{Profile: api.Share(api.ID(id)), Name: marker})
	}
	return all
}

// meetSecond learns the ID of the second person.
func (w *walk) meetSecond() error {
	if w.changes.Second == nil {
		return nil
	}
	me, err := areasOver(w.changes.Second).Account.Me(w.ctx)
	if err != nil {
		return fmt.Errorf("the second key: %w", err)
	}
	if me.ID == w.me {
		return errors.New("the second key is of the same person")
	}
	w.things["second"] = string(me.ID)
	return w.changes.Journal.write(kindPerson, string(me.ID))
}

// changeLast makes the calls that delete.
func (w *walk) changeLast() {
	if w.things[kindWorkspace] == "" {
		return
	}
	own := w.ownPlaces()
	if w.changes.AI {
		each(w, "change", own, lastOfAgent())
	}
	each(w, "change", own, lastOfPlace())
	each(w, "change", own[:1], lastChanges())
}

const leaveTime = time.Minute // in which a run deletes what it has created, also after an interrupt

// leave deletes the workspace, and what is outside of it. It has a context of its
// own: that of the walk may be done.
func (w *walk) leave() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), leaveTime)
	defer cancel()
	w.rec.form = FormPlain
	return (&cleaner{areas: w.areas, journal: w.changes.Journal, second: w.changes.Second}).clean(ctx)
}
