package realtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/realtime"
)

func mode(c *consumer) realtime.Mode { return c.sub.Status().Mode }

// want requires that exactly these fields were reported since the last call.
func (c *consumer) want(t *testing.T, when string, fields ...string) {
	t.Helper()
	got := c.news()
	slices.Sort(got)
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", when, diff)
	}
}

func TestChangesArriveOverSocketsAndByPolls(t *testing.T) {
	t.Parallel()
	for _, m := range []realtime.Mode{realtime.ModeSocket, realtime.ModePoll} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			p.stamp("storage:2old")
			time.Sleep(10 * time.Second)
			c := begin(t, p, func(o *realtime.SubscribeOptions) { o.PollOnly = m == realtime.ModePoll })
			time.Sleep(10 * time.Second)
			if mode(c) != m {
				t.Fatalf("the mode is %s", mode(c))
			}
			c.want(t, "what was there before")
			p.stamp("storage:2abc")
			p.stamp("comments:2abc")
			time.Sleep(300 * time.Millisecond)
			if m == realtime.ModePoll {
				time.Sleep(time.Second)
			}
			c.want(t, "two changes", "comments:2abc", "storage:2abc")
			time.Sleep(20 * time.Minute)
			if m == realtime.ModeSocket { // the rescan adds the time of the change
				c.want(t, "the sweep after them", "comments:2abc", "storage:2abc")
			}
			c.want(t, "later")
		})
	}
}

func TestChangesBeforeConnectingAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.slow = 32 * time.Second
		sub := openSubscription(t, p) // with polls, after two seconds
		p.lose("members")
		c := consume(t, sub)
		time.Sleep(5 * time.Second)
		c.want(t, "before there is a socket", "members")
		time.Sleep(24 * time.Second)
		p.lose("settings") // while the socket is dialed
		time.Sleep(5 * time.Second)
		c.want(t, "when there is one", "settings")
	})
}

// Rescans find changes whose frames were lost.
func TestRescans(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(time.Minute)
		p.lose("storage:2lost")
		time.Sleep(4*time.Minute + time.Second)
		c.want(t, "within five minutes", "storage:2lost")
		p.locked(func() { p.polls = nil })
		time.Sleep(21 * time.Minute)
		p.locked(func() {
			if n := len(p.polls); n != 4 {
				t.Errorf("%d polls in 21 minutes", n)
			}
			for i, q := range p.polls {
				if isLong(q) || q.Get("updated") != "1" {
					t.Errorf("a rescan sent %v", q)
				}
				if back := p.now().Add(-21 * time.Minute).Sub(cursorOf(q)); i > 0 && back > 5*time.Minute {
					t.Errorf("rescan %d starts too early: %s", i, back)
				}
			}
		})
	})
}

// A change that becomes visible late, with a time before the cursor, is found.
func TestLateChanges(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(4*time.Minute + 58*time.Second)
		at := p.now()
		time.Sleep(4 * time.Second) // after a rescan
		p.locked(func() { p.fields["storage:2late"] = at.Truncate(time.Microsecond) })
		p.each((*socket).drop)
		time.Sleep(5 * time.Second)
		c.want(t, "after a drop", "storage:2late")
	})
}

// Long polls send the exact cursor, rescans a slightly earlier one, whatever
// the local clock.
func TestCursors(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			p.skew = skew
			c := begin(t, p, pollOnly)
			for i := range 20 {
				time.Sleep(50 * time.Second)
				p.stamp(fmt.Sprint("storage:2", i))
			}
			time.Sleep(5 * time.Second)
			p.mu.Lock()
			long := 0
			for _, q := range p.polls[1:] {
				exact := q.Get("lastactivity")
				if cursorOf(q).Format(stampLayout) != exact || q.Get("updated") != "1" {
					t.Errorf("sent %v", q)
				}
				if isLong(q) {
					long++
				}
			}
			p.mu.Unlock()
			if got := c.news(); len(got) != 20 || long < 20 {
				t.Errorf("reported %v in %d long polls", got, long)
			}
			if lag := c.sub.Status().Lag; lag > 2*time.Second {
				t.Errorf("the lag is %s", lag)
			}
		})
	}
}

