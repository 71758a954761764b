package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/realtime"
)

func catchUp(o *realtime.SubscribeOptions) { o.CatchUp = true }

func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint("e", i)
	}
	return ids
}

func (p *platform) searched() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.searches)
}

// entries returns the reported events of the log and the resyncs.
func (c *consumer) entries() (ids []string, resyncs []realtime.ResyncReason) {
	for _, change := range c.all() {
		if change.Entry != nil {
			ids = append(ids, string(change.Entry.ID))
		}
		if change.Resync != nil {
			resyncs = append(resyncs, change.Resync.Reason)
		}
	}
	return ids, resyncs
}

// After a disconnect the log is read twice, because it lags, and each event is
// reported once.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(10 * time.Minute)
		if len(p.searched()) > 0 {
			t.Errorf("%d searches before a disconnect", len(p.searched()))
		}
		p.locked(func() { p.entries = []string{"e1", "e2"} })
		dropped := p.now()
		p.each((*socket).drop)
		time.Sleep(5 * time.Second)
		p.locked(func() { p.entries = []string{"e2", "E-3", "e1"} })
		time.Sleep(time.Minute)
		p.each((*socket).drop)
		time.Sleep(time.Minute)
		ids, resyncs := c.entries()
		if !slices.Equal(ids, []string{"e1", "e2", "E-3"}) || len(resyncs) > 0 {
			t.Errorf("reported %v, %v", ids, resyncs)
		}
		from, err := api.ParseTime(p.searched()[0].Get("created-min"))
		before := dropped.Sub(from.Time)
		if err != nil || before < 2*time.Minute || before > 2*time.Minute+30*time.Second {
			t.Errorf("read from %s, dropped at %s, %v", from, dropped, err)
		}
		if n := len(p.searched()); n != 4 {
			t.Errorf("%d searches for two drops", n)
		}
	}, catchUp)
}

// After a restart the log is read from the end of the last subscription, even
// if an earlier attempt to read it failed.
func TestCatchUpAfterARestart(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(time.Hour)
		_ = c.stop(t)
		ended := p.now()
		time.Sleep(time.Hour)
		p.locked(func() { p.logErr = &api.Error{Status: 503} })
		position := c.sub.Position()
		for i := range 3 {
			c = begin(t, p, catchUp, func(o *realtime.SubscribeOptions) { o.Position = position })
			if i == 2 {
				p.locked(func() { p.logErr, p.entries = nil, []string{"e1"} })
			}
			time.Sleep(3 * time.Minute)
			_ = c.stop(t)
			position = c.sub.Position()
		}
		if ids, resyncs := c.entries(); !slices.Equal(ids, []string{"e1"}) || len(resyncs) > 0 {
			t.Errorf("reported %v, %v", ids, resyncs)
		}
		for _, q := range p.searched() {
			from, err := api.ParseTime(q.Get("created-min"))
			if err != nil || ended.Sub(from.Time) < 2*time.Minute || ended.Sub(from.Time) > 3*time.Minute {
				t.Errorf("read from %s, ended at %s, %v", from, ended, err)
			}
		}
	}, catchUp)
}

func TestFailedCatchUpReportsResync(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[realtime.ResyncReason]func(p *platform){
		realtime.ResyncReasonLog:     func(p *platform) { p.logErr = &api.Error{Status: 403, Code: 10545} },
		realtime.ResyncReasonBacklog: func(p *platform) { p.entries = numbered(6000) },
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			c := begin(t, p, catchUp)
			time.Sleep(time.Minute)
			p.locked(func() { spoil(p) })
			p.each((*socket).drop)
			time.Sleep(5 * time.Minute)
			_, resyncs := c.entries()
			if !slices.Contains(resyncs, want) {
				t.Errorf("reported %v", resyncs)
			}
			for _, change := range c.all() {
				if r := change.Resync; r != nil && (r.Err != nil) != (want == realtime.ResyncReasonLog) {
					t.Errorf("the Resync has the error %v", r.Err)
				}
			}
			p.stamp("members")
			time.Sleep(time.Second)
			if !slices.Contains(c.news(), "members") {
				t.Error("changes after the failure are not reported")
			}
		})
	}
}

// A log in which the caller may see none of very many events is not read again and again: a
// Resync says that it was not read to the end.
func TestCatchUpWithManyHiddenEvents(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(time.Minute)
		p.locked(func() { p.hidden = 150 })
		p.each((*socket).drop)
		time.Sleep(6 * time.Hour)
		searches := len(p.searched())
		if _, resyncs := c.entries(); !slices.Contains(resyncs, realtime.ResyncReasonLog) || searches > 2*150 {
			t.Errorf("reported %v after %d searches", resyncs, searches)
		}
	}, catchUp)
}

// stopped is a socket of a computer that sleeps for a time: what has arrived before is read
// when it wakes up.
type stopped struct {
	*socket
	awake chan struct{} // closed when it wakes up
}

func (s *stopped) ReadMessage() ([]byte, bool, error) {
	b, text, err := s.socket.ReadMessage()
	<-s.awake
	return b, text, err
}

func (s *stopped) Ping(context.Context) error {
	<-s.awake
	time.Sleep(time.Second) // the frames are read first
	return errReset
}

// A frame that is read after a long silence does not hide it: the log is read from its begin
// on.
func TestFrameAfterASilenceDoesNotHideIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, awake := newPlatform(), make(chan struct{})
		p.wrap = func(s *socket) realtime.Conn {
			if len(p.dials) > 1 {
				return s
			}
			return &stopped{s, awake}
		}
		begin(t, p, catchUp)
		silent := p.now()
		p.frame(`{"response":"activity","activity":["members"]}`)
		time.Sleep(10 * time.Minute)
		close(awake)
		time.Sleep(time.Minute)
		requireRead(t, p, silent)
	})
}

