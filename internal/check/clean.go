package check

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/workspaces"
)

// CleanOptions are the settings of [Clean].
type CleanOptions struct {
	Dir      string // of the journals
	Platform string // whose journals are read

	// Connect returns a client above a guard that allows [Deletions] of a journal, or only
	// reads if it is nil, and a client of the second person, nil without one.
	Connect func(j *Journal) (first, second api.Client, err error)

	Ask func(question string) bool // about a workspace that no journal has
	Say func(line string)
}

// Deletions returns the writes that [Clean] needs. Two of them delete nothing: objects in an
// archived workspace cannot be deleted, so it is unarchived, and only the owner can delete a
// workspace or share, so the second person transfers it back.
func Deletions() []Write {
	needed := []string{
		"workspaces.Unarchive", "workspaces.Delete", "shares.Delete", "fileshares.Delete", "uploads.Cancel",
		"members.TransferOwnership",
	}
	return slices.DeleteFunc(Writes(WithSecondKey), func(w Write) bool { return !slices.Contains(needed, w.Op) })
}

// Clean deletes what earlier runs have left: the workspaces of runs whose journals are in
// o.Dir and, if the user agrees, other workspaces with the marker of a run in their name.
func Clean(ctx context.Context, o CleanOptions) error {
	var errs []error
	paths := journals(o.Dir)
	if len(paths) == 0 {
		o.Say("The directory " + o.Dir + " has no journal of a run.")
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if !isMarker(strings.TrimSuffix(name, journalSuffix)) {
			o.Say(name + " is not the name of a journal, and is not read")
			continue
		}
		j, err := openJournal(path)
		switch {
		case errors.Is(err, durable.ErrInUse):
			o.Say(name + ": its run has not ended, and keeps what it has")
		case err != nil:
			errs = append(errs, err)
		case j.isOfOther(o.Platform):
			o.Say(name + " is of another platform, and is kept")
			errs = append(errs, j.Close())
		default:
			errs = append(errs, o.cleanRun(ctx, j))
		}
	}
	return errors.Join(append(errs, o.cleanMarked(ctx))...)
}

