package uploads

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// onlyChunk is the number of the chunk that is the whole file.
const onlyChunk = 1

// uploadChunk stores a chunk, whose number is the parameter order. Chunks may come in
// any order; a repeated one replaces the one before.
func (h *Handlers) uploadChunk(c *wire.Call, u *upload) (wire.Object, error) {
	chunk, readable := readUpload(c)
	if !readable {
		return nil, noUploadForm()
	}
	order := h.checkChunk(c, u, chunk)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if int64(len(chunk)) > h.Limits().MaxChunk {
		return nil, wire.Refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "The chunk is too large.")
	}
	if !u.takesChunks() {
		return nil, u.statusRefusal()
	}
	if err := checkHash(c, codeChunkDiffers, bytes.NewReader(chunk)); err != nil {
		return nil, err
	}
	if whole := c.Value("file_crc32c"); whole != "" {
		if u.fileCRC != "" && u.fileCRC != whole {
			return nil, wire.Refuse(http.StatusConflict, codeCRCChanged, "Another CRC of the file was sent before.")
		}
		u.fileCRC = whole
	}
	if err := h.keepChunk(u, order, chunk); err != nil {
		return nil, err
	}
	h.setStatus(u, uploadOpen, noMessage)
	return nil, nil
}

// checkChunk checks the parameters of a chunk and returns its number.
func (h *Handlers) checkChunk(c *wire.Call, u *upload, chunk []byte) (order int) {
	order, size := positiveNumber(c, "order"), positiveNumber(c, "size")
	others := u.received() - u.chunks[order].Size() // without those of a chunk that this one replaces
	switch {
	case chunk == nil:
		c.Check.Missing("chunk", "The bytes.")
	case len(chunk) != size:
		c.Check.Invalid("size", "As many bytes as are sent.")
	case order > h.Limits().MaxChunks:
		c.Check.Invalid("order", fmt.Sprintf("At most %d chunks.", h.Limits().MaxChunks))
	case !u.isStream() && others+int64(size) > u.size:
		c.Check.Invalid("chunk", "More bytes than were announced.")
	}
	return order
}

// keepChunk stores the content of the chunk with a number (order), and replaces an
// earlier one.
func (h *Handlers) keepChunk(u *upload, order int, content []byte) error {
	kept, err := h.w.Blobs.Keep(content)
	if err != nil {
		return wire.Refuse(http.StatusInsufficientStorage, codeNoDisk, "The content cannot be kept: "+err.Error())
	}
	u.chunks[order] = kept
	return nil
}

// checkHash compares content with the hash of the query or form, if there is one. If
// they differ, it returns a refusal with the code.
func checkHash(c *wire.Call, code int64, content io.Reader) error {
	name, hash := c.Value("hash_algo"), c.Value("hash")
	if c.Form != nil {
		name, hash = cmp.Or(name, c.Form.Get("hash_algo")), cmp.Or(hash, c.Form.Get("hash"))
	}
	if name == "" && hash == "" {
		return nil
	}
	switch {
	case name == "" || hash == "":
		c.Check.Missing("hash", "Both or neither of hash and hash_algo.")
	case !slices.Contains(storage.Algorithms(), name):
		c.Check.Invalid("hash_algo", strings.Join(storage.Algorithms(), ", ")+".")
	case storage.Digest(name, content) != hash:
		return wire.Refuse(http.StatusNotAcceptable, code, "The bytes have another hash.")
	}
	return c.Check.Err()
}

// positiveNumber returns a required parameter that is a positive whole number, 0 if it is
// not valid.
func positiveNumber(c *wire.Call, name string) int {
	text := c.Value(name)
	if text == "" {
		c.Check.Missing(name, "A whole number.")
		return 0
	}
	return c.ReadAtLeast(name, text, 1)
}

// received returns the number of bytes in the chunks that have arrived.
func (u *upload) received() int64 {
	n := int64(0)
	for _, chunk := range u.chunks {
		n += chunk.Size()
	}
	return n
}

// isStream reports whether the size of an upload is not known before its content.
func (u *upload) isStream() bool { return u.size < 0 }

// takesChunks reports whether an upload is not a stream, and its chunks are not complete.
func (u *upload) takesChunks() bool {
	return !u.isStream() && (u.status == uploadReady || u.status == uploadOpen)
}

// statusRefusal returns the refusal of a call that an upload does not allow because of its
// status, or because it is a stream. As on the platform, the HTTP status is 409 for an
// upload to a File Share, which takes no streams, and 406 for any other.
func (u *upload) statusRefusal() error {
	if u.isStream() {
		return wire.Refuse(http.StatusNotAcceptable, codeUploadState, "The upload is a stream.")
	}
	status := http.StatusNotAcceptable
	if u.to.fileShare != "" {
		status = http.StatusConflict
	}
	return wire.Refuse(status, codeUploadState, "The upload is "+u.status+".")
}

// uploadChunks returns the sizes of the chunks that have arrived, by their numbers.
func (h *Handlers) uploadChunks(_ *wire.Call, u *upload) (wire.Object, error) {
	chunks := wire.Object{}
	for _, order := range u.orders() {
		chunks = append(chunks, wire.Member{Key: strconv.Itoa(order), Value: u.chunks[order].Size()})
	}
	return wire.Object{{"chunks", chunks}}, nil
}

// deleteChunk removes a chunk.
func (h *Handlers) deleteChunk(c *wire.Call, u *upload) (wire.Object, error) {
	order := positiveNumber(c, "order")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if u.status != uploadOpen {
		return nil, u.statusRefusal()
	}
	delete(u.chunks, order)
	return nil, nil
}

// completeUpload starts to assemble the file, if all its bytes have arrived. Otherwise
// the upload fails, except for one to a File Share, which can go on. Only the last chunk may
// be smaller than the limit.
func (h *Handlers) completeUpload(c *wire.Call, u *upload) (wire.Object, error) {
	hasAllBytes, hasSmallChunk := u.received() == u.size, false
	for order, chunk := range u.chunks {
		isLast := order == len(u.chunks)
		hasSmallChunk = hasSmallChunk || !isLast && chunk.Size() < h.Limits().MinChunk
	}
	switch {
	case !u.takesChunks():
		return nil, u.statusRefusal()
	case !hasAllBytes && u.to.fileShare == "":
		h.setStatus(u, uploadFailed, "The size differs.")
		return nil, wire.Refuse(http.StatusNotAcceptable, codeSizeDiffers, "The chunks have another size than the file.")
	case !hasAllBytes || u.hasGaps():
		return nil, wire.Refuse(http.StatusNotAcceptable, codeChunksMissing, "Some of the bytes have not arrived.")
	case hasSmallChunk:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeChunksMissing, "Only the last chunk may be smaller than 1 MiB.")
	}
	if err := h.storage.RefuseLocked(c, h.storage.ReplacedBy(u.to.Place, u.name)); err != nil {
		return nil, err
	}
	h.assembleLater(u)
	return h.uploadDetails(u), nil
}

// hasGaps reports whether the numbers of the n chunks are not 1 to n.
func (u *upload) hasGaps() bool {
	for order := range len(u.chunks) {
		if _, found := u.chunks[order+1]; !found {
			return true
		}
	}
	return false
}
