package show

import (
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
)

// Emulator is an emulator on a socket, for a program without configuration.
type Emulator struct {
	*fastiotest.Server

	URL string

	server *httptest.Server
	quit   chan struct{}
	live   sync.WaitGroup
}

// Emulate starts an emulator and prints its address. Own is the command that runs the program
// with an account of its user instead; it begins with the variable that is missing.
func Emulate(out io.Writer, own string, platform *fastiotest.Server) *Emulator {
	server := httptest.NewServer(platform)
	missing, _, _ := strings.Cut(own, "=")
	fmt.Fprintf(out, "No %s: running against an emulator at %s\n", missing, server.URL)
	fmt.Fprintf(out, "With an account of your own: %s\n", own)
	return &Emulator{Server: platform, URL: server.URL, server: server, quit: make(chan struct{})}
}

// Connect returns a client with a token, which shows long waits on stderr.
func (e *Emulator) Connect(token string) (*fastio.Client, error) {
	return fastio.New(fastio.WithBaseURL(e.URL), fastio.WithToken(token), fastio.WithLogger(slog.Default()))
}

// Every calls f with 1, 2 and so on at an interval, until Stop is called.
func (e *Emulator) Every(interval time.Duration, f func(i int)) {
	e.live.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for i := 1; ; i++ {
			select {
			case <-e.quit:
				return
			case <-tick.C:
				f(i)
			}
		}
	})
}

// Stop ends the calls of Every and closes the emulator.
func (e *Emulator) Stop() {
	close(e.quit)
	e.live.Wait()
	_ = e.Close()
	e.server.Close()
}
