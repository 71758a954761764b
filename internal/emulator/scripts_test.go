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

// Scripts are files of scenarios, testdata/scripts/*.txt:
//
//	# A comment.
//	terms of a membership
//		options {"Shares":{"Limit":4}}
//		member {"profile_id":"{portal}","user_id":"{fay}","role":"view"}
//		gus GET /share/{portal}/member/{fay}/details/ -> 200 member.permissions="view"
//			member.expires=null !member.invite
//		ben GET /share/{portal}/member/{fay}/details/ -> 401 10545
//		wait 5m
//
// A scenario is a line and its steps, each behind a tab; a line behind two tabs belongs to the step above. It starts
// with the steps of testdata/world.txt and those above the first scenario of the file. Every line that begins with
// "* " is a case: it and the lines up to the next case run on a platform of their own, after the steps above the
// first case. A line "for a=1 | b=2" runs the scenario with {a} and {b} replaced in every step; several such lines run
// it several times. <65*x> repeats x, and in it {#} is 0, 1, ... A step with <a|b> is performed with a and with b, and
// <=> behind it is a again, up to its "="; a line "for" with it counts as one for each.
//
// The steps are in scripted_test.go, requests in request_test.go, and what is said of a response in answer_test.go.
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
	text := repeat(strings.TrimSpace(line))
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
	var rows []step
	for _, row := range b.rows {
		rows = append(rows, row.choices()...)
	}
	cases := b.cases
	if rows == nil {
		rows = []step{{}}
	}
	if cases == nil {
		cases = [][]step{nil}
	}
	var all []scenario
	for _, row := range rows {
		for _, c := range cases {
			s := scenario{name: b.name, steps: append([]step(nil), before...)}
			for pair := range strings.SplitSeq(row.text, " | ") {
				if name, value, ok := strings.Cut(pair, "="); ok {
					s.steps = append(s.steps, step{row.at, "let " + name + " " + value})
				}
			}
			for _, written := range slices.Concat(b.common, c) {
				s.steps = append(s.steps, written.choices()...)
			}
			if len(b.rows)+len(b.cases) > 0 {
				s.name += "/" + strings.TrimSpace(lineOf([]step{row})+" "+lineOf(c))
			}
			all = append(all, s)
		}
	}
	return all
}

var choice = regexp.MustCompile(`<([^<>]*\|[^<>]*)>`)

