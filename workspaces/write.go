package workspaces

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
)

// Permission is the set of users who may perform an action in a workspace.
// Unknown values are kept.
type Permission string

// Permissions in a workspace, narrowest first. PermissionOrgOwners is for Join only.
const (
	PermissionOrgOwners Permission = "Only Org Owners"
	PermissionAdmins    Permission = "Admin or above"
	PermissionMembers   Permission = "Member or above"
)

// CreateRequest describes a new workspace.
type CreateRequest struct {
	FolderName  string // 4 to 80 letters, digits and hyphens; accepted in place of the ID; unique
	Name        string // 2 to 100 characters
	Description string // 10 to 1000 characters; "" means none

	Intelligence       *bool // index its files for search and the agent; nil means if the plan allows it
	MetadataExtraction *bool // extract metadata from indexed files; nil means the default of the server, true

	Join          Permission `wire:"perm_join"`          // which members of the organization may join by themselves. Default: PermissionMembers
	ManageMembers Permission `wire:"perm_member_manage"` // who may manage its members, not PermissionOrgOwners. Default: PermissionAdmins

	AccentColor      json.RawMessage // an undocumented color as JSON; nil means none
	BackgroundColor1 json.RawMessage // as AccentColor
	BackgroundColor2 json.RawMessage // as AccentColor
}

// Create creates a workspace in an organization, which may be named by its domain, and
// returns the fields in the response. It is not idempotent and is retried only if it
// was not processed.
//
// Errors: [*api.InputError] for an invalid field; [api.ErrInvalid] if the folder name
// is in use or reserved, or for Intelligence on a plan without content_ai and
// ai_agent; [api.ErrLimit] if the plan allows no more workspaces;
// [api.ErrPaymentRequired] if the organization has no plan; [api.ErrForbidden]
// if the caller may not create one.
//
// If the folder name is not available, the error is an [api.ErrNameTaken] as well: after
// a refusal, Create asks [Service.CheckName]. It does not ask if another field may be the
// reason: if Intelligence is true, a color is set, or a permission is unknown.
//
// It calls POST /current/org/{org_id}/create/workspace/.
func (s *Service) Create(
	ctx context.Context, org api.ID, r CreateRequest, opts ...api.CallOption,
) (*Workspace, error) {
	f := fields{form.New(input.Fields[CreateRequest]("workspaces.Create"))}
	f.folderName("folder_name", r.FolderName)
	f.Name(minName, maxName)("name", r.Name)
	form.Given("description", r.Description, f.Line(minDescription, maxDescription))
	f.Flag(fieldIntelligence, r.Intelligence)
	f.Flag(fieldExtraction, r.MetadataExtraction)
	f.permission(fieldJoin, cmp.Or(r.Join, PermissionMembers)) // the server requires both and has no default
	f.permission(fieldManageMembers, cmp.Or(r.ManageMembers, PermissionAdmins))
	f.GivenJSON("accent_color", r.AccentColor)
	f.GivenJSON("background_color1", r.BackgroundColor1)
	f.GivenJSON("background_color2", r.BackgroundColor2)
	if err := f.Err(); err != nil {
		return nil, err
	}
	request := endpoint.WorkspacesCreate(org, f.Form)
	w, err := call.One[Workspace](ctx, s.c, request, "workspace", opts) // (assumed name)
	mayBeTaken := r.onlyNameIsUnchecked() && call.RefusesName(err, "folder_name")
	if !mayBeTaken {
		return w, err
	}
	name, failed := s.CheckName(ctx, r.FolderName, nil, opts...)
	if failed != nil || name.Free {
		return nil, err
	}
	return nil, call.NameTaken(err)
}

// onlyNameIsUnchecked reports whether Create has checked all fields of the request but
// FolderName: then the server can refuse no other field than FolderName.
// Colors, Intelligence that is true and unknown permissions are checked by the server
// alone.
func (r *CreateRequest) onlyNameIsUnchecked() bool {
	known := []Permission{"", PermissionOrgOwners, PermissionAdmins, PermissionMembers}
	return (r.Intelligence == nil || !*r.Intelligence) &&
		r.AccentColor == nil && r.BackgroundColor1 == nil && r.BackgroundColor2 == nil &&
		slices.Contains(known, r.Join) && slices.Contains(known, r.ManageMembers)
}

// UpdateRequest changes a workspace. Unset fields are kept; at least one is
// required.
type UpdateRequest struct {
	FolderName  api.Opt[string] // as of [CreateRequest]; cannot be cleared
	Name        api.Opt[string] // as of [CreateRequest]; cannot be cleared
	Description api.Opt[string] // 10 to 1000 characters; null clears it, "" is rejected

	// Intelligence is whether files are indexed. False deletes the index; true
	// rebuilds it, which costs credits. It cannot be cleared.
	Intelligence api.Opt[bool]

	MetadataExtraction api.Opt[bool]       // extract metadata from indexed files; false deletes none; cannot be cleared
	Join               api.Opt[Permission] `wire:"perm_join"`          // which members of the organization may join by themselves; cannot be cleared
	ManageMembers      api.Opt[Permission] `wire:"perm_member_manage"` // who may manage its members, not PermissionOrgOwners; cannot be cleared

	AccentColor      api.Opt[json.RawMessage] // an undocumented color as JSON; null clears it
	BackgroundColor1 api.Opt[json.RawMessage] // as AccentColor
	BackgroundColor2 api.Opt[json.RawMessage] // as AccentColor
	OwnerDefined     api.Opt[json.RawMessage] // any JSON, for use by the owner; null clears it
}

