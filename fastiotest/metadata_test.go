package fastiotest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/fastiotest"
)

func TestMetadata(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	plan := s.AddNode(fastiotest.Node{Profile: room.ID, Name: "plan.pdf"})
	field := s.AddField(fastiotest.Field{Workspace: room.ID, Name: "pages", Type: "int"})
	if field.Origin != "ai" || field.Created.IsZero() {
		t.Errorf("what was empty was not filled in: %+v", field)
	}
	s.AddFact(t, fastiotest.Fact{Node: plan.ID, Field: "pages", Value: 12, Confidence: "high"})

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://fastio.test/api/current/workspace/"+string(room.ID)+"/storage/"+string(plan.ID)+"/metadata/facts/",
		http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token())
	p, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	body, err := io.ReadAll(p.Body)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"field":"pages","value":12,"declared_type":"int","stored_type":"int","source":"ai",` +
		`"confidence":"high"`
	if !strings.Contains(string(body), want) {
		t.Errorf("%s", body)
	}
}
