// Relay shows on one machine how replicas of package relay share event logs, and how they
// take over from a replica that is killed.
//
//	go run ./examples/relay start
//
// starts an emulator with 12 workspaces that get events all the time, a NATS server, and
// three replicas, each a process of its own. A table shows which replica follows which
// workspace. In another terminal,
//
//	go run ./examples/relay kill replica-2
//	go run ./examples/relay start replica-2
//
// kills a replica, and starts it again in that terminal; with another name, it starts one
// more. Ctrl-C ends all of them. Then start compares the events that were added with those
// that the stream has stored, and fails if one is missing or stored twice.
//
// It needs no network and no account: the servers listen on the loopback interface.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	err := runCommand(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const usage = `usage:
  start        starts the emulator, the NATS server and three replicas
  start NAME   starts one more replica, or one that was killed
  kill NAME    kills a replica`

// runCommand runs a command of the usage, with the directory of the demo in the cache directory of the
// user. The command start runs each of its three replicas as a process of this program, with the
// internal command child. Such a replica runs until its input ends.
func runCommand(ctx context.Context, args []string, out io.Writer) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "fastio-relay-example")
	switch {
	case len(args) == 1 && args[0] == "start":
		return startDemo(ctx, dir, out)
	case len(args) == 2 && args[0] == "start":
		return join(ctx, dir, args[1], out)
	case len(args) == 2 && args[0] == "kill":
		return kill(ctx, dir, args[1], out)
	case len(args) == 2 && args[0] == child:
		return follow(untilInputEnds(ctx, os.Stdin), dir, args[1], io.Discard)
	}
	return errors.New(usage)
}
