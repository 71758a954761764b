package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
)

// state is what the processes of the demo share, in a file that only its user can read.
type state struct {
	Platform string         `json:"platform"` // address of the emulator
	Token    string         `json:"token"`    // of the emulator
	NATS     string         `json:"nats"`     // address of the server
	Profiles []api.Profile  `json:"profiles"`
	Replicas map[string]int `json:"replicas"` // process IDs of those that run
}

var errNotRunning = errors.New("the demo does not run: begin with start")

func stateFile(dir string) string { return filepath.Join(dir, "state.json") }

// load returns the state of the demo that runs. A file that a killed demo has left does
// not count: its process IDs may be those of other programs.
func load(ctx context.Context, dir string) (*state, error) {
	content, err := os.ReadFile(stateFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotRunning
	}
	s := &state{}
	if err := errors.Join(err, json.Unmarshal(content, s)); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(s.NATS, "nats://"))
	if err != nil {
		return nil, errNotRunning
	}
	return s, conn.Close()
}

// save replaces the file in one step, so that no process reads a part of it.
func (s *state) save(dir string) error {
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	next := stateFile(dir) + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, stateFile(dir))
}

// kill ends a replica without a warning.
func kill(ctx context.Context, dir, name string, out io.Writer) error {
	s, err := load(ctx, dir)
	if err != nil {
		return err
	}
	id, ok := s.Replicas[name]
	if !ok {
		return fmt.Errorf("there is no replica %q", name)
	}
	process, err := os.FindProcess(id)
	if err == nil {
		err = process.Kill()
	}
	if err == nil {
		fmt.Fprintf(out, "%s, process %d, is killed\n", name, id)
	}
	return err
}
