package check

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/fastio-go/fastio/api"
)

// The sample of a walk: what of each kind is looked at, at most.
const (
	maxOrgs       = 3
	maxWorkspaces = 3 // of each organization
	maxShares     = 3 // of each workspace
	maxAllShares  = 6
	maxNodes      = 8 // of each workspace and share: one of each kind
	maxAllNodes   = 24
	maxFolders    = 2 // below the root, in each workspace and share
	maxComments   = 5
	maxEvents     = 5
	maxThreads    = 3
	maxTurns      = 3 // of each thread
	maxOthers     = 3 // File Shares, QuickShares, sessions, keys, invitations, filters, uploads, intents
	maxFormsOf    = 2 // objects of a kind that operations are called for in all forms
	maxSearches   = 4 // workspaces whose events are searched: 15 searches in 30 s are allowed
	pageSize      = 2
	limitTrials   = 2 // whether a limit is counted by the credential or by the address
)

// Options are the settings of a [Walk].
type Options struct {
	Client    api.Client // signed with the credential to check
	Anonymous api.Client // without a credential; nil skips the probes without a token

	Changes *Changes // nil reads only

	OnCall func(op string, calls int)                       // after each recorded call
	Wait   func(ctx context.Context, d time.Duration) error // between tries; nil waits
}

// A Run is what [Walk] has recorded.
type Run struct {
	Exchanges []Exchange
	Err       error // why it ended early; nil if it is complete
	Left      error // why not all was deleted that it has created; nil if nothing is left
}

