package emulator

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

func (s *Server) render(c *wire.Call, payload wire.Object, err error) wire.Reply {
	if err != nil {
		return s.renderRefusal(c, wire.RefusalOf(err))
	}
	if c.Reply != nil {
		return *c.Reply
	}
	status := cmp.Or(c.Status, http.StatusOK)
	return s.encode(c, status, "**Result:** success\n", payload, s.envelope(c, status < http.StatusBadRequest, payload))
}

func (s *Server) renderRefusal(c *wire.Call, f *wire.Refusal) wire.Reply {
	if f.Reply != nil {
		return *f.Reply
	}
	if s.Options.Limits.BodyRetryAfter && throttles(f) {
		f.Params = wire.Object{{"retry_after_seconds", retrySeconds(f)}}
	}
	failure := errorObject(f, c.Request.Method+" "+c.Request.URL.Path)
	r := s.encode(c, f.Status, "# Error\n", failure,
		slices.Concat(wire.Object{{"result", s.result(false)}, {"error", failure}}, s.books(c, nil)))
	maps.Copy(r.Header, f.Header)
	if s.Options.Limits.RetryAfter && throttles(f) {
		r.Header.Set("Retry-After", strconv.FormatInt(retrySeconds(f), 10))
	}
	return r
}

func (s *Server) encode(c *wire.Call, status int, title string, content, envelope wire.Object) wire.Reply {
	r := wire.Reply{Status: status, Header: http.Header{}}
	if c.Out.Markdown {
		r.Header.Set("Content-Type", wire.MarkdownType)
		r.Body = markdown(title, content)
		return r
	}
	r.Header.Set("Content-Type", wire.JSONType)
	r.Body = wire.AppendValue(nil, envelope, s.Options.NumericIDs)
	return r
}

const (
	apiVersion = "1.0"
	serverDate = "server_date"
)

// envelope is what goes around the payload of a success.
func (s *Server) envelope(c *wire.Call, success bool, payload wire.Object) wire.Object {
	head := wire.Object{{"result", s.result(success)}}
	if s.Options.Wrapped {
		return slices.Concat(head, wire.Object{{"response", payload}}, s.books(c, payload))
	}
	if _, found := payload.Get("status"); success && !found {
		head = append(head, wire.Member{"status", "ok"})
	}
	return slices.Concat(head, s.books(c, payload), payload)
}

func (s *Server) result(success bool) any {
	if s.Options.Wrapped {
		return map[bool]string{true: "yes", false: "no"}[success]
	}
	return success
}

// books are the members beside every payload.
func (s *Server) books(c *wire.Call, payload wire.Object) wire.Object {
	books := wire.Object{{"current_api_version", apiVersion}}
	if _, found := payload.Get(serverDate); s.Options.ServerDate && !found {
		// Just before the call: whoever polls from there on misses nothing that the call did not show.
		books = append(books, wire.Member{serverDate, wire.MicroStamp(c.Now.UnixMicro() - 1)})
	}
	return books
}

func errorObject(f *wire.Refusal, resource string) wire.Object {
	o := wire.Object{
		{"code", f.Code},
		{"text", f.Text},
		{"documentation_url", nil},
		{"resource", resource},
	}
	if f.Params != nil {
		o = append(o, wire.Member{"params", f.Params})
	}
	return o
}

func throttles(f *wire.Refusal) bool { return f.Status == http.StatusTooManyRequests && f.Retry > 0 }

func retrySeconds(f *wire.Refusal) int64 { return int64((f.Retry + time.Second - 1) / time.Second) }

func markdown(title string, content wire.Object) []byte {
	var b strings.Builder
	b.WriteString(title)
	wire.WriteObject(&b, content, "##")
	return []byte(b.String())
}
