package emulator_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func (h *ledger) extract(t *testing.T, u emulator.User, n emulator.Node, fields ...string) reply {
	t.Helper()
	return h.form(t, h.keys[u.ID], http.MethodPost, h.in("storage/"+n.ID+"/metadata/extract/"), fields...)
}

func (h *ledger) jobs(t *testing.T) reply {
	t.Helper()
	return h.list(t, h.ben, h.in("jobs/status/"))
}

// later moves the clock.
func (h *ledger) later(d time.Duration) { h.now = h.now.Add(d) }

func TestExtract(t *testing.T) {
	t.Parallel()
	h := newLedger()
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "invoice_total", Type: "float"})
	h.write(t, h.bill, hash{"vendor": "Somebody else"})
	p := h.extract(t, h.ben, h.bill)
	if p.Status != 202 || p.get("status") != "queued" || p.get("node_id") != h.bill.ID || p.get("status_uri") != "/current"+h.in("jobs/status/") {
		t.Fatalf("queued: %d %s", p.Status, p.Body)
	}
	job := h.jobs(t).get("jobs.metadata_extract.0").(hash)
	if job["job_id"] != nil || job["status"] != "queued" || job["kind"] != "single" || job["node_id"] != h.bill.ID {
		t.Errorf("a job that waits: %v", job)
	}
	if got := h.list(t, h.ben, h.facts(h.bill)).get("count"); got != 1.0 {
		t.Errorf("%v facts before the time", got)
	}
	before := h.Credits(h.org.ID)
	h.later(2 * time.Second)
	job = h.jobs(t).get("jobs.metadata_extract.0").(hash)
	if job["job_id"] != p.get("job_id") || job["status"] != "completed" {
		t.Errorf("a job that is done: %v, want %v", job, p.get("job_id"))
	}
	facts := h.list(t, h.ben, h.facts(h.bill))
	want := map[string]any{
		"due_date": "2026-07-01T00:00:00Z", "invoice_total": 1250.5, "paid": false, "vendor": "Somebody else",
		"category": "Finance", "sub_category": "Invoice",
	}
	got := map[string]any{}
	for i, name := range facts.rows("items", "field") {
		got[name.(string)] = facts.rows("items", "value")[i]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if row := facts.row("items", "field", "due_date"); row["source"] != "ai" || row["confidence"] != "high" || row["declared_type"] != "datetime" {
		t.Errorf("where it is from: %v", row)
	}
	if row := h.list(t, h.ben, h.fields()).row("items", "name", "paid"); row["origin"] != "ai" {
		t.Errorf("a field that was found: %v", row)
	}
	if got := h.Credits(h.org.ID) - before; got != 1 {
		t.Errorf("%d credits, want 1", got)
	}
	if got := len(h.search(t, h.ada, "workspace_id", h.room.ID, "event", "metadata_kv_extract").events()); got != 1 {
		t.Errorf("%d events, want 1", got)
	}
	h.later(time.Hour)
	if got := h.jobs(t).get("jobs.metadata_extract").([]any); len(got) != 0 {
		t.Errorf("after an hour: %v", got)
	}
}

func TestExtractNamedFields(t *testing.T) {
	t.Parallel()
	h := newLedger()
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "Vendor"})
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "seller", MergedInto: "vendor"})
	expect(t, h.extract(t, h.ben, h.bill, "fields", `["seller"]`), 202, 0)
	h.later(2 * time.Second)
	if got := h.list(t, h.ben, h.facts(h.bill)).rows("items", "field"); !cmp.Equal(got, []any{"Vendor"}) {
		t.Errorf("facts %v", got)
	}
	p := h.extract(t, h.ben, h.bill, "fields", `["vendor"]`)
	if p.Status != 200 || p.get("status") != "already_extracted" || p.get("job_id") != nil {
		t.Errorf("again: %d %s", p.Status, p.Body)
	}
	expect(t, h.extract(t, h.ben, h.bill, "fields", `["nothing"]`), 406, 10022, "fields invalid")
	expect(t, h.extract(t, h.ben, h.bill, "fields", `[]`), 406, 10022, "fields invalid")
	expect(t, h.extract(t, h.ben, h.bill, "fields", `vendor`), 406, 10023, "fields type_mismatch")
	expect(t, h.extract(t, h.ben, h.bill, "fields", `["`+strings.Repeat(`vendor","`, 50)+`vendor"]`), 406, 10022, "fields invalid")
	expect(t, h.extract(t, h.ben, h.bill, "template_id", "m1"), 406, 179390)
	expect(t, h.extract(t, h.ben, h.folder), 406, 150183)
	expect(t, h.extract(t, h.cleo, h.bill), 401, 10545)
}

