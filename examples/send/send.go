package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/uploads"
)

// cleanupTimeout limits the deletion of the link.
const cleanupTimeout = 30 * time.Second

// run shares the file, does what the guest does, and deletes the link, also after an
// interrupt or a failure.
func (p *program) run(ctx context.Context) (err error) {
	link, err := p.share(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		err = errors.Join(err, p.revoke(ctx, link))
	}()
	if err := p.grant(ctx, link); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "send")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return p.work(ctx, link.ID, dir)
}

// share creates the link: for named people, with a password, for a day.
func (p *program) share(ctx context.Context) (*fileshares.FileShare, error) {
	const day = 24 * time.Hour
	link, err := p.sender.FileShares.Create(ctx, p.workspace, fileshares.CreateRequest{
		NodeID: p.node, Access: fileshares.AccessNamedPeople, Password: p.password, ExpiresIn: day,
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(p.out, "The sender shares %s as %s.\n", link.File.Name, link.PublicID)
	return link, nil
}

// grant lets the guest change the file.
func (p *program) grant(ctx context.Context, link *fileshares.FileShare) error {
	guest, err := p.guest.Account.Me(ctx)
	if err != nil {
		return err
	}
	_, err = p.sender.FileShares.Grants.Set(ctx, link.ID, api.Person(guest.EmailAddress),
		fileshares.CapabilityEdit)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s may change it.\n\n", guest.EmailAddress)
	return nil
}

// work is what the guest does: download the file, change it, upload it, and then upload
// a change that is based on the first version.
func (p *program) work(ctx context.Context, link api.ID, dir string) error {
	got, err := p.download(ctx, link, dir)
	if err != nil {
		return err
	}
	if err := p.edit(ctx, got.Path); err != nil {
		return err
	}
	if err := p.upload(ctx, link, got); err != nil {
		return err
	}
	fmt.Fprintln(p.out, "\nA second guest, who downloaded the first version as well, uploads a change:")
	err = p.upload(ctx, link, got)
	conflict, ok := errors.AsType[*api.VersionConflictError](err)
	if !ok { // the platform must refuse a change of an old version
		return errors.Join(errors.New("the upload was not rejected"), err)
	}
	fmt.Fprintf(p.out, "%v\n", err)
	fmt.Fprintf(p.out, "The change was based on %s. It has to be repeated on %s.\n", got.Version, conflict.Current)
	return nil
}

// download saves the file in the directory, under the name that the server sends, as
// far as that is safe.
func (p *program) download(ctx context.Context, link api.ID, dir string) (fileshares.Received, error) {
	bar := show.Bytes(p.screen, "download")
	into := dir + string(filepath.Separator) // without the separator it could be the path of the new file
	got, err := p.guest.FileShares.DownloadFile(
		ctx, link, into, &fileshares.DownloadOptions{OnProgress: bar.On},
		api.WithLinkPassword(p.password),
	)
	bar.End()
	if err != nil {
		return got, err
	}
	fmt.Fprintf(p.out, "The guest downloaded %s: %d bytes, version %s.\n", filepath.Base(got.Path), got.Bytes, got.Version)
	return got, nil
}

// upload makes the changed file the next version after the downloaded one.
func (p *program) upload(ctx context.Context, link api.ID, got fileshares.Received) error {
	bar := show.Bytes(p.screen, "upload  ")
	file, err := p.guest.FileShares.ReplaceFile(ctx, link, got.Path, fileshares.ReplaceRequest{
		IfVersion: got.Version, Options: uploads.FileOptions{OnProgress: bar.On},
	}, api.WithLinkPassword(p.password))
	bar.End()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "The guest uploaded it: %d bytes, version %s.\n", file.Size, file.Version)
	return nil
}

// revoke deletes the link.
func (p *program) revoke(ctx context.Context, link *fileshares.FileShare) error {
	if err := p.sender.FileShares.Delete(ctx, link.ID); err != nil {
		return err
	}
	fmt.Fprintln(p.out, "\nThe link is deleted; the file stays.")
	return nil
}
