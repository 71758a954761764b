package metadata

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// JobStatus says how far an extraction has come.
type JobStatus string

// The states. Another one is newer than this package.
const (
	JobStatusQueued           JobStatus = "queued"
	JobStatusCompleted        JobStatus = "completed"
	JobStatusErrored          JobStatus = "errored"           // which may still change
	JobStatusAlreadyExtracted JobStatus = "already_extracted" // nothing was left to do
)

// Extraction is what was ordered.
type Extraction struct {
	JobID     api.OpaqueID `json:"job_id"` // "" when there is nothing to do, and of a whole folder
	NodeID    api.OpaqueID `json:"node_id"`
	Fields    []string     `json:"fields"`
	Status    JobStatus    `json:"status"`
	StatusURI string       `json:"status_uri"` // what [Service.Jobs] calls

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

const maxExtracted = 50

// Extract orders the platform's AI to read a file or note and to write down what it
// says about up to 50 fields, which must exist; nil are all that it finds. That
// takes a while, and credits: [Service.Jobs] tells when it is done. What people
// wrote stays.
//
// The call is only repeated when it was never sent.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/metadata/extract/.
func (s *Service) Extract(
	ctx context.Context, workspace api.ProfileID, node api.OpaqueID, fields []string, opts ...api.CallOption,
) (*Extraction, error) {
	const op = "metadata.Extract"
	form := api.Form{}
	if len(fields) > maxExtracted {
		return nil, &api.InputError{Op: op, Field: "fields", Rule: "must be at most 50", Got: strconv.Itoa(len(fields))}
	}
	for _, name := range fields {
		if err := checkName(op, "fields", name); err != nil {
			return nil, err
		}
	}
	if len(fields) > 0 {
		text, err := jsonv2.Marshal(fields)
		if err != nil {
			return nil, &api.InputError{Op: op, Field: "fields", Rule: "must be UTF-8", Got: err.Error()}
		}
		url.Values(form).Set("fields", string(text))
	}
	return call.Do[Extraction](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodPost, Body: form, Replay: api.ReplayOnce,
		Path: api.Path("/current/workspace/{workspace_id}/storage/{node_id}/metadata/extract/", string(workspace), node.Plain()),
	}, opts)
}

// ExtractAll orders what [Service.Extract] does for everything in a folder;
// [api.Root] is the whole workspace. It takes an administrator of the workspace.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/metadata/extract-all/.
func (s *Service) ExtractAll(ctx context.Context, workspace api.ProfileID, folder api.OpaqueID, opts ...api.CallOption) (*Extraction, error) {
	return call.Do[Extraction](ctx, s.c, &api.Request{
		Op: "metadata.ExtractAll", Method: http.MethodPost, Body: api.Form{}, Replay: api.ReplayOnce,
		Path: api.Path("/current/workspace/{workspace_id}/storage/{node_id}/metadata/extract-all/", string(workspace), folder.Plain()),
	}, opts)
}

// JobList is what the platform works on, and has worked on within the last hour.
type JobList struct {
	Extractions []*Job `json:"metadata_extract"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // kinds of work this version has no field for
}

// Of returns the extractions of one file or note.
func (l *JobList) Of(node api.OpaqueID) []*Job {
	var found []*Job
	for _, j := range l.Extractions {
		if j != nil && j.NodeID.Equal(node) {
			found = append(found, j)
		}
	}
	return found
}

// Job is the extraction of one file or note.
type Job struct {
	ID      api.OpaqueID `json:"job_id"` // "" while it is queued
	Kind    string       `json:"kind"`   // "single" for one of [Service.Extract]
	NodeID  api.OpaqueID `json:"node_id"`
	Fields  []string     `json:"fields"`
	Status  JobStatus    `json:"status"`
	Created api.Time     `json:"created"`
	Updated api.Time     `json:"updated"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Jobs returns what the platform works on in a workspace.
//
// It calls GET /current/workspace/{workspace_id}/jobs/status/.
func (s *Service) Jobs(ctx context.Context, workspace api.ProfileID, opts ...api.CallOption) (*JobList, error) {
	const op = "metadata.Jobs"
	a, err := call.Do[struct {
		Jobs *JobList `json:"jobs"`
	}](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/workspace/{workspace_id}/jobs/status/", string(workspace)),
		Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	return call.Found(op, "job", a.Jobs, opts)
}
