package emulator_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/internal/emulator"
)

// form sends a form.
func (b *cabinet) form(t *testing.T, u emulator.User, path string, fields ...string) reply {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return b.body(t, b.keys[u.ID], path, "application/x-www-form-urlencoded", values.Encode())
}

func (b *cabinet) body(t *testing.T, token, path, kind, body string) reply {
	t.Helper()
	address := "http://emulator.test/api/current" + path
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", kind)
	return b.send(t, r)
}

// write makes a note that must be taken, and returns its id and version.
func (b *cabinet) write(t *testing.T, name, content string) (id, version string) {
	t.Helper()
	p := b.form(t, b.ben, b.inRoom("root/createnote"), "name", name, "content", content)
	id, _ = p.get("node.id").(string)
	version, _ = p.get("node.version").(string)
	if p.Status != 200 || id == "" || version == "" {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	return id, version
}

// Who waits for a note to be indexed is woken by the platform's own clock.
func TestIndexWakesPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newCabinet(func(o *emulator.Options) { o.Clock = time.Now })
		id, _ := b.write(t, "Log.md", "one")
		field := "ai_state:" + strings.ReplaceAll(id, "-", "")
		start, since := time.Now(), ""
		state := "pending"
		for state != "indexed" {
			p := b.get(t, b.ben, "/activity/poll/"+b.room.ID+"/", "wait", "95", "fields", field, "lastactivity", since)
			since, _ = p.get("lastactivity").(string)
			state, _ = b.get(t, b.ben, b.inRoom(id+"/details")).get("node.ai.state").(string)
		}
		if got := time.Since(start); got != 6*time.Second {
			t.Errorf("it took %v, want 6s", got)
		}
	})
}
