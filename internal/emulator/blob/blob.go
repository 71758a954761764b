// Package blob keeps the contents of files: in memory up to a limit, and in a
// temporary file beyond it.
package blob

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
)

// Store keeps blobs. The memory and disk space of a blob are reused once it has been
// garbage collected.
type Store struct {
	most int64 // bytes in memory

	mu     sync.Mutex
	held   int64    // bytes in memory
	spill  *os.File // nil while everything fits into the memory; has no name in its directory
	end    int64    // of the used part of the file
	unused []span   // of the file before end, sorted; no two of them adjoin
}

type span struct{ from, to int64 }

func (s span) size() int64 { return s.to - s.from }

// New returns a store that keeps at most so many bytes in memory.
func New(most int64) *Store { return &Store{most: most} }

// BytesInMemory returns the number of bytes in memory.
func (s *Store) BytesInMemory() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// BytesInFile returns the length of the temporary file in bytes.
func (s *Store) BytesInFile() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// Blob is an immutable content.
type Blob struct {
	parts []*part
	ends  []int64 // of the parts

	once sync.Once
	sum  string
}

// part is a piece of content, in memory or in the file.
type part struct {
	text string
	file *os.File // nil for a text
	at   span
}

// piece is how much Read takes into memory at a time.
const piece = 1 << 20

// Keep stores a copy of a content: in memory until the store holds as much as it may,
// and then in a temporary file. Its space is free again when the garbage collector finds
// that the blob is not used.
func (s *Store) Keep(content []byte) (*Blob, error) {
	if len(content) == 0 {
		return &Blob{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, size := &part{}, int64(len(content))
	if s.held+size <= s.most {
		p.text = string(content)
		s.held += size
		runtime.AddCleanup(p, s.release, size)
		return newBlob(p), nil
	}
	if err := s.createFile(); err != nil {
		return nil, err
	}
	p.file, p.at = s.spill, s.allocate(size)
	if _, err := s.spill.WriteAt(content, p.at.from); err != nil {
		s.free(p.at)
		return nil, fmt.Errorf("writing a temporary file: %w", err)
	}
	runtime.AddCleanup(p, func(at span) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free(at)
	}, p.at)
	return newBlob(p), nil
}

// Read stores what a reader returns until its end, in pieces of a megabyte, so that a
// large content need not fit into the memory.
func (s *Store) Read(r io.Reader) (*Blob, error) {
	var pieces []*Blob
	buffer := make([]byte, piece)
	for {
		n, err := readUntilFull(r, buffer)
		atEnd := errors.Is(err, io.EOF)
		if err != nil && !atEnd {
			return nil, err
		}
		b, err := s.Keep(buffer[:n])
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, b)
		if atEnd {
			return Join(pieces...), nil
		}
	}
}

// readUntilFull reads until b is full or the reader returns an error, which it returns
// unchanged. [io.ReadFull] would return io.ErrUnexpectedEOF for a partly filled b.
func readUntilFull(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var got int
		got, err = r.Read(b[n:])
		n += got
	}
	return n, err
}

// Join returns a blob with the contents of blobs one after the other. It copies nothing.
func Join(blobs ...*Blob) *Blob {
	var parts []*part
	for _, b := range blobs {
		parts = append(parts, b.parts...)
	}
	return newBlob(parts...)
}

// newBlob returns the blob of parts, with the offset at which each ends.
func newBlob(parts ...*part) *Blob {
	b := &Blob{parts: parts}
	for _, p := range parts {
		b.ends = append(b.ends, b.Size()+p.size())
	}
	return b
}

// Size returns the number of bytes, 0 if b is nil.
func (b *Blob) Size() int64 {
	if b == nil || len(b.ends) == 0 {
		return 0
	}
	return b.ends[len(b.ends)-1]
}

// Text returns the content of a blob that is empty or one piece in memory, and false
// for any other blob.
func (b *Blob) Text() (text string, ok bool) {
	if len(b.parts) != 1 || b.parts[0].file != nil {
		return "", len(b.parts) == 0
	}
	return b.parts[0].text, true
}

