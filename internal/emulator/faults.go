package emulator

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// faults holds the rules in force.
type faults struct {
	mu      sync.Mutex
	rules   []*rule
	sockets []*socketRule
}

type rule struct {
	Fault
	aim
}

// Fail adds a rule. The first rule that matches a call and is not used up decides.
func (s *Server) Fail(f Fault) {
	f.Header, f.Params = f.Header.Clone(), maps.Clone(f.Params)
	if f.Body != "" && f.Status == 0 {
		f.Status = http.StatusOK
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	r := &rule{Fault: f, aim: s.newAim(f.Skip, f.Count, f.Probability, f.Seed)}
	s.faults.rules = append(s.faults.rules, r)
}

// Heal removes every rule.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.rules, s.faults.sockets = nil, nil
}

// pick returns the fault of the next call of an operation, one without effect when no rule strikes.
func (f *faults) pick(op string) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		if (r.Op == "" || r.Op == op) && r.strikes() {
			return &r.Fault
		}
	}
	return &Fault{}
}

// runs tells whether the call takes effect.
func (f *Fault) runs() bool { return f.Processed || f.Status == 0 && f.Reset != BeforeHeader }

// answer is the envelope of an ordered failure; a status below 400 is an empty success.
func (f *Fault) answer() answer {
	if f.Status < http.StatusBadRequest {
		return ok()
	}
	text := f.Text
	if text == "" {
		text = http.StatusText(f.Status)
	}
	a := refuse(f.Status, f.Code, text)
	if len(f.Params) > 0 {
		a.failure.params = fromMap(f.Params)
	}
	return a
}

func (f *Fault) contentType() string {
	switch {
	case f.ContentType != "":
		return f.ContentType
	case strings.HasPrefix(f.Body, "{"), strings.HasPrefix(f.Body, "["):
		return "application/json"
	}
	return "text/html; charset=UTF-8"
}

// wait pauses and gives the call up when the client has.
func (f *Fault) wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// deliver writes a reply, spoiled as the fault says, and returns the status that went out whole.
func (f *Fault) deliver(w http.ResponseWriter, r *http.Request, out reply) int {
	if out.stream != nil {
		return f.deliverStream(w, r, out)
	}
	body := out.body
	if f.Gzip {
		out.header.Set("Content-Encoding", "gzip")
		body = append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, slices.Repeat([]byte{0xff}, max(16, len(body)/4))...)
	}
	if f.Truncate > 0 {
		body = body[:min(f.Truncate, len(body))]
	}
	maps.Copy(w.Header(), out.header)
	maps.Copy(w.Header(), f.Header)
	length := len(body)
	if f.Reset == AfterHeader {
		length = max(1, length) // a complete answer cannot be reset
	}
	w.Header().Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(out.status)
	if f.Reset == AfterHeader {
		flush(w)
		panic(http.ErrAbortHandler)
	}
	if f.Cut > 0 && f.Cut < len(body) {
		f.write(w, r, body[:f.Cut])
		flush(w)
		panic(http.ErrAbortHandler)
	}
	f.write(w, r, body)
	return out.status
}

// write sends a body, at once or byte by byte.
func (f *Fault) write(w http.ResponseWriter, r *http.Request, body []byte) {
	if f.Stall > 0 && f.Stall < len(body) {
		f.send(w, r, body[:f.Stall])
		stall(w, r)
	}
	f.send(w, r, body)
}

func (f *Fault) send(w http.ResponseWriter, r *http.Request, body []byte) {
	step := len(body)
	if f.Drip > 0 {
		step = 1
	}
	for len(body) > 0 {
		f.wait(r.Context(), f.Drip)
		if _, err := w.Write(body[:step]); err != nil {
			panic(http.ErrAbortHandler)
		}
		body = body[step:]
		if f.Drip > 0 {
			flush(w)
		}
	}
}

// stall says nothing more until the client gives up.
func stall(w http.ResponseWriter, r *http.Request) {
	flush(w)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// deliverStream writes a body while it comes about, spoiled as the fault says.
func (f *Fault) deliverStream(w http.ResponseWriter, r *http.Request, out reply) int {
	maps.Copy(w.Header(), out.header)
	maps.Copy(w.Header(), f.Header)
	w.WriteHeader(out.status)
	flush(w)
	if f.Reset == AfterHeader {
		panic(http.ErrAbortHandler)
	}
	sent := 0
	out.stream(r.Context(), func(text string) bool {
		from := sent
		sent += len(text)
		part := func(limit int) []byte { return []byte(text[:limit-from]) }
		switch {
		case f.Cut > 0 && sent > f.Cut:
			f.send(w, r, part(f.Cut))
			flush(w)
			panic(http.ErrAbortHandler)
		case f.Stall > 0 && sent > f.Stall:
			f.send(w, r, part(f.Stall))
			stall(w, r)
		case f.Truncate > 0 && sent > f.Truncate:
			f.send(w, r, part(f.Truncate))
			return false
		}
		f.send(w, r, []byte(text))
		flush(w)
		return true
	})
	return out.status
}

func flush(w http.ResponseWriter) {
	if f, found := w.(http.Flusher); found {
		f.Flush()
	}
}
