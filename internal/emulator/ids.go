package emulator

import (
	"strconv"
	"strings"
)

// mix is a bijection of 64-bit words that leaves no visible pattern, and unmix its inverse: an id can be turned back
// into the serial it was made from, so a million ids cost no map.
func mix(x uint64) uint64 {
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

const (
	opaqueLen  = 29
	profileLen = 19
	wordLen    = 13 // digits of a 64-bit word in base 36
)

// opaque makes the id of the n-th thing whose ids begin with kind: the kind, two words and two check characters.
func opaque(kind byte, seed, n uint64) string {
	first := mix(n ^ mix(seed+uint64(kind)))
	second := mix(first + seed)
	b := make([]byte, 0, opaqueLen)
	b = append(b, kind)
	b = appendWord(b, first)
	b = appendWord(b, second)
	sum := mix(first^second) % (36 * 36)
	return string(append(b, digit(sum/36), digit(sum%36)))
}

// serial returns the n an opaque id was made from.
func serial(id string, kind byte, seed uint64) (uint64, bool) {
	if len(id) != opaqueLen || id[0] != kind {
		return 0, false
	}
	first, err := strconv.ParseUint(id[1:1+wordLen], 36, 64)
	if err != nil {
		return 0, false
	}
	n := unmix(first) ^ mix(seed+uint64(kind))
	return n, opaque(kind, seed, n) == id
}

func appendWord(b []byte, word uint64) []byte {
	var digits [wordLen]byte
	for i := wordLen - 1; i >= 0; i-- {
		digits[i] = digit(word % 36)
		word /= 36
	}
	return append(b, digits[:]...)
}

func digit(n uint64) byte { return "0123456789abcdefghijklmnopqrstuvwxyz"[n%36] }

// profile makes the n-th profile id: 19 digits that fit a signed 64-bit integer and not a float.
func profile(seed, n uint64) string {
	const span = 5_000_000_000_000_000_000
	return strconv.FormatUint(4_000_000_000_000_000_000+mix(n^mix(seed))%span, 10)
}

func isProfile(id string) bool {
	if len(id) != profileLen {
		return false
	}
	for i := range len(id) {
		if id[i] < '0' || id[i] > '9' {
			return false
		}
	}
	return true
}

// plain is the stored form of an opaque id: no hyphens, lower case.
func plain(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

// isOpaque tells whether a plain id has the form the platform accepts.
func isOpaque(id string) bool {
	if len(id) != opaqueLen && len(id) != opaqueLen+1 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// hyphenated is the display form: a hyphen after every five characters.
func hyphenated(id string) string {
	b := make([]byte, 0, len(id)+len(id)/5)
	for i := range len(id) {
		if i > 0 && i%5 == 0 {
			b = append(b, '-')
		}
		b = append(b, id[i])
	}
	return string(b)
}
