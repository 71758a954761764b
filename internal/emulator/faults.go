package emulator

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// faults are the rules that tests have added.
type faults struct {
	mu      sync.Mutex
	rules   []*rule
	added   int // faults so far, for their IDs
	sockets []*socketRule

	disagreements []*disagreement
}

type fault world.Fault

// rule is a fault and the calls that it applies to.
type rule struct {
	fault
	aim
}

func (r *rule) id() string { return r.ID }

// Fail adds a rule that lets calls fail. The first rule that matches a call and has uses
// left applies. It panics for a rule for which [Server.AddFault] returns an error.
func (s *Server) Fail(f world.Fault) {
	if _, err := s.AddFault(f); err != nil {
		panic(err)
	}
}

// AddFault adds a rule that lets calls fail, or replaces the one with the same ID, and
// returns its ID. It returns an error for an unknown operation, and for a status that no
// response has.
func (s *Server) AddFault(f world.Fault) (id string, err error) {
	if err := checkFault(s.routes, f); err != nil {
		return "", err
	}
	f.Header, f.Params = f.Header.Clone(), maps.Clone(f.Params)
	if f.Body != "" && f.Status == 0 {
		f.Status = http.StatusOK
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.CountChange()
	f.ID = s.faults.nextID(f.ID)
	r := &rule{fault: fault(f), aim: newAim(f.Skip, f.Count, f.Probability, f.Seed, s.Options.Seed)}
	s.faults.rules = addOrReplace(s.faults.rules, r)
	return f.ID, nil
}

// nextID counts an addition, and returns its number if the ID is "".
func (f *faults) nextID(id string) string {
	f.added++
	return cmp.Or(id, strconv.Itoa(f.added))
}

// addOrReplace puts r in place of the rule with the same ID or, if the list has none, appends
// r. It returns the list.
func addOrReplace[R interface{ id() string }](list []R, r R) []R {
	i := slices.IndexFunc(list, func(old R) bool { return old.id() == r.id() })
	if i < 0 {
		return append(list, r)
	}
	list[i] = r
	return list
}

// remove removes the rule with an ID from a list. It returns false if there is none.
func remove[R interface{ id() string }](list *[]R, id string) bool {
	count := len(*list)
	*list = slices.DeleteFunc(*list, func(r R) bool { return r.id() == id })
	return len(*list) < count
}

// Faults returns the rules for calls, in the order in which they apply.
func (s *Server) Faults() []seed.ActiveFault {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	list := make([]seed.ActiveFault, 0, len(s.faults.rules))
	for _, r := range s.faults.rules {
		list = append(list, seed.ActiveFault{Fault: seed.Fault(r.fault), Matches: r.seen, Hits: r.struck})
	}
	return list
}

// SocketFaults returns the rules for sockets, in the order in which they apply.
func (s *Server) SocketFaults() []seed.ActiveSocketFault {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	list := make([]seed.ActiveSocketFault, 0, len(s.faults.sockets))
	for _, r := range s.faults.sockets {
		list = append(list, seed.ActiveSocketFault{SocketFault: r.SocketFault, Matches: r.seen, Hits: r.struck})
	}
	return list
}

// RemoveFault removes the fault, the fault of sockets and the disagreement with an ID.
// It returns false if there is none.
func (s *Server) RemoveFault(id string) bool {
	f := &s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	s.CountChange()
	found := []bool{remove(&f.rules, id), remove(&f.sockets, id), remove(&f.disagreements, id)}
	return slices.Contains(found, true)
}

// Check returns an error for limits and faults of unknown operations, for a limit that allows
// no call or has no duration, and for a fault with a status that no response has.
func Check(o seed.Options, faults ...seed.Fault) error {
	s := New(seed.Options{})
	if err := checkRules(s.routes, o.Limits.Rules); err != nil {
		return err
	}
	for _, f := range faults {
		if err := checkFault(s.routes, f); err != nil {
			return err
		}
	}
	return nil
}

// checkFault returns an error for a fault of an unknown operation, or with a status that the
// server cannot send.
func checkFault(routes []*wire.Route, f seed.Fault) error {
	const least, most = 200, 599
	if f.Status != 0 && (f.Status < least || f.Status > most) {
		return fmt.Errorf("emulator: Fault.Status must be %d to %d, got %d", least, most, f.Status)
	}
	return checkRequestOp(routes, "Fault.Op", f.Op)
}

// CheckOp returns an error that names the field if no request has such an operation; "" is
// any.
func (s *Server) CheckOp(field string, op seed.Op) error { return checkRequestOp(s.routes, field, op) }

// checkRequestOp returns an error, which names the field, for an operation that no request
// has. It accepts the operation of OPTIONS requests, and what checkOps accepts.
func checkRequestOp(routes []*wire.Route, field string, op seed.Op) error {
	if op == opIntrospect {
		return nil
	}
	return checkOps(routes, field, op)
}

// checkOps returns an error, which names the field, for an operation that has no route. It
// accepts that of handshakes (opSocket), and "", which means all operations.
func checkOps(routes []*wire.Route, field string, ops ...seed.Op) error {
	for _, op := range ops {
		named := func(r *wire.Route) bool { return r.Op == string(op) }
		if op != "" && op != opSocket && !slices.ContainsFunc(routes, named) {
			return fmt.Errorf("emulator: %s must be an operation of the platform, got %q", field, op)
		}
	}
	return nil
}

// Heal removes all faults, faults of sockets and disagreements.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.CountChange()
	s.faults.rules, s.faults.sockets, s.faults.disagreements = nil, nil, nil
}

