package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/oauth"
)

// vault is a KeyStore of a program: it keeps the first key.
type vault struct {
	key  []byte
	fail error
}

func (v *vault) LoadKey(context.Context) ([]byte, error) { return v.key, nil }

func (v *vault) SaveKey(_ context.Context, key []byte) error {
	if v.fail == nil && v.key == nil {
		v.key = key
	}
	return v.fail
}

func TestSealedRecords(t *testing.T) {
	t.Parallel()
	ctx, keys, record := t.Context(), new(vault), []byte(`{"token":"canary"}`)
	sealed, err := oauth.Seal(ctx, keys, "ada", record)
	if err != nil || bytes.Contains(sealed, []byte("canary")) {
		t.Fatalf("%q, %v", sealed, err)
	}
	again, err := oauth.Seal(ctx, keys, "ada", record)
	if err != nil || bytes.Equal(sealed, again) {
		t.Errorf("sealed twice it is %q and %q, %v", sealed, again, err)
	}
	for _, s := range [][]byte{sealed, again} {
		if got, err := oauth.Unseal(ctx, keys, "ada", s); err != nil || !bytes.Equal(got, record) {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got, err := oauth.Unseal(ctx, keys, "ada", nil); got != nil || err != nil {
		t.Errorf("without a record: %q, %v", got, err)
	}
	unseal := func(keys oauth.KeyStore, profile string, sealed []byte) error {
		_, err := oauth.Unseal(ctx, keys, profile, sealed)
		return err
	}
	damaged := bytes.Clone(sealed)
	damaged[len(damaged)-1] ^= 1
	for name, err := range map[string]error{
		"another profile":  unseal(keys, "eve", sealed),
		"another key":      unseal(oauth.StaticKey(make([]byte, 32)), "ada", sealed),
		"no key":           unseal(new(vault), "ada", sealed),
		"damaged":          unseal(keys, "ada", damaged),
		"cut":              unseal(keys, "ada", sealed[:20]),
		"not sealed":       unseal(keys, "ada", record),
		"an unwritten key": stub.Err(oauth.Seal(ctx, &vault{fail: errors.New("disk full")}, "ada", record)),
	} {
		if e, ok := errors.AsType[*oauth.StoreError](err); !ok || bytes.Contains([]byte(e.Error()), []byte("canary")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"no keys":         unseal(nil, "ada", sealed),
		"a short key":     unseal(oauth.StaticKey([]byte("short")), "ada", sealed),
		"a blank profile": unseal(keys, " ", sealed),
	} {
		if !errors.Is(err, api.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
