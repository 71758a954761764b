package uploads_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/uploads"
)

const source = "https://loom.test/card.txt?signature=s1gn4tur3"

// withCard lets imports of the source find its content.
func withCard(o *seed.Options) { o.Uploads.Web = map[string]string{source: "A card."} }

func (w *world) start(t *testing.T) *uploads.WebImport {
	t.Helper()
	r := uploads.WebRequest{Source: api.NewSecret(source), Profile: w.to.Profile}
	started, err := w.client.Uploads.Web.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return started
}

func TestWebWaitReturnsTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withCard)
		w.Fail(seed.Fault{Op: op.UploadsWebGet, Status: http.StatusBadGateway, Count: 5})
		done, err := w.client.Uploads.Web.Wait(t.Context(), w.start(t).ID)
		if err != nil {
			t.Fatal(err)
		}
		n, err := w.client.Storage.Get(t.Context(), w.to.Profile, done.FileID)
		if err != nil || n.Name != "card.txt" {
			t.Fatalf("%+v, %v", n, err)
		}
		w.holds(t, n, []byte("A card."))
	})
}

func TestWebWaitFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		web := w.client.Uploads.Web
		failed, canceled := w.start(t), w.start(t)
		if err := web.Cancel(t.Context(), canceled.ID); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[api.OpaqueID]uploads.WebStatus{
			failed.ID: uploads.WebStatusFailed, canceled.ID: uploads.WebStatusCanceled,
		} {
			_, err := web.Wait(t.Context(), id)
			ended, ok := errors.AsType[*uploads.WebError](err)
			if !ok || ended.Import.Status != want || strings.Contains(fmt.Sprintf("%v %+v", err, *ended.Import), "s1gn") {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		if _, err := web.Wait(t.Context(), w.start(t).ID, api.WithTimeout(time.Second)); !errors.Is(
			err,
			context.DeadlineExceeded,
		) {
			t.Errorf("got %v after the timeout", err)
		}
	})
}

// The answers of a start have the import in a member or at the root, under either name
// of the ID.
func TestWebStartReadsEveryForm(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"result":true,"id":"5a","status":"ok"}`, `{"result":true,"upload_id":"5a"}`,
		`{"result":"yes","response":{"web_upload":{"id":"5a"}}}`,
	} {
		s := uploads.New(stub.Answer(answer))
		r := uploads.WebRequest{Source: api.NewSecret(source), Profile: api.Workspace("4012345678901234567")}
		got, err := s.Web.Start(t.Context(), r)
		if err != nil || got.ID != "5a" || got.Status != "" {
			t.Errorf("%s: %+v, %v", answer, got, err)
		}
	}
}

func TestWebNameIsThatOfTheAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		source: "card.txt", "https://loom.test/a/M%C3%BChle%20%E2%84%961.pdf#page": "Mühle №1.pdf", "http://loom.test/a;b=c": "a;b=c",
	} {
		s := stub.Answer(`{}`)
		r := uploads.WebRequest{Source: api.NewSecret(address), Profile: api.Workspace("4012345678901234567")}
		if _, err := uploads.New(s).Web.Start(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		form, ok := s.Got[0].Body.(api.Form)
		if got := form["file_name"]; !ok || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// A source that the server repeats is masked.
func TestWebSourceIsNotInErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Fail(
			seed.Fault{Op: op.UploadsWebStart, Status: http.StatusBadRequest, Text: "Not found: " + source},
		)
		r := uploads.WebRequest{Source: api.NewSecret(source), Profile: w.to.Profile}
		_, err := w.client.Uploads.Web.Start(t.Context(), r)
		failed, ok := errors.AsType[*api.Error](err)
		if !ok || strings.Contains(fmt.Sprintf("%v %+v %s", err, r, failed.Body), "s1gn") {
			t.Errorf("%v: %s", err, failed.Body)
		}
	})
}

func TestWebRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	s := uploads.New(stub.Answer(`{}`)).Web
	start := func(source string, in api.Profile, name string) error {
		r := uploads.WebRequest{Source: api.NewSecret(source), Profile: in, Name: name}
		return stub.Err(s.Start(t.Context(), r))
	}
	room := api.Workspace("4012345678901234567")
	stub.Refused(t, map[string][]error{
		"source_url": {start("", room, ""), start("loom.test/s1gn", room, ""), start("ftp://loom.test/s1gn", room, "")},
		"profile_id": {start(source, api.Profile{}, ""), start(source, api.FileShare("6012345678901234567"), "")},
		"file_name": {
			start(source, room, strings.Repeat("n", 256)), start(source, room, "a/b"), start(source, room, ".."),
			start("https://loom.test", room, ""), start("https://loom.test/?s1gn", room, ""),
			start("https://loom.test/s1gn/", room, ""), start("https://loom.test/s1gn%2Fa", room, ""),
			start("https://loom.test/s1gn%FF", room, ""), start("https://loom.test/s1gn/..", room, ""),
		},
		"id":    {s.Cancel(t.Context(), ""), s.Cancel(t.Context(), "-")},
		"limit": {stub.Err(s.List(t.Context(), &uploads.WebListOptions{Limit: 501}))},
	}, "s1gn")
}
