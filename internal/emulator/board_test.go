package emulator_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// board is a world with things to comment on: a plan in the room, a photo in the portal, a chest in the attic, and a
// link to the plan that was given to Eve and Dora. Cleo is a guest of the portal, too, and Fay another.
type board struct {
	*world
	fay                emulator.User
	plan, photo, chest emulator.Node
	link               emulator.FileShare
	now                time.Time
}

type hash = map[string]any

func newBoard(change ...func(*emulator.Options)) *board {
	b := &board{now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	o := emulator.Options{
		Limits: seed.LimitOptions{Rules: []emulator.Limit{}},
		Clock:  func() time.Time { return b.now },
	}
	for _, c := range change {
		c(&o)
	}
	b.world = newWorld(o)
	b.fay = b.AddUser(emulator.User{FirstName: "Fay"})
	b.keys[b.fay.ID] = b.AddKey(emulator.Key{User: b.fay.ID}).Token
	b.SetMember(b.portal.ID, b.cleo.ID, emulator.Guest)
	b.SetMember(b.portal.ID, b.fay.ID, emulator.Guest)
	b.plan = b.AddNode(emulator.Node{Profile: b.room.ID, Name: "plan.pdf"})
	b.photo = b.AddNode(emulator.Node{Profile: b.portal.ID, Name: "photo.jpg"})
	b.chest = b.AddNode(emulator.Node{Profile: b.attic.ID, Name: "chest", Kind: "folder"})
	b.link = b.AddFileShare(emulator.FileShare{
		Node: b.plan.ID, Owner: b.ada.ID, Grants: []emulator.Grant{{User: b.eve.ID}, {User: b.dora.ID}},
		CommentsEnabled: true,
	})
	return b
}

// Paths of what is commented on.
func (b *board) onRoom() string { return "/comments/workspace/" + b.room.ID + "/" }
func (b *board) onPlan() string { return b.onRoom() + b.plan.ID + "/" }

func at(id, what string) string { return "/comments/" + id + "/" + what + "/" }

// call sends a JSON body, or a raw one.
func (b *board) call(t *testing.T, u emulator.User, method, path string, body any, header ...string) reply {
	t.Helper()
	text, raw := body.(string)
	if !raw {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	if body == nil {
		text = ""
	}
	address := "http://emulator.test/api/current" + path
	r, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.keys[u.ID])
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return b.send(t, r)
}

func (b *board) post(t *testing.T, u emulator.User, path string, body any, header ...string) reply {
	t.Helper()
	return b.call(t, u, http.MethodPost, path, body, header...)
}

func (b *board) list(t *testing.T, u emulator.User, path string, query ...string) reply {
	t.Helper()
	return b.as(t, u, http.MethodGet, path, query...)
}

// expect compares status, code and, when it matters, the failed parameters.
func expect(t *testing.T, got reply, status, code int, failures ...string) {
	t.Helper()
	if got.Status != status || code != 0 && got.code() != code ||
		len(failures) > 0 && !cmp.Equal(got.failures(), failures) {
		t.Errorf("%d %d %v, want %d %d %v: %s",
			got.Status, got.code(), got.failures(), status, code, failures, got.Body)
	}
}

// anonymous has no account, and so no credential.
var anonymous = emulator.User{}

// visit sends a GET with headers, as a user or without a token.
func (b *board) visit(t *testing.T, u emulator.User, path string, header ...string) reply {
	t.Helper()
	if u == anonymous {
		header = append(header, "Authorization", "")
	}
	return b.call(t, u, http.MethodGet, path, nil, header...)
}

func fileShare(id, what string) string { return "/fileshare/" + id + "/" + what + "/" }