// cleanRun deletes what is left of the run of a journal, and the journal with it. It says whether
// the workspace was deleted, also if something else could not be deleted. After a failure it
// closes the journal, which remains for a later try.
func (o *CleanOptions) cleanRun(ctx context.Context, j *Journal) error {
	first, secondPerson, err := o.Connect(j)
	if err == nil {
		k := &cleaner{areas: areasOver(plainClient{first}), journal: j, second: secondPerson}
		err = k.deleteRunAndJournal(ctx)
		switch {
		case k.deleted:
			o.Say(j.Marker + ": the workspace is deleted")
		case err == nil:
			o.Say(j.Marker + ": nothing is left of this run")
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", j.Marker, err), j.Close())
	}
	return nil
}

var marked = regexp.MustCompile(`^` + markerPrefix + `[a-z2-7]{12}`)

// isMarker reports whether a name is a marker, and nothing else.
func isMarker(name string) bool { return name != "" && marked.FindString(name) == name }

// cleanMarked deletes workspaces that have a marker and are in no journal, if the
// user agrees.
func (o *CleanOptions) cleanMarked(ctx context.Context) error {
	client, _, err := o.Connect(nil) // a client that only reads
	if err != nil {
		return err
	}
	inJournals := strings.Join(journals(o.Dir), "\n") // the name of a journal has the marker of its run
	// The user may see the errors of the list: those of a plainClient have no text of a response.
	for w, err := range areasOver(plainClient{client}).Workspaces.All(ctx, nil) {
		if err != nil {
			return err
		}
		marker := marked.FindString(w.Name)
		if marker == "" || strings.Contains(inJournals, marker) {
			continue
		}
		const question = "Delete the workspace %q with all that is in it? " +
			"Its name is that of a run, but no journal here has it: the run may be under way elsewhere."
		if !o.Ask(fmt.Sprintf(question, w.Name)) {
			continue
		}
		j, err := newJournal(o.Dir, marker, o.Platform, w.OrgID)
		if err == nil {
			err = errors.Join(j.write(kindWorkspace, string(w.ID)), o.cleanRun(ctx, j))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A cleaner deletes what the run of a journal has created. Most of it is deleted with the
// workspace; shares, File Shares, uploads and imports are deleted one by one before.
type cleaner struct {
	*areas

	journal *Journal
	second  api.Client // of the person who may be the owner; nil without one
	deleted bool       // whether the workspace of the run is
	renamed int        // workspaces that have lost the marker, which are kept
}

// letGuardPass adds an object to the journal, because the guard below the client refuses
// changes of objects that the journal does not have.
func (k *cleaner) letGuardPass(kind, id string) error { return k.journal.write(kind, id) }

// deleteRunAndJournal deletes what is left of the run, and then its journal. After a failure
// the journal remains, for a later try. A workspace that a person has renamed is kept, but the
// journal is deleted all the same: errRenamed then asks the user to delete the workspace.
func (k *cleaner) deleteRunAndJournal(ctx context.Context) error {
	org := k.journal.all(kindOrg)
	isBegun := len(org) > 0 && k.journal.owns(kindIntent, k.journal.Marker)
	if !isBegun { // a run writes both before it creates anything
		return k.journal.remove()
	}
	found, err := k.workspacesOfRun(ctx, api.ID(org[0]))
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range found {
		errs = append(errs, k.letGuardPass(kindWorkspace, string(w.ID)))
		if w.Archived { // nothing in it could be deleted, nor an upload to it be canceled
			errs = append(errs, k.Workspaces.Unarchive(ctx, w.ID))
		}
	}
	errs = append(errs, k.cancelUploads(ctx)) // while the workspaces exist
	for _, w := range found {
		errs = append(errs, k.deleteWorkspace(ctx, w))
	}
	err = errors.Join(errs...)
	if err == nil {
		err = k.journal.remove()
	}
	if err == nil && k.renamed > 0 { // workspacesOfRun has counted them
		err = errRenamed
	}
	return err
}

// errRenamed lets the user know of a workspace that is kept.
var errRenamed = errors.New("the workspace of the run has another name now and is kept: delete it by hand")

// workspacesOfRun returns the workspaces of the run, which must be deleted. A workspace is of
// the run if its ID is in the journal. If the journal has no ID, because the run was killed
// before it wrote one or no response to the create arrived, it is of the run if its folder has
// the marker as its name. The name of the workspace must begin with the marker too: one whose ID
// is in the journal, but whose name is another, was renamed by a person, and is only counted.
func (k *cleaner) workspacesOfRun(ctx context.Context, org api.ID) ([]*workspaces.Workspace, error) {
	var found []*workspaces.Workspace
	isIDKnown := len(k.journal.all(kindWorkspace)) > 0
	// An error of AllByOrg would not show whether it is the organization that the caller may not see.
	_, err := k.Orgs.Get(ctx, org)
	isOrgHidden := errors.Is(err, api.ErrNotFound) || isDenied(err)
	list := k.Workspaces.AllByOrg(ctx, org, &workspaces.ByOrgOptions{Archived: workspaces.ArchivedAlso})
	if isOrgHidden { // the caller may still be a member of the workspace
		list = k.Workspaces.All(ctx, nil)
	}
	for w, err := range list {
		if err != nil {
			return nil, err
		}
		inJournal := k.journal.owns(kindWorkspace, string(w.ID))
		hasFolderOfRun := !isIDKnown && w.FolderName == k.journal.Marker
		isOfRun := inJournal || hasFolderOfRun
		switch isMarked := strings.HasPrefix(w.Name, k.journal.Marker); {
		case isOfRun && isMarked:
			found = append(found, w)
		case inJournal:
			k.renamed++
		}
	}
	return found, nil
}

// deleteWorkspace deletes a workspace of the run, and before it all its File Shares and
// shares: in a workspace of the run, they are of the run, too. A list that is denied counts
// as empty, since the plan may have no such objects.
func (k *cleaner) deleteWorkspace(ctx context.Context, w *workspaces.Workspace) error {
	var errs []error
	for f, err := range k.FileShares.All(ctx, w.ID, nil) {
		if err != nil {
			errs = append(errs, unlessDenied(err))
			break
		}
		errs = append(errs, k.letGuardPass(kindFileShare, string(f.ID)), unlessNotFound(k.FileShares.Delete(ctx, f.ID)))
	}
	for s, err := range k.Shares.AllByWorkspace(ctx, w.ID, &shares.ByWorkspaceOptions{Archived: shares.ArchivedAlso}) {
		if err != nil {
			errs = append(errs, unlessDenied(err))
			break
		}
		deleteIt := func() error { return k.Shares.Delete(ctx, s.ID) }
		errs = append(errs, k.letGuardPass(kindShare, string(s.ID)), k.deleteAsOwner(ctx, api.Share(s.ID), deleteIt))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	err := k.deleteAsOwner(ctx, api.Workspace(w.ID), func() error { return k.Workspaces.Delete(ctx, w.ID) })
	k.deleted = k.deleted || err == nil // cleanRun prints a line if it is true
	return err
}

// unlessDenied returns the error of a list, nil if the caller or its plan has no such
// objects.
func unlessDenied(err error) error {
	if isDenied(err) || errors.Is(err, api.ErrNotFound) || errors.Is(err, api.ErrPaymentRequired) {
		return nil
	}
	return err
}

// deleteAsOwner deletes a workspace or share. If that is refused and the second person may
// be its owner, that person transfers it back, and it is deleted then.
func (k *cleaner) deleteAsOwner(ctx context.Context, in api.Profile, deleteIt func() error) error {
	err := unlessNotFound(deleteIt())
	if !isDenied(err) { // it is deleted, or the failure is another one
		return err
	}
	switch {
	case len(k.journal.all(kindPerson)) == 0: // no second person has joined
		return err
	case k.second == nil:
		return fmt.Errorf("the second person may be the owner, add -second-key: %w", err)
	}
	me, failure := k.Account.Me(ctx)
	if failure == nil { // ownership goes to the present caller, who need not be the caller of the run
		_, failure = areasOver(plainClient{k.second}).Members.TransferOwnership(ctx, in, me.ID)
	}
	if failure != nil {
		return errors.Join(err, failure)
	}
	return unlessNotFound(deleteIt())
}

// isDenied reports whether the caller has no right to an object.
func isDenied(err error) bool {
	return errors.Is(err, api.ErrForbidden) || errors.Is(err, api.ErrUnauthenticated)
}

// cancelUploads ends the uploads and imports of the run: those whose name has its marker, or whose
// ID is in the journal if they have no name. Each is added to the journal first (letGuardPass), because
// the guard below the client refuses changes of objects that the journal does not have.
func (k *cleaner) cancelUploads(ctx context.Context) error {
	list, err := k.Uploads.List(ctx)
	for _, u := range list {
		unnamed := u.Name == "" && k.journal.owns(kindUpload, string(u.ID)) // the platform may not show names
		if unnamed || strings.HasPrefix(u.Name, k.journal.Marker) {
			err = errors.Join(err, k.letGuardPass(kindUpload, string(u.ID)), unlessNotFound(k.Uploads.Cancel(ctx, u.ID)))
		}
	}
	return err
}

// unlessNotFound returns the error of a deletion, nil if the object was deleted before.
func unlessNotFound(err error) error {
	if errors.Is(err, api.ErrNotFound) {
		return nil
	}
	return err
}