// When a socket is lost, polls replace it once that is detected, and the socket
// is dialed again (P18).
func TestLostSockets(t *testing.T) {
	t.Parallel()
	type row struct {
		lose  func(*socket)
		after time.Duration // time to detect it
	}
	table.Bubbles(t, map[string]row{
		"by a drop": {(*socket).drop, 0},
		"half open": {(*socket).stall, 30*time.Second + time.Millisecond},
	}, func(t *testing.T, test row) {
		p := newPlatform()
		c := begin(t, p)
		for i := range 50 {
			time.Sleep(time.Minute + time.Duration(i)*time.Second)
			if mode(c) != realtime.ModeSocket {
				t.Fatal("no socket")
			}
			c.news()
			p.locked(func() { p.dialErr = errors.New("no route") })
			p.lose("members") // before the poll that follows a drop at once
			p.each(test.lose)
			time.Sleep(test.after)
			synctest.Wait()
			if mode(c) != realtime.ModePoll {
				t.Fatalf("still live: %+v", c.sub.Status())
			}
			noticed := time.Now()
			time.Sleep(time.Second)
			c.want(t, "within a second", "members")
			time.Sleep(time.Duration(i%7) * 100 * time.Millisecond)
			p.lose("settings")
			time.Sleep(time.Until(noticed.Add(5 * time.Second)))
			c.want(t, "within five seconds", "settings")
			time.Sleep(2 * time.Minute)
			p.locked(func() { p.dialErr = nil })
			time.Sleep(72 * time.Second)
			if mode(c) != realtime.ModeSocket {
				t.Errorf("the socket is not back: %+v", c.sub.Status())
			}
		}
	})
}

func TestLongLivedSocketIsRedialedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.dialErr = errReset
		c := begin(t, p)
		time.Sleep(10 * time.Minute)
		p.locked(func() { p.dialErr = nil })
		for range 50 {
			time.Sleep(2 * time.Minute)
			before := c.sub.Status()
			p.each((*socket).drop)
			time.Sleep(1001 * time.Millisecond)
			if st := c.sub.Status(); st.Mode != realtime.ModeSocket || st.Sockets != before.Sockets+1 {
				t.Errorf("a second after a drop the status is %+v", st)
			}
		}
	})
}

// A token is replaced in the last fifth of its lifetime; the new socket opens
// before the old one is closed.
func TestRotation(t *testing.T) {
	t.Parallel()
	for _, life := range []time.Duration{15 * time.Minute, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			p.life = life
			c := begin(t, p)
			time.Sleep(20 * life)
			p.mu.Lock()
			for i := 1; i < len(p.dials); i++ {
				d := p.dials[i]
				if age := d.at.Sub(p.dials[i-1].at); age < life*8/10 || age > life*9/10 {
					t.Errorf("a token of %s was replaced after %s", life, age)
				}
				if d.address != "wss://api.fastio.test/api/websocket/?"+p.minted[i].Reveal() {
					t.Errorf("dialed %s with token %d", d.address, i)
				}
			}
			if p.open != 2 || len(p.sockets) != 1 || len(p.dials) < 20 {
				t.Errorf("%d sockets at a time, %d now, %d dials", p.open, len(p.sockets), len(p.dials))
			}
			p.mu.Unlock()
			if st := c.sub.Status(); st.Failures != 0 || st.Err != nil || st.Sockets != len(p.dials) {
				t.Errorf("the status is %+v", st)
			}
			c.want(t, "in all that time")
		})
	}
}

func TestFailedRotationKeepsSocket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.life = time.Hour
		c := begin(t, p)
		time.Sleep(30 * time.Minute)
		p.locked(func() { p.mintErr = &api.Error{Op: "realtime.SocketToken", Status: 503} })
		time.Sleep(27 * time.Minute)
		if st := c.sub.Status(); st.Mode != realtime.ModeSocket || st.Err == nil {
			t.Errorf("the status is %+v", st)
		}
		p.stamp("members")
		time.Sleep(time.Second)
		c.want(t, "over the old socket", "members")
		p.locked(func() { p.mintErr = nil })
		time.Sleep(time.Minute)
		p.mu.Lock()
		if len(p.minted) != 2 || len(p.sockets) != 1 {
			t.Errorf("%d tokens, %d sockets", len(p.minted), len(p.sockets))
		}
		p.mu.Unlock()
	})
}

