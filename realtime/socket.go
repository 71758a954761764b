package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/jsonopt"
	"github.com/fastio-go/fastio/internal/wait"
)

// dialLoop opens one socket after the other. It is used by one goroutine.
type dialLoop struct {
	*Subscription

	token         *SocketToken
	renew         time.Time // when the token is too old for another socket
	tokenFailures int       // consecutive short sockets with this token
	failures      int       // consecutive ones to open or keep a socket
	sessions      uint64    // started so far
	firstDial     sync.Once
}

const (
	stableAfter      = 30 * time.Second // a socket that was open for longer is not a failure
	leastLife        = 10 * time.Second // minimum before a token is replaced
	maxTokenFailures = 2                // short sockets before a token is replaced
)

// keepSocket keeps a socket open: it dials, and dials again after a pause when
// the socket closes or dialing fails. It returns when ctx is done or the server
// refuses access.
func (s *Subscription) keepSocket(ctx context.Context) error {
	k := &dialLoop{Subscription: s}
	for {
		n, err := k.open(ctx)
		if err == nil {
			err = k.holdOpen(ctx, n)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if refusal, ok := errors.AsType[*RefusedError](err); ok {
			return refusal
		}
		k.failures++
		pause := k.dialPause(err)
		dialFailed := n == nil
		if dialFailed {
			s.stopWaiting() // for the first socket: polls begin
			if brokenNetwork(err) {
				pause = s.s.networkBroken(k.failures)
			}
		}
		s.switchTo(ModePoll, func(st *Status) { st.setError(ofSocket, k.failures, err, pause) })
		if err := wait.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// brokenNetwork reports whether a dial failed for a reason that concerns all
// sockets, and not only those of one profile: the server has not responded.
func brokenNetwork(err error) bool {
	_, refusedSocket := errors.AsType[*HandshakeError](err)
	_, refusedToken := errors.AsType[*api.Error](err)
	_, unreadable := errors.AsType[oddAnswerError](err)
	hasResponded := refusedSocket || refusedToken || unreadable || errors.Is(err, errBadToken)
	return !hasResponded
}

// oddAnswerError is the error of a call whose response could not be read.
type oddAnswerError struct{ error }

func (e oddAnswerError) Unwrap() error { return e.error }

// dialPause returns the delay before the next dial after one that failed with err: the
// backoff, and 48 to 72 seconds at least if the status says that the server does not
// support sockets or refuses more of them.
func (k *dialLoop) dialPause(err error) time.Duration {
	pause := wait.For(k.failures, retryAfter(err))
	refusal, ok := errors.AsType[*HandshakeError](err)
	if !ok {
		return pause
	}
	switch refusal.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusUpgradeRequired,
		http.StatusTooManyRequests, http.StatusNotImplemented:
		const least, spread = 48 * time.Second, 24 * time.Second
		return max(pause, least+rand.N(spread)) //nolint:gosec // spreading load needs no secrecy
	}
	return pause
}

// open opens a socket, when the rate limit of dials admits it. If the first one takes
// longer than grace, polls begin meanwhile.
func (k *dialLoop) open(ctx context.Context) (n *session, err error) {
	began := func() { k.firstDial.Do(func() { time.AfterFunc(grace, k.stopWaiting) }) }
	err = k.s.dial(ctx, began, func(ctx context.Context) error {
		n, err = k.newSession(ctx)
		return err
	})
	return n, err
}

// newSession opens a socket, with a new token if the current one is too old, and starts
// to read from it. A refused handshake counts against the token, and a token that
// cannot be sent is dropped.
func (k *dialLoop) newSession(ctx context.Context) (*session, error) {
	if k.token == nil || !time.Now().Before(k.renew) {
		if err := k.mint(ctx); err != nil {
			return nil, err
		}
	}
	conn, err := k.dial.open(ctx, k.token.Value)
	if err != nil {
		if _, refused := errors.AsType[*HandshakeError](err); refused {
			k.failToken()
		}
		if errors.Is(err, errBadToken) {
			k.token = nil
		}
		return nil, err
	}
	// The handshake is a response, too; nil means that its Date is not known. It is recorded before the first
	// frame, which would hide that the server was silent for long.
	k.noticeSilence(nil)
	k.sessions++
	n := &session{s: k.Subscription, number: k.sessions, conn: conn, opened: time.Now(), failed: make(chan struct{})}
	n.start(k.ctx) //nolint:contextcheck // ctx may end with an old socket, which n replaces
	return n, nil
}

// mint requests a token, and sets when to replace it: after 80 to 90 percent of its
// lifetime. It returns a [*RefusedError] if the platform refuses access for good.
func (k *dialLoop) mint(ctx context.Context) error {
	asked := time.Now()
	var answer api.Response
	token, err := k.s.SocketToken(ctx, k.profile, k.optionsWith(&answer)...)
	if call.Final(err) && (errors.Is(err, api.ErrForbidden) || errors.Is(err, api.ErrUnauthenticated)) {
		return &RefusedError{Profile: k.profile, Err: err}
	}
	if err != nil && answer.Header != nil { // the server has responded: this type shows that to brokenNetwork
		return oddAnswerError{err}
	}
	if err != nil {
		return err
	}
	k.clock.Observe(answer.Header)
	k.token, k.tokenFailures = token, 0
	life := token.life*8/10 + rand.N(token.life/10+1) //nolint:gosec // spreading load needs no secrecy
	k.renew = asked.Add(max(life, leastLife))
	return nil
}

// failToken counts a socket that failed early. The token is replaced after
// maxTokenFailures, because it may be the cause.
func (k *dialLoop) failToken() {
	k.tokenFailures++
	if k.tokenFailures >= maxTokenFailures {
		k.token = nil
	}
}

// holdOpen waits until the socket of n closes, and returns why. Before the token
// expires it opens another socket, with a new token, and then closes the old one.
func (k *dialLoop) holdOpen(ctx context.Context, n *session) error {
	renew := time.NewTimer(time.Until(k.renew))
	defer renew.Stop()
	k.connected() // after a time without a socket, in which changes may have been missed
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			n.end()
			return ctx.Err()
		case <-n.failed:
			return k.disconnect(n)
		case <-renew.C:
		}
		// n.ctx ends if the old socket fails: then open fails at once. The context of the new socket is not n.ctx. Open
		// sets k.renew.
		next, err := k.open(n.ctx) //nolint:contextcheck // n.ctx is derived from ctx
		if refusal, ok := errors.AsType[*RefusedError](err); ok {
			n.end()
			return refusal
		}
		if err != nil && n.ctx.Err() != nil {
			continue // the old socket is over as well
		}
		if err != nil { // the old socket is still open
			failures++
			pause := wait.For(failures, retryAfter(err))
			k.notify(func(st *Status) { st.setError(ofSocket, failures, err, pause) })
			renew.Reset(pause)
			continue
		}
		k.replace(ctx, n) // ends n
		n, failures = next, 0
		renew.Reset(time.Until(k.renew))
		k.countSocket()
	}
}

