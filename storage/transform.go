package storage

import (
	"context"
	"image"
	"net/url"
	"slices"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Transforms returns images in other sizes and formats.
type Transforms struct{ c api.Client }

// ImageFormat is a format of images.
type ImageFormat string

// Formats of an image.
const (
	ImageFormatPNG  ImageFormat = "png"
	ImageFormatJPG  ImageFormat = "jpg"
	ImageFormatJPEG ImageFormat = "jpeg"
)

// ImageSize is a size that the server defines.
type ImageSize string

// Sizes of an image.
const (
	ImageSizeIconTiny   ImageSize = "IconTiny"
	ImageSizeIconSmall  ImageSize = "IconSmall"
	ImageSizeIconMedium ImageSize = "IconMedium"
	ImageSizePreview    ImageSize = "Preview"
)

// Transform is a change of an image. Zero fields leave it as it is.
type Transform struct {
	Format ImageFormat `wire:"output-format"` // "" means that of the server
	Width  int         // in pixels
	Height int         // in pixels
	Size   ImageSize
	Rotate int // in degrees: 0, 90, 180 or 270

	// Crop is a part of the image, in pixels. The server rejects one that touches
	// the left or the top edge, so that Min.X and Min.Y must be 1 or more.
	Crop image.Rectangle
}

// query checks the transformation and returns it as query parameters, with the
// token.
func (t Transform) query(op string, token api.Secret) (url.Values, error) {
	args := input.Fields[Transform](op)
	formats := []ImageFormat{"", ImageFormatPNG, ImageFormatJPG, ImageFormatJPEG}
	sizes := []ImageSize{"", ImageSizeIconTiny, ImageSizeIconSmall, ImageSizeIconMedium, ImageSizePreview}
	crop := t.Crop
	switch {
	case token.IsZero():
		return nil, input.Parameters(op).Refuse("token", "must not be empty", "")
	case !slices.Contains(formats, t.Format):
		return nil, args.Refuse("output-format", "must be png, jpg or jpeg", string(t.Format))
	case t.Width < 0:
		return nil, args.Refuse("width", "must be 0 or more", strconv.Itoa(t.Width))
	case t.Height < 0:
		return nil, args.Refuse("height", "must be 0 or more", strconv.Itoa(t.Height))
	case !slices.Contains(sizes, t.Size):
		return nil, args.Refuse("size", "must be IconTiny, IconSmall, IconMedium or Preview", string(t.Size))
	case !slices.Contains([]int{0, 90, 180, 270}, t.Rotate):
		return nil, args.Refuse("rotate", "must be 0, 90, 180 or 270", strconv.Itoa(t.Rotate))
	case crop != image.Rectangle{} && (crop.Empty() || crop.Min.X < 1 || crop.Min.Y < 1):
		return nil, args.Refuse("Crop", "must not be empty or touch the left or the top edge", crop.String())
	}
	q := url.Values{"token": {token.Reveal()}}
	for name, text := range map[string]string{"output-format": string(t.Format), "size": string(t.Size)} {
		if text != "" {
			q.Set(name, text)
		}
	}
	for name, n := range map[string]int{
		"width": t.Width, "height": t.Height, "rotate": t.Rotate,
		"cropx": crop.Min.X, "cropy": crop.Min.Y, "cropwidth": crop.Dx(), "cropheight": crop.Dy(),
	} {
		if n != 0 {
			q.Set(name, strconv.Itoa(n))
		}
	}
	return q, nil
}

// Token returns a token for transforms of an image of a workspace or share. Each call
// creates one, so it is retried only if it was not processed.
//
// Errors: [api.ErrNotFound] if the image is not in that workspace or share;
// [api.ErrForbidden] without access to it.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/transform/image/requestread/.
// It calls GET /current/share/{share_id}/storage/{node_id}/transform/image/requestread/.
func (t *Transforms) Token(
	ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption,
) (api.Secret, error) {
	return requestToken(ctx, t.c, endpoint.StorageTransformsToken(in, node), "token", opts)
}

// Read returns an image after a transform, by a token of [Transforms.Token]. It
// sends no credential. The caller must close the result.
//
// Errors: [api.ErrInvalid] if the file is not an image or the server does not
// accept the transform; [api.ErrForbidden] if the token has expired.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/transform/image/read/.
// It calls GET /current/share/{share_id}/storage/{node_id}/transform/image/read/.
func (t *Transforms) Read(
	ctx context.Context, in api.Profile, node api.OpaqueID, token api.Secret, change Transform, opts ...api.CallOption,
) (*api.Download, error) {
	return t.open(ctx, in, node, token, change, opts)
}

// Get returns an image of a workspace or share after a transform. It combines
// [Transforms.Token] and [Transforms.Read]. The caller must close the result.
func (t *Transforms) Get(
	ctx context.Context, in api.Profile, node api.OpaqueID, change Transform, opts ...api.CallOption,
) (*api.Download, error) {
	anyToken := api.NewSecret("token") // to check the transform before a token is requested
	if _, err := change.query("storage.Transforms.Get", anyToken); err != nil {
		return nil, err
	}
	token, err := t.Token(ctx, in, node, opts...)
	if err != nil {
		return nil, err
	}
	return t.open(ctx, in, node, token, change, unlinked(opts)) // token replaces the token of a link in opts
}

// open starts the download of a transformed image.
func (t *Transforms) open(
	ctx context.Context, in api.Profile, node api.OpaqueID, token api.Secret, change Transform, opts []api.CallOption,
) (*api.Download, error) {
	q, err := change.query("storage.Transforms.Read", token)
	if err != nil {
		return nil, err
	}
	return download.Open(ctx, t.c, endpoint.StorageTransformsRead(in, node, q), download.Options{}, opts)
}
