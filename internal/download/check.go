package download

import (
	"crypto/md5"  //nolint:gosec // the server chooses the algorithm
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"

	"github.com/fastio-go/fastio/api"
)

// Check makes d, a whole file, end with [api.ErrCorrupt] instead of [io.EOF] if
// its content has another size, or another hash, in hexadecimal. It returns no
// byte behind the size. A size of 0 or less, an empty hash and an unknown
// algorithm are not checked.
func Check(op string, d *api.Download, size int64, algorithm, sum string) {
	c := &checked{ReadCloser: d.ReadCloser, op: op, size: size}
	if sum != "" {
		c.hash, c.sum = Hash(algorithm), sum
	}
	d.ReadCloser = c
}

// Hash returns a hash by the name of its algorithm, nil for an unknown one.
func Hash(algorithm string) hash.Hash {
	switch strings.ToLower(algorithm) {
	case "md5":
		return md5.New() //nolint:gosec // finds errors of transfers
	case "sha1":
		return sha1.New() //nolint:gosec // as above
	case "sha256":
		return sha256.New()
	case "sha384":
		return sha512.New384()
	case "crc32c":
		return crc32.New(crc32.MakeTable(crc32.Castagnoli))
	}
	return nil
}

type checked struct {
	io.ReadCloser
	op   string
	n    int64 // bytes read
	size int64
	hash hash.Hash // nil if not checked
	sum  string
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.size > 0 && int64(n) > c.size-c.n {
		n, err = int(c.size-c.n), fmt.Errorf("fastio: %s: %w: more than %d bytes", c.op, api.ErrCorrupt, c.size)
	}
	c.n += int64(n)
	if c.hash != nil {
		_, _ = c.hash.Write(p[:n]) // never fails
	}
	if err != io.EOF { //nolint:errorlint // readers return io.EOF unwrapped
		return n, err
	}
	switch {
	case c.size > 0 && c.n != c.size:
		err = fmt.Errorf("fastio: %s: %w: %d bytes, not %d", c.op, api.ErrCorrupt, c.n, c.size)
	case c.hash != nil && !strings.EqualFold(hex.EncodeToString(c.hash.Sum(nil)), c.sum):
		err = fmt.Errorf("fastio: %s: %w: the hash differs", c.op, api.ErrCorrupt)
	}
	return n, err
}