// connected records that a socket is open after a time without one.
func (k *dialLoop) connected() {
	k.connState.setLive(true) // makes keepPolling sweep
	k.countSocket()
}

// replace ends the session of a socket after another one was opened. If the old socket still
// answers a ping, both were open at the same time and no change was missed. Otherwise changes
// may be missing, as after a disconnect. The new socket is not watched meanwhile, so the answer
// must come soon.
func (k *dialLoop) replace(ctx context.Context, n *session) {
	soon, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := n.pingOnce(soon)
	n.end()
	if err != nil {
		k.history.enqueueGap(n.heard.last())
		k.connState.setLive(true) // makes keepPolling sweep
	}
}

// countSocket counts another open socket in the status, and sets its mode.
func (k *dialLoop) countSocket() {
	k.switchTo(ModeSocket, func(st *Status) { st.Sockets++; st.clearError(ofSocket) })
}

// disconnect ends the session of a socket that has failed, and returns its error.
// Changes may be missed from now on, until another socket is open or polls begin. A
// socket that was open for long resets the failures; a short one counts against its
// token, which may be the cause.
func (k *dialLoop) disconnect(n *session) error {
	n.end()
	if errors.Is(n.failure, errSilent) {
		k.s.closeIdle() // they may be broken as well
	}
	k.history.enqueueGap(n.heard.last())
	k.connState.setLive(false)
	if time.Since(n.opened) >= stableAfter {
		k.failures, k.tokenFailures = 0, 0
	} else {
		k.failToken()
	}
	return n.failure
}

// session is one socket. Frames after its end are ignored.
type session struct {
	s      *Subscription
	number uint64
	conn   Conn
	opened time.Time
	heard  clock // the latest frame or pong

	ctx     context.Context // ends when it failed
	stop    context.CancelFunc
	work    sync.WaitGroup
	once    sync.Once
	failed  chan struct{} // closed when it failed
	failure error         // why
}

// start starts the goroutines that read from the socket and send pings, until
// ctx is done or one of them fails.
func (n *session) start(ctx context.Context) {
	n.heard.Clock = n.s.clock.Clock
	n.heard.alive()
	n.ctx, n.stop = context.WithCancel(ctx)
	n.work.Go(func() { n.fail(n.read()) })
	n.work.Go(func() { n.fail(n.ping(n.ctx)) })
}

// fail ends the session with err, unless it has ended before.
func (n *session) fail(err error) {
	n.once.Do(func() {
		n.failure = err
		close(n.failed)
		n.stop()
	})
}

// end closes the socket and waits for its goroutines.
func (n *session) end() {
	n.s.pending.retire(n.number)
	n.stop()
	_ = n.conn.Close()
	n.work.Wait()
}

