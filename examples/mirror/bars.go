package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/uploads"
)

// bars shows a bar per large file and one for all files, a line each. Elsewhere than on a
// terminal it shows the latest ones only.
type bars struct {
	out   io.Writer
	label string
	lines []*line // the first one is of all files
	files map[string]*show.Bar
	drawn int
}

// line keeps the latest text of a bar.
type line string

// Write replaces the text of the bar.
func (l *line) Write(text []byte) (int, error) {
	if shown := strings.Trim(string(text), "\r\n"); shown != "" {
		*l = line(shown)
	}
	return len(text), nil
}

// newBars returns bars that are shown on out.
func newBars(out io.Writer, label string) *bars {
	return &bars{out: out, label: label, files: map[string]*show.Bar{}}
}

// on shows the progress of a file and of all files.
func (b *bars) on(_ context.Context, p api.DirProgress) {
	b.bar("").Set(p.All.Done, p.All.Total)
	if p.File.Total > uploads.MaxSingle {
		b.bar(p.Path).Set(p.File.Done, p.File.Total)
	}
	if show.Terminal(b.out) {
		b.draw()
	}
}

// bar returns the bar of a file, which it creates if necessary; "" stands for all
// files.
func (b *bars) bar(path string) *show.Bar {
	if b.files[path] == nil {
		b.lines = append(b.lines, new(line))
		b.files[path] = show.Bytes(b.lines[len(b.lines)-1], strings.TrimSpace(b.label+" "+path))
	}
	return b.files[path]
}

// draw replaces the lines on a terminal.
func (b *bars) draw() {
	if b.drawn > 0 {
		fmt.Fprintf(b.out, "\x1b[%dA", b.drawn)
	}
	after := ""
	if show.Terminal(b.out) {
		after = "\x1b[K" // to the end of the line
	}
	for _, l := range b.lines {
		fmt.Fprintf(b.out, "%s%s\n", *l, after)
	}
	b.drawn = len(b.lines)
}

// end shows the latest progress.
func (b *bars) end() {
	for _, bar := range b.files {
		bar.End()
	}
	b.draw()
}
