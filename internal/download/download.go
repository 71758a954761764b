// Package download downloads files to a writer or to a file, and resumes
// interrupted transfers.
package download

import (
	"cmp"
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

const unknown = -1 // as a number of bytes

// Options selects what Open downloads.
type Options struct {
	Range api.Range
	Field string // the argument with the range; default: that of DownloadOptions
	Fixed bool   // the content never changes, as of a version

	// Renew returns another request for the same content, to resume with after
	// the token in the first one was rejected. Nil means that there is none.
	Renew func(ctx context.Context) (*api.Request, error)
}

// Open opens a file or, with a range, a part of it, even if the server sends
// more. The caller closes the download.
//
// After a lost connection, an idempotent request is resumed if it certainly
// continues with the same bytes: the file is fixed, or the server sent a strong
// ETag. Any other request is sent once.
func Open(ctx context.Context, c api.Opener, r *api.Request, o Options, opts []api.CallOption) (*api.Download, error) {
	if err := call.CheckRequest(ctx, c, r); err != nil {
		return nil, err
	}
	if o.Range.Offset < 0 || o.Range.Length < 0 {
		const rule = "must have an offset and a length of 0 or more"
		return nil, &api.InputError{Op: r.Op, Field: cmp.Or(o.Field, "DownloadOptions.Range"), Rule: rule}
	}
	callOptions := api.Resolve(opts)
	for _, name := range [...]string{headerEncoding, headerRange, headerIfRange} {
		if callOptions.Header.Get(name) != "" {
			const rule = "must be left out: downloads set it"
			return nil, &api.InputError{Op: r.Op, Field: "WithHeader", Wire: name, Rule: rule}
		}
	}
	s := &stream{opener: c, request: r, options: o, call: callOptions}
	s.setContext(ctx)
	const noCondition = ""
	resp, err := s.open(rangeOf(o.Range.Offset, o.last()), noCondition) //nolint:bodyclose // the caller closes the body
	if err != nil {
		s.cancel()
		return nil, err
	}
	return s.start(resp)
}

// last returns the position of the last requested byte, -1 if the range reaches to the
// end of the file.
func (o *Options) last() int64 {
	if o.Range.Length == 0 || o.Range.Length > math.MaxInt64-o.Range.Offset {
		return unknown
	}
	return o.Range.Offset + o.Range.Length - 1
}

// rangeOf returns the Range header for the bytes first to last, "" for all bytes.
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

// start starts the stream with its first response, and returns it as a Download. Bytes
// before the requested offset are skipped.
func (s *stream) start(resp *http.Response) (*api.Download, error) {
	redirected := s.request.Hop && resp.Request.Response != nil
	if redirected { // to an address that works once, so that the stream cannot be resumed
		once := *s.request
		once.Replay = api.ReplayOnce
		s.request = &once
	}
	s.body = idle.Body(resp.Body, silence)
	s.at = s.options.Range.Offset
	p, err := placeOf(resp)
	if err == nil {
		err = skipTo(s.body, p.first, s.at)
	}
	if err != nil {
		_ = s.Close()
		return nil, s.named(err)
	}
	s.size, s.etag, s.header = p.size, strongTag(resp.Header), resp.Header
	s.limit, s.endKnown = s.options.endIn(p)
	d := &api.Download{
		ReadCloser: s, Name: nameOf(resp.Header), Type: resp.Header.Get("Content-Type"),
		Length: unknown, Size: p.size, Offset: s.at,
	}
	if s.endKnown {
		d.Length = s.limit - s.at
	}
	return d, nil
}

// endIn returns the offset at which a stream with the first response p ends at the latest,
// and whether that is the exact end: it is if the size of the file is known or, without
// it, the length of the response.
func (o *Options) endIn(p place) (limit int64, exact bool) {
	limit = math.MaxInt64
	if last := o.last(); last != unknown {
		limit = last + 1
	}
	switch {
	case p.size != unknown: // not p.length: a server may send less than the requested range
		return min(limit, p.size), true
	case p.length != unknown:
		return min(limit, p.first+p.length), true
	}
	return limit, false
}

// place is the part of a file that a response holds.
type place struct {
	first  int64
	length int64 // -1 if unknown
	size   int64 // of the file; -1 if unknown
}

// placeOf returns where in the file the content of a response lies: from
// Content-Range, such as "bytes 5-9/17", if it is partial.
func placeOf(resp *http.Response) (place, error) {
	if resp.StatusCode != http.StatusPartialContent {
		return place{first: 0, length: resp.ContentLength, size: resp.ContentLength}, nil
	}
	text := resp.Header.Get("Content-Range")
	p := place{length: resp.ContentLength, size: unknown}
	positions, inBytes := strings.CutPrefix(text, "bytes ")
	span, size, _ := strings.Cut(positions, "/")
	first, last, isSpan := strings.Cut(span, "-")
	n, err := strconv.ParseInt(first, 10, 64)
	if !inBytes || !isSpan || err != nil || n < 0 {
		return p, fmt.Errorf("invalid Content-Range: %q", text)
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

// nameOf returns the file name in the Content-Disposition header.
func nameOf(h http.Header) string {
	_, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return params["filename"]
}

// strongTag returns the ETag, "" if it is weak or missing.
func strongTag(h http.Header) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	return ""
}
