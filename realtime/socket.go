package realtime

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/lenient"
	"github.com/fastio-go/fastio/internal/wait"
)

// keeper opens one socket after the other. It belongs to one goroutine.
type keeper struct {
	*Subscription

	token    *SocketToken
	renew    time.Time // when the token is too old for another socket
	strikes  int       // sockets in a row that ended early with this token
	failures int       // in a row, to open a socket or keep it for long
	sessions uint64    // begun so far
}

const (
	steady    = 30 * time.Second // a socket that lives this long is no failure
	leastLife = 10 * time.Second // before a token is exchanged, whatever the server says
	maxStrike = 2                // early ends that a token is given
)

// keepSocket keeps a socket open as long as there can be one. It ends with ctx,
// or with the refusal of a token.
func (s *Subscription) keepSocket(ctx context.Context) error {
	if s.dial == nil {
		return nil
	}
	k := &keeper{Subscription: s}
	for {
		n, err := k.open(ctx)
		if err == nil {
			err = k.serve(ctx, n)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if refusal, ok := errors.AsType[*RefusedError](err); ok {
			return refusal
		}
		k.failures++
		pause := k.pause(err)
		s.switchTo(ModePoll, func(st *Status) { st.fail(false, k.failures, err, pause) })
		if err := wait.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// pause returns how long to wait before the next try: longer where a server
// seems to have no sockets at all.
func (k *keeper) pause(err error) time.Duration {
	pause := wait.For(k.failures, retryAfter(err))
	refusal, ok := errors.AsType[*HandshakeError](err)
	if !ok {
		return pause
	}
	switch refusal.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusUpgradeRequired,
		http.StatusNotImplemented:
		const about, spread = 48 * time.Second, 24 * time.Second // a minute, give or take a fifth
		return max(pause, about+rand.N(spread))                  //nolint:gosec // spreading load needs no secrecy
	}
	return pause
}

// open begins a session, with a new token if the one at hand is too old.
func (k *keeper) open(ctx context.Context) (*session, error) {
	if k.token == nil || !time.Now().Before(k.renew) {
		if err := k.mint(ctx); err != nil {
			return nil, err
		}
	}
	conn, err := k.dial.open(ctx, k.token.Value)
	if err != nil {
		if _, refused := errors.AsType[*HandshakeError](err); refused {
			k.strike()
		}
		if errors.Is(err, errBadToken) {
			k.token = nil
		}
		return nil, err
	}
	k.sessions++
	n := &session{s: k.Subscription, number: k.sessions, conn: conn, began: time.Now(), over: make(chan struct{})}
	n.start(ctx)
	return n, nil
}

// mint asks for a token. It is exchanged for another when 80 to 90 percent of its
// life are over.
func (k *keeper) mint(ctx context.Context) error {
	asked := time.Now()
	token, err := k.s.SocketToken(ctx, k.profile, k.opts...)
	if call.Final(err) && (errors.Is(err, api.ErrForbidden) || errors.Is(err, api.ErrUnauthenticated)) {
		return &RefusedError{Profile: k.profile, Err: err}
	}
	if err != nil {
		return err
	}
	k.token, k.strikes = token, 0
	life := token.life*8/10 + rand.N(token.life/10+1) //nolint:gosec // spreading load needs no secrecy
	k.renew = asked.Add(max(life, leastLife))
	return nil
}

// strike notes that the token did not keep a socket open. It may be the token's
// fault.
func (k *keeper) strike() {
	if k.strikes++; k.strikes >= maxStrike {
		k.token = nil
	}
}

// serve lets a session be until it ends, and exchanges it for another before its
// token expires. It returns why the last one ended.
func (k *keeper) serve(ctx context.Context, n *session) error {
	renew := time.NewTimer(time.Until(k.renew))
	defer renew.Stop()
	k.goLive()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			n.end()
			return ctx.Err()
		case <-n.over:
			return k.drop(n)
		case <-renew.C:
		}
		next, err := k.open(ctx)
		if refusal, ok := errors.AsType[*RefusedError](err); ok {
			n.end()
			return refusal
		}
		if err != nil { // the old one still does
			failures++
			pause := wait.For(failures, retryAfter(err))
			k.tell(func(st *Status) { st.fail(false, failures, err, pause) })
			renew.Reset(pause)
			continue
		}
		n.end()
		n, failures = next, 0
		renew.Reset(time.Until(k.renew))
		k.goLive()
	}
}

// goLive tells of an open socket, which starts a sweep.
func (k *keeper) goLive() {
	k.link.set(true)
	k.switchTo(ModeSocket, func(st *Status) { st.Sockets++; st.mend(false) })
}