// A slow loop delays only the reading of the log.
func TestCatchUpWithSlowLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		many := numbered(3000)
		p := newPlatform()
		sub := openSubscription(t, p, catchUp)
		time.Sleep(time.Minute)
		p.locked(func() { p.entries = many })
		p.each((*socket).drop)
		time.Sleep(time.Hour)
		p.stamp("members")
		time.Sleep(time.Second)
		c := consume(t, sub)
		time.Sleep(time.Minute)
		ids, resyncs := c.entries()
		if !slices.Equal(ids, many) || len(resyncs) > 0 || !slices.Contains(c.news(), "members") {
			t.Errorf("reported %d events, %v", len(ids), resyncs)
		}
		if err := c.stop(t); err != nil && !errors.Is(err, errReset) {
			t.Error(err)
		}
	})
}

// requireReadSince ends a subscription, and requires that the next one, which starts from its
// Position, reads the log from a time on or from an earlier one.
func requireReadSince(t *testing.T, p *platform, sub *realtime.Subscription, missed time.Time) {
	t.Helper()
	position := sub.Position()
	_ = sub.Close()
	searches := len(p.searched())
	c := begin(t, p, catchUp, func(o *realtime.SubscribeOptions) { o.Position = position })
	time.Sleep(time.Minute)
	_ = c.stop(t)
	from, err := api.ParseTime(p.searched()[searches].Get("created-min"))
	if err != nil || from.After(missed) {
		t.Errorf("after the restart the log is read from %s, %v; changes were missed at %s", from, err, missed)
	}
}

// An event of the log that was read and not delivered is read again after a restart, also if
// the log was read from a later time since.
func TestPositionCoversUndeliveredEntries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		sub := openSubscription(t, p, catchUp)
		time.Sleep(time.Minute)
		p.locked(func() { p.entries = []string{"e1"} })
		missed := p.now()
		p.each((*socket).drop)
		time.Sleep(time.Hour)
		p.each((*socket).drop)
		time.Sleep(time.Minute)
		requireReadSince(t, p, sub, missed)
	})
}

// A Resync that was not delivered is repeated after a restart: the silence is noticed again,
// and the log is read again from the same time.
func TestPositionCoversAnUndeliveredResync(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(p *platform){
		"log":     func(p *platform) { p.logErr = &api.Error{Status: 403, Code: 10545} },
		"backlog": func(p *platform) { p.entries = numbered(6000) },
		"absence": func(p *platform) { p.pollErr, p.dialErr = &api.Error{Status: 503}, &api.Error{Status: 503} },
	}, func(t *testing.T, spoil func(p *platform)) {
		p := newPlatform()
		sub := openSubscription(t, p, catchUp)
		time.Sleep(time.Minute)
		p.locked(func() { spoil(p) })
		missed := p.now()
		p.each((*socket).drop)
		time.Sleep(25 * time.Hour)
		p.locked(func() { p.logErr, p.entries, p.pollErr, p.dialErr = nil, nil, nil, nil })
		time.Sleep(time.Hour)
		requireReadSince(t, p, sub, missed)
	})
}

// The log is read from when a socket that has failed was last heard of, although polls have
// succeeded since.
func TestCatchUpAfterASilentSocket(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, _ *consumer) {
		time.Sleep(time.Second)
		silent := p.now()
		p.each((*socket).stall)
		time.Sleep(20 * time.Minute)
		requireRead(t, p, silent)
	}, catchUp, func(o *realtime.SubscribeOptions) { o.PingInterval = 10 * time.Minute })
}

// A socket that was replaced before its token expired, and that had been silent, may have
// missed changes: they are reported at once, and the log is read.
func TestReplacedSocketHadFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.life = 10 * time.Minute // the second socket is opened after 8 to 9 of them
		c := begin(t, p, catchUp, func(o *realtime.SubscribeOptions) { o.PingInterval, o.Sweep = 5*time.Minute, time.Hour })
		time.Sleep(7 * time.Minute)
		silent := p.now()
		p.each((*socket).stall)
		p.lose("members")
		time.Sleep(2*time.Minute + 10*time.Second)
		if got := c.news(); !slices.Equal(got, []string{"members"}) {
			t.Errorf("reported %v", got)
		}
		requireRead(t, p, silent)
	})
}

// If sockets fail again before the log was read for the last failure, each read covers the
// failures since the read before, and not all of them.
func TestCatchUpKeepsUpWithFailingSockets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.slowLog = 20 * time.Second
		begin(t, p, catchUp)
		for range 120 {
			time.Sleep(35 * time.Second)
			p.each((*socket).drop)
		}
		all := p.searched()
		from, err := api.ParseTime(all[len(all)-1].Get("created-min"))
		if age := p.now().Sub(from.Time); err != nil || age > 5*time.Minute {
			t.Errorf("the last of %d reads of the log begins %s before the present, %v", len(all), age, err)
		}
	})
}

// requireRead requires that the log was read from a time on.
func requireRead(t *testing.T, p *platform, missed time.Time) {
	t.Helper()
	for _, q := range p.searched() {
		if from, err := api.ParseTime(q.Get("created-min")); err == nil && !from.After(missed) {
			return
		}
	}
	t.Errorf("the log was not read from %s on, in %d searches", missed, len(p.searched()))
}
