package uploads

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/crc"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Chunks sends the chunks of an upload. [Service.ReaderAt] does all of that.
type Chunks struct{ c api.Client }

// Chunk is a part of a file. Its checksum is sent with it.
type Chunk struct {
	Order   int    // of the first one: 1
	Content []byte `wire:"chunk"`

	// CRC is the CRC-32C (Castagnoli) of Content. Nil means that Send computes it.
	CRC *uint32

	// FileCRC is the checksum of the whole file, its CRC-32C (Castagnoli); for the chunk that is sent last,
	// and for every repetition of that one.
	FileCRC *uint32
}

// Send sends a chunk. All chunks but the last have at least 1 MiB. It is idempotent: a
// repeated chunk replaces the one of the same order.
//
// Errors: [api.ErrNotFound] if there is no such upload, [api.ErrInvalid] for an upload
// that is complete or for other bytes than announced, [api.ErrConflict] for another
// FileCRC than before.
//
// It calls POST /current/upload/{upload_id}/chunk/.
func (k *Chunks) Send(ctx context.Context, upload api.OpaqueID, chunk Chunk, opts ...api.CallOption) error {
	const op = "uploads.Chunks.Send"
	args := input.Fields[Chunk](op)
	switch {
	case chunk.Order < 1:
		return args.Refuse("order", "must be 1 or more", strconv.Itoa(chunk.Order))
	case len(chunk.Content) == 0:
		return args.Refuse("chunk", "must not be empty", "")
	}
	sum := chunk.CRC
	if sum == nil {
		sum = new(crc.Sum(chunk.Content))
	}
	file := &api.FilePart{Field: "chunk", Name: "chunk", Content: api.Bytes("", chunk.Content)}
	r := endpoint.UploadsChunksSend(upload, api.Multipart(nil, file))
	r.Query = url.Values{
		"order": {strconv.Itoa(chunk.Order)}, "size": {strconv.Itoa(len(chunk.Content))},
		"hash_algo": {"crc32c"}, "hash": {hexadecimal(*sum)},
	}
	if chunk.FileCRC != nil {
		r.Query.Set("file_crc32c", hexadecimal(*chunk.FileCRC))
	}
	r.Attempt = attemptTimeout(len(chunk.Content))
	return call.Do(ctx, k.c, r, opts)
}

func hexadecimal(sum uint32) string { return fmt.Sprintf("%08x", sum) }

// List returns the size in bytes of each chunk that has arrived, by its [Chunk].Order. It is
// not paged.
//
// It calls GET /current/upload/{upload_id}/chunk/.
func (k *Chunks) List(ctx context.Context, upload api.OpaqueID, opts ...api.CallOption) (api.Map[int64], error) {
	a, err := call.Payload[struct {
		Chunks api.Map[int64] `json:"chunks"`
	}](ctx, k.c, endpoint.UploadsChunksList(upload), opts)
	if err != nil {
		return nil, err
	}
	return a.Chunks, nil
}

// Delete removes a chunk that has arrived: it must be sent again before [Service.Complete].
//
// It calls DELETE /current/upload/{upload_id}/chunk/.
func (k *Chunks) Delete(ctx context.Context, upload api.OpaqueID, order int, opts ...api.CallOption) error {
	if order < 1 {
		return input.Parameters("uploads.Chunks.Delete").Refuse("order", "must be 1 or more", strconv.Itoa(order))
	}
	return call.Do(ctx, k.c, endpoint.UploadsChunksDelete(upload, url.Values{"order": {strconv.Itoa(order)}}), opts)
}

// Hash is the hash of a stream, in lower-case hexadecimal.
type Hash struct {
	Algorithm string // one of [Service.Algorithms]
	Value     string
}

// check returns an error for a hash without an algorithm or value. A nil hash is allowed.
func (h *Hash) check(op string) error {
	if h != nil && (h.Algorithm == "" || h.Value == "") {
		return input.Parameters(op).Refuse("hash", "must have an algorithm and a value", "")
	}
	return nil
}

// set sets the parameters of the hash. A nil hash sets none.
func (h *Hash) set(q url.Values) {
	if h != nil {
		q.Set("hash_algo", h.Algorithm)
		q.Set("hash", h.Value)
	}
}

// Stream sends the whole content of an upload of [SizeUnknown], which needs no call of
// [Service.Complete]. It can be sent once. After a failure the upload may be complete all
// the same: [Service.Get] reports that. Content is closed if it is an [io.Closer], and must
// not be used before a Read that was under way has returned.
//
// Errors: [api.ErrNotFound] if there is no such upload; [api.ErrInvalid] if it has a
// size, and so is sent in chunks, or if its content was sent before.
//
// It calls POST /current/upload/{upload_id}/stream/.
func (s *Service) Stream(
	ctx context.Context, upload api.OpaqueID, content io.Reader, hash *Hash, opts ...api.CallOption,
) error {
	if content == nil {
		return &api.InputError{Op: "uploads.Stream", Field: "content", Rule: "must not be nil"}
	}
	r := endpoint.UploadsStream(upload, api.Stream("application/octet-stream", content, SizeUnknown))
	if err := hash.check(r.Op); err != nil {
		return err
	}
	if hash != nil {
		r.Query = url.Values{}
		hash.set(r.Query)
	}
	return call.Do(ctx, s.c, r, opts)
}
