package fastio_test

import (
	"context"
	"io"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fileshares"
)

const (
	coverDeed = "2p1ct0r14lc4rdt0p0rtr41tb3t41"
	coverLink = "6217654321098765499"
	coverText = "1,2,3"
)

// lay puts a file into the world, and a link to it that anyone may follow.
func lay(_ context.Context, w *coverWorld) error {
	w.server.AddNode(fastiotest.Node{
		ID: coverDeed, Profile: coverWorkspace, Name: "Card.pdf", MimeType: "application/pdf", Creator: w.server.User().ID,
		AIState: "ready", Content: coverText,
	})
	w.server.AddFileShare(fastiotest.FileShare{
		ID: coverLink, Node: coverDeed, Owner: w.server.User().ID, Access: "anyone_with_link", Password: coverPassword,
		Grants: []fastiotest.Grant{{Email: "bo@example.com", Capability: "view"}},
	})
	return nil
}

// begun lays the file and begins to replace it.
func begun(pieces ...string) func(ctx context.Context, w *coverWorld) error {
	return func(ctx context.Context, w *coverWorld) error {
		if err := lay(ctx, w); err != nil {
			return err
		}
		u, err := w.aside.FileShares.Uploads.Create(ctx, replacing(nil))
		if err != nil {
			return err
		}
		for i, piece := range pieces {
			if err := w.aside.FileShares.Uploads.Chunk(ctx, u.ID, i+1, []byte(piece), &fileshares.GetOptions{Password: api.NewSecret(coverPassword)}); err != nil {
				return err
			}
		}
		w.segments = []string{u.ID.Plain()}
		return nil
	}
}

func replacing(content []byte) fileshares.CreateUploadRequest {
	return fileshares.CreateUploadRequest{
		FileShareID: coverLink, FileID: coverDeed, Name: "Card.pdf", Size: int64(len(coverText)), Content: content, Password: api.NewSecret(coverPassword),
	}
}

func fileShareDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	unlocked := &fileshares.GetOptions{Password: api.NewSecret(coverPassword)}
	reading := &fileshares.DownloadOptions{Password: api.NewSecret(coverPassword)}
	read := func(d *api.Download, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		defer func() { _ = d.Close() }()
		text, err := io.ReadAll(d)
		return string(text), err
	}
	status := func(ctx ctx, w world) (any, error) {
		u, err := w.aside.FileShares.Uploads.Get(ctx, api.OpaqueID(w.segments[0]), unlocked)
		if err != nil {
			return nil, err
		}
		return u.Status, nil
	}
	link := []string{coverLink}
	return []driver{
		{"fileshares.Create", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.FileShares.Create(ctx, coverWorkspace, fileshares.CreateRequest{NodeID: coverNode, Title: "The mill"})
		}, nil},
		{"fileshares.List", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.FileShares.List(ctx, coverWorkspace, &fileshares.ListOptions{Limit: 5})
		}, nil},
		{"fileshares.Get", link, func(ctx ctx, c cl, _ world) (any, error) { return c.FileShares.Get(ctx, coverLink, unlocked) }, lay},
		{"fileshares.Update", link, func(ctx ctx, c cl, _ world) (any, error) {
			return c.FileShares.Update(ctx, coverLink, fileshares.UpdateRequest{Title: api.Set("A card")})
		}, lay},
		{"fileshares.Delete", link, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.FileShares.Delete(ctx, coverLink, coverLink); err != nil {
				return nil, err
			}
			left, err := w.aside.FileShares.List(ctx, coverWorkspace, nil)
			return err == nil && len(left.FileShares) == 1, err
		}, lay},
		{"fileshares.Grants.List", link, func(ctx ctx, c cl, _ world) (any, error) { return c.FileShares.Grants.List(ctx, coverLink) }, lay},
		{"fileshares.Grants.Set", link, func(ctx ctx, c cl, _ world) (any, error) {
			return c.FileShares.Grants.Set(ctx, coverLink, fileshares.Grantee{Email: "cy@example.com"}, fileshares.CapabilityEdit)
		}, lay},
		{"fileshares.Grants.Revoke", link, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.FileShares.Grants.Revoke(ctx, coverLink, fileshares.Grantee{Email: "bo@example.com"}); err != nil {
				return nil, err
			}
			f, err := w.aside.FileShares.List(ctx, coverWorkspace, &fileshares.ListOptions{Offset: 1})
			return err == nil && *f.FileShares[0].GrantCount == 0, err
		}, lay},
		{"fileshares.Download", link, func(ctx ctx, c cl, _ world) (any, error) {
			return read(c.FileShares.Download(ctx, coverLink, reading))
		}, lay},
		{"fileshares.Preview", []string{coverLink, "thumbnail"}, func(ctx ctx, c cl, _ world) (any, error) {
			return read(c.FileShares.Preview(ctx, coverLink, api.PreviewTypeThumbnail, unlocked))
		}, lay},
		{"fileshares.Versions.List", link, func(ctx ctx, c cl, _ world) (any, error) {
			return c.FileShares.Versions.List(ctx, coverLink, unlocked)
		}, lay},
		{"fileshares.Versions.Read", link, func(ctx ctx, c cl, w world) (any, error) {
			return read(c.FileShares.Versions.Read(ctx, coverLink, api.OpaqueID(w.segments[0]), reading))
		}, func(ctx ctx, w world) error {
			if err := lay(ctx, w); err != nil {
				return err
			}
			f, err := w.aside.FileShares.Get(ctx, coverLink, unlocked)
			if err == nil {
				w.segments = []string{f.File.Version.Plain()}
			}
			return err
		}},
		{"fileshares.Metadata", link, func(ctx ctx, c cl, _ world) (any, error) {
			return c.FileShares.Metadata(ctx, coverLink, unlocked)
		}, lay},
		{"fileshares.Uploads.Create", nil, func(ctx ctx, c cl, _ world) (any, error) {
			return c.FileShares.Uploads.Create(ctx, replacing([]byte(coverText)))
		}, lay},
		{"fileshares.Uploads.Chunk", nil, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.FileShares.Uploads.Chunk(ctx, api.OpaqueID(w.segments[0]), 1, []byte(coverText), unlocked); err != nil {
				return nil, err
			}
			return status(ctx, w)
		}, begun()},
		{"fileshares.Uploads.Complete", nil, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.FileShares.Uploads.Complete(ctx, api.OpaqueID(w.segments[0]), unlocked); err != nil {
				return nil, err
			}
			return status(ctx, w)
		}, begun("1,2", ",3")},
		{"fileshares.Uploads.Get", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.FileShares.Uploads.Get(ctx, api.OpaqueID(w.segments[0]), unlocked)
		}, begun()},
	}
}