func TestPermanentErrorEndsSubscription(t *testing.T) {
	t.Parallel()
	refusal := func(status int) error { return &api.Error{Op: "x", Status: status, Code: 10545} }
	type row struct {
		err             error
		spoil           func(p *platform, err error)
		pollOnly, begun bool // whether the error comes later
	}
	tests := map[string]row{}
	poll := func(p *platform, err error) {
		p.pollErr = err
		p.ring()
	}
	token := func(p *platform, err error) { p.mintErr = err }
	for _, begun := range []bool{true, false} {
		when := fmt.Sprintf(", begun: %t", begun)
		tests["of a poll while there is a socket"+when] = row{refusal(400), poll, false, begun}
		tests["of a poll that is held"+when] = row{refusal(400), poll, true, begun}
		tests["of a token"+when] = row{refusal(403), token, false, begun}
		tests["of a token without permission"+when] = row{refusal(401), token, false, begun}
	}
	table.Bubbles(t, tests, func(t *testing.T, test row) {
		p := newPlatform()
		p.life = 10 * time.Minute
		if !test.begun {
			p.locked(func() { test.spoil(p, test.err) })
		}
		sub, err := subscribe(t, p, func(o *realtime.SubscribeOptions) { o.PollOnly = test.pollOnly })
		if err == nil {
			c := consume(t, sub)
			time.Sleep(time.Minute)
			p.stamp("members")
			time.Sleep(100 * time.Millisecond)
			p.locked(func() { test.spoil(p, test.err) })
			time.Sleep(10 * time.Minute)
			<-c.done
			err = c.err
			if reported := slices.Contains(c.news(), "members"); test.begun && !reported {
				t.Error("changes before the error were not reported")
			}
			for range sub.Changes() { // a second time
				break
			}
			closeWithin(t, sub)
		}
		e, ok := errors.AsType[*realtime.RefusedError](err)
		if !ok || !errors.Is(err, test.err) || e.Profile != api.Workspace(room) ||
			!strings.Contains(err.Error(), string(room)) {
			t.Errorf("ended with %v", err)
		}
	})
}

// Errors of a proxy do not end the subscription, however long they last: they
// are in the status, and all changes are reported afterwards.
func TestProxyErrorsAreRetried(t *testing.T) {
	t.Parallel()
	page := func(status int) error {
		return &api.Error{Op: "x", Status: status, Body: []byte("<html>Just a moment...")}
	}
	table.Bubbles(t, map[string]func(p *platform){
		"of polls":  func(p *platform) { p.pollErr, p.dialErr = page(403), errReset },
		"of tokens": func(p *platform) { p.mintErr = page(401) },
		"of both":   func(p *platform) { p.pollErr, p.mintErr = page(404), page(403) },
	}, func(t *testing.T, spoil func(p *platform)) {
		p := newPlatform()
		p.life = 10 * time.Minute
		c := begin(t, p)
		time.Sleep(time.Minute)
		p.locked(func() { spoil(p) })
		p.each((*socket).drop)
		p.lose("members")
		time.Sleep(time.Hour)
		err := c.sub.Status().Err // of the last failed attempt, a poll or a socket
		if e, ok := errors.AsType[*api.Error](err); !errors.Is(err, errReset) && (!ok || e.Status/100 != 4) {
			t.Errorf("the status is %+v", c.sub.Status())
		}
		p.locked(func() { p.pollErr, p.mintErr, p.dialErr = nil, nil, nil })
		time.Sleep(2 * time.Minute)
		c.want(t, "in the end", "members")
		if st := c.sub.Status(); st.Mode != realtime.ModeSocket || st.Err != nil {
			t.Errorf("the status is %+v", st)
		}
	})
}