// Walk calls the operations of [Reads], first those that need only the caller, then those for a
// bounded sample of the objects that it finds. If ctx ends, it returns the calls so far.
func Walk(ctx context.Context, o Options) *Run {
	run := &Run{}
	w := &walk{
		ctx: ctx, run: run, anonymous: o.Anonymous, changes: o.Changes,
		things: map[thing]string{}, locks: map[api.Profile]api.Secret{}, names: map[api.ID]string{},
		others: map[string][]string{}, parts: map[string][]part{}, limited: map[string]bool{},
		inSample: map[string]bool{}, kept: map[string]int{}, hasKind: map[string]bool{},
		previews: map[api.OpaqueID]bool{}, forms: map[string]int{},
	}
	w.rec = &recorder{next: plainClient{o.Client}, wait: o.Wait, record: func(e Exchange) {
		run.Exchanges = append(run.Exchanges, e)
		w.limited[e.Op] = w.limited[e.Op] || e.Rate.Limit > 0
		if o.OnCall != nil {
			o.OnCall(e.Op, len(run.Exchanges))
		}
	}}
	if w.rec.wait == nil {
		w.rec.wait = pause
	}
	w.areas = areasOver(w.rec)
	w.makeAllCalls() //nolint:contextcheck // a walk has the context
	run.Err = firstError(context.Cause(ctx), w.failed, w.unwritable)
	if o.Changes != nil {
		run.Left = w.cleanUp() //nolint:contextcheck // a walk has the context
	}
	return run
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pause waits for d. It returns the error of ctx if that is done first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A walk is a run that is under way, and what it has found.
type walk struct {
	*areas
	ctx        context.Context //nolint:containedctx // the one of Walk
	run        *Run
	rec        *recorder
	anonymous  api.Client
	failed     error
	changes    *Changes
	creates    bool             // the create of the workspace was begun: cleanUp has to delete it
	unwritable error            // why there is no workspace to write in; nil if there is one
	before     map[string]bool  // what may be IDs of objects that existed before
	things     map[thing]string // IDs of the objects of the run
	locks      map[api.Profile]api.Secret

	me         api.ID
	email      api.Person
	orgs       []place
	workspaces []place
	shares     []place
	nodes      []node
	fileShares []fileShare
	quick      []quickShare
	comments   []api.OpaqueID
	events     []api.OpaqueID
	threads    []thread
	turns      []turn
	others     map[string][]string // IDs of the caller's, by kind
	parts      map[string][]part   // of workspaces, by kind
	searched   int                 // workspaces whose events were searched

	profilePictures []pictureOf
	names           map[api.ID]string // of shares, accepted in place of the ID

	limited map[string]bool // operations whose responses have the headers of a limit

	inSample map[string]bool       // objects, by kind and ID
	kept     map[string]int        // how many nodes of a place, or threads of a kind of place, are in the sample
	hasKind  map[string]bool       // kinds of nodes and events of which the sample has one
	previews map[api.OpaqueID]bool // whether a node has one; its File Share or QuickShare may not show that
	forms    map[string]int        // objects that were called in all forms, by kind
}

// A place is an organization, workspace or share.
type place struct {
	api.Profile

	Name string // accepted in place of the ID
	Org  api.ID
}

// A node is a file, folder, note or link of a workspace or share.
type node struct {
	In      api.Profile
	ID      api.OpaqueID
	Folder  bool
	File    bool
	Note    bool
	Picture bool
	Preview bool // of the type thumbnail, which exists: a new one might cost credits
}

type fileShare struct {
	ID      api.ID
	Node    api.OpaqueID
	Preview bool
}

type quickShare struct {
	ID      api.OpaqueID
	Node    api.OpaqueID
	Note    bool
	Preview bool
}

type thread struct {
	In api.Profile
	ID api.OpaqueID
}

type turn struct {
	thread

	Turn  api.OpaqueID
	Ended bool // its stream ends at once
}

// A call is what the function of a row gets: the context, the areas, and the form of the call.
type call struct {
	context.Context
	*walk

	opts   []api.CallOption // the level of output
	limit  int              // rows a page; 0 means the default
	offset int
	cursor string
	next   *string // set by a call whose pages have cursors
}

// A callRow is a row of the tables of calls: how an operation is called for a subject. The
// rows of a run that writes also have calls that create, change and delete.
type callRow[S any] struct {
	op    string // the operation, or the first of several calls
	forms forms
	do    func(c call, s S) error
}

// forms are the forms of a call beyond the plain one. A bad parameter, an unknown ID, a
// name and a probe without a token are rows of their own.
type forms uint8

const (
	levels  forms = 1 << iota // of output
	pages                     // by offset
	cursors                   // pages by cursor

	byName
	unknownID
	badParameter

	plainForm forms = 0
)

// inOrder returns the forms of a row in the order of its calls. A row with byName, unknownID or
// badParameter has only this form; all other rows begin with the plain form.
func (f forms) inOrder() []Form {
	switch {
	case f&byName != 0:
		return []Form{FormByName}
	case f&unknownID != 0:
		return []Form{FormUnknown}
	case f&badParameter != 0:
		return []Form{FormBad}
	}
	all := []Form{FormPlain}
	if f&levels != 0 {
		all = append(all, FormStandard, FormTerse)
	}
	if f&(pages|cursors) != 0 {
		all = append(all, FormPage, FormNext)
	}
	return all
}

// visit makes the calls of a subject in their forms. Only the first maxFormsOf subjects
// of a kind get all forms, the others the first one. FormNext is the last form. In a list with
// cursors, the call for the page before stores its cursor in next; without one, FormNext is left
// out. A list without cursors is always asked for its next page, since an offset needs nothing of
// the page before.
func visit[S any](w *walk, kind string, rows []callRow[S], s S) {
	w.rec.group++ // the exchanges of one subject have one group
	inAllForms := w.forms[kind] < maxFormsOf
	w.forms[kind]++
	for _, r := range rows {
		hasCursors, next := r.forms&cursors != 0, ""
		for i, form := range r.forms.inOrder() {
			isExtra := i > 0 && !inAllForms
			lacksCursor := form == FormNext && hasCursors && next == ""
			if w.isOver() || isExtra || lacksCursor {
				break
			}
			w.rec.form = form
			err := r.do(w.call(form, r.forms, &next), s)
			// A body that can be read only once was used by a try that failed. Another call makes a new one.
			for n := 0; n < moreTries && errors.Is(err, api.ErrBodyUsed); n++ {
				err = r.do(w.call(form, r.forms, &next), s)
			}
			w.noteFirstFailure(r.op, err)
		}
	}
	w.rec.form = FormPlain
}

// call returns the argument for the function of a row: the context, the areas, and the options of
// a form, which is one of rowForms. The second page of a list with cursors is at next, the cursor
// that the call for the first page has stored. The second page of another list is at an offset.
func (w *walk) call(form Form, rowForms forms, next *string) call {
	c := call{Context: w.ctx, walk: w, next: next}
	switch form {
	case FormStandard:
		c.opts = []api.CallOption{api.WithOutput(api.Standard)}
	case FormTerse:
		c.opts = []api.CallOption{api.WithOutput(api.Terse)}
	case FormPage:
		c.limit = pageSize
	case FormNext:
		c.limit = pageSize
		hasCursors := rowForms&cursors != 0
		if hasCursors {
			c.cursor = *next
		} else {
			c.offset = pageSize
		}
	default:
	}
	return c
}

// noteFirstFailure sets the error that ends the walk if its first call, account.Me, shows
// that no other can succeed: the credential is not accepted, or there was no response. Other
// refusals are findings, as of any call, and the walk goes on.
func (w *walk) noteFirstFailure(op string, err error) {
	if op != "account.Me" || w.rec.form != FormPlain || err == nil {
		return
	}
	var refusal *api.Error
	switch {
	case errors.Is(err, api.ErrUnauthenticated):
		w.failed = errors.New("the platform does not accept the credential")
	case !errors.As(err, &refusal): // no response of the platform
		w.failed = err
	}
}

func (w *walk) isOver() bool { return w.ctx.Err() != nil || w.failed != nil }

// onlyError returns the error of a call whose result is not needed.
func onlyError[T any](_ T, err error) error { return err }

// closeDownload closes a download, whose content is not needed, and returns err.
func closeDownload(d *api.Download, err error) error {
	if d != nil {
		_ = d.Close()
	}
	return err
}

// addToSample notes that an object is in the sample, and reports true, unless it is in it
// already or there is no room. After true, the caller keeps what further calls need of the
// object.
func (w *walk) addToSample(kind, id string, hasRoom bool) bool {
	key := kind + " " + id
	if id == "" || !hasRoom || w.inSample[key] {
		return false
	}
	w.inSample[key] = true
	return true
}

// makeAllCalls makes all calls that read, each for the objects that earlier calls have found. A
// run with changes makes them after the calls about the caller, and deletes its objects after all
// these calls. At last, probe also calls without a credential.
func (w *walk) makeAllCalls() {
	w.readSecondID() // the user of the second key, whom changes name
	visit(w, "caller", callerReads(), struct{}{})
	if w.changes != nil {
		w.makeChanges()
	}
	each(w, "org", w.orgs, orgReads(), memberReads())
	each(w, "workspace", w.workspaces, workspaceReads(), memberReads(), storageReads())
	each(w, "share", w.shares, shareReads(), memberReads(), storageReads())
	w.openFolders()
	for _, n := range w.nodes {
		w.visitNode(n)
	}
	each(w, "file share", w.fileShares, fileShareReads())
	each(w, "quickshare", w.quick, quickShareReads())
	each(w, "comment", w.comments, commentReads())
	each(w, "event", w.events, eventReads())
	each(w, "thread", w.threads, threadReads())
	each(w, "turn", w.turns, turnReads())
	each(w, "picture", w.profilePictures, profilePictureReads())
	for _, kind := range []string{"invitation", "session", "key", "upload", "import"} {
		each(w, kind, w.others[kind], otherReads()[kind])
	}
	for _, kind := range []string{"field", "filter", "intent"} {
		each(w, kind, w.parts[kind], partReads()[kind])
	}
	if w.changes != nil {
		w.makeLastChanges()
	}
	w.probe()
}

// each makes the calls of all tables for each subject of a kind.
func each[S any](w *walk, kind string, subjects []S, tables ...[]callRow[S]) {
	for _, s := range subjects {
		visit(w, kind, slices.Concat(tables...), s)
	}
}

// visitNode makes the calls of all nodes for n, and those that its type, its preview and
// its place (only workspaces have metadata) allow.
func (w *walk) visitNode(n node) {
	rows := nodeReads()
	add := func(allowed bool, more []callRow[node]) {
		if allowed {
			rows = append(rows, more...)
		}
	}
	add(n.File || n.Note, fileReads())
	add((n.File || n.Note) && n.In.Kind == api.ProfileKindWorkspace, factReads())
	add(n.Note, noteReads())
	add(n.Preview, previewReads())
	add(n.Picture, pictureReads())
	visit(w, "node of a "+string(n.In.Kind), rows, n)
}

// openFolders lists the first folders of each workspace and share, to find nodes of
// kinds that the root does not have. Errors are only recorded.
func (w *walk) openFolders() {
	opened := map[api.Profile]int{}
	for _, n := range w.nodes {
		if n.Folder && opened[n.In] < maxFolders && !w.isOver() {
			opened[n.In]++
			w.rec.group++ // the exchanges of each folder have a group of their own
			_ = call{Context: w.ctx, walk: w}.listNodes(n.In, n.ID)
		}
	}
}

// probe calls one operation of each area without a credential. It then makes the calls from
// which countedBy finds whether a rate limit is counted by the credential or by the address:
// one without the credential between two with it, limitTrials times.
func (w *walk) probe() {
	if w.anonymous == nil {
		return
	}
	signed := w.rec.next // the client with the credential
	send := func(client api.Client, form Form, makeCall func()) {
		if w.isOver() {
			return
		}
		w.rec.next, w.rec.form = client, form // the recorder sends the call with that client, and notes its form
		makeCall()
	}
	for _, r := range probes() {
		w.rec.group++ // each is a call for another object
		send(w.anonymous, FormNoToken, func() { _ = w.rec.Call(w.ctx, r, nil) })
	}
	for range limitTrials { // no group: countedBy finds these calls by their form
		send(signed, FormLimit, w.callLimited)
		send(w.anonymous, FormLimitOther, w.callLimited)
		send(signed, FormLimit, w.callLimited)
	}
	w.rec.next, w.rec.form = signed, FormPlain
}

// callLimited makes a call whose response says what is left of a rate limit: account.Me if its
// responses have the headers, else a search of events.
func (w *walk) callLimited() {
	request, opts := api.Get("/current/user/me/details/"), []api.CallOption(nil)
	if !w.limited["account.Me"] {
		request = api.Get("/current/events/search/")
		opts = append(opts, api.WithQuery(url.Values{"user_id": {string(w.me)}, "limit": {"1"}}))
	}
	_ = w.rec.Call(w.ctx, request, nil, opts...) // the recorder has the error
}
