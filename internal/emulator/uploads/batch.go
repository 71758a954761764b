package uploads

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Limits of a batch.
const (
	batchFiles = 200
	batchBytes = 100_000_000 // of the whole body
)

// codeBadEntry is the error_code that the documents' sample of a batch has. It is not the
// code of an error.
const codeBadEntry = 1605

// codeHashPair is the code of a manifest with half of a pair of hash_algo and hash. That
// the whole batch is refused is assumed.
const codeHashPair = 196420

// batchFields returns the names of the parts of a batch, separated by spaces.
func batchFields() string {
	names := []string{"instance_id folder_id creator manifest"}
	for i := range batchFiles {
		names = append(names, fmt.Sprintf("file_%d", i))
	}
	return strings.Join(names, " ")
}

// batchEntry is a file of the manifest.
type batchEntry struct {
	Index        *int   `json:"index"`
	Filename     string `json:"filename"`
	RelativePath string `json:"relative_path"`
	HashAlgo     string `json:"hash_algo"`
	Hash         string `json:"hash"`
}

// uploadBatch stores the files of a multipart body, which the manifest lists, each with
// its own result: a file that is refused does not affect the others.
func (h *Handlers) uploadBatch(c *wire.Call) (wire.Object, error) {
	if len(c.Body) > batchBytes {
		return nil, wire.Refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "A batch has at most 100 MB.")
	}
	files, readable := readParts(c)
	if !readable {
		return nil, noUploadForm()
	}
	id, given := c.Field("instance_id")
	kind := h.w.KindOf(id)
	switch {
	case !given:
		c.Check.Missing("instance_id", "A workspace or share.")
	case kind != wire.KindWorkspace && kind != wire.KindShare:
		c.Check.Invalid("instance_id", "A workspace or share.")
	}
	entries := readManifest(c)
	creator := creatorOf(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	c.Form.Set("action", "create") // treePlace requires one
	to, err := h.treePlace(c, id, kind)
	if err := cmp.Or(err, c.Check.Err()); err != nil {
		return nil, err
	}
	total := int64(0)
	for _, content := range files {
		total += int64(len(content))
	}
	if err := h.refuseFull(to, total); err != nil {
		return nil, err
	}
	results, failed := []wire.Object{}, 0
	for i, e := range entries {
		result, isAccepted := h.batchFile(c, to, i, e, files)
		results = append(results, result)
		if !isAccepted {
			failed++
		}
	}
	return wire.Object{
		{"batch_id", fmt.Sprintf("b%d", h.w.NextSerial())},
		{"count_total", len(entries)},
		{"count_succeeded", len(entries) - failed},
		{"count_errored", failed},
		{"creator", wire.TextOrNull(creator)},
		{"results", results},
	}, nil
}

// readManifest returns the files that a batch announces: a JSON array in the field
// manifest. A hash requires its algorithm, and the reverse.
func readManifest(c *wire.Call) (entries []batchEntry) {
	manifest, _ := c.Field("manifest")
	if wire.Decode([]byte(manifest), &entries) != nil || len(entries) == 0 || len(entries) > batchFiles {
		c.Check.Invalid("manifest", "A JSON array of 1 to 200 files.")
	}
	if slices.ContainsFunc(entries, func(e batchEntry) bool { return (e.HashAlgo == "") != (e.Hash == "") }) {
		c.Check.Add("manifest", "invalid", "hash_algo and hash go together.", codeHashPair)
	}
	return entries
}

// batchFile stores file number i of a batch and returns its result, and false if the
// file is refused. By the option LateBatches, it appears in its folder after a delay.
func (h *Handlers) batchFile(
	c *wire.Call, to place, i int, e batchEntry, files map[string][]byte,
) (result wire.Object, isAccepted bool) {
	content, sent := files[fmt.Sprintf("file_%d", i)]
	to.Path = e.RelativePath
	head := wire.Object{{"index", i}, {"filename", e.Filename}}
	code, why := h.entryRefusal(c, to, i, e, content, sent)
	kept, err := h.keepFile(content) // also of a refused file: a full disk is reported in any case
	if err != nil {
		code, why = codeNoDisk, err.Error()
	}
	if why != "" {
		return append(head, wire.Object{{"status", "error"}, {"error_code", code}, {"error_message", why}}...), false
	}
	u := &upload{
		user: c.UserID(), to: to, name: storage.UploadName(e.Filename), origin: storage.OriginOther, size: int64(len(content)),
	}
	h.addUpload(u)
	kept = u.withOrigin(kept)
	var node any
	if h.w.Options.Uploads.LateBatches {
		h.setStatus(u, uploadStoring, noMessage)
		h.scheduleNext(u, kept)
	} else {
		h.storeFile(u, kept)
		node = wire.Hyphenated(u.node)
	}
	return append(head, wire.Object{
		{"status", "ok"}, {"upload_id", wire.Hyphenated(u.id)}, {"node_id", node},
	}...), true
}

// entryRefusal returns the error_code and the reason of the refusal of file number i of a
// batch; the reason is "" if it is not refused.
func (h *Handlers) entryRefusal(
	c *wire.Call, to place, i int, e batchEntry, content []byte, sent bool,
) (code int, why string) {
	why = h.badEntry(e, i, content, sent)
	if why != "" {
		return codeBadEntry, why
	}
	isLocked := h.storage.RefuseLocked(c, h.storage.ReplacedBy(to.Place, storage.UploadName(e.Filename))) != nil
	if isLocked {
		return storage.CodeLocked, "The file is locked."
	}
	return 0, ""
}

// badEntry returns why file number i of a batch is refused, "" if it is not; sent says
// whether the body had its content.
func (h *Handlers) badEntry(e batchEntry, i int, content []byte, sent bool) string {
	switch {
	case e.Index == nil || *e.Index != i:
		return "The index must be the position in the manifest."
	case !sent:
		return "The file was not sent."
	case len(content) > atOnceMost:
		return "At most 4 MiB."
	case e.Filename == "":
		return "The file needs a name."
	case e.RelativePath != "" && !isRelative(e.RelativePath):
		return "The relative path is not valid."
	case !hashFits(e, content):
		return "The hash differs."
	case h.isBlocked(e.Filename):
		return "extension not allowed"
	}
	return storage.NameProblem(e.Filename)
}

// keepFile stores content, and returns it as a version that no node has yet.
func (h *Handlers) keepFile(content []byte) (world.Version, error) {
	kept, err := h.w.Blobs.Keep(content)
	if err != nil {
		return world.Version{}, err
	}
	return h.w.VersionOf(kept)
}

// hashFits reports whether a file has the hash of its entry, if that has one.
func hashFits(e batchEntry, content []byte) bool {
	return e.HashAlgo == "" || slices.Contains(storage.Algorithms(), e.HashAlgo) &&
		storage.Digest(e.HashAlgo, bytes.NewReader(content)) == e.Hash
}