// Without sockets changes are reported by polls, and the socket is retried.
func TestWithoutSockets(t *testing.T) {
	t.Parallel()
	limited := &api.Error{Status: 429, Rate: api.RateLimit{RetryAfter: time.Minute}}
	type row struct {
		dialErr, mintErr error
		hang             bool
		least            time.Duration // minimum time between the last two dials
	}
	table.Bubbles(t, map[string]row{
		"when nothing can be dialed":     {dialErr: errors.New("no route")},
		"when dials hang":                {hang: true},
		"when handshakes are refused":    {dialErr: &realtime.HandshakeError{Status: 403}},
		"when the server has no sockets": {dialErr: &realtime.HandshakeError{Status: 404}, least: 48 * time.Second},
		"with Retry-After for sockets": {
			dialErr: &realtime.HandshakeError{Status: 503, RetryAfter: 5 * time.Minute}, least: 5 * time.Minute,
		},
		"when there are no tokens":    {mintErr: &api.Error{Status: 404, Code: 9992}},
		"with Retry-After for tokens": {mintErr: limited},
	}, func(t *testing.T, test row) {
		p := newPlatform()
		p.dialErr, p.mintErr, p.hang = test.dialErr, test.mintErr, test.hang
		c := begin(t, p)
		for i := range 60 {
			time.Sleep(time.Minute)
			field := fmt.Sprint("storage:2", i)
			p.stamp(field)
			time.Sleep(2 * time.Second)
			c.want(t, "by polls", field)
		}
		p.mu.Lock()
		n := len(p.dials)
		if n > 6*62 || test.least > 0 && n > int(62*time.Minute/test.least)+1 {
			t.Errorf("%d dials in an hour", n)
		}
		for i := 1; i < n; i++ {
			gap := p.dials[i].at.Sub(p.dials[i-1].at)
			if gap < test.least || test.least > 0 && gap > max(test.least, 72*time.Second) {
				t.Errorf("a dial came after %s", gap)
			}
		}
		if len(p.minted) > n/2+1 {
			t.Errorf("%d tokens for %d dials", len(p.minted), n)
		}
		st := c.sub.Status()
		p.dialErr, p.hang, p.mintErr = nil, false, nil
		p.mu.Unlock()
		if st.Err == nil || st.Failures == 0 || st.Mode != realtime.ModePoll {
			t.Errorf("the status is %+v", st)
		}
		time.Sleep(max(test.least, 72*time.Second) + dialTime)
		if mode(c) != realtime.ModeSocket {
			t.Errorf("no new socket: %+v", c.sub.Status())
		}
	})
}

const dialTime = 10 * time.Second

func TestShortLivedSocketsSlowDownDials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.wrap = func(s *socket) realtime.Conn {
			time.AfterFunc(time.Second, s.drop)
			return s
		}
		begin(t, p)
		time.Sleep(time.Hour)
		p.mu.Lock()
		if n := len(p.dials); n > 6*60 || n < 100 {
			t.Errorf("%d dials in an hour", n)
		}
		if len(p.minted) < len(p.dials)/2-1 || len(p.minted) > len(p.dials)/2+1 {
			t.Errorf("%d tokens for %d dials", len(p.minted), len(p.dials))
		}
		p.mu.Unlock()
	})
}

// All changes of a field within the window are reported as one.
func TestCoalescing(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(time.Minute)
		event := func(at, object string) string {
			return `{"response":"event","time":"2026-03-02 09:30:00.5","timestamp":"` + at + `",` +
				`"event":"comment_created","subcategory":"comments","object_id":"` + object + `",` +
				`"calling_user_id":"4012","activity_field":"comments:2abcd","data":{"a":1}}`
		}
		p.stamp("comments:2abcd")
		p.frame(event("1772443800.123456", "c1"))
		p.frame(event("1772443800.123456", "C-1")) // a duplicate
		p.stamp("comments:2ABC-D")
		p.frame(event("1772443800.223456", "c2"))
		time.Sleep(100 * time.Millisecond)
		p.stamp("comments:2abcd")
		time.Sleep(149 * time.Millisecond)
		if n := len(c.all()); n > 0 {
			t.Errorf("%d changes before the window closed", n)
		}
		time.Sleep(2 * time.Millisecond)
		changes := c.all()
		if len(changes) != 1 || changes[0].Field != "comments:2abcd" || len(changes[0].Events) != 2 {
			t.Fatalf("got %d changes: %+v", len(changes), changes[0])
		}
		want := &realtime.Event{
			ObjectID: "c2", Name: "comment_created", SubCategory: "comments", CallingUserID: "4012", Field: "comments:2abcd",
			Data: json.RawMessage(`{"a":1}`), Sent: api.Time{Time: time.Date(2026, 3, 2, 9, 30, 0, 5e8, time.UTC)},
			Triggered: api.Time{Time: time.Unix(1772443800, 223456000).UTC()},
		}
		if diff := cmp.Diff(want, changes[0].Events[1]); diff != "" {
			t.Errorf("the event (-want +got)\n%s", diff)
		}
	})
}