// ReadAt reads the content from an offset on, as [io.ReaderAt] requires. b.ends has the
// offsets at which the parts end: the first part to read is the first one that ends
// behind off.
func (b *Blob) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("blob: negative offset %d", off)
	}
	i, found := slices.BinarySearch(b.ends, off)
	if found {
		i++
	}
	for ; i < len(b.parts) && n < len(p); i++ {
		from := b.ends[i] - b.parts[i].size()
		got, err := b.parts[i].readAt(p[n:], off+int64(n)-from)
		n += got
		if err != nil {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Sum returns the SHA-256 of the content in hexadecimal, "" if the temporary file cannot
// be read. It is computed once.
func (b *Blob) Sum() string {
	b.once.Do(func() {
		hash := sha256.New()
		if _, err := io.Copy(hash, io.NewSectionReader(b, 0, b.Size())); err == nil {
			b.sum = hex.EncodeToString(hash.Sum(nil))
		}
	})
	return b.sum
}

func (p *part) size() int64 { return int64(len(p.text)) + p.at.size() }

// readAt reads the bytes of the part from off on, until b is full or the part ends, which
// is not an error.
func (p *part) readAt(b []byte, off int64) (int, error) {
	if p.file == nil {
		return copy(b, p.text[off:]), nil
	}
	b = b[:min(int64(len(b)), p.at.size()-off)]
	n, err := p.file.ReadAt(b, p.at.from+off)
	runtime.KeepAlive(p) // the cleanup of p, which frees its place in the file, must not run during the read
	return n, err
}

// release subtracts the size of a content in memory that was garbage collected.
func (s *Store) release(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held -= size
}

// deleteOnClose is FILE_FLAG_DELETE_ON_CLOSE of Windows, which cannot delete an
// open file.
const deleteOnClose = 0x04000000

// createFile creates the temporary file, if there is none yet. Its name is removed at
// once, or on Windows when it is closed, so that nothing is left when the process ends.
// The caller holds the lock.
func (s *Store) createFile() error {
	if s.spill != nil {
		return nil
	}
	named, err := os.CreateTemp("", "fastio-emulator-*")
	if err != nil {
		return fmt.Errorf("creating a temporary file: %w", err)
	}
	if runtime.GOOS != "windows" {
		s.spill = named
		return os.Remove(named.Name())
	}
	if err := named.Close(); err != nil {
		return fmt.Errorf("creating a temporary file: %w", err)
	}
	s.spill, err = os.OpenFile(named.Name(), os.O_RDWR|deleteOnClose, 0o600)
	return err
}

// allocate reserves a part of the file: at the start of the first unused part that is
// large enough, or else at the end of the file. The caller holds the lock.
func (s *Store) allocate(size int64) span {
	for i, u := range s.unused {
		if u.size() >= size {
			s.unused[i].from += size
			if s.unused[i].size() == 0 {
				s.unused = slices.Delete(s.unused, i, i+1)
			}
			return span{u.from, u.from + size}
		}
	}
	s.end += size
	return span{s.end - size, s.end}
}

// free marks a part of the file as unused. It joins the part with unused neighbours,
// and shortens the file if nothing follows. The caller holds the lock.
func (s *Store) free(at span) {
	i, _ := slices.BinarySearchFunc(s.unused, at, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	s.unused = slices.Insert(s.unused, i, at)
	if i+1 < len(s.unused) && s.unused[i].to == s.unused[i+1].from {
		s.unused[i].to = s.unused[i+1].to
		s.unused = slices.Delete(s.unused, i+1, i+2)
	}
	if i > 0 && s.unused[i-1].to == s.unused[i].from {
		s.unused[i-1].to = s.unused[i].to
		s.unused = slices.Delete(s.unused, i, i+1)
	}
	if last := len(s.unused) - 1; s.unused[last].to == s.end {
		s.end = s.unused[last].from
		s.unused = s.unused[:last]
		_ = s.spill.Truncate(s.end) // if it fails, allocate uses the space behind s.end again
	}
}
