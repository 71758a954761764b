package emulator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func TestAdvanceRunsTasksInOrderAtTheirTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "", func(o *seed.Options) { o.Storage.IndexPace = time.Minute })
		p.Freeze(noon)
		n := p.AddNode(world.SeedNode{Profile: p.id("room"), Name: "a.txt", Content: "a", AIState: world.AIPending})
		p.AddMembership(world.SeedMembership{
			Profile: p.id("room"), User: p.AddUser(world.User{}).ID, Expires: noon.Add(90 * time.Second),
		})
		p.names["n"] = n.ID
		details := "ada GET /workspace/{room}/storage/{n}/details/ -> 200 node.ai.state="
		time.Sleep(time.Hour) // which the frozen clock does not count
		p.must(t, details+`"pending"`)
		p.Advance(59 * time.Second)
		p.must(t, details+`"pending"`)
		p.Advance(time.Second)
		p.must(t, details+`"in_progress"`)
		p.Advance(time.Hour)
		p.must(t, details+`"indexed"`)
		want := []string{ // name and time
			"node_ai_state_set 12:01:00", "removed_member_from_workspace 12:01:30", "node_ai_state_set 12:02:00", "node_ai_summary_created 12:02:00",
			"node_ai_state_set 12:03:00", "node_ai_added_to_rag 12:03:00",
		}
		var got []string
		for n := range p.Log.Entries {
			e := p.Log.Entries[n]
			if e.Created > noon.Unix() {
				got = append(got, p.Log.Kinds.Values[e.Kind].Event+" "+time.Unix(e.Created, 0).UTC().Format(time.TimeOnly))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if now, frozen := p.Clock(); !now.Equal(noon.Add(time.Hour+time.Minute)) || !frozen {
			t.Errorf("the clock is %v, frozen %t", now, frozen)
		}
	})
}

func TestUnfrozenClockGoesOnAndTasksRunInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "", func(o *seed.Options) { o.Storage.IndexPace = time.Minute })
		p.Freeze(noon)
		p.AddNode(world.SeedNode{Profile: p.id("room"), Name: "a.txt", Content: "a", AIState: world.AIPending})
		p.Unfreeze()
		p.Advance(30 * time.Second)
		before := p.events()
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if after := p.events(); after != before {
			t.Errorf("%d events too early", after-before)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if now, frozen := p.Clock(); !now.Equal(noon.Add(time.Minute)) || frozen {
			t.Errorf("the clock is %v, frozen %t", now, frozen)
		}
		if after := p.events(); after == before {
			t.Error("the task did not run in time")
		}
		p.Freeze(time.Time{})
		p.Freeze(noon)
		if now, _ := p.Clock(); !now.Equal(noon) {
			t.Errorf("set back, the clock is %v", now)
		}
		p.Advance(-time.Second)
		if now, _ := p.Clock(); !now.Equal(noon) {
			t.Errorf("a negative step moves the clock to %v", now)
		}
	})
}

func TestAdvanceEndsHeldPollsAndSockets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "", func(o *seed.Options) { o.Realtime.TokenLife = time.Hour })
		p.Freeze(noon)
		token, err := p.socketToken("ada", p.id("room"))
		if err == nil {
			err = p.dial("s", token, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		polled := make(chan time.Time, 1)
		begun := time.Now()
		go func() {
			p.must(t, "ada GET /activity/poll/{room}/?wait=90 -> 200 results=0")
			polled <- time.Now()
		}()
		synctest.Wait()
		p.Advance(89 * time.Second)
		synctest.Wait()
		if len(polled) > 0 {
			t.Error("the poll was not held for 90 seconds")
		}
		p.Advance(time.Second)
		if end := <-polled; !end.Equal(begun) {
			t.Errorf("the poll took %v of real time", end.Sub(begun))
		}
		p.Advance(time.Hour)
		synctest.Wait()
		if err := p.heard("s", "code=4001"); err != nil {
			t.Error(err)
		}
	})
}

// events returns the number of events in the log.
func (p *scripted) events() int {
	p.RLock()
	defer p.RUnlock()
	return len(p.Log.Entries)
}
