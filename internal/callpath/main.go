// Command callpath makes one call on a warm client and writes the coverage
// counters of that call alone to a directory. Build it with -cover and
// -covermode=atomic; make callpath does, and counts the functions.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/coverage"
	"runtime/debug"

	"github.com/fastio-go/fastio"
)

const comment = `{"result":true,"comment":{
	"id":"cam111c0mm3nt0nth33ng1n3b3ta12","body":"Fine.","created":"2026-03-01 10:00:00 UTC"
}}`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: callpath DIR")
		os.Exit(2)
	}
	if err := profileCall(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// profileCall makes the same call three times with a fresh client and writes
// the coverage of the last one, in which all pools and caches are filled, to
// dir.
func profileCall(ctx context.Context, dir string) error {
	runtime.GOMAXPROCS(1) // with it, and without garbage collection, pools keep what they get
	debug.SetGCPercent(-1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, comment)
	}))
	defer server.Close()
	client, err := fastio.New(fastio.WithBaseURL(server.URL), fastio.WithToken("t0ken"))
	if err != nil {
		return err
	}
	for range 3 {
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		if _, err := client.Comments.Get(ctx, "cam111c0mm3nt0nth33ng1n3b3ta12"); err != nil {
			return err
		}
	}
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	return coverage.WriteCountersDir(dir)
}
