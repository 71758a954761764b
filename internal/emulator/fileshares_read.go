package emulator

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	opPreviewHop     = "fileshares.PreviewFile" // is reached by redirects alone
	previewScope     = "fileshare-preview"
	previewTokenLife = time.Minute
)

// downloadFileShare answers with the bytes of the file.
func (s *Server) downloadFileShare(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, n, refusal := s.recipient(c, c.segment("fileshare_id"), canDownload)
	if refusal == nil {
		refusal = n.withheld()
	}
	if refusal != nil {
		return *refusal
	}
	return s.serveVersion(c, n, n.current())
}

// listVersions lists the versions of the file, the latest first.
func (s *Server) listVersions(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, n, refusal := s.recipient(c, c.segment("fileshare_id"), canView)
	if refusal != nil {
		return *refusal
	}
	key := "id"
	if s.o.FileShares.VersionIDKey {
		key = "version_id"
	}
	rows := []object{}
	for i, v := range slices.Backward(n.Versions) {
		rows = append(rows, object{
			{key, hyphenated(v.ID)},
			{"size", v.Size},
			{"current", i == len(n.Versions)-1},
			{"created", stamp(v.Created.Unix())},
		})
	}
	return ok(member{"versions", rows})
}

// readVersion answers with the bytes of one version of the file.
func (s *Server) readVersion(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, n, refusal := s.recipient(c, c.segment("fileshare_id"), canDownload)
	if refusal == nil {
		refusal = n.withheld()
	}
	if refusal != nil {
		return *refusal
	}
	v, found := n.version(c.segment("version_id"))
	if !found {
		return *noSuch(codeVersionGone, "version of this file")
	}
	return s.serveVersion(c, n, v)
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

// hasPreview tells whether there is a preview of a file: it takes the platform a moment to make one.
func (n *node) hasPreview(kind string) bool {
	return n.AIState != aiPending && n.AIState != aiInProgress &&
		slices.ContainsFunc(previewTypes()[kind], func(prefix string) bool { return strings.HasPrefix(n.MimeType, prefix) })
}

// previewFileShare answers with a preview of the file, or with the way to one that is several files.
func (s *Server) previewFileShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := c.segment("type")
	f, n, refusal := s.recipient(c, c.segment("fileshare_id"), canView)
	if refusal == nil {
		refusal = n.withheld()
	}
	if refusal != nil {
		return *refusal
	}
	c.check.status = s.o.FileShares.InvalidStatus
	return s.preview(c, n, kind, "fileshare/"+f.ID, f.ID)
}

// preview answers with a preview of a file, or with the way to one that is several files, below the path of its link.
func (s *Server) preview(c *call, n *node, kind, link, id string) answer {
	if previewTypes()[kind] == nil {
		c.check.invalid("type", "bin, thumbnail, image, hlsstream, pdf, spreadsheet, audio or mp4.")
		return *c.check.refusal()
	}
	switch {
	case !n.hasPreview(kind):
		return *noSuch(codeNoPreview, "preview yet, or ever")
	case kind == "hlsstream", kind == "spreadsheet":
		return s.previewElsewhere(c, kind, link, id)
	case kind == "thumbnail", kind == "image":
		return drawn(n.Name)
	}
	return s.serveVersion(c, n, n.current())
}

// previewElsewhere sends the caller to the first file of a preview, with a token instead of other credentials.
func (s *Server) previewElsewhere(c *call, kind, link, id string) answer {
	token := s.signClaims(claims{Scope: previewScope, User: c.userID(), Profile: id}, previewTokenLife)
	target := s.prefix() + "/current/" + link + "/storage/preview/" + kind + "/file/?download_token=" + url.QueryEscape(token)
	if s.o.FileShares.AbsoluteRedirects {
		target = issuer(c.r) + target
	}
	out := reply{status: http.StatusTemporaryRedirect, header: http.Header{"Location": {target}}}
	return answer{raw: &out}
}

// previewFile is where redirects of previews lead. The token is all it wants to see.
func (s *Server) previewFile(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := s.state.fileShareNamed(c.segment("fileshare_id"))
	if !f.open(&s.state) {
		return tokenEnded()
	}
	return s.firstFile(c, f.ID)
}

// firstFile is the first file of a preview of what a link leads to.
func (s *Server) firstFile(c *call, id string) answer {
	if c.r.Header.Get("Authorization") != "" || c.r.Header.Get("X-Ve-Password") != "" {
		return refuse(http.StatusBadRequest, codePreviewHop, "No credential but the token belongs here.")
	}
	if t := s.open(c.value("download_token")); !t.genuine || t.Scope != previewScope || t.Profile != id {
		return tokenEnded()
	}
	out := reply{status: http.StatusOK, header: http.Header{}}
	out.header.Set("Content-Type", "application/vnd.apple.mpegurl")
	out.body = []byte("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n1.ts\n#EXT-X-ENDLIST\n")
	if c.segment("type") == "spreadsheet" {
		out.header.Set("Content-Type", "text/html; charset=UTF-8")
		out.body = []byte("<table><tr><td>1</td></tr></table>\n")
	}
	return answer{raw: &out}
}

func tokenEnded() answer {
	return refuse(http.StatusUnauthorized, codeTokenEnded, "The token is forged or has ended.")
}
