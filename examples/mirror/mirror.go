package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

type mirror struct {
	*program

	in      api.Profile
	root    *os.Root // the local folder
	state   *state
	sum     summary
	last    map[string]file // of the latest scan
	waiting bool            // for uploads to be listed, or files that were in use
}

// once syncs until both sides are the same.
func (m *mirror) once(ctx context.Context) error {
	for {
		if err := m.sync(ctx); err != nil || !m.waiting {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(m.interval):
		}
	}
}

// watch syncs at the start, after changes of either side, and at long intervals, until
// ctx is done or the subscription ends.
func (m *mirror) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed, ended, err := m.subscribe(ctx)
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		for range ended { // until the subscription is closed
		}
	}()
	scan, full := time.NewTicker(m.interval), time.NewTicker(m.full)
	defer scan.Stop()
	defer full.Stop()
	if err := m.sync(ctx); err != nil {
		return err
	}
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return err
		case <-changed:
		case <-full.C:
		case <-scan.C:
			if !failed && !m.waiting && !m.changed() {
				continue
			}
		}
		err := m.sync(ctx)
		failed = err != nil
		if failed && ctx.Err() == nil {
			fmt.Fprintf(m.out, "%v; trying again\n", err)
		}
	}
}

// changed reports whether the local folder is not as the latest scan found it.
func (m *mirror) changed() bool {
	now, _, err := m.scan()
	return err != nil || !maps.Equal(now, m.last)
}

// subscribe returns a channel for remote changes and one for the error of the
// subscription, which is closed at its end.
func (m *mirror) subscribe(ctx context.Context) (changed <-chan struct{}, ended <-chan error, err error) {
	sub, err := m.client.Realtime.Subscribe(ctx, m.in, nil)
	if err != nil {
		return nil, nil, err
	}
	wake, end := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		defer close(end)
		defer func() { _ = sub.Close() }()
		for change, err := range sub.Changes() {
			if err != nil {
				end <- err
				return
			}
			if change.Resync != nil || change.Field.Name() == activity.NameStorage {
				select {
				case wake <- struct{}{}:
				default: // the next comparison has not begun
				}
			}
		}
	}()
	return wake, end, nil
}

// list reads the remote folder. Notes and links are skipped.
func (m *mirror) list(ctx context.Context, skipped map[string]error) (map[string]node, error) {
	nodes := map[string]node{}
	for e, err := range m.client.Storage.Walk(ctx, m.in, m.folder, nil) {
		switch {
		case err != nil:
			return nil, err
		case e.Node.Type == storage.NodeTypeFile:
			n := node{id: e.Node.ID, version: e.Node.Version, size: e.Node.Size}
			switch {
			case e.Node.HashAlgo == "sha256":
				n.hash = strings.ToLower(e.Node.Hash)
			case n.size == 0: // an empty file may have no hash
				n.hash = fmt.Sprintf("%x", sha256.Sum256(nil))
			}
			nodes[e.Path] = n
		case e.Node.Type != storage.NodeTypeFolder:
			skipped[e.Path] = api.ErrNotFile
		}
	}
	return nodes, nil
}

// comparison is the state of both sides, and what each file needs.
type comparison struct {
	local  map[string]file
	remote map[string]node
	todo   map[action][]string
}

// file and node return nil if there is none.
func (c *comparison) file(at string) *file { return find(c.local, at) }
func (c *comparison) node(at string) *node { return find(c.remote, at) }

// find returns the element of a path, nil if there is none.
func find[T any](all map[string]T, at string) *T {
	if found, ok := all[at]; ok {
		return &found
	}
	return nil
}

// compare lists both sides and decides what each path needs that either side has, or had
// when the two were last the same. Paths that cannot be mirrored, and the folder for work,
// are left out.
func (m *mirror) compare(ctx context.Context) (*comparison, error) {
	local, skipped, err := m.scan()
	if err != nil {
		return nil, err
	}
	m.last = local
	remote, err := m.list(ctx, skipped)
	if err != nil {
		return nil, err
	}
	skipped[work] = api.ErrNotFile
	c := &comparison{local, remote, map[action][]string{}}
	paths := map[string]bool{}
	for _, all := range [][]string{
		slices.Collect(maps.Keys(local)), slices.Collect(maps.Keys(remote)), slices.Collect(maps.Keys(m.state.Files)),
	} {
		for _, at := range all {
			paths[at] = true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(paths)) {
		if !within(skipped, at) {
			a := decide(find(m.state.Files, at), c.file(at), c.node(at), time.Now())
			c.todo[a] = append(c.todo[a], at)
		}
	}
	return c, nil
}

// within reports whether a path or one of its folders is skipped.
func within(skipped map[string]error, at string) bool {
	for ; at != "."; at = path.Dir(at) {
		if skipped[at] != nil {
			return true
		}
	}
	return false
}
