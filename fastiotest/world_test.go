package fastiotest_test

import (
	"bytes"
	"image/png"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/search"
)

// invented returns a small world, a client of its owner and its client workspace.
func invented(t *testing.T) (seed.File, *fastio.Client, api.Profile) {
	t.Helper()
	s := fastiotest.New()
	w := s.GenerateWorld(seed.World{Number: 3})
	return w, s.Client(t), api.Workspace(api.ID(w.Workspaces[1].ID))
}

// content returns a file of a workspace by its path.
func content(t *testing.T, c *fastio.Client, in api.Profile, path string) string {
	t.Helper()
	b, err := fs.ReadFile(c.Storage.FS(t.Context(), in, api.Root), path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWorldHasFilesThatCanBeRead(t *testing.T) {
	t.Parallel()
	w, c, _ := invented(t)
	if len(w.Nodes) != 50 || len(w.Workspaces) != 2 {
		t.Errorf("%d nodes in %d workspaces", len(w.Nodes), len(w.Workspaces))
	}
	found := 0
	for _, workspace := range w.Workspaces {
		tree := c.Storage.FS(t.Context(), api.Workspace(api.ID(workspace.ID)), api.Root)
		err := fs.WalkDir(tree, ".", func(path string, e fs.DirEntry, err error) error {
			found++
			if err != nil || e.IsDir() {
				return err
			}
			b, err := fs.ReadFile(tree, path)
			if strings.ContainsAny(string(b), "{}") && !strings.HasSuffix(path, ".png") {
				t.Errorf("%s has a placeholder", path)
			}
			if info, infoErr := e.Info(); infoErr != nil || len(b) == 0 || info.Size() != int64(len(b)) {
				t.Errorf("%s: %d bytes, %v", path, len(b), infoErr)
			}
			switch {
			case strings.HasSuffix(path, ".png"):
				if _, err := png.Decode(bytes.NewReader(b)); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			case strings.HasSuffix(path, ".pdf"):
				if !bytes.HasPrefix(b, []byte("%PDF-1.4\n")) || !bytes.HasSuffix(b, []byte("%%EOF\n")) {
					t.Errorf("%s is no PDF", path)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found != 50+2-1 { // both roots, but not what is in the trash
		t.Errorf("%d files and folders", found)
	}
}

// What comments and answers say is in the files that they are about.
func TestWorldAgreesWithItself(t *testing.T) {
	t.Parallel()
	w, c, in := invented(t)
	quotes := content(t, c, in, "05 Production/Printer quotes.csv")
	budget := content(t, c, in, "Contract and money/Budget.csv")
	_, price, _ := strings.Cut(quotes, "Osterby Print,")
	price = strings.Split(price, ",")[1]
	if !strings.Contains(budget, "\nPrinting,"+price+",") {
		t.Errorf("the quote is %s, the budget\n%s", price, budget)
	}
	sum := 0
	for line := range strings.Lines(budget) {
		cells := strings.Split(line, ",")
		n, _ := strconv.Atoi(cells[1])
		if cells[0] == "Total" && n != sum {
			t.Errorf("the total is %d, the sum %d", n, sum)
		}
		sum += n
	}
	mentions := 0
	for comment, err := range c.Comments.All(t.Context(), comments.On(in), nil) {
		if err != nil {
			t.Fatal(err)
		}
		mentions += strings.Count(comment.Body, "@[user:")
		if strings.Contains(comment.Body, "{") {
			t.Error(comment.Body)
		}
	}
	if mentions < 4 || len(w.Threads) != 4 {
		t.Errorf("%d mentions, %d threads", mentions, len(w.Threads))
	}
}

func TestWorldIsFoundBySearch(t *testing.T) {
	t.Parallel()
	w, c, in := invented(t)
	for text, want := range map[string]string{
		"bleed spot color":   "Print specification.pdf", // words of its pages
		"shelf vote":         "Shelf survey.csv",
		"turning around":     "Interviews.md",
		"neighbor exclaim":   "Voice and tone.md",
		"osterby delivery":   "Printer quotes.csv",
		"stretch photograph": "Logo usage.pdf",
	} {
		var names []string
		for hit, err := range c.Search.All(t.Context(), in, search.Query{Text: text}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, hit.Name)
		}
		if !slices.Contains(names, want) {
			t.Errorf("%q finds %q, want %s", text, names, want)
		}
	}
	page, err := c.Search.Unified(t.Context(), in, search.UnifiedQuery{Text: "larger name"})
	if err != nil || len(page.Comments.Items) == 0 {
		t.Errorf("comments: %v, %v", page, err)
	}
	printed := node(t, &w, "Print specification.pdf")
	var text strings.Builder
	for chunk, err := range c.Storage.Texts.All(t.Context(), in, api.OpaqueID(printed.ID), nil) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(chunk.Text)
	}
	if !strings.HasPrefix(text.String(), "Print specification") || !strings.Contains(text.String(), "3 millimeters") {
		t.Errorf("the text of the PDF is %q", text.String())
	}
	preview, err := c.Storage.Previews.Get(t.Context(), in, api.OpaqueID(node(t, &w, "Logo.png").ID), "thumbnail")
	if err != nil {
		t.Fatal(err)
	}
	defer preview.Close()
	if _, err := png.Decode(preview); err != nil {
		t.Error(err)
	}
}

// node returns the node of a name.
func node(t *testing.T, w *seed.File, name string) seed.Node {
	t.Helper()
	i := slices.IndexFunc(w.Nodes, func(n seed.Node) bool { return n.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return w.Nodes[i]
}

func TestWorldHasAnswersWithCitations(t *testing.T) {
	t.Parallel()
	_, c, in := invented(t)
	seen := 0
	for thread, err := range c.AI.Threads.All(t.Context(), in, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for turn, err := range c.AI.Turns.All(t.Context(), in, thread.ID, nil) {
			if err != nil {
				t.Fatal(err)
			}
			full, err := c.AI.Turns.Get(t.Context(), in, thread.ID, turn.ID)
			if err != nil || full.Status != ai.TurnStatusComplete || len(full.Citations) == 0 {
				t.Fatalf("%v, %v", full, err)
			}
			for _, cited := range full.Citations {
				seen++
				var text strings.Builder
				for chunk, err := range c.Storage.Texts.All(t.Context(), in, cited.Node, nil) {
					if err != nil {
						t.Fatal(err)
					}
					text.WriteString(strings.Join(strings.Fields(chunk.Text), " ") + " ")
				}
				if !strings.Contains(text.String(), cited.Snippet) || cited.Version == "" {
					t.Errorf("%s, version %s, does not hold %q", cited.Name, cited.Version, cited.Snippet)
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d citations", seen)
	}
}

func TestWorldHasPeopleAndLinks(t *testing.T) {
	t.Parallel()
	w, c, in := invented(t)
	roles, invited := map[string]int{}, 0
	for m, err := range c.Members.All(t.Context(), in, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Invite != nil {
			invited++
		}
		roles[string(m.Role)]++
	}
	if roles["owner"] != 1 || roles["admin"] != 2 || roles["member"] != 3 || roles["guest"] < 1 || invited != 1 {
		t.Errorf("%v, %d invited", roles, invited)
	}
	share, err := c.Shares.Get(t.Context(), api.ID(w.Shares[0].ID))
	if err != nil || share.Title != w.Shares[0].Title {
		t.Errorf("%v, %v", share, err)
	}
	link, err := c.FileShares.Get(t.Context(), api.ID(w.FileShares[0].ID))
	if err != nil || link.Title != "Our proposal" {
		t.Errorf("%v, %v", link, err)
	}
	if len(w.Invitations) != 3 || len(w.Facts) < 8 || len(w.QuickShares) != 1 {
		t.Errorf("%d invitations, %d facts", len(w.Invitations), len(w.Facts))
	}
}

// The objects of events on nodes exist.
func TestWorldHasEventsAboutItsObjects(t *testing.T) {
	t.Parallel()
	w, c, _ := invented(t)
	nodes, checked, total := map[api.OpaqueID]bool{}, 0, 0
	q := events.Query{Profile: api.Org(api.ID(w.Orgs[0].ID)), Limit: 250}
	for e, err := range c.Events.All(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		total++
		if e.ObjectID == "" || e.Category == "ai" || nodes[e.ObjectID] {
			continue
		}
		nodes[e.ObjectID] = true
		n, err := c.Storage.Get(t.Context(), api.Workspace(e.WorkspaceID), e.ObjectID)
		if err != nil || !strings.Contains(e.Description, n.Name) {
			t.Errorf("%s: %v, %v", e.Description, n, err)
		}
		checked++
	}
	if total < 430 || total > 500 || checked != 50 { // audit rows are left out
		t.Errorf("%d events, %d objects", total, checked)
	}
}

// The same world, options and clock give the same responses.
func TestWorldIsRepeatable(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	read := func(number uint64) []string {
		s := fastiotest.New(func(o *seed.Options) {
			o.Clock = func() time.Time { return noon }
			o.DropUndeclared = true
		})
		w, c := s.GenerateWorld(seed.World{Number: number}), s.Client(t)
		in := api.Workspace(api.ID(w.Workspaces[1].ID))
		answers := []string{w.Keys[1].Token}
		for _, path := range []string{
			"/user/details/", "/orgs/list/", "/workspaces/all/", "/workspace/{w}/details/", "/workspace/{w}/members/list/",
			"/workspace/{w}/storage/root/list/", "/workspace/{w}/search/?search=color", "/workspace/{w}/ai/agent/list/",
			"/comments/workspace/{w}/", "/events/search/?limit=250&workspace_id={w}", "/workspace/{w}/list/shares/",
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
				"/api/current"+strings.ReplaceAll(path, "{w}", w.Workspaces[1].ID), http.NoBody)
			r.Header.Set("Authorization", "Bearer "+s.Token())
			response := httptest.NewRecorder()
			s.ServeHTTP(response, r)
			answers = append(answers, path, response.Body.String())
			if response.Code != http.StatusOK {
				t.Errorf("%s: %s", path, response.Body)
			}
		}
		const logo = "03 Design/Logo/"
		return append(answers, content(t, c, in, logo+"Logo usage.pdf"), content(t, c, in, logo+"Logo.png"))
	}
	if diff := cmp.Diff(read(1), read(1)); diff != "" {
		t.Errorf("the same world twice:\n%s", diff)
	}
	if slices.Equal(read(1), read(2)) {
		t.Error("two numbers give one world")
	}
}

// The agent answers from the files.
func TestWorldIsKnownToTheAgent(t *testing.T) {
	t.Parallel()
	_, c, in := invented(t)
	question := ai.Question{Text: "Which material is it printed on, how many grams does the board have?"}
	turn, err := c.AI.Ask(t.Context(), in, question, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(turn.Citations))
	for _, cited := range turn.Citations {
		names = append(names, cited.Name)
	}
	if !slices.Contains(names, "Print specification.pdf") || !strings.Contains(turn.Answer, "300 grams") {
		t.Errorf("%s\n%q", turn.Answer, names)
	}
}
