package oauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strconv"

	"github.com/fastio-go/fastio/api"
)

// sealedRecord begins every sealed record. Its number rises with the format.
const sealedRecord = "fastio record 1\n"

// Seal encrypts a record for a [Store] of the program's own, with AES-256-GCM and the key
// of keys, which it creates if there is none. [Unseal] requires the same profile. Programs
// that create the key at the same moment need a KeyStore whose SaveKey keeps the first.
//
// Errors: [api.InputError] for a blank profile and a key that is not 32 bytes long, and
// those of keys.
func Seal(ctx context.Context, keys KeyStore, profile string, record []byte) ([]byte, error) {
	key, err := recordKey(ctx, keys, profile)
	if err != nil {
		return nil, err
	}
	if key == nil {
		fresh := make([]byte, keyLen)
		_, _ = rand.Read(fresh)            // it never fails
		failed := keys.SaveKey(ctx, fresh) // also if another program has saved one
		if key, err = recordKey(ctx, keys, profile); err != nil {
			return nil, err
		}
		if key == nil {
			return nil, errors.Join(&StoreError{of(profile), "the new key was not saved"}, failed)
		}
	}
	//nolint:gosec // it makes the nonce itself
	return newAEAD(key).Seal([]byte(sealedRecord), nil, record, []byte(sealedRecord+profile)), nil
}

// Unseal decrypts a record of [Seal]. It returns nil for nil, as a Store has no record
// before the first sign-in.
//
// Errors: [StoreError] if the record was sealed with another key or for another profile,
// or is damaged; [api.InputError] and the errors of keys as Seal.
func Unseal(ctx context.Context, keys KeyStore, profile string, sealed []byte) ([]byte, error) {
	key, err := recordKey(ctx, keys, profile)
	if err != nil || sealed == nil {
		return nil, err
	}
	body, ok := bytes.CutPrefix(sealed, []byte(sealedRecord))
	switch {
	case key == nil:
		return nil, &StoreError{of(profile), "the key of the record is gone"}
	case !ok:
		return nil, &StoreError{of(profile), "it is not a sealed record"}
	}
	record, err := newAEAD(key).Open(nil, nil, body, []byte(sealedRecord+profile))
	if err != nil {
		return nil, &StoreError{of(profile), "it was sealed with another key or for another profile, or it is damaged"}
	}
	return record, nil
}

func of(profile string) string { return "the record of " + strconv.Quote(profile) }

// recordKey returns the key of keys, nil if there is none.
func recordKey(ctx context.Context, keys KeyStore, profile string) ([]byte, error) {
	switch {
	case keys == nil:
		return nil, &api.InputError{Field: "keys", Rule: "must not be nil"}
	case checkProfile(profile) != nil:
		return nil, checkProfile(profile)
	}
	key, err := keys.LoadKey(ctx)
	if err != nil || key == nil {
		return nil, err
	}
	return key, checkKey(key)
}
