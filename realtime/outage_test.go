package realtime_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/realtime"
)

// Under random faults every change is reported after it happened, or a Resync stands
// for it (P18).
func TestOutages(t *testing.T) {
	t.Parallel()
	const workers = 4
	for worker := range workers {
		t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
			t.Parallel()
			for seed := worker; seed < schedules && !t.Failed(); seed += workers {
				synctest.Test(t, func(t *testing.T) { newOutage(t, uint64(seed)).run(t) })
			}
		})
	}
}

// outage is one random schedule of changes and faults against the emulator.
type outage struct {
	*rand.Rand

	seed     uint64
	server   *fastiotest.Server
	room     api.ProfileID
	client   *fastio.Client
	options  realtime.Options
	position string
	changed  map[string]time.Time // fields, and when they changed last

	mu     sync.Mutex
	told   map[string]time.Time
	resync time.Time
}

func newOutage(t *testing.T, seed uint64) *outage {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 18))
	o := &outage{Rand: r, seed: seed, changed: map[string]time.Time{}, told: map[string]time.Time{}}
	o.server = fastiotest.New(func(o *fastiotest.Options) {
		o.Seed = seed
		o.Wrapped, o.Activity.InclusivePolls, o.ServerDate = r.IntN(4) == 0, r.IntN(4) == 0, r.IntN(4) == 0
		o.ClockSkew = time.Duration(r.IntN(3)-1) * 10 * time.Minute
		o.Activity.PollCut = []time.Duration{0, 0, 30 * time.Second, time.Minute}[r.IntN(4)]
		o.Activity.PollCutReset = r.IntN(2) == 0
		o.Realtime.TokenLife = []time.Duration{0, 5 * time.Minute, 15 * time.Minute}[r.IntN(3)]
		o.Realtime.NoExpiresIn, o.Realtime.CloseOnBadToken = r.IntN(4) == 0, r.IntN(2) == 0
		o.Realtime.OutliveToken = r.IntN(4) == 0
	})
	o.room = o.server.AddWorkspace(fastiotest.Workspace{Name: "Design"}).ID
	o.client = o.server.Client(t, fastio.WithHTTPClient(o.server.StartInMemory(t)))
	o.options = realtime.Options{
		PollOnly: r.IntN(10) == 0, Coalesce: []time.Duration{0, -1, time.Second}[r.IntN(3)],
		MaxPending: []int{0, 0, 0, 4}[r.IntN(4)], CatchUp: r.IntN(8) == 0,
	}
	return o
}

// run lets a few minutes of faults pass, then heals everything and waits for a sweep.
func (o *outage) run(t *testing.T) {
	t.Helper()
	stop := o.subscribe(t)
	for range 5 + o.IntN(25) {
		most := []time.Duration{time.Millisecond, time.Second, time.Minute}[o.IntN(3)]
		time.Sleep(time.Duration(o.Int64N(int64(most))))
		switch o.IntN(10) {
		case 0, 1, 2, 3, 4:
			o.change()
		case 5:
			stop()
			time.Sleep(time.Duration(o.IntN(300)) * time.Second)
			stop = o.subscribe(t)
		default:
			o.fault()
		}
	}
	o.server.Heal()
	o.change()
	time.Sleep(7 * time.Minute)
	stop()
	o.check(t)
}

func (o *outage) change() {
	o.changed[update(o.server, o.room, o.IntN(12))] = time.Now()
}

// fault makes something fail, mostly for a while.
func (o *outage) fault() {
	count, seed := 1+o.IntN(6), o.Uint64()
	ops := []string{"activity.PollProfile", "realtime.SocketToken", "realtime.Socket", ""}
	faults := []fastiotest.Fault{
		{Status: http.StatusServiceUnavailable},
		{Status: http.StatusInternalServerError},
		{Status: http.StatusBadGateway, Body: "<html>"},
		{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {strconv.Itoa(1 + o.IntN(60))}}},
		{Reset: fastiotest.BeforeHeader},
		{Reset: fastiotest.AfterHeader},
		{Cut: 5},
		{Truncate: 5},
		{Delay: time.Duration(o.IntN(20)) * time.Second},
		{Delay: 5 * time.Minute},
	}
	spoiled := []fastiotest.SocketFault{
		{Drop: true},
		{HalfOpen: true},
		{Close: 1000},
		{Close: 4001},
		{Lose: true},
		{Overtake: true},
		{Copies: 2},
		{Delay: time.Duration(o.IntN(60)) * time.Second},
		{Junk: fastiotest.BrokenJSON},
		{Junk: fastiotest.BrokenText},
		{Junk: fastiotest.BinaryJunk},
		{Junk: fastiotest.HugeJunk},
		{Age: time.Duration(1+o.IntN(120)) * time.Second, Drop: true},
	}
	switch o.IntN(6) {
	case 0:
		o.server.DropSockets(o.room)
	case 1:
		o.server.CutPolls()
	case 2:
		o.server.Heal()
	case 3, 4:
		f := spoiled[o.IntN(len(spoiled))]
		f.Count, f.Probability, f.Seed = count, 1-o.Float64()/2, seed
		o.server.FailSockets(f)
	default:
		f := faults[o.IntN(len(faults))]
		f.Op, f.Count, f.Probability, f.Seed = ops[o.IntN(len(ops))], count, 1-o.Float64()/2, seed
		o.server.Fail(f)
	}
}

// subscribe begins a loop, and returns what ends it for good.
func (o *outage) subscribe(t *testing.T) (stop func()) {
	t.Helper()
	options := o.options
	options.Position = o.position
	sub, err := o.client.Realtime.Subscribe(t.Context(), api.Workspace(o.room), &options)
	if err != nil {
		t.Fatalf("schedule %d: %v", o.seed, err)
	}
	slow := []time.Duration{0, 0, time.Second, 10 * time.Second}[o.IntN(4)]
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c, err := range sub.Changes() {
			if err != nil {
				t.Errorf("schedule %d: %v", o.seed, err)
				return
			}
			time.Sleep(slow)
			o.mu.Lock()
			if c.Resync != nil {
				o.resync = time.Now().Add(-slow)
			} else if c.Field != "" {
				o.told[string(c.Field)] = time.Now().Add(-slow)
			}
			o.mu.Unlock()
		}
	}()
	return func() {
		closeWithin(t, sub)
		<-done
		o.position = sub.Position()
	}
}

func (o *outage) check(t *testing.T) {
	t.Helper()
	for field, at := range o.changed {
		if told := o.told[field]; told.Before(at) && o.resync.Before(at) {
			t.Errorf("schedule %d: %s changed at %v, reported at %v", o.seed, field, at, told)
		}
	}
}
