package crc_test

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/fastio-go/fastio/internal/crc"
)

// The CRC of a whole is that of its parts, combined in order.
func TestCombine(t *testing.T) {
	t.Parallel()
	content := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	for range 200 {
		at := rand.IntN(len(content) + 1)
		if rand.IntN(4) == 0 {
			at = rand.IntN(2) * len(content)
		}
		a, b := content[:at], content[at:]
		got := crc.Combine(crc.Sum(a), crc.Sum(b), int64(len(b)))
		if want := crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)); got != want {
			t.Fatalf("%d and %d bytes: %08x, want %08x", len(a), len(b), got, want)
		}
	}
	if sum := fmt.Sprintf("%08x", crc.Sum([]byte("123456789"))); sum != "e3069283" {
		t.Errorf("the check value is %s", sum)
	}
}
