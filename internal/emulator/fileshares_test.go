package emulator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/internal/emulator"
)

// The token of a redirect opens one preview, for two minutes, without another credential.
func TestRedirectsOfPreviews(t *testing.T) {
	t.Parallel()
	for _, absolute := range []bool{false, true} {
		b := newBoard(func(o *emulator.Options) { o.FileShares.AbsoluteRedirects = absolute })
		n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "film.mp4", Size: 5000})
		f := b.AddFileShare(emulator.FileShare{Node: n.ID, Access: "anyone_with_link", Password: "sesame"})
		p := b.visit(t, anonymous, fileShare(f.ID, "storage/preview/hlsstream/read"), "X-Ve-Password", "sesame")
		where := p.Header.Get("Location")
		base, path, _ := strings.Cut(where, "/current")
		if p.Status != 307 || strings.HasPrefix(base, "http://") != absolute {
			t.Fatal(p.Status, where)
		}
		if p := b.visit(t, anonymous, path); p.Status != 200 || !strings.HasPrefix(p.Body, "#EXTM3U") {
			t.Error("with the token alone: ", p.Status, p.Body)
		}
		expect(t, b.visit(t, b.eve, path), 400, 199705)
		expect(t, b.visit(t, anonymous, path, "X-Ve-Password", "sesame"), 400, 199705)
		bare, _, _ := strings.Cut(path, "?")
		other := strings.Replace(path, f.ID, b.AddFileShare(emulator.FileShare{Node: n.ID}).ID, 1)
		for name, path := range map[string]string{"no token": bare, "a forged one": path + "x", "another's": other} {
			if p := b.visit(t, anonymous, path); p.Status != 401 {
				t.Errorf("%s: %d", name, p.Status)
			}
		}
		b.now = b.now.Add(2 * time.Minute)
		expect(t, b.visit(t, anonymous, path), 401, 0)
	}
}
