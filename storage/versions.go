package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Versions lists and restores the versions of files. [Downloads.Read] reads one.
type Versions struct{ c api.Client }

// Version is one version of a file.
type Version struct {
	ID      api.OpaqueID `json:"id" also:"version_id"` // (assumed name)
	Size    *int64       `json:"size"`                 // in bytes; nil if not in the response, as the next (assumed name)
	Current *bool        `json:"current"`              // (assumed name)
	Created api.Time     `json:"created"`              // zero if not in the response, as the rest (assumed name)

	Creator  api.ID `json:"creator,omitzero"`   // the user who made it (assumed name)
	Hash     string `json:"hash,omitzero"`      // of the content, in hexadecimal (assumed name)
	HashAlgo string `json:"hash_algo,omitzero"` // its algorithm, such as sha256 (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// String returns the version on one line: its ID, and what is known of its size, its time
// and whether it is the current one.
func (v *Version) String() string {
	if v == nil {
		return "<nil>"
	}
	text := "version " + string(v.ID)
	if v.Size != nil {
		text += fmt.Sprintf(" of %d bytes", *v.Size)
	}
	if !v.Created.IsZero() {
		text += " created " + v.Created.String()
	}
	if v.Current != nil && *v.Current {
		text += ", current"
	}
	return text
}

// List returns all versions of a file of a workspace or share in one call, without pages.
// Their order is not documented.
//
// Errors: [api.ErrNotFound] if the file is not in that workspace or share;
// [api.ErrForbidden] without access to it.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/versions/.
// It calls GET /current/share/{share_id}/storage/{node_id}/versions/.
func (v *Versions) List(
	ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption,
) ([]*Version, error) {
	return call.List[*Version](ctx, v.c, endpoint.StorageVersionsList(in, node, nil), "versions", opts)
}

// Restore makes an earlier version of a file of a workspace or share the current one
// again, as a new version (assumed). The file keeps its ID. It is retried only if it
// was not processed.
//
// Errors: [api.ErrNotFound] if the file has no such version; [api.ErrForbidden]
// without the right to edit; [api.ErrLocked] if another user has locked the file.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/restore-version/.
// It calls POST /current/share/{share_id}/storage/{node_id}/restore-version/.
func (v *Versions) Restore(
	ctx context.Context, in api.Profile, node, version api.OpaqueID, opts ...api.CallOption,
) error {
	const field = "version_id"
	if version.Plain() == "" {
		return input.Parameters("storage.Versions.Restore").Refuse(field, "must not be blank", strconv.Quote(string(version)))
	}
	form := api.Form(url.Values{field: {version.Plain()}})
	return call.Do(ctx, v.c, endpoint.StorageVersionsRestore(in, node, form), opts)
}