// Changes that wait for a busy loop are limited in number and bytes, and a
// Resync replaces those that are dropped. A field named by events is reported
// without them. The socket stays open.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	table.Large(t)
	const most = 16 << 20
	pad := strings.Repeat("y", 900<<10)
	var members strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&members, `"m%d":1,`, i)
	}
	type row struct {
		frame  func(i int) string
		fields int // expected fields; 0 means a Resync
		frames int // default: 24
	}
	named := func(n int) func(i int) string {
		return func(i int) string { return fmt.Sprintf(`{"response":"activity","activity":["storage:2%d"]}`, i%n) }
	}
	table.Bubbles(t, map[string]row{
		"10,000 frames of 90 fields": {named(90), 90, 10_000},
		"frames of 500 fields":       {named(500), 0, 500},
		"frames of an unknown kind": {frame: func(i int) string {
			return fmt.Sprintf(`{"response":"news%d","x":%q}`, i, pad)
		}},
		"fields with a long name": {frame: func(i int) string {
			return fmt.Sprintf(`{"response":"activity","activity":["%d%s"]}`, i, pad)
		}},
		"events without a field": {frame: func(i int) string {
			return fmt.Sprintf(`{"response":"event","event":"e%d","data":%q}`, i, pad)
		}},
		"events that are not in one": {frame: func(i int) string {
			return fmt.Sprintf(`{"response":"event","activity_field":"","event":"e%d","x":%q}`, i, pad)
		}},
		"events of one field": {frame: func(int) string {
			return `{"response":"event","activity_field":"members","data":"` + pad + `"}`
		}, fields: 1},
		"events of small members": {frame: func(int) string {
			return `{"response":"event","activity_field":"members",` + members.String() + `"a":1}`
		}, fields: 1},
		"events of many fields": {frame: func(i int) string {
			return fmt.Sprintf(`{"response":"event","activity_field":"members:%d","data":%q}`, i, pad)
		}, fields: 24},
		"events with long names": {frame: func(i int) string {
			return fmt.Sprintf(`{"response":"event","timestamp":"%d.5","activity_field":"members","event":%q}`, i, pad)
		}, fields: 1},
	}, func(t *testing.T, test row) {
		p := newPlatform()
		sub := openSubscription(t, p, func(o *realtime.SubscribeOptions) { o.MaxPending = 100 })
		time.Sleep(time.Minute)
		for i := range max(test.frames, 24) {
			p.frame(test.frame(i))
			if i%100 == 99 {
				time.Sleep(time.Second) // until they are read
			}
		}
		time.Sleep(time.Minute)
		c := consume(t, sub)
		time.Sleep(time.Second)
		size, members := 0, 0
		_, resyncs := c.entries()
		for _, change := range c.all() {
			size += len(change.Frame) + len(change.Field)
			for _, e := range change.Events {
				size += len(e.Data) + len(e.Name)
				members += len(e.Extra)
			}
		}
		if got := c.news(); size > most || members > most/100 || len(got) != test.fields ||
			!slices.Equal(resyncs, []realtime.ResyncReason{realtime.ResyncReasonOverflow}[min(test.fields, 1):]) {
			t.Errorf("%d bytes and %d members waited, Resyncs %v, fields %v", size, members, resyncs, got)
		}
		p.stamp("settings")
		time.Sleep(time.Second)
		c.want(t, "after the flood", "settings")
		if st := c.sub.Status(); st.Sockets != 1 || st.Mode != realtime.ModeSocket {
			t.Errorf("the socket broke: %+v", st)
		}
	})
}

// Unknown frames are yielded, and invalid ones are counted.
func TestUnknownFrames(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(time.Minute)
		for _, text := range []string{
			`{"response":"presence","who":"ada"}`,
			`{"response":{"an":"object"}}`,
			`{"hello":1}`,
			`{"response":"activity","activity":7}`,
			`{"response":"event","timestamp":"tea time"}`,
			`{"response":"event","event":"org_updated","activity_field":"","timestamp":{"at":"tea time"},"category":5}`,
			`{"response":"activity","activity":{"moon:2":"2026-03-02 09:30:00.000001 UTC"}}`,
			`{"response":"activity","activity":"sun"}`,
			`{"response":"activity","activity":[]}`,
			"not JSON", "\xff\xfe", `["activity"]`, "{\"response\":\"activity\",\"activity\":[\"caf\xe9\"]}", ``,
		} {
			p.frame(text)
		}
		p.each(func(s *socket) { s.frames <- message{`{"response":"activity","activity":["binary"]}`, true} })
		time.Sleep(time.Second)
		var got []string
		for _, change := range c.all() {
			switch {
			case change.Frame != nil:
				got = append(got, string(change.Frame))
			case change.Field != "":
				got = append(got, string(change.Field)+" "+change.At.String())
			default:
				got = append(got, string(change.Events[0].Name))
			}
		}
		want := []string{
			`{"response":"presence","who":"ada"}`, `{"response":{"an":"object"}}`, `{"hello":1}`,
			`{"response":"activity","activity":7}`, `{"response":"event","timestamp":"tea time"}`, "org_updated",
			"moon:2 2026-03-02 09:30:00.000001 UTC", "sun ",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if st := c.sub.Status(); st.Discarded != 6 || st.Mode != realtime.ModeSocket {
			t.Errorf("the status is %+v", st)
		}
	})
}

