package storetest_test

import (
	"path/filepath"
	"testing"

	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/oauth/storetest"
)

//nolint:paralleltest,thelper // it is an example
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Fixture {
		path, keys := filepath.Join(t.TempDir(), "tokens"), oauth.StaticKey(make([]byte, 32))
		open := func() oauth.Store { return oauth.FileStore{Path: path, Keys: keys} }
		return storetest.Fixture{Store: open(), Other: open}
	})
}
