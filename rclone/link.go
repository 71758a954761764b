package rclone

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/rclone/rclone/fs"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/oauth"
)

// PublicLink returns the address of a File Share of a file, with which anybody can read
// it until it expires. With unlink it removes those of the caller.
func (f *Fs) PublicLink(ctx context.Context, remote string, expire fs.Duration, unlink bool) (string, error) {
	found, err := f.NewObject(ctx, remote)
	if errors.Is(err, fs.ErrorIsDir) {
		return "", fs.ErrorCantShareDirectories
	}
	if err != nil {
		return "", err
	}
	o := found.(*Object) //nolint:forcetypeassert // as NewObject made it
	if o.in.Kind != api.ProfileKindWorkspace || o.note {
		return "", errors.New("only a file of a workspace can have a link")
	}
	if unlink {
		return "", f.unlink(ctx, o)
	}
	request := fileshares.CreateRequest{NodeID: o.id, Access: fileshares.AccessAnyoneWithLink}
	if expire.IsSet() { // 0 would mean that it never expires
		request.ExpiresIn = max(time.Duration(expire).Truncate(time.Second), time.Second)
	}
	link, err := f.session.client.FileShares.Create(ctx, o.in.ID, request)
	if err != nil {
		return "", failure(err)
	}
	// The documents of the platform do not give the address of a web page of a File Share, so
	// the link is the address of the content.
	origin, prefix, err := oauth.TokenSource(oauth.Config{BaseURL: f.opt.URL}).Platform()
	return origin + prefix + "/current/fileshare/" + url.PathEscape(string(link.PublicID)) + "/storage/read/", err
}

// unlink removes the links to a file that anybody can use and the caller has made.
func (f *Fs) unlink(ctx context.Context, o *Object) error {
	client := f.session.client
	me, err := client.Account.Me(ctx)
	if err != nil {
		return failure(err)
	}
	var links []api.ID
	for link, err := range client.FileShares.All(ctx, o.in.ID, nil) {
		if err != nil {
			return failure(err)
		}
		own := link.Creator == "" || link.Creator == me.ID // a response may lack the creator
		if own && link.Access == fileshares.AccessAnyoneWithLink && link.File != nil && link.File.ID.Equal(o.id) {
			links = append(links, link.ID)
		}
	}
	for _, id := range links {
		if err := client.FileShares.Delete(ctx, id); err != nil {
			return failure(err)
		}
	}
	return nil
}