// A subscription resumes at its position with few duplicates.
func TestPosition(t *testing.T) {
	t.Parallel()
	for _, pollOnly := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			position := ""
			var reported []string
			for i := range 50 {
				sub := openSubscription(t, p, func(o *realtime.SubscribeOptions) { o.Position, o.PollOnly = position, pollOnly })
				c := consume(t, sub)
				time.Sleep(time.Duration(i) * time.Second)
				p.stamp(fmt.Sprint("storage:2a", i))
				time.Sleep(time.Duration(i%4) * 100 * time.Millisecond)
				if err := c.stop(t); err != nil {
					t.Fatal(err)
				}
				position = sub.Position()
				reported = append(reported, c.news()...)
				p.stamp(fmt.Sprint("storage:2b", i))
				time.Sleep(time.Hour)
			}
			c := begin(t, p, func(o *realtime.SubscribeOptions) { o.Position, o.PollOnly = position, pollOnly })
			time.Sleep(10 * time.Second)
			reported = append(reported, c.news()...)
			_ = c.stop(t)
			for i := range 50 {
				for _, f := range []string{fmt.Sprint("storage:2a", i), fmt.Sprint("storage:2b", i)} {
					if !slices.Contains(reported, f) {
						t.Errorf("%s was not reported", f)
					}
				}
			}
			if len(reported) > 200 {
				t.Errorf("%d changes were reported of 100", len(reported))
			}
		})
	}
}

func TestPositionInsideTheLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		sub := openSubscription(t, p, pollOnly)
		time.Sleep(10 * time.Second)
		for i := range 10 {
			p.stamp(fmt.Sprint("storage:2", i))
		}
		seen, position := map[string]bool{}, ""
		for change, err := range sub.Changes() {
			if err != nil {
				t.Fatal(err)
			}
			if len(seen) == 4 { // the fifth is lost in a crash
				position = sub.Position()
				break
			}
			seen[string(change.Field)] = true
		}
		closeWithin(t, sub)
		c := begin(t, p, func(o *realtime.SubscribeOptions) { o.Position, o.PollOnly = position, true })
		time.Sleep(10 * time.Second)
		for _, f := range c.news() {
			seen[f] = true
		}
		if len(seen) != 10 {
			t.Errorf("%d of 10 fields were reported", len(seen))
		}
	})
}

// Changes can be ranged over again after a loop ended by break or panic.
func TestChangesResumeAfterLoop(t *testing.T) {
	t.Parallel()
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			sub := openSubscription(t, p)
			time.Sleep(10 * time.Second)
			want := []string{"storage:20", "storage:21", "storage:22", "storage:23", "storage:24"}
			for _, f := range want {
				p.stamp(f)
			}
			time.Sleep(time.Second)
			var got []string
			for range 3 {
				func() {
					defer func() { _ = recover() }()
					for change := range sub.Changes() {
						got = append(got, string(change.Field))
						if panics {
							panic("of the program")
						}
						break
					}
				}()
			}
			p.stamp("storage:24") // before the loop resumes
			p.stamp("storage:25")
			c := consume(t, sub)
			time.Sleep(time.Second)
			got = append(got, c.news()...)
			if diff := cmp.Diff(append(want, "storage:25"), got); diff != "" {
				t.Errorf("with a panic: %t (-want +got)\n%s", panics, diff)
			}
		})
	}
}

