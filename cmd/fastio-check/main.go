// Command fastio-check compares the real service with what this version of the SDK believes
// of it, and writes a report that helps to correct the SDK:
//
//	FASTIO_API_KEY=... go run github.com/fastio-go/fastio/cmd/fastio-check@latest
//
// It only reads: nothing is created, changed or deleted, except for tokens of downloads and
// sockets, which expire by themselves, and nothing that costs credits is called. With -n it
// prints what it would call. With -login it signs in with the browser
// instead of using an API key, and out at the end. The report holds names, kinds and counts,
// never a value of the account; what words of responses it holds is printed before it is
// written. FASTIO_BASE_URL is the address of another platform, such as an emulator.
//
// With -write -org ID it asks, creates one workspace in that organization, and creates,
// changes and deletes things in it, but nothing else: each ID that a request names must be
// one that the run was given for a thing it has created. At the end the workspace is deleted.
// What was created is in a journal, a file of the directory of the report, so that
// fastio-check -clean can delete what a killed run has left. -ai also calls what costs
// credits, and -second-key lets the person of the API key in FASTIO_SECOND_KEY join the
// workspace. Organizations, accounts and what gives access to them are never changed.
//
// Its calls count as those of any program. It opens a few downloads, each of which is an event
// in the log of its workspace, and closes them without reading.
//
// The exit status is 0, 1 if there are differences, or 2 if the run has not finished.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/buildinfo"
	"github.com/fastio-go/fastio/internal/check"
)

// The exit statuses.
const (
	succeeded  = 0 // no response differs, or the flags ask for something else than a run
	differs    = 1
	unfinished = 2
)

