package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/internal/table"
)

// A scenario is one of those in testdata/scripts; testdata/README.md explains the notation.
type scenario struct {
	name  string
	steps []step
}

type step struct{ at, text string } // at is the file and the line

// block is a scenario as it is written.
type block struct {
	name   string
	at     string
	common []step
	rows   []step // of "for"
	cases  [][]step
	last   *string // the text that a line behind two tabs continues
}

func (b *block) add(at, line string) error {
	text := strings.TrimSpace(line)
	row, isRow := strings.CutPrefix(text, "for ")
	first, isCase := strings.CutPrefix(text, "* ")
	steps := &b.common
	switch {
	case strings.HasPrefix(line, "\t\t"):
		if b.last == nil {
			return fmt.Errorf("%s: continues no step", at)
		}
		if text[0] != '&' && (text[0] != '|' || text[1] == ' ') {
			text = " " + text
		}
		*b.last += text
		return nil
	case isRow:
		steps, text = &b.rows, row
	case isCase:
		b.cases, text = append(b.cases, nil), first
	}
	if len(b.cases) > 0 && !isRow {
		steps = &b.cases[len(b.cases)-1]
	}
	*steps = append(*steps, step{at, text})
	b.last = &(*steps)[len(*steps)-1].text
	return nil
}

// scenarios returns a block, once for every row and every case.
func (b *block) scenarios(before []step) []scenario {
	rows, common, cases := choices(b.rows), choices(b.common), b.cases
	if rows == nil {
		rows = []step{{}}
	}
	if cases == nil {
		cases = [][]step{nil}
	}
	var all []scenario
	for _, c := range cases {
		own := choices(c)
		for _, row := range rows {
			s := scenario{name: b.name, steps: append([]step(nil), before...)}
			for pair := range strings.SplitSeq(row.text, " | ") {
				if name, value, ok := strings.Cut(pair, "="); ok {
					s.steps = append(s.steps, step{row.at, "let " + name + " " + value})
				}
			}
			s.steps = append(append(s.steps, common...), own...)
			if len(b.rows)+len(b.cases) > 0 {
				s.name += "/" + strings.TrimSpace(lineOf([]step{row})+" "+lineOf(c))
			}
			all = append(all, s)
		}
	}
	return all
}

var choice = regexp.MustCompile(`<([^<>]*\|[^<>]*)>`)

// choices returns each step once for each of the texts that it lists.
func choices(steps []step) (all []step) {
	for _, s := range steps {
		s.text = repeat(s.text)
		m := choice.FindStringSubmatchIndex(s.text)
		if m == nil {
			all = append(all, s)
			continue
		}
		for text := range strings.SplitSeq(s.text[m[2]:m[3]], "|") {
			all = append(all, choices([]step{{s.at, s.text[:m[0]] + text + s.text[m[1]:]}})...)
		}
	}
	return all
}

// lineOf returns the number of the line of the first step.
func lineOf(steps []step) string {
	if steps == nil {
		return ""
	}
	return steps[0].at[strings.LastIndexByte(steps[0].at, ':')+1:]
}

// readScript reads the scenarios of a file, and the steps above the first one, with which all of them start.
func readScript(file, text string, before []step) (all []scenario, first []step, err error) {
	blocks := []*block{{}}
	for n, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", file, n+1)
		included, includes := strings.CutPrefix(line, "\tinclude ")
		switch {
		case line == "" || strings.HasPrefix(strings.TrimLeft(line, "\t"), "#"):
		case includes:
			before, err = readWorld(included, before)
			if err != nil {
				return nil, nil, err
			}
		case line[0] == '\t':
			if err := blocks[len(blocks)-1].add(at, line); err != nil {
				return nil, nil, err
			}
		default:
			blocks = append(blocks, &block{name: line, at: at})
		}
	}
	before = append(slices.Clip(before), choices(blocks[0].common)...)
	for _, b := range blocks[1:] {
		if b.common == nil && b.cases == nil {
			return nil, nil, fmt.Errorf("%s: the scenario has no steps", b.at)
		}
		all = append(all, b.scenarios(before)...)
	}
	return all, before, nil
}

// readWorld returns the steps before and those of a file of testdata.
func readWorld(name string, before []step) ([]step, error) {
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		return nil, err
	}
	_, steps, err := readScript(name, string(text), before)
	return steps, err
}

// readScripts returns the scenarios of a file, which start with the steps of testdata/world.txt.
func readScripts(tb testing.TB, file string) []scenario {
	tb.Helper()
	before, err := readWorld("world.txt", nil)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	all, _, err := readScript(file, string(text), before)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || files == nil {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		all := readScripts(t, file)
		area := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, s := range all[:table.Rounds(len(all), len(all))] {
			t.Run(area+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				s.test(t)
			})
		}
	}
}

func (s *scenario) test(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if err := s.run(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// run performs the steps, in a bubble of package synctest. A step that fails does not end it.
func (s *scenario) run(ctx context.Context) error {
	p, err := newScripted(ctx, s.steps)
	if err != nil {
		return err
	}
	var failed []error
	for _, step := range s.steps {
		if err := p.do(step.text); err != nil {
			failed = append(failed, fmt.Errorf("%s: %s\n%w", step.at, step.text, err))
		}
	}
	if p.net != nil {
		p.net.stop()
		if n := p.Sockets(); n != 0 {
			failed = append(failed, fmt.Errorf("%d sockets outlive their server", n))
		}
	}
	return errors.Join(failed...)
}
