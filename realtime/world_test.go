package realtime_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/wait"
	"github.com/fastio-go/fastio/realtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const room = api.ID("4012345678901234567")

const stampLayout = "2006-01-02 15:04:05.000000 UTC"

// platform is a fake of what a subscription uses: activity, long polls, tokens
// and sockets. It is a Caller with a network and opens sockets itself.
type platform struct {
	stub.NotOpened

	skew time.Duration // of its clock

	mu       sync.Mutex
	fields   map[string]time.Time
	latest   time.Time
	change   chan struct{}
	sockets  map[*socket]bool
	life     time.Duration // of tokens
	minted   []api.Secret
	dials    []dialed
	open     int // maximum of concurrent sockets
	polls    []url.Values
	pollErr  error
	mintErr  error
	dialErr  error
	entries  []string // IDs in the log
	hidden   int      // pages before them without an event that the caller may see
	logErr   error
	searches []url.Values
	slowLog  time.Duration // delay of a search
	hang     bool          // dials block
	wrap     func(s *socket) realtime.Conn
	slow     time.Duration // delay of tokens
}

type dialed struct {
	at      time.Time
	address string
	header  http.Header
}

func newPlatform() *platform {
	return &platform{
		fields: map[string]time.Time{}, change: make(chan struct{}), sockets: map[*socket]bool{}, life: 24 * time.Hour,
	}
}

func (p *platform) now() time.Time { return time.Now().Add(p.skew).UTC() }

func (p *platform) service() *realtime.Service {
	return realtime.New(p, network("https", new(http.Client)))
}

func network(scheme string, client *http.Client) *realtime.Network {
	return &realtime.Network{Origin: &url.URL{Scheme: scheme, Host: "api.fastio.test"}, Client: client}
}

func (p *platform) locked(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// stamp changes a field, visible to polls and sockets.
func (p *platform) stamp(field string) {
	p.lose(field)
	p.frame(fmt.Sprintf(`{"response":"activity","activity":[%q]}`, field))
}

// lose changes a field without a frame.
func (p *platform) lose(field string) {
	p.locked(func() {
		p.latest = later(p.now().Truncate(time.Microsecond), p.latest.Add(time.Microsecond))
		p.fields[field] = p.latest
		p.ring()
	})
}

// ring ends the waiting polls.
func (p *platform) ring() {
	close(p.change)
	p.change = make(chan struct{})
}

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

func (p *platform) frame(text string) { p.each(func(s *socket) { s.send(text) }) }

func (p *platform) each(do func(s *socket)) {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.sockets))
	p.mu.Unlock()
	for _, s := range all {
		do(s)
	}
}

func (p *platform) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	path := r.Path.Template()
	answer, err := "", error(nil)
	switch {
	case strings.Contains(path, "/activity/poll/"):
		answer, err = p.poll(ctx, r.Query)
	case strings.Contains(path, "/websocket/auth/"):
		answer, err = p.mint(ctx)
	case strings.Contains(path, "/events/search/"):
		if err := wait.Sleep(ctx, p.slowLog); err != nil {
			return err
		}
		p.locked(func() {
			p.searches = append(p.searches, r.Query)
			answer, err = p.logPage(r.Query.Get("cursor")), p.logErr
		})
	case strings.Contains(path, "/ping/"):
		answer = `{"result":true}`
	case strings.Contains(path, "/user/me/"):
		answer = `{"result":true,"user":{"id":"4000000000000000001"}}`
	default:
		return errors.New("unexpected " + path)
	}
	if raw := api.Resolve(opts).Response; raw != nil {
		*raw = api.Response{Header: http.Header{"Date": {p.now().Format(http.TimeFormat)}}}
	}
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(answer), out)
}

