package fastiotest_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/storage"
)

// Bytes that are no text survive a node, its versions and downloads.
func TestContentHoldsAnyBytes(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	design := s.AddWorkspace(seed.Workspace{})
	in := api.Workspace(api.ID(design.ID))
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	n := s.AddNode(seed.Node{
		Profile: design.ID, Name: "logo.png", Bytes: picture.Bytes(),
		Versions: []seed.Version{{Bytes: []byte{0xff, 0}}},
	})
	client := s.Client(t)
	var current, first bytes.Buffer
	if _, err := client.Storage.DownloadTo(t.Context(), in, api.OpaqueID(n.ID), &current, nil); err != nil {
		t.Fatal(err)
	}
	_, err := client.Storage.DownloadTo(t.Context(), in, api.OpaqueID(n.ID), &first,
		&storage.DownloadOptions{Version: api.OpaqueID(n.Versions[0].ID)})
	if err != nil || !bytes.Equal(current.Bytes(), picture.Bytes()) || first.String() != "\xff\x00" || n.Bytes != nil {
		t.Errorf("%v, %d bytes, first %q, node %v", err, current.Len(), first.String(), n)
	}
	if err := s.Load(strings.NewReader(`{"users": [{"id": "x"}], "nodes": [{"profile_id": "` + design.ID +
		`", "file": "a"}]}`)); err == nil {
		t.Error("a file beside no file was read")
	}
}
