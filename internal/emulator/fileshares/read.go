package fileshares

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	opPreviewHop     = "fileshares.PreviewFile" // is reached by redirects alone
	previewScope     = "fileshare-preview"
	previewTokenLife = time.Minute
)

func (h *Handlers) downloadFileShare(c *wire.Call, _ *world.FileShare, n *world.Node) (wire.Object, error) {
	if err := n.MayServe(); err != nil {
		return nil, err
	}
	return world.ServeVersion(c, n, n.Current())
}

// listVersions lists the versions of the file, the latest first.
func (h *Handlers) listVersions(c *wire.Call, _ *world.FileShare, n *world.Node) (wire.Object, error) {
	key := "id"
	if h.Options.FileShares.VersionIDKey {
		key = "version_id"
	}
	rows := []wire.Object{}
	for i, v := range slices.Backward(n.Versions) {
		rows = append(rows, wire.Object{
			{key, wire.Hyphenated(v.ID)},
			{"size", v.Size},
			{"current", i == len(n.Versions)-1},
			{"created", wire.Stamp(v.Created.Unix())},
		})
	}
	return wire.Object{{"versions", rows}}, nil
}

func (h *Handlers) readVersion(c *wire.Call, _ *world.FileShare, n *world.Node) (wire.Object, error) {
	if err := n.MayServe(); err != nil {
		return nil, err
	}
	v, found := n.Version(c.Segment("version_id"))
	if !found {
		return nil, wire.NoSuch(storage.CodeVersionGone, "version of this file")
	}
	return world.ServeVersion(c, n, v)
}

// previewTypes are the kinds of previews, with the files they are made of; "" is any.
func previewTypes() map[string][]string {
	return map[string][]string{
		"bin":         {""},
		"thumbnail":   {"image/", "video/", "application/pdf"},
		"image":       {"image/", "application/pdf"},
		"hlsstream":   {"video/", "audio/"},
		"pdf":         {"application/pdf", "text/"},
		"spreadsheet": {"text/csv"},
		"audio":       {"audio/"},
		"mp4":         {"video/"},
	}
}

// hasPreview reports whether there is a preview of a file: it takes the platform a moment to make one.
func hasPreview(n *world.Node, kind string) bool {
	return n.AIState != world.AIPending && n.AIState != world.AIInProgress &&
		slices.ContainsFunc(previewTypes()[kind],
			func(prefix string) bool { return strings.HasPrefix(n.MimeType, prefix) })
}

// previewFileShare answers with a preview of the file, or with the way to one that is several files.
func (h *Handlers) previewFileShare(c *wire.Call) (wire.Object, error) {
	kind := c.Segment("type")
	f, n, err := h.recipient(world.CanView)(c)
	if err == nil {
		err = n.MayServe()
	}
	if err != nil {
		return nil, err
	}
	c.Check.Status = h.Options.FileShares.InvalidStatus
	return h.Preview(c, n, kind, "fileshare/"+f.ID, f.ID)
}

// Preview answers with a preview of a file, or with the way to one that is several files, below the path of its link.
func (h *Handlers) Preview(c *wire.Call, n *world.Node, kind, link, id string) (wire.Object, error) {
	if previewTypes()[kind] == nil {
		c.Check.Invalid("type", "bin, thumbnail, image, hlsstream, pdf, spreadsheet, audio or mp4.")
		return nil, c.Check.Refusal()
	}
	switch {
	case !hasPreview(n, kind):
		return nil, wire.NoSuch(codeNoPreview, "preview yet, or ever")
	case kind == "hlsstream", kind == "spreadsheet":
		return h.previewElsewhere(c, kind, link, id)
	case kind == "thumbnail", kind == "image":
		return world.Drawn(c, n.Name)
	}
	return world.ServeVersion(c, n, n.Current())
}

// previewElsewhere sends the caller to the first file of a preview, with a token instead of other credentials.
func (h *Handlers) previewElsewhere(c *wire.Call, kind, link, id string) (wire.Object, error) {
	token := h.SignClaims(world.Claims{Scope: previewScope, User: c.UserID(), Profile: id}, previewTokenLife)
	target := h.Prefix() + "/current/" + link + "/storage/preview/" + kind + "/file/?download_token=" +
		url.QueryEscape(token)
	if h.Options.FileShares.AbsoluteRedirects {
		target = wire.Issuer(c.Request) + target
	}
	out := wire.Reply{Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {target}}}
	return c.Send(&out)
}

// previewFile is where redirects of previews lead. The token is all it wants to see.
func (h *Handlers) previewFile(c *wire.Call) (wire.Object, error) {
	f := h.FileShareNamed(c.Segment("fileshare_id"))
	if !f.Open(h.World) {
		return nil, tokenEnded()
	}
	return h.FirstFile(c, f.ID)
}

// FirstFile is the first file of a preview of what a link leads to.
func (h *Handlers) FirstFile(c *wire.Call, id string) (wire.Object, error) {
	if c.Request.Header.Get("Authorization") != "" || c.Request.Header.Get("X-Ve-Password") != "" {
		return nil, wire.Refuse(http.StatusBadRequest, codePreviewHop, "No credential but the token belongs here.")
	}
	if t := h.OpenToken(c.Value("download_token")); !t.Genuine || t.Scope != previewScope || t.Profile != id {
		return nil, tokenEnded()
	}
	if c.Segment("type") == "spreadsheet" {
		return c.Send(wire.NewReply(http.StatusOK, "text/html; charset=UTF-8",
			[]byte("<table><tr><td>1</td></tr></table>\n")))
	}
	return c.Send(wire.NewReply(http.StatusOK, "application/vnd.apple.mpegurl",
		[]byte("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n1.ts\n#EXT-X-ENDLIST\n")))
}

func tokenEnded() error {
	return wire.Refuse(http.StatusUnauthorized, world.CodeTokenEnded, "The token is forged or has ended.")
}
