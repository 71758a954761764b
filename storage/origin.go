package storage

import (
	"encoding/json"

	"github.com/fastio-go/fastio/api"
)

// OriginType is the way by which a node was added.
type OriginType string

// OriginTypeChunked is an upload in chunks. Other values are not documented; they are
// kept.
const OriginTypeChunked OriginType = "chunked"

// Origin is who added a node, and how.
type Origin struct {
	Type     OriginType   `json:"type,omitzero"`
	Creator  api.ID       `json:"creator,omitzero"`           // the user who added it
	UploadID api.OpaqueID `json:"upload_session_id,omitzero"` // of an uploaded file; at full output

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ImportStatus is the state of an imported node at its provider.
type ImportStatus string

// States of imported nodes. Unknown values are kept.
const (
	ImportStatusPending   ImportStatus = "pending"   // waits to be written to the provider; must not be uploaded again
	ImportStatusUploading ImportStatus = "uploading" // is being written; must not be uploaded again
	ImportStatusCompleted ImportStatus = "completed" // was written
	ImportStatusFailed    ImportStatus = "failed"    // was not written, as the next two
	ImportStatusConflict  ImportStatus = "conflict"
	ImportStatusCanceled  ImportStatus = "canceled"
	ImportStatusSynced    ImportStatus = "synced" // the default; does not show that an own upload was written
)

// ImportState is the state of a node in a folder that is synchronized with the storage
// of another provider. An upload into such a folder is stored before it is written to the
// provider: Status shows whether it was.
type ImportState struct {
	Status ImportStatus `json:"status,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// VirusStatus is the state of the virus scan of a file.
type VirusStatus string

// VirusStatusUnscanned means that the file was not scanned; Reason says why. Other values
// are not documented; they are kept.
const VirusStatusUnscanned VirusStatus = "unscanned"

// Virus is the result of the virus scan of a file. The content of an infected file is not
// served.
type Virus struct {
	Status   VirusStatus `json:"status,omitzero"`
	Reason   string      `json:"reason,omitzero"`
	Infected bool        `json:"infected,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// FileAttributes are properties of the image, video or sound in a file.
type FileAttributes struct {
	Width    int64           `json:"width,omitzero"`            // in pixels
	Height   int64           `json:"height,omitzero"`           // in pixels
	Duration json.RawMessage `json:"duration,omitzero"`         // undecoded: no document shows the form
	EXIF     json.RawMessage `json:"exif,omitzero" also:"EXIF"` // undecoded, as Duration

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}