// After an absence of more than a day a Resync is reported.
func TestLongAbsence(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(time.Minute)
		_ = c.stop(t)
		position := c.sub.Position()
		for _, test := range []struct {
			away time.Duration
			want int
		}{{23 * time.Hour, 0}, {2 * time.Hour, 1}} {
			time.Sleep(test.away)
			p.stamp("members")
			c := begin(t, p, func(o *realtime.SubscribeOptions) { o.Position = position })
			time.Sleep(time.Minute)
			want := slices.Repeat([]realtime.ResyncReason{realtime.ResyncReasonAbsence}, test.want)
			if _, resyncs := c.entries(); !slices.Equal(resyncs, want) {
				t.Errorf("%v after %s", resyncs, test.away)
			}
		}
	})
}

// A socket that sends a frame at once does not hide the absence before it.
func TestFirstFrameDoesNotHideAnAbsence(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		_ = c.stop(t)
		p.wrap = func(s *socket) realtime.Conn {
			s.send(`{"response":"activity","activity":["members"]}`)
			return s
		}
		time.Sleep(25 * time.Hour)
		hidden := 0
		const rounds = 3000 // because the order of two goroutines decides
		for range rounds {
			c := begin(t, p, func(o *realtime.SubscribeOptions) { o.Position = c.sub.Position() })
			time.Sleep(time.Second)
			if _, resyncs := c.entries(); len(resyncs) == 0 {
				hidden++
			}
			_ = c.stop(t)
		}
		if hidden > 0 {
			t.Errorf("%d of %d subscriptions report no Resync", hidden, rounds)
		}
	})
}

// In every state, Close and cancellation end the loop at once (P8).
func TestSubscriptionEndsAtOnce(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(p *platform){
		"with a socket":           func(*platform) {},
		"while a poll is held":    func(p *platform) { p.dialErr = errReset },
		"while a dial hangs":      func(p *platform) { p.hang = true },
		"while a token is minted": func(p *platform) { p.slow = time.Hour },
		"while nothing works":     func(p *platform) { p.dialErr, p.pollErr = errReset, errReset },
	}, func(t *testing.T, spoil func(p *platform)) {
		for i := range 40 {
			byContext := i%2 == 0
			p := newPlatform()
			p.life = 10 * time.Minute
			sub, cancel := cancellable(t, p)
			p.locked(func() { spoil(p) })
			c := consume(t, sub)
			time.Sleep(time.Duration(i/2) * 777 * time.Millisecond)
			start := time.Now()
			if byContext {
				cancel()
			} else {
				closeWithin(t, sub)
			}
			<-c.done
			if took := time.Since(start); took > 50*time.Millisecond {
				t.Errorf("the loop ended after %s", took)
			}
			if byContext != errors.Is(c.err, context.Canceled) || !byContext && c.err != nil {
				t.Errorf("ended with %v", c.err)
			}
			closeWithin(t, sub)
			p.locked(func() {
				if len(p.sockets) > 0 {
					t.Error("a socket is left")
				}
			})
		}
	})
}

func cancellable(t *testing.T, p *platform) (*realtime.Subscription, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	sub, err := p.service().Subscribe(ctx, api.Workspace(room), &realtime.SubscribeOptions{Dialer: p})
	if err != nil {
		t.Fatal(err)
	}
	return sub, cancel
}

func TestNoChangeAfterEnd(t *testing.T) {
	t.Parallel()
	for _, byContext := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			sub, cancel := cancellable(t, p)
			time.Sleep(10 * time.Second)
			for i := range 5 {
				p.stamp(fmt.Sprint("storage:2", i))
			}
			n, last := 0, error(nil)
			for _, err := range sub.Changes() {
				last = err
				if err != nil {
					break
				}
				n++
				if byContext {
					cancel()
				} else {
					closeWithin(t, sub)
				}
			}
			if n != 1 || byContext != errors.Is(last, context.Canceled) {
				t.Errorf("%d changes, then %v", n, last)
			}
			closeWithin(t, sub)
		})
	}
}

func TestSubscribeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.pollErr = errReset
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err := p.service().Subscribe(ctx, api.Workspace(room), nil)
		took := time.Since(start)
		if !errors.Is(err, context.DeadlineExceeded) || took > 10*time.Second+50*time.Millisecond {
			t.Errorf("got %v after %s", err, took)
		}
	})
}

