package control

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// Summary is a request that was answered, in short.
type Summary struct {
	Number    uint64    `json:"number" doc:"from 1, in the order of the responses"`
	At        time.Time `json:"at" doc:"when the request arrived, on the clock of the platform"`
	Operation string    `json:"operation" doc:"such as comments.Create; empty for an unknown path"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Query     string    `json:"query,omitempty"`
	Status    int       `json:"status" doc:"0 if the response was not sent to its end"`
	Took      Duration  `json:"took" doc:"until the response, on the clock of the machine"`
	Rule      string    `json:"rule,omitempty" doc:"that refused the request, such as limit, scope or parameter"`
	Message   string    `json:"message,omitempty" doc:"what is not allowed"`
	Fault     string    `json:"fault,omitempty" doc:"ID of the fault that applied"`
}

// Request is a request that was answered. Credentials in it are shortened.
type Request struct {
	Summary

	RequestHeader  map[string][]string `json:"request_header"`
	RequestBody    Body                `json:"request_body,omitzero"`
	ResponseHeader map[string][]string `json:"response_header"`
	ResponseBody   Body                `json:"response_body,omitzero" doc:"none for streams and contents of files"`
}

// Body is the beginning of a body.
type Body struct {
	Text      string `json:"text,omitempty"`
	Binary    []byte `json:"binary,omitempty" doc:"in place of a text, for a body that is not UTF-8"`
	Truncated bool   `json:"truncated,omitempty" doc:"the body is at least 16 KiB long, and this its beginning"`
}

// bodyShown is how much of a body is shown, in bytes.
const bodyShown = 16 << 10

// summaryOf returns what lists show of a request, without credentials.
func summaryOf(s *emulator.Server, q *seed.Request) Summary {
	query := maskQuery(q.Query)
	if q.Op == "realtime.Socket" && query != "" {
		query = masked // all of it is a token
	}
	return Summary{
		Number: q.Number, At: q.At.UTC(), Operation: q.Op, Method: q.Method,
		Path: s.MaskedPath(q, masked), Query: query,
		Status: q.Status, Took: Duration(q.Took), Rule: q.Rule, Message: q.Message, Fault: q.Fault,
	}
}

// requestOf returns a request with its headers and the beginnings of its bodies,
// without credentials.
func requestOf(s *emulator.Server, q *seed.Request) Request {
	return Request{
		Summary:        summaryOf(s, q),
		RequestHeader:  maskHeader(q.Header),
		RequestBody:    bodyOf(q.Header.Get("Content-Type"), q.Body),
		ResponseHeader: maskHeader(q.ResponseHeader),
		ResponseBody:   bodyOf(q.ResponseHeader.Get("Content-Type"), q.ResponseBody),
	}
}

// bodyOf returns the beginning of a body: as text without credentials, whose last character
// is complete, or as bytes if the body is not text.
func bodyOf(contentType string, b []byte) Body {
	// The record keeps bodyShown bytes of a response: a body of this length may have been cut.
	isTruncated := len(b) >= bodyShown
	b = b[:min(len(b), bodyShown)]
	text := b
	for cut := 0; isTruncated && cut < utf8.UTFMax-1 && !utf8.Valid(text); cut++ {
		text = text[:len(text)-1] // the last character may have been cut
	}
	if !utf8.Valid(text) {
		return Body{Binary: b, Truncated: isTruncated}
	}
	return Body{Text: maskBody(contentType, string(text)), Truncated: isTruncated}
}

// filter selects requests.
type filter struct {
	Op     string   `query:"op" doc:"name of the operation, such as comments.Create"`
	Method string   `query:"method" doc:"such as POST"`
	Path   string   `query:"path" doc:"part of the path"`
	Status int      `query:"status" doc:"of the response, such as 429"`
	Rule   string   `query:"rule" doc:"that refused the request, such as limit; any for all that were refused"`
	After  uint64   `query:"after" doc:"requests with a greater number only"`
	Limit  int      `query:"limit" doc:"the latest ones only, at most so many; 0 means 1000"`
	Wait   Duration `query:"wait" doc:"if there is none, how long to wait for one, at most 5m"`
}

// matches reports whether the filter selects a request.
func (f *filter) matches(q *seed.Request) bool {
	isAnyRule := f.Rule == "any" && q.Rule != ""
	return (f.Op == "" || f.Op == q.Op) && (f.Method == "" || strings.EqualFold(f.Method, q.Method)) &&
		(f.Path == "" || strings.Contains(q.Path, f.Path)) && (f.Status == 0 || f.Status == q.Status) &&
		(f.Rule == "" || f.Rule == q.Rule || isAnyRule)
}

// selectFrom returns the requests that the filter selects: with a limit, only the latest
// of them. It reuses the memory of list.
func (f *filter) selectFrom(list []seed.Request) []seed.Request {
	found := list[:0]
	for _, q := range list {
		if f.matches(&q) {
			found = append(found, q)
		}
	}
	if f.Limit > 0 && len(found) > f.Limit {
		found = found[len(found)-f.Limit:]
	}
	return found
}

// waitLimit is the longest wait for a request.
const waitLimit = 5 * time.Minute

// Requests is a list of requests, the earliest first.
type Requests struct {
	Requests []Request `json:"requests"`
	Last     uint64    `json:"last" doc:"number of the latest request, for after"`
}

// listRequests returns the requests that a filter selects: with a limit, only the latest
// ones. If there are none, it waits for one as long as the filter says. Last is the
// number of the latest request that was read, also if it was not selected: the next call
// goes on behind it.
func listRequests(c *call, f filter) (Requests, error) {
	wait := time.Duration(f.Wait)
	if f.Limit < 0 || wait < 0 || wait > waitLimit {
		return Requests{}, problemf(http.StatusBadRequest, "limit must be 0 or more, wait from 0s to %v", waitLimit)
	}
	if err := c.server.CheckOp("op", seed.Op(f.Op)); err != nil {
		return Requests{}, problemf(http.StatusBadRequest, "%v", err)
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), wait)
	defer cancel()
	out := Requests{Requests: []Request{}, Last: f.After}
	for {
		list, _, next := c.server.Answered(out.Last)
		if len(list) > 0 {
			out.Last = list[len(list)-1].Number
		}
		for _, q := range f.selectFrom(list) {
			out.Requests = append(out.Requests, requestOf(c.server, &q))
		}
		if len(out.Requests) > 0 || wait == 0 {
			return out, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return out, nil
		}
	}
}

type numberInput struct {
	Number uint64 `path:"number"`
}

// getRequest returns the request with a number, unless its response is not kept any more.
func getRequest(c *call, in numberInput) (Request, error) {
	if in.Number > 0 {
		list, _, _ := c.server.Answered(in.Number - 1)
		if len(list) > 0 && list[0].Number == in.Number {
			return requestOf(c.server, &list[0]), nil
		}
	}
	return Request{}, problemf(http.StatusNotFound,
		"the request %d is not among the latest %d", in.Number, emulator.ResponsesKept)
}

type streamInput struct {
	After uint64 `query:"after" doc:"begin with those of a greater number that are kept; new ones only without it"`
}

// streamStart returns the number of the request after which a stream begins: the one that
// Last-Event-ID or else the query names. It is the latest request if none is named, or if
// the numbers have not come so far, as after a restart.
func (c *call) streamStart(in streamInput) uint64 {
	after, isNamed := in.After, c.r.URL.Query().Has("after")
	last, err := strconv.ParseUint(c.r.Header.Get("Last-Event-ID"), 10, 64)
	if err == nil {
		after, isNamed = last, true
	}
	latest := c.server.LastAnswered()
	if !isNamed || after > latest {
		return latest
	}
	return after
}

// pace is the time between two writes of a stream, so that a reader costs little.
const pace = 50 * time.Millisecond

// heartbeat is the silence after which a comment is sent, so that a reader that is gone
// is noticed.
const heartbeat = 15 * time.Second

// streamRequests sends summaries of requests as they are answered, until the reader is
// gone. It begins after the request that Last-Event-ID or the query names, by default
// with the next one. A reader that is too slow misses requests, and receives an event
// dropped with their number; no request waits for it. It writes at most once per pace,
// and a comment as a heartbeat when there are no requests.
func streamRequests(c *call, in streamInput) (none, error) {
	after := c.streamStart(in)
	c.w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(c.w)
	text := bytes.NewBufferString(": requests follow\n\n")
	var uninterrupted <-chan struct{} // nil, so that a pause with it always has its whole length
	for {
		_, failed := c.w.Write(text.Bytes())
		if failed != nil || out.Flush() != nil {
			return none{}, nil //nolint:nilerr // the reader is gone
		}
		if !pause(c.r.Context(), uninterrupted, pace) {
			return none{}, nil
		}
		text.Reset()
		list, lost, next := c.server.Answered(after)
		if lost > 0 {
			after += lost // if no other request follows
			text.WriteString("event: dropped\ndata: {\"count\":" + strconv.FormatUint(lost, 10) + "}\n\n")
		}
		for i := range list {
			appendEvent(text, c.server, &list[i])
			after = list[i].Number
		}
		if text.Len() > 0 {
			continue
		}
		if !pause(c.r.Context(), next, heartbeat) {
			return none{}, nil
		}
		hasNewRequest := isClosed(next) // the next round of the loop sends it
		if !hasNewRequest {
			text.WriteString(":\n\n") // the heartbeat
		}
	}
}

// appendEvent appends a server-sent event with the summary of a request.
func appendEvent(text *bytes.Buffer, s *emulator.Server, q *seed.Request) {
	data, err := json.Marshal(summaryOf(s, q))
	if err != nil {
		return // it holds nothing but texts, numbers and a time
	}
	text.WriteString("event: request\nid: " + strconv.FormatUint(q.Number, 10) + "\ndata: ")
	text.Write(data)
	text.WriteString("\n\n")
}

// pause waits for d, or until next is closed. It returns false when ctx is done.
func pause(ctx context.Context, next <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-next:
	case <-ctx.Done():
		return false
	}
	return true
}

// isClosed reports whether a channel is closed.
func isClosed(next <-chan struct{}) bool {
	select {
	case <-next:
		return true
	default:
		return false
	}
}
