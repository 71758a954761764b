package emulator

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	exportedMost  = 25
	exportedLinks = 5 // with more files there are titles only
	exportedBytes = 50 << 20
	exportedTotal = 100 << 20
	exportedFor   = 5 * time.Minute
	exportedReads = 3
)

// export is a set of download links to files.
type export struct {
	profile string
	files   []string
	reads   []int
	expires time.Time
}

// exportFiles lists files for an assistant to read, with links that last five minutes.
func (s *Server) exportFiles(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	place, refusal := s.aiProfile(c, write)
	if refusal == nil && st.keepsFiles(place, c.key.User) {
		refusal = denied("you may not download here.")
	}
	if refusal == nil {
		refusal = st.agentDenied(place)
	}
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	files, refusal := s.filesToExport(c, place)
	if refusal != nil {
		return *refusal
	}
	title := st.profileName(place)
	if len(files) > exportedLinks {
		return ok(member{"markdown", exportText(title, files, "")})
	}
	token := s.secret()[:40]
	e := &export{profile: place, reads: make([]int, len(files)), expires: s.now().Add(exportedFor)}
	for _, n := range files {
		e.files = append(e.files, n.ID)
	}
	st.chats.exports[token] = e
	if st.kind(place) == kindWorkspace {
		s.write(Event{Name: "workspace_ai_share_created", Workspace: place, CallingUser: c.key.User})
	}
	return ok(member{"markdown", exportText(title, files, issuer(c.r)+s.prefix()+"/current/ai/share/"+token)})
}

// keepsFiles tells whether a share lets a user look at its files and not take them away.
func (st *state) keepsFiles(place, userID string) bool {
	h := st.shares[place]
	return h != nil && h.it.NoGuestDownloads && rank(st.role(place, userID)) < rank(Member)
}

func (s *Server) filesToExport(c *call, place string) ([]*node, *answer) {
	ids := c.listField("files")
	switch text, _ := c.field("files"); {
	case text == "":
		c.check.missing("files", "Name 1 to 25 files.")
	case ids != nil && (len(ids) == 0 || len(ids) > exportedMost):
		c.check.invalid("files", "1 to 25 files.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return nil, refusal
	}
	var files []*node
	var total int64
	for _, id := range ids {
		text, _ := id.(string)
		if !isOpaque(plain(text)) {
			c.check.mistyped("files", "array of opaque_id")
			break
		}
		n := s.state.node(place, plain(text))
		switch {
		case n == nil:
			return nil, noSuch(codeNoReference, "file")
		case !n.hasContent():
			c.check.invalid("files", "Files and notes only.")
		case n.Size > exportedBytes:
			c.check.invalid("files", "At most 50 MB each.")
		}
		files = append(files, n)
		total += n.Size
	}
	if total > exportedTotal {
		c.check.invalid("files", "At most 100 MB together.")
	}
	return files, c.check.refusal()
}

func exportText(title string, files []*node, link string) string {
	var b strings.Builder
	b.WriteString("# Files of " + title + "\n")
	for i, n := range files {
		if link == "" {
			b.WriteString("\n- " + n.Name)
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n- Type: %s\n- Size: %d bytes\n- Download: %s?file=%d\n", n.Name, n.MimeType, n.Size, link, i)
	}
	return b.String()
}

// readExport hands out a file behind a link. Whoever has the token may read, a few times.
func (s *Server) readExport(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.state.chats.exports[c.segment("token")]
	i, err := strconv.Atoi(c.value("file"))
	if e == nil || err != nil || i < 0 || i >= len(e.files) || past(e.expires, s.now()) || e.reads[i] == exportedReads {
		return refuse(http.StatusNotFound, codeExportMissing, "The link is unknown, has ended or was used up.")
	}
	e.reads[i]++
	n := s.state.node(e.profile, e.files[i])
	if n == nil {
		return refuse(http.StatusInternalServerError, codeExport, "The file cannot be read.")
	}
	return s.serveVersion(c, n, n.current())
}

// autoTitle names a share after its files.
func (s *Server) autoTitle(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	id, refusal := s.aiProfile(c, write)
	switch {
	case refusal != nil:
		return *refusal
	case rank(st.role(id, c.key.User)) < rank(Admin):
		return *denied("only admins may rename a share.")
	}
	if refusal := s.lacks(featureAutoTitle); refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	var names []string
	for _, n := range st.nodesOf(id) {
		names = append(names, n.Name)
	}
	h := &st.shares[id].it
	about, _ := c.field("user_context")
	h.Title = cmp.Or(strings.TrimSpace(about), slices.Concat(names, []string{"Files"})[0])
	if runes := []rune(h.Title); len(runes) > titleMost {
		h.Title = string(runes[:titleMost])
	}
	h.Description = "A share with " + strconv.Itoa(len(names)) + " items: " + strings.Join(names, ", ") + "."
	st.credits[st.payer(id, c.key.User)]++
	s.write(Event{Name: "share_updated", Share: id, CallingUser: c.key.User})
	return ok(member{"title", h.Title}, member{"description", h.Description})
}

const titleMost = 80 // characters

// shareImage is the picture that stands for a share elsewhere.
func (s *Server) shareImage(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id := s.state.shareNamed(c.segment("share_id"))
	h := s.state.shares[id]
	if h == nil {
		return *noSuch(codeNotFound, kindShare)
	}
	title := ""
	if strings.HasPrefix(h.it.Access, "Anyone") || s.showsPrivateImage(id, c.key) {
		title = h.it.Title
	}
	return drawn(title)
}

// showsPrivateImage tells whether a share that not everybody may enter shows a picture of its own: to its members,
// where the plan has it.
func (s *Server) showsPrivateImage(shareID string, k *credential) bool {
	st := &s.state
	return k != nil && st.covers(k, shareID) >= read && st.role(shareID, k.User) != "" && s.lacks(featureAutoOG) == nil
}

// drawn is a picture in the color of a title, or the one for all that have none.
func drawn(title string) answer {
	shade := color.RGBA{R: 0x80, G: 0x80, B: 0x80, A: 0xff}
	if title != "" {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(title))
		sum := hash.Sum(nil)
		shade = color.RGBA{R: sum[0], G: sum[1], B: sum[2], A: 0xff}
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewPaletted(image.Rect(0, 0, 1200, 630), color.Palette{shade})); err != nil {
		return refuse(http.StatusInternalServerError, codeExport, "The picture cannot be drawn.")
	}
	out := reply{status: http.StatusOK, header: http.Header{}, body: picture.Bytes()}
	out.header.Set("Content-Type", "image/png")
	return answer{raw: &out}
}