// choices returns a step once for each of the texts that it lists.
func (s step) choices() []step {
	m := choice.FindStringSubmatchIndex(s.text)
	if m == nil {
		return []step{s}
	}
	var all []step
	for text := range strings.SplitSeq(s.text[m[2]:m[3]], "|") {
		name, _, _ := strings.Cut(text, "=")
		rest := strings.ReplaceAll(s.text[m[1]:], "<=>", name)
		all = append(all, step{s.at, s.text[:m[0]] + text + rest}.choices()...)
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

// readScript reads the scenarios of a file, which start with the steps before.
func readScript(file, text string, before []step) ([]scenario, error) {
	blocks := []*block{{}}
	for n, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", file, n+1)
		switch {
		case line == "" || strings.HasPrefix(strings.TrimLeft(line, "\t"), "#"):
		case line[0] == '\t':
			if err := blocks[len(blocks)-1].add(at, line); err != nil {
				return nil, err
			}
		default:
			blocks = append(blocks, &block{name: line, at: at})
		}
	}
	before = append(slices.Clip(before), blocks[0].common...)
	var all []scenario
	for _, b := range blocks[1:] {
		if b.common == nil && b.cases == nil {
			return nil, fmt.Errorf("%s: the scenario has no steps", b.at)
		}
		all = append(all, b.scenarios(before)...)
	}
	return all, nil
}

// worldSteps make the platform that every script and every refusal starts with.
func worldSteps(tb testing.TB) []step {
	tb.Helper()
	return stepsOf(tb, "testdata/world.txt", nil)
}

// stepsOf returns the steps of the first scenario of a file.
func stepsOf(tb testing.TB, file string, before []step) []step {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	all, err := readScript(file, string(text), before)
	if err != nil {
		tb.Fatal(err)
	}
	return all[0].steps
}

func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || files == nil {
		t.Fatal("no scripts", err)
	}
	before := worldSteps(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all, err := readScript(file, string(text), before)
		if err != nil {
			t.Fatal(err)
		}
		area := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, s := range all[:table.Rounds(len(all), len(all))] {
			t.Run(area+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					if err := s.run(t.Context()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
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
		failed = append(failed, differ("0", p.Sockets()))
	}
	return errors.Join(failed...)
}

// The runner notices what does not hold.
func TestScriptsFail(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ada GET /user/me/details/ -> 200 user.first_name=\"Eve\"":   `user.first_name is "Ada", want "Eve"`,
		"ada GET /user/me/details/ -> 200 user.color":                `user.color is absent`,
		"ada GET /user/me/details/ -> 200 !user.first_name":          `user.first_name is "Ada", want absent`,
		"ada GET /user/me/details/ -> 200 user.first_name~\"^E\"":    `user.first_name is "Ada", want ~"^E"`,
		"ada GET /user/me/details/ -> 200 !user.first_name=\"Ada\"":  `user.first_name is "Ada"`,
		"ada GET /user/me/details/ -> 200 !user.color=\"Ada\"":       `user.color is absent`,
		"ada GET /user/me/details/ -> 200 user.color>color":          `user.color is absent`,
		"ada GET /user/me/details/ -> 200 @Allow=\"GET\"":            `@Allow is absent`,
		"ada GET /user/me/details/ -> 201":                           `the status is 200, want 201`,
		"ada GET /user/me/details/ -> 404":                           `the status is 200, want 404`,
		"ada GET /user/me/details/":                                  `a request needs " -> " and a status`,
		"ada GET /user/me/details/ -> ok":                            `"ok" is no status`,
		"ada GET /user/me/details/ -> 200 user=Ada":                  `user=`,
		"ada GET /user/{missing}/details/ -> 200":                    `{missing} is unknown`,
		"zoe GET /user/me/details/ -> 200":                           `"zoe" is unknown`,
		"eve GET /share/{portal}/member/me/details/ -> 401":          `the error is 10545, want none`,
		"eve GET /share/{portal}/member/me/details/ -> 401 10546":    `the error is 10545, want 10546`,
		"eve GET /share/{portal}/member/me/details/ -> 401 10545 x":  `the error is 10545, want 10545 x`,
		"ada GET /shares/all/ -> 200 shares.*.title=[\"Gate\"]":      `shares.*.title is ["Portal"], want ["Gate"]`,
		"ada GET /shares/all/ -> 200 shares.length=2":                `shares.length is 1, want 2`,
		"mails ada@example.test -> length=1":                         `length is 0, want 1`,
		"share {\"name\":\"Gate\"}":                                  `unknown field "name"`,
		"options {\"Share\":{}}":                                     `unknown field "Share"`,
		"portal {}":                                                  `there is no step "portal"`,
		"wait long":                                                  `invalid duration`,
		"fault {\"Op\":\"system.Ping\",\"Status\":500,\"Delay\":0}x": `invalid character`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			all, err := readScript("a.txt", "a scenario\n\twait 0s\n\t"+text+"\n", worldSteps(t))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				err := all[0].run(t.Context())
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.txt:3: ") {
					t.Errorf("got %v\nwant %s", err, want)
				}
			})
		})
	}
}

func TestScriptsAreCases(t *testing.T) {
	t.Parallel()
	const text = "\tlet who ada\n# A comment.\na\n\tfor x=1 | y=2\n\tfor x=<3|4> | y=\n\twait 0s\n\t\t&z\n\t\tz\n" +
		"\t* b\n\tc\n\t* d\ne\n\tf<g=1|<2*h>\n\t\t|>-<=>j<k|l>\n"
	all, err := readScript("a.txt", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		var steps []string
		for _, step := range s.steps {
			steps = append(steps, step.text)
		}
		got = append(got, s.name+": "+strings.Join(steps, ", "))
	}
	want := `a/4 9: let who ada, let x 1, let y 2, wait 0s&z z, b, c
a/4 11: let who ada, let x 1, let y 2, wait 0s&z z, d
a/5 9: let who ada, let x 3, let y , wait 0s&z z, b, c
a/5 11: let who ada, let x 3, let y , wait 0s&z z, d
a/5 9: let who ada, let x 4, let y , wait 0s&z z, b, c
a/5 11: let who ada, let x 4, let y , wait 0s&z z, d
e: let who ada, fg=1-gjk, fg=1-gjl, fhh-hhjk, fhh-hhjl, f-jk, f-jl`
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, text := range []string{"a\n", "a\n\t\tb\n"} {
		if _, err := readScript("a.txt", text, nil); err == nil {
			t.Errorf("%q is a script", text)
		}
	}
}
