// Package crc computes CRC-32C checksums, also that of a whole from those of its parts.
package crc

import "hash/crc32"

// Sum returns the CRC-32C of content.
func Sum(content []byte) uint32 {
	return crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)) // the table is made once
}

// Combine returns the CRC of two contents behind each other from their CRCs and the
// length of the second in bytes. Each byte of the second multiplies the CRC of the first
// by x^8. The power for all bytes is computed by squaring: for each bit of length that is
// set, it has one of the factors x^8, x^16, x^32 and so on.
func Combine(first, second uint32, length int64) uint32 {
	power, square := uint32(1)<<31, uint32(1)<<23 // x^0 and x^8: the highest bit is that of x^0
	for ; length > 0; length >>= 1 {
		if length&1 > 0 {
			power = multiply(square, power)
		}
		square = multiply(square, square)
	}
	return multiply(power, first) ^ second
}

// multiply returns the product of two polynomials modulo that of the CRC. As in package
// hash/crc32, the highest bit of each is the coefficient of x^0. For each bit of a from
// x^0 on, it adds b, which is multiplied by x after each step.
func multiply(a, b uint32) (product uint32) {
	for bit := uint32(1) << 31; bit > 0; bit >>= 1 {
		if a&bit > 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry > 0 {
			b ^= crc32.Castagnoli
		}
	}
	return product
}
