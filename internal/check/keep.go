package check

import (
	"cmp"
	"errors"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/storage"
)

// This file decides what a run owns. That a response to a create holds an ID is not enough:
// it might be the ID of an object that existed before.

// ErrForeignWorkspace is why a run with writes has not finished if the platform has answered
// the create of its workspace with the ID of another one, in which nothing is changed.
var ErrForeignWorkspace = errors.New(
	"the platform has answered the create of the workspace with the ID of another one; nothing was changed in that")

// keep makes the result of a create an object of the run, and stores its ID under a name for
// later calls; a response without an ID has created nothing. If the object may belong to
// others, as requireOwn and the journal find, it returns an error, and no later call uses
// the ID. What ends the walk (failed), or its writes (unwritable), is set in the walk, which
// all calls share.
func (c call) keep(kind string, name thing, id string) error {
	if id == "" {
		return nil
	}
	err := c.requireOwn(kind, id)
	if err == nil {
		err = c.changes.Journal.Own(kind, id)
	}
	_, isRefusal := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		c.things[name] = id
	case !isRefusal: // the journal cannot be written: the walk ends
		c.failed = err
	case kind == kindWorkspace: // all other objects would be in it: nothing more is written
		c.unwritable = ErrForeignWorkspace
	}
	return err
}

// keepNode takes the results of a call, and makes the created node an object of the run.
func (c call) keepNode(name thing, n *storage.Node, err error) error {
	if err != nil {
		return err
	}
	return c.keep("node", name, string(n.ID))
}

// keepComment takes the results of a call, and makes the created comment an object of
// the run.
func (c call) keepComment(name thing, got *comments.Comment, err error) error {
	if err != nil {
		return err
	}
	return c.keep(kindComment, name, string(got.ID))
}

// requireOwn returns a [*RefusedError] for an ID that a response had before the run has
// created anything, or whose object does not have the marker of the run.
func (c call) requireOwn(kind, id string) error {
	if c.before[plain(id)] {
		return &RefusedError{"ID", "a " + kind + " had it before this run has created one"}
	}
	read := c.markedTexts()[kind]
	// An object of another kind needs no marker: it has no text that the run could mark (a version), or the run
	// names it only in paths that begin with the workspace or share of the run.
	if read == nil {
		return nil
	}
	text, err := read(id)
	if err != nil || !strings.Contains(text, c.changes.Journal.Marker) {
		return &RefusedError{"ID", "its " + kind + " does not have the marker of this run"}
	}
	return nil
}

// markedTexts returns, for each kind of objects that the run marks, a function that reads the
// text with the marker: a name, a title or a body. The calls of these functions are not recorded.
func (c call) markedTexts() map[string]func(id string) (string, error) {
	quiet := *c.rec // a copy that records nothing
	quiet.record = func(Exchange) {}
	all := areasOver(&quiet)
	return map[string]func(id string) (string, error){
		kindWorkspace: func(id string) (string, error) {
			got, err := all.Workspaces.Get(c, api.ID(id))
			return textOf(err, func() string { return got.Name })
		},
		kindShare: func(id string) (string, error) {
			got, err := all.Shares.Get(c, api.ID(id))
			return textOf(err, func() string { return got.Title })
		},
		kindFileShare: func(id string) (string, error) {
			got, err := all.FileShares.Get(c, api.ID(id))
			return textOf(err, func() string { return got.Title })
		},
		kindComment: func(id string) (string, error) {
			got, err := all.Comments.Get(c, api.OpaqueID(id))
			return textOf(err, func() string { return got.Body })
		},
		kindUpload: func(id string) (string, error) {
			got, err := all.Uploads.Get(c, api.OpaqueID(id))
			textThatPasses := c.changes.Journal.Marker // returned if the platform does not show the name
			return textOf(err, func() string { return cmp.Or(got.Name, textThatPasses) })
		},
	}
}

// textOf returns the text of the result of a call, or err, the error of the call.
func textOf(err error, text func() string) (string, error) {
	if err != nil {
		return "", err
	}
	return text(), nil
}

// idsOf returns the texts and numbers of responses, any of which may be an ID, in the form
// in which IDs are compared.
func idsOf(exchanges []Exchange) map[string]bool {
	all := map[string]bool{}
	for _, e := range exchanges {
		fields, _ := jsonFields("", e.Body) // none of a response that is not JSON
		for _, f := range fields {
			all[plain(f.value)] = true
		}
	}
	return all
}