// main runs the program. After an interrupt it still deletes what it has created; a second
// interrupt ends it at once.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on, an interrupt ends the process
	network := http.DefaultTransport
	if common, ok := network.(*http.Transport); ok {
		network = common.Clone() // so that no other code of the process changes it during the run
	}
	p := &program{in: bufio.NewReader(os.Stdin), out: os.Stdout, progress: os.Stderr, getenv: os.Getenv, network: network}
	status := p.main(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

type program struct {
	in            *bufio.Reader
	out, progress io.Writer
	getenv        func(name string) string
	network       http.RoundTripper
	openBrowser   func(ctx context.Context, url string) error // nil opens the one of the system

	plan, login, write, clean, ai, second, version bool

	org, dir string
	address  string        // of the platform
	signed   fastio.Option // the credential
	live     bool          // the progress is a terminal

	mu   sync.Mutex
	line string // the last line of progress
}

// main parses the arguments, runs the program and returns its exit status.
func (p *program) main(ctx context.Context, args []string) int {
	f := flag.NewFlagSet("fastio-check", flag.ContinueOnError)
	f.SetOutput(p.progress)
	f.BoolVar(&p.plan, "n", false, "print what would be called, and call nothing")
	f.StringVar(&p.dir, "o", ".", "`directory` of report.json, report.html and the journal")
	f.BoolVar(&p.login, "login", false, "sign in with the browser instead of FASTIO_API_KEY")
	f.BoolVar(&p.write, "write", false, "also create, change and delete, in a workspace of its own")
	f.StringVar(&p.org, "org", "", "`ID` of the organization in which -write creates the workspace")
	f.BoolVar(&p.ai, "ai", false, "with -write: also call what costs credits")
	const second = "with -write: let the person of FASTIO_SECOND_KEY join; with -clean: use that key too"
	f.BoolVar(&p.second, "second-key", false, second)
	f.BoolVar(&p.clean, "clean", false, "delete what runs with -write have left, and do nothing else")
	f.BoolVar(&p.version, "version", false, "print the version and the commit, and do nothing else")
	if err := f.Parse(args); err != nil {
		return unfinished
	}
	if p.version {
		_, _ = fmt.Fprintln(p.out, "fastio-check", buildinfo.Text())
		return succeeded
	}
	status, err := p.start(ctx)
	if err != nil {
		_, _ = fmt.Fprintln(p.progress, "fastio-check:", err)
		return unfinished
	}
	return status
}

// start does what the flags say, and returns the exit status. With an error, main replaces
// that by unfinished.
func (p *program) start(ctx context.Context) (_ int, err error) {
	if err := p.checkFlags(); err != nil {
		return unfinished, err
	}
	switch {
	case p.plan && p.write:
		return succeeded, check.Plan(p.out, check.Writes(p.flags()...)...)
	case p.plan:
		return succeeded, check.Plan(p.out)
	}
	p.address = cmp.Or(p.getenv("FASTIO_BASE_URL"), fastio.DefaultBaseURL)
	if file, ok := p.progress.(*os.File); ok { // only a terminal shows a line of progress
		info, err := file.Stat()
		p.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	signOut, err := p.signIn(ctx)
	if err != nil {
		return unfinished, err
	}
	defer func() { err = errors.Join(err, signOut()) }()
	switch {
	case p.clean:
		return succeeded, p.cleanUp(ctx)
	case p.write:
		return p.runWithWrites(ctx)
	}
	const text = "fastio-check of fastio %s: reads only; nothing is created, changed or deleted.\n" +
		"It makes several hundred calls, which may take some minutes. Ctrl-C ends it.\n\n"
	_, _ = fmt.Fprintf(p.out, text, fastio.Version)
	return p.run(ctx, nil)
}

// checkFlags returns an error for flags that do not fit together. It also returns one if the
// directory for the report does not exist, so that this is known before the calls are made.
func (p *program) checkFlags() error {
	info, err := os.Stat(p.dir)
	switch {
	case p.write && p.org == "":
		return errors.New("-write needs -org, the ID of an organization")
	case p.ai && !p.write:
		return errors.New("-ai needs -write")
	case p.second && !p.write && !p.clean:
		return errors.New("-second-key needs -write or -clean")
	case err != nil || !info.IsDir():
		return fmt.Errorf("-o: %s is no directory", p.dir)
	}
	return nil
}

// flags returns the flags that allow more writes than -write alone: -ai and -second-key.
func (p *program) flags() []check.With {
	var all []check.With
	if p.ai {
		all = append(all, check.WithAI)
	}
	if p.second {
		all = append(all, check.WithSecondKey)
	}
	return all
}

// run calls the platform, compares the responses with what this version expects,
// writes the report, and returns the exit status.
func (p *program) run(ctx context.Context, changes *check.Changes) (int, error) {
	options, err := p.options(changes)
	if err != nil {
		return unfinished, err
	}
	began := time.Now()
	run := check.Walk(ctx, options)
	p.say("")
	if run.Left != nil {
		run.Left = fmt.Errorf("not all was deleted that was created; run fastio-check -clean: %w", run.Left)
	}
	if run.Err != nil {
		run.Err = fmt.Errorf("the run has not finished: %w", run.Err)
	}
	var writes []check.Write
	if changes != nil {
		writes = check.Writes(p.flags()...)
	}
	report := check.Compare(run.Exchanges, writes...)
	if run.Err != nil && report.Reached() == 0 { // the report would be empty
		return unfinished, errors.Join(run.Err, run.Left)
	}
	report.Header = p.header(began, run)
	err = errors.Join(run.Err, p.writeReport(report), run.Left)
	switch {
	case err != nil:
		return unfinished, err
	case report.Different() > 0:
		return differs, nil
	}
	return succeeded, nil
}

// header returns the header of the report of a run that has just ended. It does not have the
// address of a platform other than fast.io, which may be private.
func (p *program) header(began time.Time, run *check.Run) check.Header {
	h := check.Header{
		SDK: fastio.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Platform: "another address", Day: began.UTC().Format(time.DateOnly),
		Seconds: int(time.Since(began).Seconds()), Finished: run.Err == nil,
	}
	if p.address == fastio.DefaultBaseURL {
		h.Platform = "fast.io"
	}
	return h
}

// options returns the options of a run, whose clients send nothing but reviewed requests. A
// run that only reads has no changes (nil), and so no second person.
func (p *program) options(changes *check.Changes) (check.Options, error) {
	allowed := check.Allowed{Reads: check.Reads()}
	if changes != nil {
		allowed.Writes, allowed.Journal = check.Writes(p.flags()...), changes.Journal
	}
	anonymous, err := p.connect(allowed)
	if err != nil {
		return check.Options{}, err
	}
	client, err := p.connect(allowed, p.signed)
	if err == nil && changes != nil && p.second {
		changes.Second, err = p.connect(allowed, fastio.WithToken(p.getenv(secondKey)))
	}
	if err != nil {
		return check.Options{}, err
	}
	return check.Options{Client: client, Anonymous: anonymous, Changes: changes, OnCall: func(op string, calls int) {
		p.say(fmt.Sprintf("%4d calls  %s", calls, op))
	}}, nil
}

// connect returns a client that sends only what is allowed. It waits for rate limits as long as
// necessary, because a run makes many calls and must not leave out any.
func (p *program) connect(allowed check.Allowed, more ...fastio.Option) (*fastio.Client, error) {
	guarded, err := check.Guard(p.network, p.address, allowed)
	if err != nil {
		return nil, err
	}
	return fastio.New(append([]fastio.Option{
		fastio.WithBaseURL(p.address), fastio.WithHTTPClient(&http.Client{Transport: guarded}),
		fastio.WithUserAgent("fastio-check/" + fastio.Version), fastio.WithMaxWait(api.NoLimit),
		fastio.WithTimeout(time.Hour), fastio.WithHooks(api.Hooks{OnWait: p.onWait}),
	}, more...)...)
}

const longWait = 2 * time.Second // a shorter wait is not worth a line

// onWait shows a long wait for the rate limit.
func (p *program) onWait(_ context.Context, e api.WaitEvent) {
	if e.Wait >= longWait {
		p.say(fmt.Sprintf("%s waits %s for the rate limit", e.Op, e.Wait.Round(time.Second)))
	}
}

// say replaces the line of progress, if that is shown on a terminal.
func (p *program) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live && line != p.line {
		_, _ = fmt.Fprintf(p.progress, "\r\x1b[K%s", line)
		p.line = line
	}
}

// writeReport shows a report, and then writes its files.
func (p *program) writeReport(report *check.Report) error {
	if err := errors.Join(check.Show(p.out, report), check.ShowWords(p.out, report)); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer, *check.Report) error{
		"report.json": check.WriteJSON, "report.html": check.WriteHTML,
	} {
		if err := p.writeFile(name, report, write); err != nil {
			return err
		}
	}
	text := "\nWritten: %s for an issue, %s for reading.\n"
	if !p.login {
		text += "If an API key was made for this run, delete it now.\n"
	}
	_, err := fmt.Fprintf(p.out, text, filepath.Join(p.dir, "report.json"), filepath.Join(p.dir, "report.html"))
	return err
}

// writeFile creates or replaces a file of the output directory with what write writes. It
// replaces the file atomically, because another run may write it at the same time.
func (p *program) writeFile(name string, report *check.Report, write func(io.Writer, *check.Report) error) error {
	file, err := os.CreateTemp(p.dir, "."+name+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(file, report), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(p.dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
