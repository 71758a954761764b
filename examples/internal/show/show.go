// Package show prints progress and the names of users, for several examples.
package show

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
)

// Bar prints the progress of a transfer in one line of a terminal.
type Bar struct {
	out          io.Writer
	label, unit  string
	scale        int64
	start        int64 // position at the beginning, which is no part of the rate
	begun, shown time.Time
	done, total  int64 // the latest position
	width        int
}

// Bytes returns a bar that counts megabytes.
func Bytes(out io.Writer, label string) *Bar {
	return &Bar{out: out, label: label, unit: "MB", scale: 1e6, begun: time.Now()}
}

// Count returns a bar that counts things from start on.
func Count(out io.Writer, label, unit string, start int64) *Bar {
	return &Bar{out: out, label: label, unit: unit, scale: 1, start: start, begun: time.Now()}
}

const pause = 100 * time.Millisecond // between two lines

// Set shows the position, unless it has just shown another. The total is -1 if it is
// unknown.
func (b *Bar) Set(done, total int64) {
	b.done, b.total = done, total
	if time.Since(b.shown) >= pause {
		b.shown = time.Now()
		b.print(done, total)
	}
}

// On is Set for the OnProgress of a transfer.
func (b *Bar) On(_ context.Context, p api.Progress) { b.Set(p.Done, p.Total) }

// End shows the latest position and ends the line.
func (b *Bar) End() {
	if !b.shown.IsZero() {
		b.print(b.done, b.total)
		fmt.Fprintln(b.out)
	}
}

// print replaces the line with a bar of the progress, if the total is known, the
// position and the rate since the start.
func (b *Bar) print(done, total int64) {
	const width = 30
	var line strings.Builder
	fmt.Fprintf(&line, "  %s ", b.label)
	if total >= 0 {
		percent := int64(100)
		if total > 0 {
			percent = done * 100 / total
		}
		full := int(percent * width / 100)
		fmt.Fprintf(&line, "%3d %% |%s%s| ", percent, strings.Repeat("█", full), strings.Repeat(" ", width-full))
	}
	b.amount(&line, done)
	fmt.Fprint(&line, " ", b.unit)
	if elapsed := time.Since(b.begun); elapsed >= pause { // a shorter time yields no rate
		line.WriteString(", ")
		b.amount(&line, int64(float64(done-b.start)/elapsed.Seconds()))
		fmt.Fprintf(&line, " %s/s", b.unit)
	}
	fmt.Fprintf(b.out, "\r%-*s", b.width, line.String()) // blanks hide the rest of a longer line
	b.width = len([]rune(line.String()))
}

// amount prints a number in the unit of the bar, with a decimal if that has a scale.
func (b *Bar) amount(out io.Writer, n int64) {
	if b.scale == 1 {
		fmt.Fprint(out, n)
		return
	}
	fmt.Fprintf(out, "%.1f", float64(n)/float64(b.scale))
}

// Names returns the names of the signed-in user and of the members of a workspace.
func Names(ctx context.Context, client *fastio.Client, workspace api.ID) (map[api.ID]string, error) {
	me, err := client.Account.Me(ctx)
	if err != nil {
		return nil, err
	}
	names := map[api.ID]string{me.ID: strings.TrimSpace(me.FirstName + " " + me.LastName)}
	for m, err := range client.Members.All(ctx, api.Workspace(workspace), nil) {
		if err != nil {
			return nil, err
		}
		names[m.ID] = strings.TrimSpace(m.FirstName + " " + m.LastName)
	}
	return names, nil
}
