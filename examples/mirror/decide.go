package main

import (
	"time"

	"github.com/fastio-go/fastio/api"
)

// node is a remote file.
type node struct {
	id, version api.OpaqueID
	size        int64
	hash        string // SHA-256; "" if unknown
}

// action is what a file needs.
type action string

const (
	same         action = "same"
	wait         action = "wait"   // an upload is not listed yet
	forget       action = "forget" // it exists no longer
	send         action = "send"
	receive      action = "receive"
	conflict     action = "conflict" // both changed: sent as a new version
	deleteLocal  action = "delete local"
	deleteRemote action = "delete remote"
)

// settle is how long an upload may take until a listing shows it.
const settle = time.Minute

// decide returns what a file needs, from its states at the last sync (b), locally (l)
// and remotely (r). A nil state means that there is or was no file. A file that was
// sent is unlisted until the platform lists it: for some time it waits, then it counts
// as lost and is sent again.
func decide(b *base, l *file, r *node, now time.Time) action {
	switch {
	case l.is(r), !b.differs(l) && b.is(r):
		return same
	case b.unlisted() && now.Sub(b.Sent) < settle:
		return wait
	case l == nil && r == nil:
		return forget
	}
	localChanged := l != nil && b.differs(l)
	remoteChanged := r != nil && !b.is(r)
	lost := r == nil && b.unlisted()
	switch {
	case localChanged && remoteChanged:
		return conflict
	case localChanged, lost:
		return send
	case remoteChanged:
		return receive
	}
	return deletion(l)
}

// deletion returns the action that repeats a deletion on the other side: the file l is
// nil if it was deleted locally.
func deletion(l *file) action {
	if l == nil {
		return deleteRemote
	}
	return deleteLocal
}

// is reports whether a file and a node have the same content.
func (l *file) is(r *node) bool { return l != nil && r != nil && l.Hash == r.hash }

// unlisted reports whether no listing has shown the last upload.
func (b *base) unlisted() bool { return b != nil && b.Version == "" }

// differs reports whether a file does not have the content of the last sync.
func (b *base) differs(l *file) bool { return b == nil || l == nil || l.Hash != b.Hash }

// is reports whether a node has the content of the last sync.
func (b *base) is(r *node) bool {
	if b == nil || r == nil {
		return false
	}
	if r.hash != "" {
		return r.hash == b.Hash
	}
	return r.size == b.Size && (b.Version == "" || b.Version == r.version)
}
