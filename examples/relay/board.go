package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// board prints lines. On a terminal, it also draws a table below them. Elsewhere it prints
// the sum of the table every five seconds.
type board struct {
	out      io.Writer
	terminal bool

	mu     sync.Mutex
	drawn  int // lines of the table on the terminal
	summed time.Time
}

const sumEvery = 5 * time.Second

// newBoard returns a board that shows a table on a terminal, and lines on other
// outputs.
func newBoard(out io.Writer) *board {
	b := &board{out: out}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		b.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return b
}

// say prints the time and a text as a line. It removes the table from the terminal: the next
// draw prints it again, below the line.
func (b *board) say(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
	b.print(text)
}

// Write prints the lines that replicas write to their standard error.
func (b *board) Write(text []byte) (int, error) {
	b.say(strings.TrimSpace(string(text)))
	return len(text), nil
}

// print prints the time and a text as a line.
func (b *board) print(text string) {
	fmt.Fprintf(b.out, "%s  %s\n", time.Now().Format(time.TimeOnly), text)
}

// draw replaces the table on a terminal. On other outputs it prints the sum, a line that
// says the same in short, every 5 seconds.
func (b *board) draw(table []string, sum string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.terminal {
		if time.Since(b.summed) >= sumEvery {
			b.summed = time.Now()
			b.print(sum)
		}
		return
	}
	b.erase()
	for _, line := range table {
		fmt.Fprintln(b.out, line)
		b.drawn++
	}
}

// erase removes the table from the terminal. The caller holds b.mu.
func (b *board) erase() {
	if b.drawn > 0 {
		fmt.Fprintf(b.out, "\x1b[%dA\x1b[J", b.drawn) // up, and clear to the end of the screen
		b.drawn = 0
	}
}
