// Command fastio-check compares the real service with what this version of the SDK believes
// of it, and writes a report that helps to correct the SDK:
//
//	FASTIO_API_KEY=... go run github.com/fastio-go/fastio/cmd/fastio-check@latest
//
// It only reads: nothing is created, changed or deleted, and nothing that costs credits is
// called. With -n it prints what it would call. The report holds names, kinds and counts,
// never a value of the account; what words of responses it holds is printed before it is
// written. FASTIO_BASE_URL is the address of another platform, such as an emulator.
//
// The exit status is 0, 1 if there are differences, or 2 if the run has not finished.
package main

import (
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
	"github.com/fastio-go/fastio/internal/check"
)

// The exit statuses.
const (
	same       = 0
	differs    = 1
	unfinished = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	network := http.DefaultTransport
	if own, ok := network.(*http.Transport); ok {
		network = own.Clone()
	}
	p := &program{out: os.Stdout, progress: os.Stderr, getenv: os.Getenv, network: network}
	status := p.main(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

type program struct {
	out, progress io.Writer
	getenv        func(name string) string
	network       http.RoundTripper

	plan bool
	dir  string
	live bool // the progress is a terminal

	mu   sync.Mutex
	line string // the last line of progress
}

// main parses the arguments, runs the program and returns its exit status.
func (p *program) main(ctx context.Context, args []string) int {
	f := flag.NewFlagSet("fastio-check", flag.ContinueOnError)
	f.SetOutput(p.progress)
	f.BoolVar(&p.plan, "n", false, "print what would be called, and call nothing")
	f.StringVar(&p.dir, "o", ".", "`directory` of report.json and report.html")
	if err := f.Parse(args); err != nil {
		return unfinished
	}
	if p.plan {
		_ = check.Plan(p.out)
		return same
	}
	status, err := p.run(ctx)
	if err != nil {
		_, _ = fmt.Fprintln(p.progress, "fastio-check:", err)
		return unfinished
	}
	return status
}

// run calls the reads with the key of the environment, compares the responses
// with what this version believes, writes the report, and returns the exit
// status.
func (p *program) run(ctx context.Context) (int, error) {
	key := cmp.Or(p.getenv("FASTIO_TOKEN"), p.getenv("FASTIO_API_KEY"))
	if key == "" {
		return unfinished, errors.New("set FASTIO_API_KEY to an API key; -n shows what it is used for")
	}
	address := cmp.Or(p.getenv("FASTIO_BASE_URL"), fastio.DefaultBaseURL)
	options, err := p.options(address, key)
	if err != nil {
		return unfinished, err
	}
	const text = "fastio-check of fastio %s: reads only; nothing is created, changed or deleted.\n\n"
	_, _ = fmt.Fprintf(p.out, text, fastio.Version)
	if file, ok := p.progress.(*os.File); ok {
		info, err := file.Stat()
		p.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	began := time.Now()
	run := check.Walk(ctx, options)
	p.say("")
	if len(run.Exchanges) == 0 && run.Err != nil {
		return unfinished, run.Err
	}
	report := check.Compare(run.Exchanges)
	report.Header = check.Header{
		SDK: fastio.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Platform: "another address", Day: began.UTC().Format(time.DateOnly),
		Seconds: int(time.Since(began).Seconds()), Finished: run.Err == nil,
	}
	if address == fastio.DefaultBaseURL {
		report.Header.Platform = "fast.io"
	}
	if err := p.write(report); err != nil {
		return unfinished, err
	}
	switch {
	case run.Err != nil:
		return unfinished, fmt.Errorf("the run has not finished: %w", run.Err)
	case report.Different() > 0:
		return differs, nil
	}
	return same, nil
}

// options returns those of the walk, whose clients send nothing but reviewed requests.
func (p *program) options(address, key string) (check.Options, error) {
	guarded, err := check.Guard(p.network, address, check.Reads())
	if err != nil {
		return check.Options{}, err
	}
	settings := []fastio.Option{
		fastio.WithBaseURL(address), fastio.WithHTTPClient(&http.Client{Transport: guarded}),
		fastio.WithUserAgent("fastio-check/" + fastio.Version), fastio.WithMaxWait(api.NoLimit),
		fastio.WithTimeout(time.Hour), fastio.WithHooks(api.Hooks{OnWait: p.onWait}),
	}
	anonymous, err := fastio.New(settings...)
	if err != nil {
		return check.Options{}, err
	}
	client, err := fastio.New(append(settings, fastio.WithToken(key))...)
	if err != nil {
		return check.Options{}, err
	}
	return check.Options{Client: client, Anonymous: anonymous, OnCall: func(op string, calls int) {
		p.say(fmt.Sprintf("%4d calls  %s", calls, op))
	}}, nil
}

const longWait = 2 * time.Second // a shorter wait is not worth a line

// onWait shows a long wait for the rate limit.
func (p *program) onWait(_ context.Context, e api.WaitEvent) {
	if e.Wait >= longWait {
		p.say(fmt.Sprintf("%s waits %s for the rate limit", e.Op, e.Wait.Round(time.Second)))
	}
}

// say replaces the line of progress.
func (p *program) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live && line != p.line {
		_, _ = fmt.Fprintf(p.progress, "\r\x1b[K%s", line)
		p.line = line
	}
}

// write shows a report, and then writes its files.
func (p *program) write(report *check.Report) error {
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
	_, err := fmt.Fprintf(p.out, "\nWritten: %s for an issue, %s for reading.\n"+
		"If the API key was made for this run, delete it now.\n",
		filepath.Join(p.dir, "report.json"), filepath.Join(p.dir, "report.html"))
	return err
}

// writeFile creates or replaces a file of the output directory with what write
// writes.
func (p *program) writeFile(name string, report *check.Report, write func(io.Writer, *check.Report) error) error {
	const mode = os.O_CREATE | os.O_TRUNC | os.O_WRONLY
	file, err := os.OpenFile(filepath.Join(p.dir, name), mode, 0o600) //nolint:gosec // the directory is a flag
	if err != nil {
		return err
	}
	return errors.Join(write(file, report), file.Close())
}
