package ai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Files hands files to an AI outside of the platform.
type Files struct{ c Client }

const (
	maxShared    = 25
	unknownBytes = -1
)

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

// ReadOptions asks for a part of a file. Nil asks for all of it.
type ReadOptions struct {
	Offset int64 // bytes to leave out
	Length int64 // bytes at most; 0 for all that follow
}

// Read returns a file by a link that [Files.Share] made: by the token in it, and
// the number of the file, from 0. It sends no credential. The caller closes it.
//
// Each call uses up one of the three that a link is good for, and is only repeated
// when it was never sent. A link that is used up or too old is [api.ErrNotFound],
// and so is one that never was.
//
// It calls GET /current/ai/share/{token}.
func (f *Files) Read(ctx context.Context, token api.Secret, file int, o *ReadOptions, opts ...api.CallOption) (*Download, error) {
	const op = "ai.Files.Read"
	if file < 0 {
		return nil, &api.InputError{Op: op, Field: "file", Rule: "must be 0 or more", Got: strconv.Itoa(file)}
	}
	r := &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/ai/share/{token}", string(token)),
		Query: url.Values{"file": {strconv.Itoa(file)}}, Auth: api.AuthNone, Replay: api.ReplayOnce,
	}
	if o == nil || *o == (ReadOptions{}) {
		return download(ctx, f.c, r, opts)
	}
	if o.Offset < 0 || o.Length < 0 {
		return nil, &api.InputError{Op: op, Field: "range", Rule: "must begin at 0 or more and not be shorter than nothing"}
	}
	last := ""
	if o.Length > 0 {
		last = strconv.FormatInt(o.Offset+o.Length-1, 10)
	}
	d, err := download(ctx, f.c, r, append(slices.Clip(opts), api.Header("Range", "bytes="+strconv.FormatInt(o.Offset, 10)+"-"+last)))
	if err != nil {
		return nil, err
	}
	return d, d.part(o)
}

// Download is a file on its way. It is read, and closed, like any other.
type Download struct {
	io.ReadCloser
	Name   string // as the server calls it, "" if it does not
	Type   string // of its content, as in "text/markdown"
	Length int64  // bytes that follow; -1 if the server does not tell
	Size   int64  // bytes of the whole file; -1 if the server does not tell
	Offset int64  // bytes of the file that were left out before
}

// download opens an answer that is a file.
func download(ctx context.Context, c Client, r *api.Request, opts []api.CallOption) (*Download, error) {
	r.Options = api.Resolve(opts)
	if r.Options.Markdown != nil {
		return nil, &api.InputError{Op: r.Op, Field: "output", Rule: "must be left out: the answer is a file"}
	}
	if r.Options.Header.Get("Accept-Encoding") == "" { // a length is then that of the file
		r.Options.Header = maps.Clone(r.Options.Header)
		if r.Options.Header == nil {
			r.Options.Header = http.Header{}
		}
		r.Options.Header.Set("Accept-Encoding", "identity")
	}
	resp, err := c.Open(ctx, r) //nolint:bodyclose // the caller closes it
	if err != nil {
		return nil, err
	}
	d := &Download{ReadCloser: resp.Body, Type: resp.Header.Get("Content-Type"), Length: resp.ContentLength, Size: resp.ContentLength}
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil {
		d.Name = params["filename"]
	}
	if resp.StatusCode == http.StatusPartialContent {
		d.Size = unknownBytes
		if err := d.placed(resp.Header.Get("Content-Range")); err != nil {
			_ = d.Close()
			return nil, fmt.Errorf("fastio: %s: %w", r.Op, err)
		}
	}
	return d, nil
}

// placed reads "bytes 5-9/17".
func (d *Download) placed(text string) error {
	place, ok := strings.CutPrefix(text, "bytes ")
	first, _, dash := strings.Cut(place, "-")
	n, err := strconv.ParseInt(first, 10, 64)
	if !ok || !dash || err != nil || n < 0 {
		return fmt.Errorf("the server sent a part of the file without telling which: %q", text)
	}
	d.Offset = n
	if _, size, ok := strings.Cut(place, "/"); ok {
		if n, err := strconv.ParseInt(size, 10, 64); err == nil {
			d.Size = n
		}
	}
	return nil
}

// part leaves of the file what was asked for, where the server sent more.
func (d *Download) part(o *ReadOptions) error {
	if d.Offset > o.Offset {
		_ = d.Close()
		return fmt.Errorf("fastio: ai.Files.Read: the server sent the file from byte %d on, not from %d", d.Offset, o.Offset)
	}
	skip := o.Offset - d.Offset
	if _, err := io.CopyN(io.Discard, d, skip); err != nil {
		_ = d.Close()
		return fmt.Errorf("fastio: ai.Files.Read: %w", err)
	}
	d.Offset = o.Offset
	if d.Length != unknownBytes {
		d.Length -= skip
	}
	if o.Length > 0 && (d.Length == unknownBytes || d.Length > o.Length) {
		d.ReadCloser = &limited{io.LimitReader(d.ReadCloser, o.Length), d.ReadCloser}
		if d.Length != unknownBytes {
			d.Length = o.Length
		}
	}
	return nil
}

// limited is the beginning of a body.
type limited struct {
	io.Reader
	io.Closer
}
