package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fileshares"
)

// patience is how long the end may take.
const patience = 30 * time.Second

// run lends the file, lets the guest work on it, and takes the link back, also when it
// is interrupted or when anything fails in between.
func (p *program) run(ctx context.Context) (err error) {
	link, err := p.lend(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err = errors.Join(err, p.takeBack(ctx, link))
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

// lend makes the link: for those who are named, with a password, for a day.
func (p *program) lend(ctx context.Context) (*fileshares.FileShare, error) {
	const day = 24 * time.Hour
	link, err := p.sender.FileShares.Create(ctx, p.workspace, fileshares.CreateRequest{
		NodeID: p.node, Access: fileshares.AccessNamedPeople, Password: api.Set(p.password), ExpiresIn: day,
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(p.out, "The sender lends %s as %s.\n", link.File.Name, link.PublicID)
	return link, nil
}

// grant lets the guest change the file.
func (p *program) grant(ctx context.Context, link *fileshares.FileShare) error {
	guest, err := p.guest.Account.Me(ctx)
	if err != nil {
		return err
	}
	_, err = p.sender.FileShares.Grants.Set(ctx, link.ID, fileshares.Grantee{Email: guest.EmailAddress},
		fileshares.CapabilityEdit)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s may change it.\n\n", guest.EmailAddress)
	return nil
}

// work is what the guest does: gets the file, changes it, gives it back, and once more
// from the version that it was before.
func (p *program) work(ctx context.Context, link api.ProfileID, dir string) error {
	got, err := p.download(ctx, link, dir)
	if err != nil {
		return err
	}
	if err := p.edit(ctx, got.Path); err != nil {
		return err
	}
	if err := p.writeBack(ctx, link, got); err != nil {
		return err
	}
	fmt.Fprintln(p.out, "\nAnother person has the first version as well, and comes second:")
	err = p.writeBack(ctx, link, got)
	conflict, ok := errors.AsType[*fileshares.VersionConflict](err)
	if !ok {
		return errors.Join(errors.New("the file was not checked for its version"), err)
	}
	fmt.Fprintf(p.out, "%v\n", err)
	fmt.Fprintf(p.out, "Theirs was made from %s. They download %s and begin again from there.\n", got.Version,
		conflict.Current)
	return nil
}

// download puts the file into the directory, under a name that the server chooses as
// far as that is safe.
func (p *program) download(ctx context.Context, link api.ProfileID, dir string) (fileshares.Received, error) {
	progress, finish := p.bar("  download")
	defer finish()
	got, err := p.guest.FileShares.DownloadFile(
		ctx, link, dir+string(filepath.Separator), &fileshares.DownloadOptions{Progress: progress},
		api.LinkPassword(p.password),
	)
	if err != nil {
		return got, err
	}
	fmt.Fprintf(p.out, "The guest has %s: %d bytes, version %s.\n", filepath.Base(got.Path), got.Bytes, got.Version)
	return got, nil
}

// writeBack makes the changed file the next version after the one that it was made
// from.
func (p *program) writeBack(ctx context.Context, link api.ProfileID, got fileshares.Received) error {
	progress, finish := p.bar("  upload  ")
	defer finish()
	file, err := p.guest.FileShares.ReplaceFile(ctx, link, got.Path, fileshares.ReplaceRequest{
		IfVersion: got.Version, Progress: progress,
	}, api.LinkPassword(p.password))
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "The guest wrote it back: %d bytes, version %s.\n", file.Size, file.Version)
	return nil
}

// takeBack ends the link, which is named once more: there is no way back.
func (p *program) takeBack(ctx context.Context, link *fileshares.FileShare) error {
	if err := p.sender.FileShares.Delete(ctx, link.ID); err != nil {
		return err
	}
	fmt.Fprintln(p.out, "\nThe link is taken back; the file stays.")
	return nil
}
