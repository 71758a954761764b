package emulator_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// The sample of the format has every member.
func TestLoadFullSample(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join("seedfile", "testdata", "full.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := &platform{Server: emulator.New(seed.Options{})}
	if err := w.Load(file); err != nil {
		t.Fatal(err)
	}
	node := w.with(t, "all", http.MethodGet, "/workspace/design/storage/2abcdefghijklmnopqrstuvwxyz12/details/")
	if node.get("node.name") != "plan.pdf" {
		t.Errorf("%s", node.Body)
	}
}

func TestLoadRefers(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	ada := s.AddUser(world.User{})
	org := s.AddOrg(world.Org{Owner: ada.ID})
	room := s.AddWorkspace(world.Workspace{Org: org.ID})
	plan := s.AddNode(world.SeedNode{Profile: room.ID})
	note := s.AddComment(world.Comment{Profile: room.ID, Node: plan.ID, User: ada.ID})
	event := s.AddEvent(world.Event{Workspace: room.ID})
	file := `{"comments": [{"profile_id": "` + room.ID + `", "node_id": "` + plan.ID + `",
			"user_id": "` + ada.ID + `", "parent_id": "` + note.ID + `"}],
		"events": [{"workspace_id": "` + room.ID + `", "parent_id": "` + event.ID + `"}]}`
	if err := s.Load(strings.NewReader(file)); err != nil {
		t.Errorf("objects of the server: %v", err)
	}
	err := emulator.New(seed.Options{}).Load(strings.NewReader(file))
	if err == nil || strings.Count(err.Error(), "there is no") != 6 {
		t.Errorf("objects of another server: %v", err)
	}
}

var eventID = regexp.MustCompile(`^([a-z0-9]{5}-){5}[a-z0-9]{4}$`)

func TestIDs(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, from := range []uint64{0, 0, 1} {
		s := emulator.New(seed.Options{Seed: from})
		u := s.AddUser(world.User{})
		o := s.AddOrg(world.Org{Owner: u.ID})
		e := s.AddEvent(world.Event{Org: o.ID})
		k := s.AddKey(world.Key{User: u.ID})
		if len(u.ID) != 19 || strings.Trim(u.ID, "0123456789") != "" {
			t.Errorf("profile id %q", u.ID)
		}
		if !eventID.MatchString(e.ID) {
			t.Errorf("event id %q", e.ID)
		}
		ids[u.ID+o.ID+e.ID+k.Token] = true
	}
	if len(ids) != 2 {
		t.Errorf("two seeds made %d sets of ids", len(ids))
	}
}
