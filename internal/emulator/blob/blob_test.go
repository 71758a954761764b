package blob_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/iotest"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/blob"
)

func randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func keep(t *testing.T, s *blob.Store, content []byte) *blob.Blob {
	t.Helper()
	b, err := s.Keep(content)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The parts of a joined content are partly in memory and partly in the file.
func TestBlobReads(t *testing.T) {
	t.Parallel()
	s := blob.New(1000)
	var whole []byte
	var parts []*blob.Blob
	for _, n := range []int{400, 0, 500, 3000, 80, 7, 5000} {
		content := randomBytes(n)
		whole = append(whole, content...)
		parts = append(parts, keep(t, s, content))
	}
	b := blob.Join(parts...)
	if b.Size() != int64(len(whole)) {
		t.Fatalf("%d bytes, want %d", b.Size(), len(whole))
	}
	if err := iotest.TestReader(io.NewSectionReader(b, 0, b.Size()), whole); err != nil {
		t.Error(err)
	}
	if _, err := b.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("a negative offset is no error")
	}
	sum := sha256.Sum256(whole)
	if got := b.Sum(); got != hex.EncodeToString(sum[:]) {
		t.Errorf("sum %s", got)
	}
	if text, ok := parts[0].Text(); !ok || text != string(whole[:400]) {
		t.Error("a content in memory is no text")
	}
	if _, ok := parts[3].Text(); ok {
		t.Error("a content in the file is a text")
	}
}

func TestStoreReads(t *testing.T) {
	t.Parallel()
	s, whole := blob.New(1<<20), randomBytes(5<<20/2)
	b, err := s.Read(iotest.HalfReader(bytes.NewReader(whole)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(io.NewSectionReader(b, 0, b.Size())); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, cut := range []error{io.ErrUnexpectedEOF, errors.New("reset")} {
		_, err := s.Read(io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(cut)))
		if !errors.Is(err, cut) {
			t.Errorf("%v, want %v", err, cut)
		}
	}
}

// What unused blobs took is given to new ones, in memory and in the file.
func TestStoreFrees(t *testing.T) {
	t.Parallel()
	s := blob.New(1000)
	for range 3 {
		memory, first := keep(t, s, randomBytes(1000)), keep(t, s, randomBytes(2000))
		middle, last := keep(t, s, randomBytes(100)), randomBytes(3000)
		kept := keep(t, s, last)
		expect(t, s, 1000, 5100)
		runtime.KeepAlive([]*blob.Blob{memory, first, middle})
		expect(t, s, 0, 5100) // the file ends with the last
		again := []*blob.Blob{keep(t, s, randomBytes(1000)), keep(t, s, randomBytes(1100))}
		expect(t, s, 1000, 5100)
		if got, err := io.ReadAll(io.NewSectionReader(kept, 0, kept.Size())); err != nil || !bytes.Equal(got, last) {
			t.Errorf("the last one has changed, %v", err)
		}
		runtime.KeepAlive(again)
		expect(t, s, 0, 0)
	}
}

// expect collects garbage until so much is in memory and in the file.
func expect(t *testing.T, s *blob.Store, held, spilled int64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); s.BytesInMemory() != held || s.BytesInFile() != spilled; runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("%d bytes in memory and %d in the file, want %d and %d", s.BytesInMemory(), s.BytesInFile(), held, spilled)
		}
	}
}

func TestStoreReportsFullDisk(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	t.Setenv("TMP", t.TempDir()+"\\none")
	if _, err := blob.New(0).Keep([]byte("x")); err == nil {
		t.Error("no error without a directory for temporary files")
	}
	if _, err := blob.New(0).Read(bytes.NewReader([]byte("x"))); err == nil {
		t.Error("no error without a directory for temporary files")
	}
}
