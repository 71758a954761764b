package ai

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	exportedMost  = 25
	exportedLinks = 5 // with more files there are titles only
	exportedBytes = 50 << 20
	exportedTotal = 100 << 20
	exportedFor   = 5 * time.Minute
	exportedReads = 3
)

type export struct {
	profile string
	files   []string
	reads   []int
	expires time.Time
}

func (h *Handlers) exportFiles(c *wire.Call, place string) (wire.Object, error) {
	if h.visited(place, c.Key.User).NoGuestDownloads {
		return nil, wire.Denied("you may not download here.")
	}
	if err := h.agentDenied(place); err != nil {
		return nil, err
	}
	files, err := h.filesToExport(c, place)
	if err != nil {
		return nil, err
	}
	title := h.ProfileName(place)
	if len(files) > exportedLinks {
		return wire.Object{{"markdown", exportText(title, files, "")}}, nil
	}
	token := h.Secret()[:40]
	e := &export{profile: place, reads: make([]int, len(files)), expires: h.Now().Add(exportedFor)}
	for _, n := range files {
		e.files = append(e.files, n.ID)
	}
	h.chats.exports[token] = e
	if h.KindOf(place) == wire.KindWorkspace {
		h.WriteEvent(world.Event{Name: "workspace_ai_share_created", Workspace: place, CallingUser: c.Key.User})
	}
	return wire.Object{{
		"markdown", exportText(title, files, wire.Issuer(c.Request)+h.Prefix()+"/current/ai/share/"+token),
	}}, nil
}

func (h *Handlers) filesToExport(c *wire.Call, place string) ([]*world.Node, error) {
	ids := listField(c, "files")
	switch text, _ := c.Field("files"); {
	case text == "":
		c.Check.Missing("files", "Name 1 to 25 files.")
	case ids != nil && (len(ids) == 0 || len(ids) > exportedMost):
		c.Check.Invalid("files", "1 to 25 files.")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	var files []*world.Node
	var total int64
	for _, id := range ids {
		text, _ := id.(string)
		if !wire.IsOpaque(wire.Plain(text)) {
			c.Check.Mistyped("files", "array of opaque_id")
			break
		}
		n := h.Node(place, wire.Plain(text))
		switch {
		case n == nil:
			return nil, wire.NoSuch(codeNoReference, "file")
		case !n.HasContent():
			c.Check.Invalid("files", "Files and notes only.")
		case n.Size > exportedBytes:
			c.Check.Invalid("files", "At most 50 MB each.")
		}
		files = append(files, n)
		total += n.Size
	}
	c.Check.InvalidIf(total > exportedTotal, "files", "At most 100 MB together.")
	return files, c.Check.Refusal()
}

func exportText(title string, files []*world.Node, link string) string {
	var b strings.Builder
	b.WriteString("# Files of " + title + "\n")
	for i, n := range files {
		if link == "" {
			b.WriteString("\n- " + n.Name)
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n- Type: %s\n- Size: %d bytes\n- Download: %s?file=%d\n",
			n.Name, n.MimeType, n.Size, link, i)
	}
	return b.String()
}

// readExport hands out a file behind a link. Whoever has the token may read, a few times.
func (h *Handlers) readExport(c *wire.Call) (wire.Object, error) {
	e := h.chats.exports[c.Segment("token")]
	i, err := strconv.Atoi(c.Value("file"))
	if e == nil || err != nil || i < 0 || i >= len(e.files) || wire.Past(e.expires, h.Now()) ||
		e.reads[i] == exportedReads {
		return nil, wire.Refuse(http.StatusNotFound, codeExportMissing, "The link is unknown, has ended or was used up.")
	}
	e.reads[i]++
	n := h.Node(e.profile, e.files[i])
	if n == nil {
		return nil, wire.Refuse(http.StatusInternalServerError, world.CodeExport, "The file cannot be read.")
	}
	return world.ServeVersion(c, n, n.Current())
}

func (h *Handlers) autoTitle(c *wire.Call, id string) (wire.Object, error) {
	if !h.AtLeast(id, c.Key.User, world.Admin) {
		return nil, wire.Denied("only admins may rename a share.")
	}
	if err := h.Lacks(world.FeatureAutoTitle); err != nil {
		return nil, err
	}
	var names []string
	for _, n := range h.NodesOf(id) {
		names = append(names, n.Name)
	}
	share := &h.Shares[id].Value
	about, _ := c.Field("user_context")
	share.Title = cmp.Or(strings.TrimSpace(about), slices.Concat(names, []string{"Files"})[0])
	if runes := []rune(share.Title); len(runes) > world.TitleMost {
		share.Title = string(runes[:world.TitleMost])
	}
	share.Description = "A share with " + strconv.Itoa(len(names)) + " items: " + strings.Join(names, ", ") + "."
	h.Credits[h.Payer(id, c.Key.User)]++
	h.WriteEvent(world.Event{Name: "share_updated", Share: id, CallingUser: c.Key.User})
	return wire.Object{{"title", share.Title}, {"description", share.Description}}, nil
}

func (h *Handlers) shareImage(c *wire.Call) (wire.Object, error) {
	id := h.ShareNamed(c.Segment("share_id"))
	share := h.Shares[id]
	if share == nil {
		return nil, wire.NoSuch(wire.CodeNotFound, wire.KindShare)
	}
	title := "" // a share that not everybody may enter has a picture for its members, where the plan has it
	if strings.HasPrefix(share.Value.Access, "Anyone") || c.Key != nil && h.Covers(c.Key, id) >= wire.Read &&
		h.Role(id, c.Key.User) != "" && h.Lacks(world.FeatureAutoOG) == nil {
		title = share.Value.Title
	}
	return world.Drawn(c, title)
}