// logPage returns a page of 250 entries. The cursor is the index of the first.
func (p *platform) logPage(cursor string) string {
	const page = `{"events":[%s],"pagination":{"has_more":%t,"next_cursor":"%d"}}`
	n, _ := strconv.Atoi(cursor)
	if n < p.hidden {
		return fmt.Sprintf(page, "", true, n+1)
	}
	from := n - p.hidden
	to := min(from+250, len(p.entries))
	var rows []string
	for _, id := range p.entries[from:to] {
		const row = `{"event_id":%q,"event":"comment_created","created":"2026-03-02 09:30:00 UTC"}`
		rows = append(rows, fmt.Sprintf(row, id))
	}
	return fmt.Sprintf(page, strings.Join(rows, ","), to < len(p.entries), to+p.hidden)
}

func (p *platform) poll(ctx context.Context, q url.Values) (string, error) {
	longest, _ := time.ParseDuration(q.Get("wait") + "s")
	over := time.After(longest)
	since := p.now()
	if cursor := q.Get("lastactivity"); cursor != "" {
		var err error
		since, err = time.Parse(stampLayout, cursor)
		if err != nil {
			return "", &api.Error{Op: "activity.PollProfile", Status: http.StatusBadRequest}
		}
	}
	p.locked(func() { p.polls = append(p.polls, q) })
	for {
		p.mu.Lock()
		found := map[string]string{}
		for f, at := range p.fields {
			if at.After(since) {
				found[f] = at.Format(stampLayout)
			}
		}
		change, err, now := p.change, p.pollErr, p.now()
		now = later(now, p.latest)
		p.latest = now // later changes have a later time
		p.mu.Unlock()
		if err != nil {
			return "", err
		}
		if len(found) > 0 || longest == 0 {
			return pollAnswer(found, now), nil
		}
		select {
		case <-change:
		case <-over:
			return pollAnswer(nil, now.Add(longest)), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func pollAnswer(found map[string]string, now time.Time) string {
	fields := []byte("[]")
	if len(found) > 0 {
		var err error
		fields, err = json.Marshal(found)
		if err != nil {
			panic(err)
		}
	}
	return fmt.Sprintf(`{"results":%d,"activity":%s,"lastactivity":%q}`, len(found), fields, now.Format(stampLayout))
}

func (p *platform) mint(ctx context.Context) (string, error) {
	p.mu.Lock()
	slow := p.slow
	p.mu.Unlock()
	if err := wait.Sleep(ctx, slow); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	token := fmt.Sprintf("canary-token-%d", len(p.minted)+1)
	if p.mintErr != nil {
		return "", p.mintErr
	}
	p.minted = append(p.minted, api.NewSecret(token))
	return fmt.Sprintf(`{"result":true,"expires_in":%d,"auth_token":%q}`, int(p.life/time.Second), token), nil
}

func (p *platform) Dial(ctx context.Context, address string, header http.Header) (realtime.Conn, error) {
	p.mu.Lock()
	hang, err := p.hang, p.dialErr
	p.dials = append(p.dials, dialed{time.Now(), address, header})
	p.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	s := &socket{p: p, frames: make(chan message, 1000), gone: make(chan struct{})}
	p.locked(func() {
		p.sockets[s] = true
		p.open = max(p.open, len(p.sockets))
	})
	if p.wrap != nil {
		return p.wrap(s), nil
	}
	return s, nil
}

type message struct {
	text   string
	binary bool
}

// socket is one end of a connection to the platform.
type socket struct {
	p        *platform
	frames   chan message
	once     sync.Once
	gone     chan struct{}
	halfOpen atomic.Bool
}

var errReset = errors.New("connection reset by peer")

func (s *socket) send(text string) {
	if !s.halfOpen.Load() {
		s.frames <- message{text: text}
	}
}

func (s *socket) stall() { s.halfOpen.Store(true) }

func (s *socket) drop() {
	s.once.Do(func() { close(s.gone) })
	s.p.locked(func() { delete(s.p.sockets, s) })
}

func (s *socket) ReadMessage() ([]byte, bool, error) {
	select {
	case <-s.gone:
		return nil, false, errReset
	default:
	}
	select {
	case m := <-s.frames:
		return []byte(m.text), !m.binary, nil
	case <-s.gone:
		return nil, false, errReset
	}
}

func (s *socket) Ping(ctx context.Context) error {
	if s.halfOpen.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	select {
	case <-s.gone:
		return errReset
	default:
		return nil
	}
}

func (s *socket) Close() error {
	s.drop()
	return nil
}

// consumer ranges over a subscription and records its changes.
type consumer struct {
	sub  *realtime.Subscription
	done chan struct{}

	mu      sync.Mutex
	changes []*realtime.Change
	seen    int // number of changes returned by news
	at      []time.Time
	err     error
}

// consume starts a loop over the changes, which ends with the test.
func consume(tb testing.TB, sub *realtime.Subscription) *consumer {
	tb.Helper()
	c := &consumer{sub: sub, done: make(chan struct{})}
	tb.Cleanup(func() { _ = c.stop(tb) })
	go func() {
		defer close(c.done)
		for change, err := range sub.Changes() {
			c.mu.Lock()
			if err != nil {
				c.err = err
			} else {
				c.changes, c.at = append(c.changes, change), append(c.at, time.Now())
			}
			c.mu.Unlock()
		}
	}()
	return c
}

// news returns the fields reported since the last call.
func (c *consumer) news() (fields []string) {
	all := c.all()
	for ; c.seen < len(all); c.seen++ {
		if field := all[c.seen].Field; field != "" {
			fields = append(fields, string(field))
		}
	}
	return fields
}

func (c *consumer) all() []*realtime.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.changes)
}

// stop closes the subscription and waits for the loop.
func (c *consumer) stop(tb testing.TB) error {
	tb.Helper()
	closeWithin(tb, c.sub)
	<-c.done
	return c.err
}

func closeWithin(tb testing.TB, sub *realtime.Subscription) {
	tb.Helper()
	start := time.Now()
	if err := sub.Close(); err != nil {
		tb.Error(err)
	}
	if took := time.Since(start); took >= time.Second {
		tb.Errorf("Close took %s", took)
	}
}

func subscribed(tb testing.TB, s *realtime.Service, profile api.Profile, o *realtime.SubscribeOptions) *consumer {
	tb.Helper()
	sub, err := s.Subscribe(tb.Context(), profile, o)
	if err != nil {
		tb.Fatal(err)
	}
	return consume(tb, sub)
}

// begin subscribes and starts a consumer, by default over sockets of the platform.
func begin(t *testing.T, p *platform, change ...func(o *realtime.SubscribeOptions)) *consumer {
	t.Helper()
	return consume(t, openSubscription(t, p, change...))
}

// streaming runs a test in its own bubble with a subscription.
func streaming(t *testing.T, test func(t *testing.T, p *platform, c *consumer), change ...func(o *realtime.SubscribeOptions)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		test(t, p, begin(t, p, change...))
	})
}

func pollOnly(o *realtime.SubscribeOptions) { o.PollOnly = true }

func openSubscription(t *testing.T, p *platform, change ...func(o *realtime.SubscribeOptions)) *realtime.Subscription {
	t.Helper()
	sub, err := subscribe(t, p, change...)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func subscribe(t *testing.T, p *platform, change ...func(o *realtime.SubscribeOptions)) (*realtime.Subscription, error) {
	t.Helper()
	o := &realtime.SubscribeOptions{Dialer: p}
	for _, c := range change {
		c(o)
	}
	return p.service().Subscribe(t.Context(), api.Workspace(room), o)
}

// update changes a file of a workspace and returns the field that reports it.
func update(s *fastiotest.Server, workspace api.ID, n int) (field string) {
	object := fmt.Sprintf("2object%022d", n)
	s.AddEvent(seed.Event{
		Name: "workspace_storage_file_updated", Workspace: string(workspace), CallingUser: s.User().ID, Object: object,
	})
	return "storage:" + object
}

func isLong(q url.Values) bool { return q.Get("wait") != "" }

func cursorOf(q url.Values) time.Time { return activity.Cursor(q.Get("lastactivity")).Time() }

func base64URL(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