// drop ends a session that broke off and returns why it did.
func (k *keeper) drop(n *session) error {
	n.end()
	if errors.Is(n.err, errSilent) {
		k.s.closeIdle()
	}
	k.history.owe(k.clock.last())
	k.link.set(false)
	if time.Since(n.began) >= steady {
		k.failures, k.strikes = 0, 0
	} else {
		k.strike()
	}
	return n.err
}

// session is one socket. What it tells after its end counts for nothing.
type session struct {
	s      *Subscription
	number uint64
	conn   Conn
	began  time.Time

	work sync.WaitGroup
	stop context.CancelFunc
	once sync.Once
	over chan struct{} // closed when it broke off
	err  error         // why
}

func (n *session) start(ctx context.Context) {
	ctx, n.stop = context.WithCancel(ctx)
	n.work.Go(func() { n.fail(n.read()) })
	n.work.Go(func() { n.fail(n.ping(ctx)) })
}

func (n *session) fail(err error) {
	n.once.Do(func() {
		n.err = err
		close(n.over)
	})
}

// end closes the socket and waits for those who use it.
func (n *session) end() {
	n.s.pending.retire(n.number)
	n.stop()
	_ = n.conn.Close()
	n.work.Wait()
}

// read takes in frames. It never waits for anybody but the server.
func (n *session) read() error {
	for {
		b, text, err := n.conn.ReadMessage()
		if err != nil {
			return err
		}
		n.s.clock.alive()
		f, ok := readFrame(b)
		if !text || !ok {
			n.s.note(func(st *Status) { st.Discarded++ })
			continue
		}
		if f.event != nil {
			n.s.lag(f.event.Triggered.Time)
		}
		n.s.pending.frame(n.number, f)
	}
}

var errSilent = errors.New("the socket gave no sign of life")

func (n *session) ping(ctx context.Context) error {
	for {
		if err := wait.Sleep(ctx, n.s.o.PingInterval); err != nil {
			return err
		}
		pinged, cancel := context.WithTimeout(ctx, n.s.o.PingInterval/2)
		err := n.conn.Ping(pinged)
		if pinged.Err() != nil && ctx.Err() == nil {
			err = errSilent
		}
		cancel()
		if err != nil {
			return err
		}
		n.s.clock.alive()
	}
}

// Event is what a socket tells of a change beyond its field, where it does: of
// events that every member may see, and not to guests of every kind.
type Event struct {
	Name          events.Name        `json:"event"`
	Category      events.Category    `json:"category"`
	SubCategory   events.SubCategory `json:"subcategory"`
	ObjectID      api.OpaqueID       `json:"object_id"`       // what it happened to; "" when there is no such thing
	CallingUserID api.ProfileID      `json:"calling_user_id"` // who did it; "" when nobody did
	Field         activity.Field     `json:"activity_field"`  // that changed
	Triggered     api.Time           `json:"timestamp"`       // when it happened
	Sent          api.Time           `json:"time"`            // when the server told
	Data          stdjson.RawMessage `json:"data"`            // what else the event has to say, as it arrived

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// frame is one message of the socket: fields, an event, or something newer than
// this package.
type frame struct {
	fields api.Map[api.Time] // that changed; the times are mostly zero
	event  *Event
	raw    stdjson.RawMessage
}

// readFrame reads a message of text. It reports false for what is no frame at
// all.
func readFrame(b []byte) (frame, bool) {
	var head struct {
		Response jsontext.Value `json:"response"`
		Activity jsontext.Value `json:"activity"`
	}
	if !utf8.Valid(b) || jsontext.Value(b).Kind() != '{' || json.Unmarshal(b, &head, lenient.Options()) != nil {
		return frame{}, false
	}
	var kind string
	_ = json.Unmarshal(head.Response, &kind) // an object is the envelope of something unknown
	switch kind {
	case "activity":
		if fields, ok := readFields(b, head.Activity); ok {
			return frame{fields: fields}, true
		}
	case "event":
		if e, err := call.Decode[Event](b); err == nil && (e.Name != "" || e.Field != "") {
			return frame{event: e}, true
		}
	}
	return frame{raw: b}, true
}

// readFields reads the fields of an activity frame, v: a list, a map with times,
// or a single one.
func readFields(frame []byte, v jsontext.Value) (api.Map[api.Time], bool) {
	var names []string
	switch v.Kind() {
	case '[':
		if json.Unmarshal(v, &names, lenient.Options()) != nil {
			return nil, false
		}
	case '"':
		names = []string{""}
		if json.Unmarshal(v, &names[0], lenient.Options()) != nil {
			return nil, false
		}
	case '{':
		a, err := call.Decode[struct {
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
