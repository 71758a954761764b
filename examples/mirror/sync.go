package main

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// sync compares both sides and makes them the same. Files that fail are recorded in
// the summary, and are no error.
func (m *mirror) sync(ctx context.Context) (err error) {
	c, err := m.compare(ctx)
	if err != nil {
		return err
	}
	m.sum.failed, m.sum.unchanged, m.waiting = map[string]error{}, len(c.todo[same]), len(c.todo[wait]) > 0
	for _, at := range c.todo[same] {
		m.state.record(at, base{file: c.local[at], Version: c.remote[at].version})
	}
	for _, at := range c.todo[forget] {
		delete(m.state.Files, at)
	}
	defer func() { err = errors.Join(err, m.state.save()) }()
	if err := m.send(ctx, c); err != nil {
		return err
	}
	if err := m.receive(ctx, c); err != nil {
		return err
	}
	if err := m.delete(ctx, c); err != nil {
		return err
	}
	if !m.waiting && m.synced != nil {
		m.synced(&m.sum)
	}
	return nil
}

// send uploads files. Content that the platform has already is not sent again, and
// uploads that an earlier run has begun are continued.
func (m *mirror) send(ctx context.Context, c *comparison) error {
	paths := slices.Concat(c.todo[send], c.todo[conflict])
	if len(paths) == 0 {
		return nil
	}
	bars := newBars(m.screen, "send")
	defer bars.end()
	_, err := m.client.Uploads.Dir(ctx, uploads.Target{Profile: m.in, Folder: m.folder}, m.dir, &uploads.DirOptions{
		Filter: only(paths), ChunkSize: m.chunk, OnProgress: bars.on,
		Sessions: uploads.FileStore(filepath.Join(m.dir, work)),
		OnEntry:  func(_ context.Context, e api.DirEntry) { m.sentOne(c, e) },
	})
	return fatal(err)
}

// sentOne records the result of the upload of a file.
func (m *mirror) sentOne(c *comparison, e api.DirEntry) {
	local, file := c.local[e.Path]
	switch {
	case e.State == api.DirFailed:
		m.sum.failed[e.Path] = e.Err
	case file && (e.State == api.DirDone || e.State == api.DirUnchanged):
		m.sum.sent++
		m.waiting = true // until it is listed
		if slices.Contains(c.todo[conflict], e.Path) {
			m.sum.conflicts = append(m.sum.conflicts, e.Path)
		}
		m.state.record(e.Path, base{file: local, Sent: time.Now()})
	}
}

// receive downloads files to a folder for incoming files, and moves each to its place
// unless the local file has changed meanwhile.
func (m *mirror) receive(ctx context.Context, c *comparison) error {
	paths := c.todo[receive]
	if len(paths) == 0 {
		return nil
	}
	bars := newBars(m.screen, "receive")
	defer bars.end()
	staged := path.Join(m.dir, incoming)
	_, err := m.client.Storage.DownloadDir(ctx, m.in, m.folder, staged, &storage.DownloadDirOptions{
		Filter: only(paths), Hidden: true, OnProgress: bars.on,
		OnEntry: func(_ context.Context, e api.DirEntry) {
			if e.State == api.DirFailed {
				m.sum.failed[e.Path] = e.Err
			} else if e.State != api.DirSkipped {
				got, err := m.accept(e.Path, c.file(e.Path))
				m.done(e.Path, &m.sum.received, err, func() {
					m.state.record(e.Path, base{file: got, Version: c.remote[e.Path].version})
				})
			}
		},
	})
	if err = fatal(err); err == nil { // otherwise the next run uses what is complete
		err = m.root.RemoveAll(incoming)
	}
	return err
}

// delete deletes on each side the files that were deleted on the other one.
func (m *mirror) delete(ctx context.Context, c *comparison) error {
	for _, at := range c.todo[deleteLocal] {
		m.done(at, &m.sum.deleted, m.discard(at, c.file(at)), func() { delete(m.state.Files, at) })
	}
	for _, at := range c.todo[deleteRemote] {
		err := m.client.Storage.Delete(ctx, m.in, c.node(at).id)
		if errors.Is(err, api.ErrNotFound) {
			err = nil
		}
		m.done(at, &m.sum.deleted, err, func() { delete(m.state.Files, at) })
	}
	return ctx.Err()
}

// done counts a file and calls record or, if err is not nil, records why the file has
// failed. A file that is in use is tried again by the next sync.
func (m *mirror) done(at string, count *int, err error, record func()) {
	switch {
	case err == nil:
		*count++
		record()
	case errors.Is(err, errBusy):
		m.waiting = true
	default:
		m.sum.failed[at] = err
	}
}

// fatal returns nil if only single files have failed, which are in the summary, and
// otherwise err.
func fatal(err error) error {
	if _, ok := errors.AsType[*api.DirError](err); ok {
		return nil
	}
	return err
}

// only returns a filter for files with these paths.
func only(paths []string) api.DirFilter {
	f := api.DirFilter{Paths: map[string]bool{}}
	for _, at := range paths {
		f.Paths[at] = true
	}
	return f
}
