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

// decide compares a file with the last sync. A nil argument means that there is none.
func decide(b *base, l *file, r *node, now time.Time) action {
	switch {
	case l != nil && r != nil && (l.Hash == r.hash || b != nil && l.Hash == b.Hash && b.is(r)):
		return same
	case b != nil && b.Version == "" && now.Sub(b.Sent) < settle:
		return wait
	case l == nil && r == nil:
		return forget
	}
	localChanged := l != nil && (b == nil || l.Hash != b.Hash)
	remoteChanged := r != nil && (b == nil || !b.is(r))
	switch {
	case localChanged && remoteChanged:
		return conflict
	case localChanged, r == nil && b.Version == "": // the upload was lost
		return send
	case remoteChanged:
		return receive
	case l == nil:
		return deleteRemote
	}
	return deleteLocal
}

// is reports whether a node has the content of the last sync.
func (b *base) is(r *node) bool {
	if r.hash != "" {
		return r.hash == b.Hash
	}
	return r.size == b.Size && (b.Version == "" || b.Version == r.version)
}
