package api

import "strings"

// ProfileKind is the kind of a [Profile].
type ProfileKind string

// Kinds of profiles, named as in the paths of the platform.
const (
	ProfileKindUser      ProfileKind = "user"
	ProfileKindOrg       ProfileKind = "org"
	ProfileKindWorkspace ProfileKind = "workspace"
	ProfileKindShare     ProfileKind = "share"
	ProfileKindFileShare ProfileKind = "fileshare"
)

// phrase returns the kind with its article.
func (k ProfileKind) phrase() string {
	switch k {
	case ProfileKindOrg:
		return "an organization"
	case ProfileKindFileShare:
		return "a File Share"
	default:
		return "a " + string(k)
	}
}

// Profile is a user, organization, workspace, share or File Share: its kind and its ID.
// Methods that serve several kinds take one, so that an ID cannot be sent to the endpoint
// of another kind.
type Profile struct {
	Kind ProfileKind `json:"kind"`
	ID   ID          `json:"id"` // or the custom name
}

// User returns the profile of a user or an agent; [Me] is the caller.
func User(id ID) Profile { return Profile{ProfileKindUser, id} }

// Org returns the profile of an organization.
func Org(id ID) Profile { return Profile{ProfileKindOrg, id} }

// Workspace returns the profile of a workspace.
func Workspace(id ID) Profile { return Profile{ProfileKindWorkspace, id} }

// Share returns the profile of a share.
func Share(id ID) Profile { return Profile{ProfileKindShare, id} }

// FileShare returns the profile of a File Share, by its ID or public ID.
func FileShare(id ID) Profile { return Profile{ProfileKindFileShare, id} }

// String returns the kind and the ID: "workspace 4012345678901234567".
func (p Profile) String() string { return strings.TrimSpace(string(p.Kind) + " " + string(p.ID)) }

// OneOf returns an [*InputError] for the field of the operation op unless the profile
// has an ID and one of the kinds. No kinds means any.
func (p Profile) OneOf(op, field string, kinds ...ProfileKind) error {
	isAccepted := len(kinds) == 0
	for _, k := range kinds {
		isAccepted = isAccepted || k == p.Kind
	}
	if !isAccepted {
		return &InputError{Op: op, Field: field, Rule: "must be " + alternatives(kinds), Got: string(p.Kind)}
	}
	if strings.TrimSpace(string(p.ID)) == "" {
		return &InputError{
			Op: op, Field: field, Rule: "must have an ID", Got: strings.TrimSpace(string(p.Kind) + " without one"),
		}
	}
	return nil
}

// alternatives joins the kinds as in "a user, a workspace or a share".
func alternatives(kinds []ProfileKind) string {
	var b strings.Builder
	for i, k := range kinds {
		switch {
		case i == 0:
		case i == len(kinds)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(k.phrase())
	}
	return b.String()
}
