package rclone

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/hash"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

// Object is a file or note, or an earlier version of a file.
type Object struct {
	fs     *Fs
	remote string
	in     api.Profile
	id     api.OpaqueID
	parent api.OpaqueID // the folder
	old    bool         // an earlier version
	note   bool

	version api.OpaqueID // "" means the current one
	size    int64
	mime    string
	sha256  string // "" if the platform has another hash
	updated time.Time
}

// object returns a file or note of a folder as an Object.
func (f *Fs) object(at place, remote string, n *storage.Node) *Object {
	o := &Object{fs: f, remote: remote, in: at.in, parent: at.node}
	o.set(n)
	return o
}

// set sets what is known of the file from its node.
func (o *Object) set(n *storage.Node) {
	o.id, o.version = n.ID, n.Version
	o.note = n.Type == storage.NodeTypeNote
	o.size, o.mime, o.updated = n.Size, n.MIMEType, n.Updated.Time
	o.sha256 = sha256Of(n.Hash, n.HashAlgo)
}

// sha256Of returns a hash in lower case if it is a SHA-256, else "".
func sha256Of(value, algorithm string) string {
	if !strings.EqualFold(algorithm, "sha256") {
		return ""
	}
	return strings.ToLower(value)
}

// Fs returns the Fs of the object.
func (o *Object) Fs() fs.Info { return o.fs }

// String returns the path.
func (o *Object) String() string {
	if o == nil {
		return "<nil>"
	}
	return o.remote
}

// Remote returns the path.
func (o *Object) Remote() string { return o.remote }

// ModTime returns the time of the last change on the platform.
func (o *Object) ModTime(context.Context) time.Time { return o.updated }

// Size returns the size in bytes.
func (o *Object) Size() int64 { return o.size }

// Storable returns true.
func (o *Object) Storable() bool { return true }

// ID returns the ID of the node.
func (o *Object) ID() string { return plain(o.id) }

// ParentID returns the ID of the folder.
func (o *Object) ParentID() string { return plain(o.parent) }

// MimeType returns the media type that the platform has found.
func (o *Object) MimeType(context.Context) string { return o.mime }

// Hash returns the SHA-256, "" if the platform has computed another hash.
func (o *Object) Hash(_ context.Context, kind hash.Type) (string, error) {
	if kind != hash.SHA256 {
		return "", hash.ErrUnsupported
	}
	return o.sha256, nil
}

// SetModTime returns [fs.ErrorCantSetModTime].
func (o *Object) SetModTime(context.Context, time.Time) error { return fs.ErrorCantSetModTime }

// Open returns the content of the version that was listed, or a part of it.
func (o *Object) Open(ctx context.Context, options ...fs.OpenOption) (io.ReadCloser, error) {
	fs.FixRangeOption(options, o.size)
	part := api.Range{}
	for _, option := range options {
		switch option := option.(type) {
		case *fs.SeekOption:
			part.Offset = option.Offset
		case *fs.RangeOption:
			var length int64
			part.Offset, length = option.Decode(o.size)
			part.Length = max(length, 0) // -1 means the rest
		default:
			if option.Mandatory() {
				fs.Logf(o, "Unsupported mandatory option: %v", option)
			}
		}
	}
	if o.size >= 0 && part.Offset >= o.size {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	d, err := o.fs.session.client.Storage.Downloads.Read(ctx, o.in, o.id, &storage.DownloadOptions{
		Range: part, Version: o.version,
	})
	if err != nil {
		return nil, failure(err)
	}
	return cut(d, part) // a server that ignores the range sends the whole file
}

// cut returns the part of a download, which holds more if the server ignores ranges.
func cut(d *api.Download, part api.Range) (io.ReadCloser, error) {
	if _, err := io.CopyN(io.Discard, d, part.Offset-d.Offset); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("skipping to offset %d: %w", part.Offset, err)
	}
	if part.Length == 0 {
		return d, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(d, part.Length), d}, nil
}

// Remove moves the file to the trash, or with the option hard_delete deletes it for good.
func (o *Object) Remove(ctx context.Context) error {
	if err := o.fs.writable(); err != nil {
		return err
	}
	if o.old {
		return errOldVersion
	}
	return o.fs.remove(ctx, o.in, o.id)
}

var (
	_ fs.Object     = (*Object)(nil)
	_ fs.MimeTyper  = (*Object)(nil)
	_ fs.IDer       = (*Object)(nil)
	_ fs.ParentIDer = (*Object)(nil)
)
