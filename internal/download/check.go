package download

import (
	"cmp"
	"crypto/md5"  //nolint:gosec // the server chooses the algorithm
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
)

// Check makes d, a whole file, end with [api.ErrCorrupt] instead of [io.EOF] if
// its content has another size, or another hash, in hexadecimal. It returns no
// byte behind the size. A size of 0 or less, an empty hash and an unknown
// algorithm are not checked.
func Check(op string, d *api.Download, size int64, algorithm, sum string) {
	newChecked(op, size, algorithm, sum).wrap(d)
}

// Hash returns a hash by the name of its algorithm, nil for an unknown one.
func Hash(algorithm string) hash.Hash {
	switch strings.ToLower(algorithm) {
	case "md5":
		return md5.New() //nolint:gosec // finds errors of transfers
	case "sha1":
		return sha1.New() //nolint:gosec // finds errors of transfers
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

// newChecked returns the check of a content of a size and with a hash, sum. It has no
// reader yet. Size 0 and sum "" are not known and not checked.
func newChecked(op string, size int64, algorithm, sum string) *checked {
	c := &checked{op: op, size: size, sum: sum}
	if sum != "" {
		c.hash = Hash(algorithm)
	}
	return c
}

// wrap makes d read its content through c, which checks it.
func (c *checked) wrap(d *api.Download) { c.ReadCloser, d.ReadCloser = d.ReadCloser, c }

// Read returns an error if there are more bytes than the known size, or, at the
// end, fewer or with another sum.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	left := c.size - c.n
	if c.size > 0 && int64(n) > left {
		n, err = int(left), c.corrupt("more than "+strconv.FormatInt(c.size, 10)+" bytes")
	}
	c.add(p[:n])
	if err == io.EOF { //nolint:errorlint // readers return io.EOF unwrapped
		err = cmp.Or(c.verify(), err)
	}
	return n, err
}

// add counts and hashes bytes that were read.
func (c *checked) add(p []byte) {
	c.n += int64(len(p))
	if c.hash != nil {
		_, _ = c.hash.Write(p) // never fails
	}
}

// verify returns an error if the content that was added is not of the known size
// and sum.
func (c *checked) verify() error {
	switch {
	case c.size > 0 && c.n != c.size:
		return c.corrupt(fmt.Sprintf("%d bytes, not %d", c.n, c.size))
	case c.hash != nil && !strings.EqualFold(hex.EncodeToString(c.hash.Sum(nil)), c.sum):
		return c.corrupt("the hash differs")
	}
	return nil
}

// corrupt returns an [api.ErrCorrupt] that says why.
func (c *checked) corrupt(why string) error {
	return fmt.Errorf("fastio: %s: %w: %s", c.op, api.ErrCorrupt, why)
}