// read receives frames until the socket closes. It never waits for the program
// that reads the changes.
func (n *session) read() error {
	for {
		b, isText, err := n.conn.ReadMessage()
		if err != nil {
			return err
		}
		n.alive()
		f, isFrame := readFrame(b)
		if !isText || !isFrame {
			n.s.changeStatus(func(st *Status) { st.Discarded++ })
			continue
		}
		if f.event != nil {
			n.s.recordLag(f.event.Triggered.Time)
		}
		if n.s.wake != nil { // a subscription of Wake only reports that something has changed
			n.s.wake(watched)
			continue
		}
		n.s.pending.enqueueFrame(n.number, f)
	}
}

var errSilent = errors.New("the server did not answer a ping in time")

// ping sends a ping at each interval until one fails, and returns the error of pingOnce.
func (n *session) ping(ctx context.Context) error {
	for {
		if err := wait.Sleep(ctx, n.s.o.PingInterval); err != nil {
			return err
		}
		if err := n.pingOnce(ctx); err != nil {
			return err
		}
		n.alive()
	}
}

// pingOnce sends a ping. It returns errSilent if it has no response within half of the
// interval, or the error of the socket.
func (n *session) pingOnce(ctx context.Context) error {
	pinged, cancel := context.WithTimeout(ctx, n.s.o.PingInterval/2)
	defer cancel()
	err := n.conn.Ping(pinged)
	if pinged.Err() != nil && ctx.Err() == nil {
		return errSilent
	}
	return err
}

// alive records that a frame or a pong has come: in heard for this socket, and in the clock of
// the subscription. If no frame came for so long that a ping should have failed meanwhile, the
// computer has probably slept. Then this frame may be an old one, and later ones may be lost. So
// the log is read from the previous frame on, and noticeSilence, which also records the frame in
// the clock, may request a resync. The nil header stands for a frame, which has no Date.
func (n *session) alive() {
	before, silence := n.heard.observeResponse(nil)
	if silence <= max(longSilent, 2*n.s.o.PingInterval) {
		n.s.clock.alive()
		return
	}
	n.s.history.enqueueGap(before)
	n.s.noticeSilence(nil)
}

// Event holds the details of a change, if the socket sends them: for events that
// every member may see. Some kinds of guests do not receive them.
type Event struct {
	Name          events.Name        `json:"event"`
	Category      events.Category    `json:"category"`
	SubCategory   events.SubCategory `json:"subcategory"`
	ObjectID      api.OpaqueID       `json:"object_id"`       // the object it concerns; "" if none
	CallingUserID api.ID             `json:"calling_user_id"` // the actor; "" for the platform
	Field         activity.Field     `json:"activity_field"`  // the field that changed
	Triggered     api.Time           `json:"timestamp"`       // when it happened
	Sent          api.Time           `json:"time"`            // when the server sent it
	Data          json.RawMessage    `json:"data"`            // other data of the event, undecoded

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// frame is one message of the socket: fields, an event, or an unknown
// object.
type frame struct {
	fields api.Map[api.Time] // the fields that changed; most times are zero
	event  *Event
	raw    json.RawMessage
}

// readFrame decodes a message of the socket. It reports false if the message is not a
// JSON object; a frame of an unknown kind keeps the whole message.
func readFrame(b []byte) (frame, bool) {
	var head struct {
		Response jsontext.Value `json:"response"`
		Activity jsontext.Value `json:"activity"`
	}
	if !utf8.Valid(b) || jsontext.Value(b).Kind() != '{' || jsonv2.Unmarshal(b, &head, jsonopt.Lenient()) != nil {
		return frame{}, false
	}
	var kind string
	_ = jsonv2.Unmarshal(head.Response, &kind) // it stays "" if response is an object, as in a frame of an unknown kind
	switch kind {
	case "activity":
		if fields, ok := readFields(b, head.Activity); ok {
			return frame{fields: fields}, true
		}
	case "event":
		if e, err := decode.Response[Event](b); err == nil && (e.Name != "" || e.Field != "") {
			return frame{event: e}, true
		}
	}
	return frame{raw: b}, true
}

// readFields decodes v, the member "activity" of a frame, which is the whole message. The
// member has the changed fields: a list of names, an object with times, or a single name.
// It returns false for any other value.
func readFields(frame []byte, v jsontext.Value) (api.Map[api.Time], bool) {
	var names []string
	switch v.Kind() {
	case '[':
		if jsonv2.Unmarshal(v, &names, jsonopt.Lenient()) != nil {
			return nil, false
		}
	case '"':
		names = []string{""}
		if jsonv2.Unmarshal(v, &names[0], jsonopt.Lenient()) != nil {
			return nil, false
		}
	case '{':
		// Response gets the frame and not v: a v with a field "result" or "response" would look like an envelope.
		a, err := decode.Response[struct {
			Activity api.Map[api.Time] `json:"activity"`
		}](frame)
		if err != nil {
			return nil, false
		}
		return a.Activity, true
	default:
		return nil, false
	}
	fields := api.Map[api.Time]{}
	for _, name := range names {
		fields[name] = api.Time{}
	}
	return fields, true
}