func TestExtractErrors(t *testing.T) {
	t.Parallel()
	h := newLedger(func(o *emulator.Options) { o.Metadata.ExtractRetries, o.Metadata.ExtractTime = 1, time.Minute })
	status := func(n emulator.Node) any {
		job := h.jobs(t).row("jobs.metadata_extract", "node_id", n.ID)
		if failed := job["status"] == "errored"; failed != (job["error_message"] != nil) {
			t.Errorf("the message of a job that is %v: %v", job["status"], job["error_message"])
		}
		return job["status"]
	}
	h.extract(t, h.ben, h.bill)
	h.extract(t, h.ben, h.scan)
	for i, want := range [][2]any{{"queued", "queued"}, {"errored", "errored"}, {"completed", "errored"}} {
		if got := [2]any{status(h.bill), status(h.scan)}; got != want {
			t.Errorf("after %d minutes: %v, want %v", i, got, want)
		}
		h.later(time.Minute)
	}
}

func TestExtractAll(t *testing.T) {
	t.Parallel()
	h := newLedger(func(o *emulator.Options) { o.Metadata.ExtractTime = -1 })
	all := func(u emulator.User, id string) reply {
		return h.form(t, h.keys[u.ID], http.MethodPost, h.in("storage/"+id+"/metadata/extract-all/"))
	}
	if p := all(h.ada, h.folder.ID); p.Status != 202 || p.get("queued") != 1.0 {
		t.Errorf("a folder: %d %s", p.Status, p.Body)
	}
	if p := all(h.ada, "root"); p.Status != 202 || p.get("queued") != 4.0 {
		t.Errorf("all: %d %s", p.Status, p.Body)
	}
	if got := h.jobs(t).rows("jobs.metadata_extract", "kind"); !cmp.Equal(got, []any{"batch", "batch", "batch", "batch", "batch"}) {
		t.Errorf("kinds %v", got)
	}
	expect(t, all(h.ben, "root"), 401, 10545)
	expect(t, all(h.ada, h.bill.ID), 404, 0)
}

func TestExtractWakesPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &ledger{board: &board{world: newWorld(emulator.Options{Clock: time.Now, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})}}
		h.bill = h.AddNode(emulator.Node{Profile: h.room.ID, Name: "bill", Content: "Total: 1"})
		time.Sleep(time.Minute) // the index settles
		h.extract(t, h.ben, h.bill)
		cursor := h.poll(t, h.ben, h.room.ID).cursor()
		start := time.Now()
		p := h.poll(t, h.ben, h.room.ID, "wait", "60", "lastactivity", cursor, "updated", "1")
		if took := time.Since(start); took != 2*time.Second || !cmp.Equal(p.activity(), []string{"metadata"}) {
			t.Errorf("after %v: %v", took, p.activity())
		}
	})
}

func TestExtractKeepsWhatPeopleWrote(t *testing.T) {
	t.Parallel()
	h := newLedger(func(o *emulator.Options) { o.Metadata.ExtractTime = -1 })
	h.must(t, emulator.Fact{Node: h.bill.ID, Field: "vendor", Value: "A guess"})
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "invoice_total", Type: "float"})
	h.write(t, h.bill, hash{"invoice_total": ""})
	h.extract(t, h.ben, h.bill)
	facts := h.list(t, h.ben, h.facts(h.bill))
	if row := facts.row("items", "field", "vendor"); row["value"] != "Brass & Sons" {
		t.Errorf("the agent's own: %v", row)
	}
	if row := facts.row("items", "field", "invoice_total"); row["value"] != "" || row["source"] != "user" {
		t.Errorf("what a person emptied: %v", row)
	}
}
