package emulator_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/pdf"
	"github.com/fastio-go/fastio/internal/emulator/world"
	"github.com/fastio-go/fastio/internal/table"
)

// extent is what a world of a size holds.
type extent struct {
	size                          seed.Size
	nodes, workspaces, events     int
	comments, facts, leastThreads int
}

func (e extent) check(t *testing.T, s *emulator.Server, w *seed.File) {
	t.Helper()
	if len(w.Nodes) != e.nodes || len(s.NodeIDs()) != e.nodes || len(w.Workspaces) != e.workspaces ||
		len(s.Log.Entries) != e.events || len(w.Comments) < e.comments || len(w.Facts) < e.facts ||
		len(w.Threads) < e.leastThreads {
		t.Errorf("%s: %d nodes in %d workspaces, %d events, %d comments, %d facts, %d threads", e.size, len(w.Nodes),
			len(w.Workspaces), len(s.Log.Entries), len(w.Comments), len(w.Facts), len(w.Threads))
	}
	now := s.Now()
	for i := range s.Log.Entries {
		event := &s.Log.Entries[i]
		id := s.Log.ObjectID(event.Object)
		if strings.HasPrefix(id, "2") && s.AnyNode(id) == nil || event.Created > now.Unix() {
			t.Fatalf("event %d on %s at %d", i, id, event.Created)
		}
	}
}

func TestWorldHasTheExtentOfItsSize(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]extent{
		"default": {"", 50, 2, 500, 20, 9, 4},
		"small":   {seed.Small, 50, 2, 500, 20, 9, 4},
		"medium":  {seed.Medium, 2000, 9, 50_000, 200, 300, 25},
	}, func(t *testing.T, e extent) {
		s := emulator.New(seed.Options{})
		s.AddEvent(seed.Event{})
		w := s.GenerateWorld(seed.World{Size: e.size})
		e.events++
		e.check(t, s, &w)
	})
}

// The documents of an archive are made when they are read, always with the same bytes.
func TestWorldMakesContentsWhenTheyAreRead(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	w := s.GenerateWorld(seed.World{Size: seed.Medium})
	kinds := map[string]int{}
	for i := range w.Nodes {
		n := (*world.Node)(&w.Nodes[i])
		if n.Kind != world.KindFile || n.Current().Source == nil {
			continue
		}
		kind, _, _ := strings.Cut(n.Name, " ")
		kinds[kind]++
		b, err := io.ReadAll(n.Current().Open())
		if err != nil || int64(len(b)) != n.Size || len(n.Text()) < 30 || !strings.HasSuffix(n.Name, ".pdf") &&
			string(b) != n.Text() {
			t.Errorf("%s has %d bytes of %d, %v and the text %q", n.Name, len(b), n.Size, err, n.Text())
		}
		if strings.HasSuffix(n.Name, ".pdf") && strings.TrimSpace(pdf.Text(string(b))) != strings.TrimSpace(n.Text()) {
			t.Errorf("%s shows %q, its text is %q", n.Name, pdf.Text(string(b)), n.Text())
		}
		half := make([]byte, 20)
		if _, err := n.Current().Open().ReadAt(half, 10); err != nil || string(half) != string(b[10:30]) {
			t.Errorf("%s from byte 10: %q, %v", n.Name, half, err)
		}
	}
	for _, kind := range []string{"Minutes", "Hours", "Invoice", "Feedback", "Order"} {
		if kinds[kind] < 100 {
			t.Errorf("%d %s", kinds[kind], kind)
		}
	}
}

// The facts of invoices are what their texts say.
func TestWorldKnowsTheSumsOfInvoices(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	w := s.GenerateWorld(seed.World{Size: seed.Medium})
	checked := 0
	for _, f := range w.Facts {
		n := s.AnyNode(f.Node)
		if sum, is := f.Value.(int); is && f.Field == "amount_eur" && n.Current().Source != nil {
			checked++
			if !strings.Contains(n.Text(), fmt.Sprintf("\nTotal: %d EUR\n", sum)) {
				t.Fatalf("%d is not in %s", sum, n.Text())
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d sums", checked)
	}
}

// The platform accepts the industry and the roles of an invented organization, as a program
// does that sends back what it has read.
func TestWorldHasValuesThatThePlatformAccepts(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	w := s.GenerateWorld(seed.World{})
	org := w.Orgs[0]
	key := s.AddKey(seed.Key{User: org.Owner}).Token
	update := func(path string, form url.Values) {
		r := httptest.NewRequest(http.MethodPost, "/api/current"+path+"/update/", strings.NewReader(form.Encode()))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, r)
		if answer.Code != http.StatusOK {
			t.Errorf("%s with %v: %s", path, form, answer.Body)
		}
	}
	update("/org/"+org.ID, url.Values{"industry": {org.Industry}})
	for _, m := range w.Members {
		if m.Role == seed.Owner {
			continue
		}
		kind := "workspace"
		switch m.Profile {
		case org.ID:
			kind = "org"
		case w.Shares[0].ID:
			kind = "share"
		}
		update("/"+kind+"/"+m.Profile+"/member/"+m.User, url.Values{"permissions": {string(m.Role)}})
	}
}

func TestWorldOfUnknownSizePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if got := fmt.Sprint(recover()); got != `emulator: size: got "huge", want one of small, medium, large` {
			t.Error(got)
		}
	}()
	emulator.New(seed.Options{}).GenerateWorld(seed.World{Size: "huge"})
}

// More events of an invented workspace are about its files.
func TestWorldGoesOnWithItsFiles(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	w := s.GenerateWorld(seed.World{})
	s.Generate(seed.History{Workspace: w.Workspaces[1].ID, Events: 200, From: s.Now().Add(-24 * time.Hour)})
	extent{"small", 50, 2, len(s.Log.Entries), 20, 9, 4}.check(t, s, &w)
	if n := len(s.Log.Entries); n < 700 {
		t.Errorf("%d events", n)
	}
}

// A past without room for reads does not let a later history invent changes.
func TestHistoryAfterAFullPastChangesNoFile(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	org := s.AddOrg(seed.Org{})
	room := s.AddWorkspace(seed.Workspace{Org: org.ID})
	file := s.AddNode(seed.Node{Profile: room.ID, Kind: "file", Name: "a.txt", Content: "a"})
	const full = 0
	s.WritePast(full, 1, room.ID)
	first := world.Number(len(s.Log.Entries))
	s.Generate(seed.History{Workspace: room.ID, Events: 200})
	for _, e := range s.Log.Entries[first:] {
		name := s.Log.Kinds.Values[e.Kind].Event
		if object := s.Log.ObjectID(e.Object); name == fileAdded || object != "" && object != file.ID {
			t.Errorf("%s of %q", name, object)
		}
	}
}

func BenchmarkGenerateWorld(b *testing.B) {
	for _, size := range []seed.Size{seed.Small, seed.Medium, seed.Large} {
		b.Run(string(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				emulator.New(seed.Options{}).GenerateWorld(seed.World{Size: size})
			}
		})
	}
}
