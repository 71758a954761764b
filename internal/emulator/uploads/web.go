package uploads

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of web imports, all of them invented.
const (
	codeNoImport    = 199718
	codeImportEnded = 199719
)

// States of a web import, in their order.
const (
	webPending     = "pending"
	webQueued      = "queued"
	webDownloading = "downloading"
	webUploading   = "uploading"
	webComplete    = "complete"
	webFailed      = "failed"
	webCanceled    = "canceled"
)

// webImport is an import of the content at an address.
type webImport struct {
	id, user, source, name string
	to                     place
	status                 string
	node                   string
}

// webRoutes returns the routes of imports: files that the platform fetches from the
// web.
func (h *Handlers) webRoutes() []*wire.Route {
	const all = "/current/web_upload/"
	return []*wire.Route{
		wire.Post("uploads.Web.Start", all, h.startImport,
			wire.Form("source_url profile_id profile_type folder_id file_name")),
		wire.Get("uploads.Web.List", all, h.listImports, wire.Query("limit offset status")),
		wire.Get("uploads.Web.Get", all+"{upload_id}/details/", h.importDetails),
		wire.Delete("uploads.Web.Cancel", all, h.cancelImport, wire.Query("id")),
	}
}

// startImport begins to fetch a file from an address into a workspace or share.
func (h *Handlers) startImport(c *wire.Call) (wire.Object, error) {
	source, given := c.Field("source_url")
	address, err := url.Parse(source)
	switch {
	case !given:
		c.Check.Missing("source_url", "The address of the file.")
	case err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "":
		c.Check.Invalid("source_url", "An http or https address.")
	}
	id, _ := c.Field("profile_id")
	kind := h.w.KindOf(id)
	c.Check.InvalidIf(kind != wire.KindWorkspace && kind != wire.KindShare, "profile_id", "A workspace or share.")
	name, named := c.Field("file_name")
	c.Check.MissingIf(!named, "file_name", "The name of the file.")
	c.Check.InvalidIf(named && (name == "" || storage.NameProblem(name) != ""), "file_name",
		"1 to 255 characters, without slashes.")
	h.checkExtension(c, "file_name", name)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	c.Form.Set("action", "create") // treePlace requires one
	to, err := h.treePlace(c, id, kind)
	if err := cmp.Or(err, c.Check.Err()); err != nil {
		return nil, err
	}
	imp := &webImport{ // 5 begins the ids of uploads, and of imports
		id: world.Opaque('5', h.w.Options.Seed, h.w.NextSerial()), user: c.UserID(), source: source,
		name: name, to: to, status: webPending,
	}
	if err := h.storage.RefuseLocked(c, h.storage.ReplacedBy(to.Place, imp.name)); err != nil {
		return nil, err
	}
	h.imports = append(h.imports, imp)
	h.scheduleNextStatus(imp)
	return importObject(imp), nil
}

// scheduleNextStatus schedules the next status of an import after a delay, unless it
// has ended.
func (h *Handlers) scheduleNextStatus(imp *webImport) {
	next := map[string]string{
		webPending: webQueued, webQueued: webDownloading, webDownloading: webUploading, webUploading: webComplete,
	}[imp.status]
	if next != "" {
		h.w.Schedule(h.w.Now().Add(h.uploadPace()), nextImport{h, imp, next})
	}
}

// nextImport is the task of [Handlers.scheduleNextStatus].
type nextImport struct {
	h    *Handlers
	imp  *webImport
	next string // state
}

// Do moves the import to its next status, unless it was cancelled, and schedules the
// one after it. An address without content makes it fail, and the last status stores
// the file.
func (t nextImport) Do() {
	h, imp, next := t.h, t.imp, t.next
	content, found := h.w.Options.Uploads.Web[imp.source] // in place of the web
	switch {
	case imp.status == webCanceled:
		return
	case imp.status == webDownloading && !found:
		next = webFailed
	case next == webComplete:
		v := world.Version{Content: content, Size: int64(len(content)), Origin: storage.OriginOther, Upload: imp.id}
		imp.node = h.storage.PutFile(imp.to.Place, imp.name, v, imp.user).ID
	}
	imp.status = next
	h.scheduleNextStatus(imp)
}

func importObject(imp *webImport) wire.Object {
	return wire.Object{{"web_upload", importRow(imp)}}
}

// importRow renders an import.
func importRow(imp *webImport) wire.Object {
	return wire.Object{
		{"id", wire.Hyphenated(imp.id)},
		{"status", imp.status},
		{"source_url", imp.source},
		{"new_file_id", wire.TextOrNull(wire.Hyphenated(imp.node))},
	}
}

// listImports returns a page of the imports of the caller, of one status if the
// parameter names it.
func (h *Handlers) listImports(c *wire.Call) (wire.Object, error) {
	p := c.Page(wire.ListDefault, wire.ListLimit)
	status := c.Value("status")
	states := []string{
		"", webPending, webQueued, webDownloading, webUploading, webComplete, webFailed, webCanceled,
	}
	c.Check.InvalidIf(!slices.Contains(states, status), "status", "A state of imports.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	found := wire.Filter(h.imports, func(imp *webImport) bool {
		return imp.user == c.UserID() && (status == "" || imp.status == status)
	})
	return wire.Object{
		{"web_uploads", wire.Rows(wire.PageOf(found, p), importRow)},
		{"pagination", p.Pagination(len(found))},
	}, nil
}

// importOf returns the import of the caller with this id.
func (h *Handlers) importOf(c *wire.Call, id string) (*webImport, error) {
	for _, imp := range h.imports {
		if imp.id == wire.Plain(id) && imp.user == c.UserID() {
			return imp, nil
		}
	}
	return nil, wire.NoSuch(codeNoImport, "import")
}

// importDetails returns the import in the path of a call.
func (h *Handlers) importDetails(c *wire.Call) (wire.Object, error) {
	imp, err := h.importOf(c, c.Segment("upload_id"))
	if err != nil {
		return nil, err
	}
	return importObject(imp), nil
}

// cancelImport cancels the import in the query, unless it has ended.
func (h *Handlers) cancelImport(c *wire.Call) (wire.Object, error) {
	c.Check.MissingIf(c.Value("id") == "", "id", "The import to cancel.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	imp, err := h.importOf(c, c.Value("id"))
	if err != nil {
		return nil, err
	}
	if imp.status == webComplete || imp.status == webFailed {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeImportEnded, "The import is "+imp.status+".")
	}
	imp.status = webCanceled
	return nil, nil
}
