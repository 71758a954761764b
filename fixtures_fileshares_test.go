package fastio_test

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fileshares"
)

const (
	sceneDeed     = "2d33d0fth3m1115h4r3db3ta12345"
	sceneDeedText = "The mill belongs to its maker.\n"
	sceneLoan     = "6214365870987654321"
	sceneLock     = "0p3n s3sam3"
)

// lend puts a file into the scene, and a link to it.
func (s *scene) lend() {
	if s.server == nil {
		return
	}
	ada := s.server.User().ID
	s.server.AddNode(fastiotest.Node{ID: sceneDeed, Profile: sceneWorkspace, Name: "Deed.pdf", Content: sceneDeedText, Creator: ada})
	s.server.AddFileShare(fastiotest.FileShare{
		ID: sceneLoan, IDAlt: "q2d33d0fth3m111b3ta1234567890", Node: sceneDeed, Owner: ada, Title: "The deed", Access: "any_registered",
		CommentsEnabled: true, Password: sceneLock, Expires: time.Date(2027, time.March, 2, 9, 30, 0, 0, time.UTC),
		Grants: []fastiotest.Grant{{Email: "later@example.test", Capability: "view"}},
	})
}

func fileShareRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	unlocked := &fileshares.GetOptions{Password: api.NewSecret(sceneLock)}
	reading := &fileshares.DownloadOptions{Password: api.NewSecret(sceneLock)}
	read := func(d *api.Download, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		defer func() { _ = d.Close() }()
		b, err := io.ReadAll(d)
		if kind := http.DetectContentType(b); kind != "text/plain; charset=utf-8" {
			return kind, err
		}
		return string(b), err
	}
	upload := fileshares.CreateUploadRequest{
		FileShareID: sceneLoan, FileID: sceneDeed, Name: "Deed.pdf", Size: int64(len(sceneDeedText)), Password: api.NewSecret(sceneLock),
	}
	return []recording{
		{"fileshares.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.lend()
			return c.FileShares.Create(ctx, sceneWorkspace, fileshares.CreateRequest{
				NodeID: sceneDeed, Title: "For the notary", Access: fileshares.AccessAnyoneWithLink, Password: api.Set[api.Secret](api.NewSecret(sceneLock)), ExpiresIn: time.Hour,
			}, raw)
		}},
		{"fileshares.Create", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.FileShares.Create(ctx, sceneWorkspace, fileshares.CreateRequest{NodeID: "2n0such0fth3m111b3ta123456789"}, raw)
		}},
		{"fileshares.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.FileShares.List(ctx, sceneWorkspace, &fileshares.ListOptions{Limit: 1}, raw)
		}},
		{"fileshares.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.FileShares.Get(ctx, sceneLoan, unlocked, raw)
		}},
		{"fileshares.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { // without the password
			return c.FileShares.Get(ctx, sceneLoan, nil, raw)
		}},
		{"fileshares.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.FileShares.Get(ctx, "6999999999999999999", unlocked, raw)
		}},
		{"fileshares.Update", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.FileShares.Update(ctx, sceneLoan, fileshares.UpdateRequest{Title: api.Null[string](), ExpiresAt: api.Null[time.Time]()}, raw)
		}},
		{"fileshares.Grants.Set", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.FileShares.Grants.Set(ctx, sceneLoan, fileshares.Grantee{Email: "charles@example.test"}, fileshares.CapabilityEdit, raw)
		}},
		{"fileshares.Grants.Set", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.FileShares.Grants.Set(ctx, sceneLoan, fileshares.Grantee{Email: "nobody@example.test"}, fileshares.CapabilityDownload, raw)
		}},
		{"fileshares.Grants.Set", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.FileShares.Grants.Set(ctx, sceneLoan, fileshares.Grantee{User: "3999999999999999999"}, fileshares.CapabilityDownload, raw)
		}},
		{"fileshares.Grants.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.FileShares.Grants.List(ctx, sceneLoan, raw)
		}},
		{"fileshares.Grants.Revoke", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.FileShares.Grants.Revoke(ctx, sceneLoan, fileshares.Grantee{Email: "nobody@example.test"}, raw)
		}},
		{"fileshares.Download", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return read(c.FileShares.Download(ctx, sceneLoan, reading, raw))
		}},
		{"fileshares.Preview", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return read(c.FileShares.Preview(ctx, sceneLoan, api.PreviewTypeThumbnail, unlocked, raw))
		}},
		{"fileshares.Preview", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return read(c.FileShares.Preview(ctx, sceneLoan, api.PreviewTypeMP4, unlocked, raw))
		}},
		{"fileshares.Metadata", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.FileShares.Metadata(ctx, sceneLoan, unlocked, raw)
		}},
		{"fileshares.Uploads.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			u, err := c.FileShares.Uploads.Create(ctx, upload, raw)
			if err == nil {
				s.upload = u.ID
			}
			return u, err
		}},
		{"fileshares.Uploads.Chunk", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.FileShares.Uploads.Chunk(ctx, s.upload, 1, []byte(sceneDeedText), unlocked, raw)
		}},
		{"fileshares.Uploads.Complete", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.FileShares.Uploads.Complete(ctx, s.upload, unlocked, raw)
		}},
		{"fileshares.Uploads.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.FileShares.Uploads.Get(ctx, s.upload, unlocked, raw)
		}},
		{"fileshares.Uploads.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) { // at once, after a version that is gone by
			at := upload
			at.Content, at.IfVersion = []byte(sceneDeedText), "v3r510n0fth3d33db3ta123456789"
			u, err := c.FileShares.Uploads.Create(ctx, at, raw)
			if err == nil {
				s.upload = u.ID
				if s.server != nil {
					time.Sleep(time.Minute)
				}
			}
			return u, err
		}},
		{"fileshares.Uploads.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.FileShares.Uploads.Get(ctx, s.upload, unlocked, raw)
		}},
		{"fileshares.Versions.List", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			all, err := c.FileShares.Versions.List(ctx, sceneLoan, unlocked, raw)
			if err == nil && len(all) > 0 {
				s.version = all[len(all)-1].ID
			}
			return all, err
		}},
		{"fileshares.Versions.Read", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return read(c.FileShares.Versions.Read(ctx, sceneLoan, s.version, reading, raw))
		}},
		{"fileshares.Delete", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.FileShares.Delete(ctx, sceneLoan, sceneLoan, raw)
		}},
	}
}
