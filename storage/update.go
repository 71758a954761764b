package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Source is content that the server has. [FromUpload] and [FromHash] return one; the zero
// Source is none.
type Source struct {
	Upload api.OpaqueID

	Hash     string // in hexadecimal
	HashAlgo string
}

// FromUpload is the content of an upload without a target that is complete. It can be
// added several times.
func FromUpload(upload api.OpaqueID) Source { return Source{Upload: upload} }

// FromHash is the content with a hash, in hexadecimal, if the server has it. The algorithm
// is md5, sha1, sha256 or sha384. [Service.AddFile] adds it to shares only;
// [Service.Update] takes it everywhere.
func FromHash(algorithm, hash string) Source { return Source{Hash: hash, HashAlgo: algorithm} }

// text checks the source of new content and returns it as JSON, for the form
// field "from".
func (f Source) text(args input.Args) (string, error) {
	refuse := func(rule, got string) (string, error) { return "", args.Refuse("from", rule, got) }
	if id := f.Upload.Plain(); id != "" {
		b, err := json.Marshal(map[string]any{"type": "upload", "upload": map[string]string{"id": id}})
		return string(b), err
	}
	digits := map[string]int{"md5": 32, "sha1": 40, "sha256": 64, "sha384": 96}
	switch hash := strings.ToLower(f.Hash); {
	case hash == "":
		return refuse("must be an upload or a hash", "")
	case digits[f.HashAlgo] == 0:
		return refuse("must have the algorithm md5, sha1, sha256 or sha384", strconv.Quote(f.HashAlgo))
	case len(hash) != digits[f.HashAlgo] || strings.Trim(hash, "0123456789abcdef") != "":
		return refuse("must be the digits of a "+f.HashAlgo, strconv.Quote(f.Hash))
	default:
		b, err := json.Marshal(
			map[string]any{"type": "hash", "hash": map[string]string{"hash": hash, "hash_type": f.HashAlgo}},
		)
		return string(b), err
	}
}

// AddFile adds content that the server has, as a file of a folder of a workspace or
// share, or of [api.Root], and returns the file. The ID of the result is "" if the
// response has no node. A file of the same name gets a new version and keeps its ID. It
// is retried only if it was not processed.
//
// Errors: [api.ErrNotFound] if the folder, the upload or the hash does not exist;
// [api.ErrInvalid] if the upload is not complete; [api.ErrForbidden] without the right
// to add files.
//
// It calls POST /current/workspace/{workspace_id}/storage/{parent_id}/addfile/.
// It calls POST /current/share/{share_id}/storage/{parent_id}/addfile/.
func (s *Service) AddFile(
	ctx context.Context, in api.Profile, parent api.OpaqueID, name string, from Source, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.AddFile"
	args := input.Parameters(op)
	text, err := from.text(args)
	if from.Upload == "" && in.Kind != api.ProfileKindShare {
		err = args.Refuse("from", "must be an upload; only shares add files by their hash", "")
	}
	if err = cmp.Or(checkParent(op, "parent_id", parent), checkName(args, name), err); err != nil {
		return nil, err
	}
	r := endpoint.StorageAddFile(in, parent, api.Form{"name": {name}, "from": {text}})
	return s.write(ctx, r, Node{Name: name, Type: NodeTypeFile, ParentID: parent}, opts)
}

// UpdateRequest is a change of a node. At least one of the fields before IfVersion must
// be set.
type UpdateRequest struct {
	Name  string          // a name as in [Service.CreateFolder]; "" means unchanged
	From  Source          // the content of a new version; zero means unchanged
	Title api.Opt[string] `wire:"metadata_title"` // at most 50 characters; [api.Null] clears it
	Short api.Opt[string] `wire:"metadata_short"` // a description, at most 2048 characters; [api.Null] clears it

	// IfVersion is the version that From is based on: the one that was read, as in
	// [Received], not one fetched just before the call. If the file has another one by now,
	// nothing is changed. It requires From, because only content makes versions. Unset means
	// any version.
	IfVersion api.Opt[api.OpaqueID] `wire:"if_version_id"`
}

