// Package download opens answers that are files, and brings them home whole: over
// broken connections, to a writer or to a file.
package download

import (
	"context"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/idle"
)

const unknown = -1 // a number of bytes

// Options says what is asked for.
type Options struct {
	Range api.Range
	Fixed bool // the content is never another: a version, say
}

// Open opens an answer that is a file, or the part of it that is asked for, also
// where the server sends more. The caller closes it.
//
// A request that may be repeated resumes by itself where that is sure to go on
// with the same bytes: the file is fixed, or the server gave its version a name.
// One that may not be repeated never asks again.
func Open(ctx context.Context, c api.Opener, r *api.Request, o Options, opts []api.CallOption) (*api.Download, error) {
	if err := call.Prepare(ctx, c, r, opts); err != nil {
		return nil, err
	}
	refuse := func(field, rule string) error { return &api.InputError{Op: r.Op, Field: field, Rule: rule} }
	if o.Range.Offset < 0 || o.Range.Length < 0 {
		return nil, refuse("range", "must begin at 0 or more and not be shorter than nothing")
	}
	for _, name := range [...]string{headerEncoding, headerRange, headerIfRange} {
		if r.Options.Header.Get(name) != "" {
			return nil, refuse("header "+name, "must be left out: it says how the file is sent")
		}
	}
	s := &stream{opener: c, request: r, options: o}
	s.bound(ctx)
	resp, err := s.open(rangeOf(o.Range.Offset, o.last()), "") //nolint:bodyclose // the caller closes it
	if err != nil {
		s.cancel()
		return nil, err
	}
	return s.take(resp)
}

// last is the last byte that is asked for, -1 for that of the file.
func (o *Options) last() int64 {
	if o.Range.Length == 0 || o.Range.Length > math.MaxInt64-o.Range.Offset {
		return unknown
	}
	return o.Range.Offset + o.Range.Length - 1
}

// rangeOf is the header that asks for the bytes first to last, "" for all.
func rangeOf(first, last int64) string {
	switch {
	case last != unknown:
		return "bytes=" + strconv.FormatInt(first, 10) + "-" + strconv.FormatInt(last, 10)
	case first > 0:
		return "bytes=" + strconv.FormatInt(first, 10) + "-"
	default:
		return ""
	}
}

// take makes a Download of the first answer.
func (s *stream) take(resp *http.Response) (*api.Download, error) {
	if s.request.Hop && resp.Request.Response != nil { // an address that was valid once
		once := *s.request
		once.Replay = api.ReplayOnce
		s.request = &once
	}
	s.body = idle.Body(resp.Body, silence)
	s.at = s.options.Range.Offset
	p, err := placeOf(resp)
	if err == nil {
		err = skip(s.body, p.first, s.at)
	}
	if err != nil {
		_ = s.Close()
		return nil, s.named(err)
	}
	s.size, s.etag, s.header = p.size, strongTag(resp.Header), resp.Header
	s.limit = math.MaxInt64
	if last := s.options.last(); last != unknown {
		s.limit = last + 1
	}
	d := &api.Download{
		ReadCloser: s, Name: nameOf(resp.Header), Type: resp.Header.Get("Content-Type"),
		Length: unknown, Size: p.size, Offset: s.at,
	}
	switch { // a server may send less than requested: the size is the end
	case p.size != unknown:
		s.limit = min(s.limit, p.size)
	case p.length != unknown:
		s.limit = min(s.limit, p.first+p.length)
	default:
		return d, nil
	}
	s.known = true
	d.Length = s.limit - s.at
	return d, nil
}

// place is which bytes of a file an answer holds.
type place struct {
	first  int64
	length int64 // -1 if the answer does not tell
	size   int64 // of the file; likewise
}

// placeOf reads "bytes 5-9/17" where a part was sent.
func placeOf(resp *http.Response) (place, error) {
	if resp.StatusCode != http.StatusPartialContent {
		return place{0, resp.ContentLength, resp.ContentLength}, nil
	}
	text := resp.Header.Get("Content-Range")
	p := place{length: resp.ContentLength, size: unknown}
	bytes, ok := strings.CutPrefix(text, "bytes ")
	span, size, _ := strings.Cut(bytes, "/")
	first, last, dash := strings.Cut(span, "-")
	n, err := strconv.ParseInt(first, 10, 64)
	if !ok || !dash || err != nil || n < 0 {
		return p, fmt.Errorf("the server sent a part of the file without telling which: %q", text)
	}
	p.first = n
	if n, err := strconv.ParseInt(last, 10, 64); err == nil && n >= p.first && p.length == unknown {
		p.length = n - p.first + 1
	}
	if n, err := strconv.ParseInt(size, 10, 64); err == nil && n > p.first {
		p.size = n
	}
	return p, nil
}

// nameOf returns what the server calls the file.
func nameOf(h http.Header) string {
	_, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return params["filename"]
}

// strongTag returns the name of the version, "" unless it stands for every byte.
func strongTag(h http.Header) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	return ""
}
