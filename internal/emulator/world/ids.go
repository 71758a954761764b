package world

import (
	"strconv"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Mix is a bijection of 64-bit words that leaves no visible pattern, and unmix its inverse: an id can be turned back
// into the serial it was made from, so a million ids cost no map.
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func unmix(x uint64) uint64 {
	x ^= x>>31 ^ x>>62
	x *= 0x319642b2d24d8ec3
	x ^= x>>27 ^ x>>54
	x *= 0x96de1b173f119089
	return x ^ x>>30 ^ x>>60
}

// Opaque makes the id of the n-th thing whose ids begin with kind: the kind, two words and two check characters.
func Opaque(kind byte, seed, n uint64) string {
	first := Mix(n ^ Mix(seed+uint64(kind)))
	second := Mix(first + seed)
	b := make([]byte, 0, wire.OpaqueLen)
	b = append(b, kind)
	b = AppendWord(b, first)
	b = AppendWord(b, second)
	sum := Mix(first^second) % (36 * 36)
	return string(append(b, digit(sum/36), digit(sum%36)))
}

// serial returns the n an opaque id was made from.
func serial(id string, kind byte, seed uint64) (uint64, bool) {
	if len(id) != wire.OpaqueLen || id[0] != kind {
		return 0, false
	}
	first, err := strconv.ParseUint(id[1:1+wire.WordLen], 36, 64)
	if err != nil {
		return 0, false
	}
	n := unmix(first) ^ Mix(seed+uint64(kind))
	return n, Opaque(kind, seed, n) == id
}

// AppendWord appends a word in base 36.
func AppendWord(b []byte, word uint64) []byte {
	var digits [wire.WordLen]byte
	for i := wire.WordLen - 1; i >= 0; i-- {
		digits[i] = digit(word % 36)
		word /= 36
	}
	return append(b, digits[:]...)
}

func digit(n uint64) byte { return "0123456789abcdefghijklmnopqrstuvwxyz"[n%36] }

// profile makes the n-th profile id: 19 digits that fit a signed 64-bit integer and not a float.
func profile(seed, n uint64) string {
	const span = 5_000_000_000_000_000_000
	return strconv.FormatUint(4_000_000_000_000_000_000+Mix(n^Mix(seed))%span, 10)
}