// faultFor returns the fault of the first rule that applies to a call, or one that
// changes nothing.
func (f *faults) faultFor(op string) *fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		matches := r.Op == "" || string(r.Op) == op
		if matches && r.countMatch() { // it counts the call, and decides
			return &r.fault
		}
	}
	return &fault{}
}

// callsHandler reports whether the handler is called although there is a fault.
func (f *fault) callsHandler() bool {
	return f.Processed || f.Status == 0 && f.Reset != seed.BeforeHeader
}

// refusal returns the failed response that a fault requires, nil if its status is below
// 400: then the response is an empty success.
func (f *fault) refusal() error {
	if f.Status < http.StatusBadRequest {
		return nil
	}
	err := wire.Refuse(f.Status, f.Code, cmp.Or(f.Text, http.StatusText(f.Status)))
	if len(f.Params) > 0 {
		err.Params = wire.FromMap(f.Params)
	}
	return err
}

// contentType returns the media type of the body of a fault. Default: JSON if the body begins
// with a brace or bracket, otherwise HTML.
func (f *fault) contentType() string {
	switch {
	case f.ContentType != "":
		return f.ContentType
	case strings.HasPrefix(f.Body, "{"), strings.HasPrefix(f.Body, "["):
		return "application/json"
	}
	return "text/html; charset=UTF-8"
}

// wait waits for d. It panics with http.ErrAbortHandler if ctx is done first: the
// client has given up.
func (f *fault) wait(ctx context.Context, d time.Duration) {
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

// deliver writes a response as the fault requires: slowly, in part, damaged or not at
// all. With Truncate, the header announces the shorter length; with Cut, the connection is
// dropped before the announced length. It returns the status of a response that was sent
// to its end, and panics with http.ErrAbortHandler to drop the connection.
func (f *fault) deliver(w http.ResponseWriter, r *http.Request, out wire.Reply) int {
	if out.Stream != nil {
		return f.deliverStream(w, r, out)
	}
	body, length := out.Open()
	if f.Gzip {
		damaged := damagedGzip(length)
		body, length = bytes.NewReader(damaged), int64(len(damaged))
	}
	if f.Truncate > 0 {
		length = min(f.Truncate, length)
	}
	maps.Copy(w.Header(), out.Header)
	if f.Gzip {
		w.Header().Set("Content-Encoding", "gzip")
	}
	maps.Copy(w.Header(), f.Header)
	announced := length
	if f.Reset == seed.AfterHeader {
		announced = max(1, length) // a response without a body would be complete with its header
	}
	w.Header().Set("Content-Length", strconv.FormatInt(announced, 10))
	w.WriteHeader(out.Status)
	if f.Reset == seed.AfterHeader {
		flush(w)
		panic(http.ErrAbortHandler)
	}
	if cut := f.Cut; cut > 0 && cut < length {
		f.write(w, r, body, cut)
		flush(w)
		panic(http.ErrAbortHandler)
	}
	f.write(w, r, body, length)
	return out.Status
}

// write writes length bytes of a body. If f.Stall is set and less than length, it writes only
// f.Stall bytes, waits until the client gives up, and panics.
func (f *fault) write(w http.ResponseWriter, r *http.Request, body io.Reader, length int64) {
	isStalled := f.Stall > 0 && f.Stall < length
	if isStalled {
		length = f.Stall
	}
	f.send(w, r, body, length)
	if isStalled {
		stallForever(w, r)
	}
}

const sentAtOnce = 64 << 10 // bytes

// damagedGzip returns a gzip header, followed by invalid data. The data is about a quarter as
// long as the body that it replaces, as if that were compressed.
func damagedGzip(length int64) []byte {
	const least, most = 16, 1 << 20
	header := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}
	return append(header, slices.Repeat([]byte{0xff}, int(max(least, min(length/4, most))))...)
}

