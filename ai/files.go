package ai

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
)

// Files hands files to an AI outside of the platform.
type Files struct{ c Client }

const maxShared = 25

// Share returns markdown that tells an AI of 1 to 25 files of a workspace or share,
// with links by which it can read them: for five minutes, three times each, without
// signing in. Whoever has the text has the files. More than five files come as
// titles only; files over 50 MB, or over 100 MB in all, are left out.
//
// Each call makes new links, so it is only repeated when it was never sent. It
// takes the permission to download; without it, and where the organization's AI
// policy forbids it, it is [api.ErrForbidden].
//
// It calls POST /current/workspace/{workspace_id}/ai/share/.
// It calls POST /current/share/{share_id}/ai/share/.
func (f *Files) Share(ctx context.Context, scope api.Profile, files []api.OpaqueID, opts ...api.CallOption) (string, error) {
	const op = "ai.Files.Share"
	path, err := route(op, scope, "/current/workspace/{workspace_id}/ai/share/", "/current/share/{share_id}/ai/share/")
	if err != nil {
		return "", err
	}
	if len(files) == 0 || len(files) > maxShared {
		return "", &api.InputError{Op: op, Field: "files", Rule: "must be 1 to 25", Got: strconv.Itoa(len(files))}
	}
	plain := make([]string, len(files))
	for i, id := range files {
		if plain[i] = id.Plain(); plain[i] == "" {
			return "", &api.InputError{Op: op, Field: "files", Rule: "must hold no blank ID", Got: strconv.Quote(string(id))}
		}
	}
	list, err := json.Marshal(plain)
	if err != nil {
		return "", err
	}
	a, err := call.Do[struct {
		Markdown string `json:"markdown"`
	}](ctx, f.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: path, Body: api.Form{"files": {string(list)}}, Replay: api.ReplayOnce,
	}, opts)
	if err != nil {
		return "", err
	}
	return a.Markdown, nil
}

// Read returns a file by a link that [Files.Share] made: by the token in it, and
// the number of the file, from 0. It sends no credential. The caller closes it.
//
// Part is nil for all of the file. Each call uses up one of the three that a link is
// good for, and is only repeated when it was never sent: a connection that breaks
// ends the reading, and the rest takes another call. A link that is used up or too old is [api.ErrNotFound],
// and so is one that never was.
//
// It calls GET /current/ai/share/{token}.
func (f *Files) Read(ctx context.Context, token api.Secret, file int, part *api.Range, opts ...api.CallOption) (*api.Download, error) {
	const op = "ai.Files.Read"
	if file < 0 {
		return nil, &api.InputError{Op: op, Field: "file", Rule: "must be 0 or more", Got: strconv.Itoa(file)}
	}
	var o download.Options
	if part != nil {
		o.Range = *part
	}
	return download.Open(ctx, f.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/ai/share/{token}", string(token)),
		Query: url.Values{"file": {strconv.Itoa(file)}}, Auth: api.AuthNone, Replay: api.ReplayOnce,
	}, o, opts)
}