// form checks the request, which must change something, and returns it as a
// form.
func (r *UpdateRequest) form(op string) (api.Form, error) {
	args := input.Fields[UpdateRequest](op)
	form := api.Form{}
	if r.Name != "" {
		if err := checkName(args, r.Name); err != nil {
			return nil, err
		}
		form["name"] = []string{r.Name}
	}
	if r.From != (Source{}) {
		text, err := r.From.text(args)
		if err != nil {
			return nil, err
		}
		form["from"] = []string{text}
	}
	if err := cmp.Or(
		setText(form, args, "metadata_title", r.Title, 50), setText(form, args, "metadata_short", r.Short, 2048),
	); err != nil {
		return nil, err
	}
	if len(form) == 0 {
		return nil, args.Refuse("", "must have a field", "")
	}
	if r.IfVersion.IsZero() {
		return form, nil
	}
	version, _ := r.IfVersion.Get()
	if version.Plain() == "" || form["from"] == nil {
		return nil, args.Refuse("if_version_id", "must be a version, together with new content", strconv.Quote(string(version)))
	}
	form["if_version_id"] = []string{version.Plain()}
	return form, nil
}

// setText sets a form field to a text, not longer than most, if one is
// given. Null sets the field to "", which clears it. The platform takes the
// text "null" in the same way, so it cannot be set.
func setText(form api.Form, args input.Args, name string, given api.Opt[string], most int) error {
	text, set := given.Get()
	switch n := utf8.RuneCountInString(text); {
	case set && (n < 1 || n > most || text == "null"):
		rule := "must have 1 to " + strconv.Itoa(most) + " characters and not be null; api.Null clears it"
		return args.Refuse(name, rule, strconv.Itoa(n))
	case set || given.IsNull():
		form[name] = []string{text}
	}
	return nil
}

// Update changes the name, the content or the texts of a node of a workspace or share.
// It returns the node of the response or, if that has none, a node with only the ID and
// r.Name. New content is a new version; the ID of the node stays. The call is retried only
// if it was not processed.
//
// To replace a file only if it was not changed meanwhile, uploads.Service.File with a
// Target.IfVersion takes all the steps.
//
// Errors: [*api.VersionConflictError] if IfVersion is not the current version; [api.ErrInvalid]
// also if another node of the folder has the name; [api.ErrNotFound] if the node, the
// upload or the hash does not exist; [api.ErrLocked] if another user has locked the file;
// [api.ErrForbidden] without the right to change nodes.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/update/.
// It calls POST /current/share/{share_id}/storage/{node_id}/update/.
func (s *Service) Update(
	ctx context.Context, in api.Profile, node api.OpaqueID, r UpdateRequest, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.Update"
	form, err := r.form(op)
	if err = cmp.Or(checkNode(op, node), err); err != nil {
		return nil, err
	}
	n, err := s.write(ctx, endpoint.StorageUpdate(in, node, form), Node{ID: node, Name: r.Name}, opts)
	return n, call.Conflict(op, err)
}

// Rename changes the name of a node of a workspace or share, as [Service.Update] does.
//
// Errors: those of [Service.Update]; [api.ErrNameTaken], with the error of the platform, if
// another node of the folder has the name. The platform has no code for that: after a refusal,
// Rename looks for the name with [Service.Get] and [Service.Find]. If these fail, it returns
// the error of the platform alone.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/update/.
// It calls POST /current/share/{share_id}/storage/{node_id}/update/.
func (s *Service) Rename(
	ctx context.Context, in api.Profile, node api.OpaqueID, name string, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.Rename"
	if err := cmp.Or(checkNode(op, node), checkName(input.Parameters(op), name)); err != nil {
		return nil, err
	}
	n, err := s.write(ctx, endpoint.StorageRename(in, node, api.Form{"name": {name}}), Node{ID: node, Name: name}, opts)
	if !call.RefusesName(err, "name") {
		return n, err
	}
	was, failed := s.Get(ctx, in, node, opts...) // to know its folder
	if failed != nil {
		return nil, err
	}
	named, failed := s.Find(ctx, in, was.ParentID, name, opts...)
	takenByOther := failed == nil && !named.ID.Equal(node)
	if !takenByOther {
		return nil, err
	}
	return nil, call.NameTaken(err)
}