// send writes length bytes of a body; a fault with Drip sends them one by one, with a
// pause before each.
func (f *fault) send(w http.ResponseWriter, r *http.Request, body io.Reader, length int64) {
	piece := make([]byte, min(length, sentAtOnce))
	if f.Drip > 0 {
		piece = piece[:min(1, len(piece))]
	}
	for length > 0 {
		f.wait(r.Context(), f.Drip)
		piece = piece[:min(length, int64(len(piece)))]
		if _, err := io.ReadFull(body, piece); err != nil {
			panic(http.ErrAbortHandler) // after the status, an error can only drop the connection
		}
		if _, err := w.Write(piece); err != nil {
			panic(http.ErrAbortHandler)
		}
		length -= int64(len(piece))
		if f.Drip > 0 {
			flush(w)
		}
	}
}

// stallForever sends nothing more. It does not return: when the client gives up, it drops
// the connection.
func stallForever(w http.ResponseWriter, r *http.Request) {
	flush(w)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// deliverStream writes a body that a handler produces piece by piece, as the fault
// requires. It returns the status, and panics with http.ErrAbortHandler to drop the
// connection.
func (f *fault) deliverStream(w http.ResponseWriter, r *http.Request, out wire.Reply) int {
	maps.Copy(w.Header(), out.Header)
	maps.Copy(w.Header(), f.Header)
	w.WriteHeader(out.Status)
	flush(w)
	if f.Reset == seed.AfterHeader {
		panic(http.ErrAbortHandler)
	}
	sent := int64(0)
	out.Stream(r.Context(), func(text string) bool {
		from := sent
		sent += int64(len(text))
		send := func(text string) { f.send(w, r, strings.NewReader(text), int64(len(text))) }
		switch {
		case f.Cut > 0 && sent > f.Cut:
			send(text[:f.Cut-from])
			flush(w)
			panic(http.ErrAbortHandler)
		case f.Stall > 0 && sent > f.Stall:
			send(text[:f.Stall-from])
			stallForever(w, r)
		case f.Truncate > 0 && sent > f.Truncate:
			send(text[:f.Truncate-from])
			return false
		}
		send(text)
		flush(w)
		return true
	})
	return out.Status
}

// flush sends what is buffered.
func flush(w http.ResponseWriter) {
	if f, found := w.(http.Flusher); found {
		f.Flush()
	}
}

// socketRule is a fault of sockets and the messages that it applies to.
type socketRule struct {
	world.SocketFault
	aim
}

func (r *socketRule) id() string { return r.ID }

// aim selects those of the matching calls or messages that a rule applies to.
type aim struct {
	skip, count  int
	probability  float64
	seen, struck int // the matches so far, and those to which the rule has applied
	dice         rand.PCG
}

// newAim returns an aim that leaves out the first matches (skip), applies to at most
// count (0: all), and to each with a probability (0: always). With the same
// two seeds, the choice is always the same.
func newAim(skip, count int, probability float64, own, platform uint64) aim {
	return aim{skip: skip, count: count, probability: probability, dice: *rand.NewPCG(own, platform)}
}

// countMatch counts a call that a rule matches, and reports whether the rule applies to
// it: after the first calls (skip), by its probability, and count times at most.
func (a *aim) countMatch() bool {
	if a.count > 0 && a.struck >= a.count {
		return false
	}
	a.seen++
	if a.seen <= a.skip {
		return false
	}
	dice := rand.New(&a.dice) //nolint:gosec // repeatable on purpose
	isSpared := a.probability > 0 && dice.Float64() >= a.probability
	if isSpared {
		return false
	}
	a.struck++
	return true
}

// FailSockets adds a rule for sockets, or replaces the one with the same ID, and returns
// its ID. The first rule that matches a message and has uses left applies to it; of the
// rules for the age of a socket, all apply. [Server.Heal] removes them, too.
func (s *Server) FailSockets(f world.SocketFault) (id string) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.CountChange()
	f.ID = s.faults.nextID(f.ID)
	r := &socketRule{SocketFault: f, aim: newAim(f.Skip, f.Count, f.Probability, f.Seed, s.Options.Seed)}
	s.faults.sockets = addOrReplace(s.faults.sockets, r)
	return f.ID
}

// Next returns the fault of the next message on a socket of a profile, or one that
// changes nothing. It skips rules with an age, whose faults Aged returns: they are those of
// a socket, not of a message.
func (f *faults) Next(profileID string) *world.SocketFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.sockets {
		if r.Age == 0 && r.concerns(profileID) && r.countMatch() {
			return &r.SocketFault
		}
	}
	return &world.SocketFault{}
}

// Aged returns the faults that a new socket of a profile will have when it reaches their
// age.
func (f *faults) Aged(profileID string) []*world.SocketFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*world.SocketFault
	for _, r := range f.sockets {
		if r.Age > 0 && r.concerns(profileID) && r.countMatch() {
			list = append(list, &r.SocketFault)
		}
	}
	return list
}

// concerns reports whether the rule is for the sockets of a profile.
func (r *socketRule) concerns(profileID string) bool {
	return r.Profile == "" || r.Profile == profileID
}