// Update changes a workspace, named by its ID or folder name. It requires an
// administrator. It is idempotent.
//
// Errors: [*api.InputError] for an invalid field or an empty request;
// [api.ErrInvalid] for Intelligence on a plan without content_ai and ai_agent, and
// perhaps because the folder name is in use, which [Service.CheckName] reports;
// [api.ErrNotFound] if the workspace does not exist; [api.ErrForbidden] if the caller may
// not change it.
//
// It calls POST /current/workspace/{workspace_id}/update/.
func (s *Service) Update(ctx context.Context, workspace api.ID, r UpdateRequest, opts ...api.CallOption) error {
	f := fields{form.New(input.Fields[UpdateRequest]("workspaces.Update"))}
	form.Change(&f.Fields, "folder_name", r.FolderName, f.folderName)
	form.Change(&f.Fields, "name", r.Name, f.Name(minName, maxName))
	form.Clearable(&f.Fields, "description", r.Description, f.Line(minDescription, maxDescription))
	form.Change(&f.Fields, fieldIntelligence, r.Intelligence, f.Bool)
	form.Change(&f.Fields, fieldExtraction, r.MetadataExtraction, f.Bool)
	form.Change(&f.Fields, fieldJoin, r.Join, f.permission)
	form.Change(&f.Fields, fieldManageMembers, r.ManageMembers, f.permission)
	form.Clearable(&f.Fields, "accent_color", r.AccentColor, f.JSON)
	form.Clearable(&f.Fields, "background_color1", r.BackgroundColor1, f.JSON)
	form.Clearable(&f.Fields, "background_color2", r.BackgroundColor2, f.JSON)
	form.Clearable(&f.Fields, "owner_defined", r.OwnerDefined, f.JSON)
	if err := f.UpdateErr(); err != nil {
		return err
	}
	return call.Do(ctx, s.c, endpoint.WorkspacesUpdate(workspace, f.Form), opts)
}

// CheckNameOptions are the options of [Service.CheckName]. Nil, and zero fields, mean the
// defaults.
type CheckNameOptions struct {
	Org api.ID // the organization of the workspace: the suggestion starts with its ID; "" requests none
}

// NameCheck is the result of [Service.CheckName].
type NameCheck struct {
	Free       bool   // false if the name is in use or the server rejects it
	Suggestion string // another name; "" means none
}

// CheckName reports whether a folder name is available. A name that breaks the
// rule of [CreateRequest] is an [*api.InputError]. The check does not
// reserve the name. Nil options request no suggestion.
//
// It calls GET /current/workspaces/check/name/{name}/.
func (s *Service) CheckName(
	ctx context.Context, name string, o *CheckNameOptions, opts ...api.CallOption,
) (*NameCheck, error) {
	f := fields{form.New(input.Parameters("workspaces.CheckName"))}
	f.folderName("name", name)
	if f.Err() != nil {
		return nil, f.Err()
	}
	q := url.Values{}
	if o != nil && o.Org != "" {
		q.Set("check_org_id", string(o.Org))
	}
	type suggestion struct {
		Suggestion string `json:"suggestion"` // (assumed name)
	}
	a, err := call.Payload[suggestion](ctx, s.c, endpoint.WorkspacesCheckName(name, q), opts)
	if err == nil {
		return &NameCheck{Free: true, Suggestion: a.Suggestion}, nil
	}
	e, refused := errors.AsType[*api.Error](err)
	// A name that is taken is refused as invalid, with no other invalid parameter.
	isOther := func(p api.ParamError) bool { return p.Name != "name" }
	isInvalid := refused && e.Status == http.StatusNotAcceptable && errors.Is(e, api.ErrInvalid)
	if isTaken := isInvalid && !slices.ContainsFunc(e.Params, isOther); !isTaken {
		return nil, err
	}
	var found suggestion
	_ = json.Unmarshal(e.Details, &found) // optional in the response
	return &NameCheck{Suggestion: found.Suggestion}, nil
}

// The limits of a workspace, in characters.
const (
	minFolderName, maxFolderName   = 4, 80
	minName, maxName               = 2, 100
	minDescription, maxDescription = 10, 1000
)

// Names of fields.
const (
	fieldIntelligence  = "intelligence"
	fieldExtraction    = "metadata_extraction"
	fieldJoin          = "perm_join"
	fieldManageMembers = "perm_member_manage"
)

type fields struct{ form.Fields }

// permission checks a permission and sets the field.
func (f *fields) permission(field string, p Permission) {
	switch {
	case strings.TrimSpace(string(p)) == "":
		f.Refuse(field, "must not be blank", strconv.Quote(string(p)))
	case field == fieldManageMembers && p == PermissionOrgOwners:
		rule := fmt.Sprintf("must be %q or %q", PermissionAdmins, PermissionMembers)
		f.Refuse(field, rule, strconv.Quote(string(p)))
	}
	f.Set(field, string(p))
}

// folderName checks the name of a workspace in addresses and sets the field.
func (f *fields) folderName(field, name string) {
	f.Name(minFolderName, maxFolderName)(field, name)
	if strings.ContainsFunc(name, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		f.Refuse(field, "must hold only letters, digits and hyphens", strconv.Quote(name))
	}
}
