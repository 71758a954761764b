package events_test

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

// limitsPage returns the page about the limits, and the rows of its tables by their first
// cell.
func limitsPage(t *testing.T) (text string, rows map[string][]string) {
	t.Helper()
	b, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	rows = map[string][]string{}
	for line := range strings.Lines(string(b)) {
		if cells := strings.Split(strings.Trim(line, "|\n "), " | "); len(cells) > 1 {
			rows[cells[0]] = cells[1:]
		}
	}
	return strings.Join(strings.Fields(string(b)), " "), rows
}

// The page says the published limits, and what they allow over a long time.
func TestLimitsPageHasThePublishedLimits(t *testing.T) {
	t.Parallel()
	text, rows := limitsPage(t)
	for group, unit := range map[string]func(d time.Duration) string{
		"events.search": func(d time.Duration) string {
			if d < 10*time.Minute {
				return fmt.Sprintf("%g s", d.Seconds())
			}
			return fmt.Sprintf("%g min", d.Minutes())
		},
		"activity.poll": func(d time.Duration) string { return fmt.Sprintf("%g min", d.Minutes()) },
	} {
		var limits []string
		for _, w := range api.RateWindows(group) {
			limits = append(limits, fmt.Sprintf("%d in %s", w.Max, unit(w.Size)))
		}
		row := rows["`"+group+"`"]
		if len(row) != 2 || row[1] != strings.Join(limits, ", ") {
			t.Errorf("%s: the row is %q, the limits are %q", group, row, limits)
		}
	}
	slowest := slices.MinFunc(api.RateWindows("events.search"), func(a, b api.RateWindow) int {
		return cmp.Compare(time.Duration(a.Max)*b.Size, time.Duration(b.Max)*a.Size)
	})
	searches := int(time.Duration(slowest.Max) * time.Minute / slowest.Size)
	const page = 250
	for _, sentence := range []string{
		fmt.Sprintf("returns at most %d events", page),
		fmt.Sprintf("%d searches a minute are possible: %d events a minute", searches, page*searches),
		fmt.Sprintf("one log every %.0f seconds", logOf(newWorld().Server).FollowInterval().Seconds()),
	} {
		if !strings.Contains(text, sentence) {
			t.Errorf("the page does not say %q", sentence)
		}
	}
}

// The times of the page are those that Follow needs, or a little more: up to 5 s, or a
// fourth.
func TestLimitsPageSaysHowLongFollowTakes(t *testing.T) {
	t.Parallel()
	table.Large(t)
	_, rows := limitsPage(t)
	for _, n := range []int{1, 30, 100} {
		row := rows[strconv.Itoa(n)]
		if len(row) != 5 {
			t.Fatalf("the row of %d logs is %q", n, row)
		}
		for i, measure := range []func(t *testing.T, n int) time.Duration{
			changeWithSocket, changeUnreported, changeInAllLogs, nightlyRun, catchUp,
		} {
			t.Run(fmt.Sprintf("%d logs, column %d", n, i+2), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					said, got := cellTime(t, row[i]), measure(t, n)
					if got > said || got < said*4/5 && said > 5*time.Second {
						t.Errorf("it takes %s, the page says %s", got, said)
					}
				})
			})
		}
	}
}

// cellTime returns the duration in a cell of a table, such as 1.5 min.
func cellTime(t *testing.T, cell string) time.Duration {
	t.Helper()
	parts := regexp.MustCompile(`^([\d.]+) (s|m)(?:in)?$|^([\d.]+) (h)$`).FindStringSubmatch(cell)
	d, err := time.ParseDuration(strings.Join(parts[min(1, len(parts)):], ""))
	if err != nil {
		t.Fatalf("the cell %q is no time: %v", cell, err)
	}
	return d
}

// changeWithSocket returns how long the change of a log takes at the median.
func changeWithSocket(t *testing.T, n int) time.Duration {
	t.Helper()
	l := newLogs(t, n)
	l.follow(t, events.Query{}, events.FollowOptions{})
	for i := range 5 {
		time.Sleep(10*time.Minute + time.Duration(i)*1700*time.Millisecond)
		l.add(l.rooms[i*7%n], 0)
	}
	time.Sleep(time.Minute)
	return l.waited(.5)
}

// changeUnreported returns the longest time between two searches of each log at rest. No
// change takes longer to be found.
func changeUnreported(t *testing.T, n int) time.Duration {
	t.Helper()
	l := newLogs(t, n)
	l.follow(t, events.Query{}, events.FollowOptions{PollOnly: true})
	const turn = 16667 * time.Millisecond
	longest := time.Duration(n) * turn
	for i := range 5 {
		time.Sleep(longest + time.Duration(i)*longest/5)
		l.add(l.rooms[i*7%n], 0)
	}
	time.Sleep(2 * longest)
	if most := l.waited(1); most > longest+turn { // after a search out of turn a log may meet another one
		t.Errorf("a change was found after %s", most)
	}
	return l.client.Events.FollowInterval()
}

// changeInAllLogs returns how long the last of the changes takes, at most: it depends on
// the searches just before.
func changeInAllLogs(t *testing.T, n int) time.Duration {
	t.Helper()
	l := newLogs(t, n)
	l.follow(t, events.Query{}, events.FollowOptions{})
	for i := range 2 {
		time.Sleep(20*time.Minute + time.Duration(i)*137*time.Second)
		for _, room := range l.rooms {
			l.add(room, 0)
		}
		time.Sleep(20 * time.Minute)
	}
	return l.waited(1)
}

// nightlyRun returns how long a run over all logs takes that finds an event in each.
func nightlyRun(t *testing.T, n int) time.Duration {
	t.Helper()
	return until(t, n, 1)
}

// catchUp returns how long a run takes that finds 10,000 events in each log: 40 searches of
// 250, or of 5, which this test finds sooner.
func catchUp(t *testing.T, n int) time.Duration {
	t.Helper()
	return until(t, n, 40*smallPage)
}

const smallPage = 5

func until(t *testing.T, n, each int) time.Duration {
	t.Helper()
	l := newLogs(t, n)
	for _, room := range l.rooms {
		for range each {
			l.AddEvent(seed.Event{Name: fileAdded, Workspace: string(room), CallingUser: l.User().ID})
		}
	}
	time.Sleep(time.Hour)
	began := time.Now()
	var following sync.WaitGroup
	for _, room := range l.rooms {
		following.Go(func() {
			q := events.Query{Profile: api.Workspace(room), Limit: smallPage}
			err := l.client.Events.Follow(t.Context(), q, l.handle, &events.FollowOptions{Until: began})
			if err != nil {
				t.Error(err)
			}
		})
	}
	following.Wait()
	return time.Since(began)
}