// The callback gets every change of the status. A slow one delays neither
// changes nor Close, and its panics are recovered (P27).
func TestOnStatus(t *testing.T) {
	t.Parallel()
	var seen []string
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(time.Second)
		p.stamp("members")
		time.Sleep(time.Second)
		c.want(t, "meanwhile", "members")
		for range 2 {
			time.Sleep(time.Minute)
			p.each((*socket).drop)
		}
		time.Sleep(time.Second)
		start := time.Now()
		if err := c.sub.Close(); err != nil || time.Since(start) > time.Second {
			t.Errorf("Close took %s, %v", time.Since(start), err)
		}
		time.Sleep(time.Minute) // until the callback returns
		synctest.Wait()
		const poll = " 1 connection reset by peer"
		want := []string{"socket 1 0 <nil>", "poll 1" + poll, "socket 2 0 <nil>", "poll 2" + poll}
		if diff := cmp.Diff(want, slices.Compact(seen)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}, func(o *realtime.SubscribeOptions) {
		o.OnStatus = func(_ context.Context, s realtime.Status) {
			seen = append(seen, fmt.Sprint(s.Mode, " ", s.Sockets, " ", s.Failures, " ", s.Err))
			time.Sleep(10 * time.Second)
			panic("of the observer")
		}
	})
}

func TestSubscribeRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	p, here := newPlatform(), api.Workspace(room)
	refused := func(in api.Profile, o realtime.SubscribeOptions, opts ...api.CallOption) error {
		o.Dialer = p
		return stub.Err(p.service().Subscribe(t.Context(), in, &o, opts...))
	}
	type options = realtime.SubscribeOptions
	other := base64URL(`{"v":1,"profile":"org 1","cursor":"2026-03-02 09:30:00.000001 UTC"}`)
	stub.Refused(t, map[string][]error{
		"profile": {refused(api.Workspace(""), options{}), refused(api.Profile{Kind: "moon", ID: "1"}, options{})},
		"profile_id": {
			refused(api.Workspace("design"), options{CatchUp: true}), // its log has no custom name
		},
		"SubscribeOptions.CatchUp":  {refused(api.FileShare("1"), options{CatchUp: true})},
		"SubscribeOptions.Position": {refused(here, options{Position: "AAAA"}), refused(here, options{Position: other})},
		"SubscribeOptions.Address": {
			refused(here, options{Address: "https://{host}/?{token}"}), refused(here, options{Placement: "moon"}),
		},
		"SubscribeOptions": {
			refused(here, options{Sweep: -1}), refused(here, options{Coalesce: 48 * time.Hour}),
			refused(here, options{MaxPending: -1}),
		},
		"output":       {refused(here, options{}, api.WithOutput("markdown"))},
		"WithResponse": {refused(here, options{}, api.WithResponse(new(api.Response)))},
	})
}

// No frame ends the subscription.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"response":"activity","activity":["storage:2abc","preview:2abc"]}`,
		`{"response":"activity","activity":{"storage:2abc":"2026-03-02 09:30:00.000001 UTC"}}`,
		`{"response":"activity","activity":"members"}`,
		`{"response":"activity","activity":[{}]}`,
		`{"response":"event","time":"2026-03-02 09:30:00.5","timestamp":"1772443800.123456",` +
			`"event":"comment_created","activity_field":"comments:2a","data":[]}`,
		`{"response":"event","timestamp":"never","data":{"a":[1,2,{"b":null}]}}`,
		`{"response":{"activity":[]}}`,
		`{"response":"presence"}`, `{`, `[]`, `""`, "\xff", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			c := begin(t, p, func(o *realtime.SubscribeOptions) { o.Coalesce = -1 })
			time.Sleep(time.Second)
			p.frame(text)
			p.frame(`{"response":"activity","activity":["the next"]}`)
			time.Sleep(time.Second)
			if got := c.news(); len(got) == 0 || got[len(got)-1] != "the next" {
				t.Errorf("reported %v", got)
			}
			if err := c.stop(t); err != nil {
				t.Error(err)
			}
			for _, change := range c.all() {
				are := []bool{change.Field != "", change.Resync != nil, change.Entry != nil, change.Frame != nil}
				kinds := len(slices.DeleteFunc(are, func(is bool) bool { return !is }))
				if kinds > 1 || kinds == 0 && len(change.Events) == 0 && !strings.Contains(text, `""`) {
					t.Errorf("a change is %+v", change)
				}
			}
		})
	})
}
