package emulator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// ledger is a board with things to sort: a bill and a letter with text, a scan without, all in the room.
type ledger struct {
	*board
	bill, letter, scan, folder emulator.Node
}

func newLedger(change ...func(*emulator.Options)) *ledger {
	h := &ledger{board: newBoard(change...)}
	h.folder = h.AddNode(emulator.Node{Profile: h.room.ID, Kind: "folder", Name: "bills"})
	h.bill = h.AddNode(emulator.Node{
		Profile: h.room.ID, Parent: h.folder.ID, Name: "march.txt",
		Content: "# Invoice\n- Invoice Total: 1250.50\n- Vendor: Brass & Sons\n" +
			"- **Due date**: 2026-07-01\nPaid: false\n",
	})
	h.letter = h.AddNode(emulator.Node{
		Profile: h.room.ID, Kind: "note", Name: "letter", Content: "Dear Charles: the engine runs.",
	})
	h.scan = h.AddNode(emulator.Node{Profile: h.room.ID, Name: "scan.png", Content: "\xff\xfe"})
	return h
}

func (h *ledger) in(path string) string { return "/workspace/" + h.room.ID + "/" + path }

func (h *ledger) facts(n emulator.Node) string { return h.in("storage/" + n.ID + "/metadata/facts/") }

// must puts a fact there.
func (h *ledger) must(t *testing.T, f emulator.Fact) {
	t.Helper()
	if err := h.AddFact(f); err != nil {
		t.Fatal(err)
	}
}

func TestFactsThatAreNotLoaded(t *testing.T) {
	t.Parallel()
	for _, node := range []string{"plans", "unknown"} {
		seed := `{
		  "users":      [{"id": "ada"}],
		  "orgs":       [{"id": "acme", "domain": "acme", "owner": "ada"}],
		  "workspaces": [{"id": "design", "org_id": "acme"}],
		  "nodes":      [{"id": "plans", "profile_id": "design", "kind": "folder"}],
		  "facts":      [{"node_id": "` + node + `", "field": "pages", "value": "twelve"}]
		}`
		if err := emulator.New(emulator.Options{}).Load(strings.NewReader(seed)); err == nil {
			t.Errorf("a fact on %q was taken", node)
		}
	}
}

func TestFactRefusals(t *testing.T) {
	t.Parallel()
	h := newLedger()
	p := h.post(t, h.ben, h.facts(h.bill), hash{"facts": hash{" a": 1, "b": 1}})
	expect(t, p, 406, 0, " a field_name_not_canonical")
	if err := h.AddFact(emulator.Fact{Node: h.folder.ID, Field: "a", Value: 1}); err == nil {
		t.Error("a folder took a fact")
	}
}

func TestFilterPool(t *testing.T) {
	t.Parallel()
	h := newLedger()
	for range 1001 {
		n := h.AddNode(emulator.Node{Profile: h.room.ID})
		h.must(t, emulator.Fact{Node: n.ID, Field: "category", Value: "Legal"})
	}
	p := h.list(t, h.ben, h.in("metadata/eligible/"), "category", "Legal", "output", "terse")
	want := hash{"applied": true, "matched": 1000.0, "truncated": true}
	if diff := cmp.Diff(want, p.get("metadata_filter")); diff != "" {
		t.Errorf("1001 files (-want +got):\n%s", diff)
	}
}
