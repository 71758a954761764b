package metadata

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// JobStatus is the state of an extraction. Unknown values are kept.
type JobStatus string

// States of a job.
const (
	JobStatusQueued           JobStatus = "queued"
	JobStatusCompleted        JobStatus = "completed"
	JobStatusErrored          JobStatus = "errored"           // may still change
	JobStatusAlreadyExtracted JobStatus = "already_extracted" // there was nothing to do
)

// Extraction is an extraction that was started.
type Extraction struct {
	JobID     api.OpaqueID `json:"job_id"` // "" if there was nothing to do, or for a folder
	NodeID    api.OpaqueID `json:"node_id"`
	Fields    []string     `json:"fields"`
	Status    JobStatus    `json:"status"`
	StatusURI string       `json:"status_uri"` // the path of [Service.Jobs]

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

const maxExtracted = 50

// Extract starts the extraction of up to 50 existing fields from a file or note
// by the AI of the platform; nil means all fields that the AI finds. The extraction
// takes a while and costs credits: [Service.Jobs] reports its state. Values written
// by users are kept.
//
// The call is retried only if it was not processed.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/metadata/extract/.
func (s *Service) Extract(
	ctx context.Context, workspace api.ID, node api.OpaqueID, fields []string, opts ...api.CallOption,
) (*Extraction, error) {
	args := input.Parameters("metadata.Extract")
	form := api.Form{}
	if len(fields) > maxExtracted {
		return nil, args.Refuse("fields", "must be at most 50", strconv.Itoa(len(fields)))
	}
	if len(fields) > 0 {
		text, err := namesText(args, "fields", fields)
		if err != nil {
			return nil, err
		}
		form["fields"] = []string{text}
	}
	return call.Payload[Extraction](ctx, s.c, endpoint.MetadataExtract(workspace, node, form), opts)
}

// ExtractAll starts the extraction from all files and notes of a folder;
// [api.Root] means the whole workspace. It requires the admin role in the
// workspace.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/metadata/extract-all/.
func (s *Service) ExtractAll(
	ctx context.Context, workspace api.ID, node api.OpaqueID, opts ...api.CallOption,
) (*Extraction, error) {
	return call.Payload[Extraction](ctx, s.c, endpoint.MetadataExtractAll(workspace, node, api.Form{}), opts)
}

// JobList holds the current jobs of a workspace, and those that ended within
// the last hour.
type JobList struct {
	Extractions []*Job `json:"metadata_extract"`

	// Other kinds of work on the workspace, nil if there is none. They are not
	// documented.
	Intelligence api.Map[json.RawMessage] `json:"intelligence"`
	Summarize    api.Map[json.RawMessage] `json:"summarize"`
	UpsertFile   api.Map[json.RawMessage] `json:"upsert_file"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // unknown kinds of jobs
}

// Of returns the extractions from one file or note.
func (l *JobList) Of(node api.OpaqueID) []*Job {
	var found []*Job
	for _, j := range l.Extractions {
		if j != nil && j.NodeID.Equal(node) {
			found = append(found, j)
		}
	}
	return found
}

// JobKind is the origin of a [Job]. Unknown values are kept.
type JobKind string

// Kinds of jobs.
const (
	JobKindSingle JobKind = "single" // of [Service.Extract]
	JobKindBatch  JobKind = "batch"  // of [Service.ExtractAll]
)

// Job is the extraction from one file or note.
type Job struct {
	ID           api.OpaqueID    `json:"job_id"` // "" until the job ends
	Kind         JobKind         `json:"kind"`
	NodeID       api.OpaqueID    `json:"node_id"` // without hyphens: compare with [api.OpaqueID.Equal]
	Fields       []string        `json:"fields"`
	Status       JobStatus       `json:"status"`
	Progress     json.RawMessage `json:"progress"`      // undocumented (assumed name)
	ErrorMessage string          `json:"error_message"` // why it failed; set with JobStatusErrored
	Created      api.Time        `json:"created"`
	Updated      api.Time        `json:"updated"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Jobs returns the jobs of a workspace.
//
// It calls GET /current/workspace/{workspace_id}/jobs/status/.
func (s *Service) Jobs(ctx context.Context, workspace api.ID, opts ...api.CallOption) (*JobList, error) {
	return call.One[JobList](ctx, s.c, endpoint.MetadataJobs(workspace), "jobs", opts)
}
