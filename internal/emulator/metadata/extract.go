package metadata

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	extractMost = 50
	extractTime = 2 * time.Second // when the options do not say
	jobsKept    = time.Hour

	jobQueued    = "queued"
	jobCompleted = "completed"
	jobErrored   = "errored"
	jobSingle    = "single"
	jobBatch     = "batch"
)

// extraction is a job of the agent that extracts facts from a file or note.
type extraction struct {
	id, workspace, user string
	node                *world.Node
	kind, status        string
	fields              []string // none is whatever it finds
	created, updated    time.Time
}

func (j *extraction) object() wire.Object {
	var id, failure any
	percent := 0
	if j.status != jobQueued {
		id, percent = wire.Hyphenated(j.id), 100
	}
	if j.status == jobErrored {
		failure = "The file has no text that can be read."
	}
	return wire.Object{
		{"job_id", id},
		{"kind", j.kind},
		{"node_id", j.node.ID}, // raw, unlike elsewhere
		{"fields", j.fields},
		{"status", j.status},
		{"progress", wire.Object{{"percent", percent}}}, // its form is assumed
		{"error_message", failure},
		{"created", wire.Stamp(j.created.Unix())},
		{"updated", wire.Stamp(j.updated.Unix())},
	}
}

// readExtraction reads the fields to extract; none means all.
func (h *extractor) readExtraction(c *wire.Call, workspaceID string) ([]string, error) {
	if err := c.ReadForm(); err != nil {
		return nil, err
	}
	if _, sent := c.Field("template_id"); sent {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeTemplates, "There are no templates any more.")
	}
	v := h.area.vocabularyOf(workspaceID)
	fields := []string{}
	for _, name := range jsonTexts(c, "fields", extractMost) {
		f := v.governing(name)
		if f == nil {
			c.Check.Invalid("fields", "There is no field "+name+".")
			break
		}
		fields = append(fields, f.name)
	}
	return fields, c.Check.Refusal()
}

func (h *extractor) extract(c *wire.Call, id string, n *world.Node) (wire.Object, error) {
	fields, err := h.readExtraction(c, id)
	if err != nil {
		return nil, err
	}
	uri := "/current/workspace/" + id + "/jobs/status/"
	if h.allExtracted(n, fields) {
		return extractAnswer(nil, n, fields, "already_extracted", uri), nil
	}
	j := h.queueExtraction(c, n, jobSingle, fields)
	return c.Accepted(extractAnswer(wire.Hyphenated(j.id), n, fields, j.status, uri))
}

func extractAnswer(job any, n *world.Node, fields []string, status, uri string) wire.Object {
	return wire.Object{{"job_id", job}, {"node_id", n.ID}, {"fields", fields}, {"status", status}, {"status_uri", uri}}
}

// allExtracted reports whether all named fields have a row on a node.
func (h *extractor) allExtracted(n *world.Node, fields []string) bool {
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(name string) bool {
		return h.area.metadata.facts[n.ID][fieldKey(name)] == nil
	})
}

func (h *extractor) extractAll(c *wire.Call, id string) (wire.Object, error) {
	folder := wire.Plain(c.Segment("node_id"))
	if folder != world.RootFolder {
		if n := h.w.Node(id, folder); n == nil || n.Kind != world.KindFolder {
			return nil, wire.NoSuch(wire.CodeNotFound, "folder")
		}
	}
	fields, err := h.readExtraction(c, id)
	if err != nil {
		return nil, err
	}
	queued := 0
	for _, n := range h.w.NodesOf(id) {
		inside := folder == world.RootFolder || h.w.InFolder(n, folder)
		if n.HasContent() && inside && !h.allExtracted(n, fields) {
			h.queueExtraction(c, n, jobBatch, fields)
			queued++
		}
	}
	return c.Accepted(wire.Object{
		{"folder_id", folder},
		{"fields", fields},
		{"queued", queued},
		{"status", jobQueued},
		{"status_uri", "/current/workspace/" + id + "/jobs/status/"},
	})
}

// queueExtraction starts a job, which finishes later.
func (h *extractor) queueExtraction(c *wire.Call, n *world.Node, kind string, fields []string) *extraction {
	j := &extraction{
		id: world.Opaque('9', h.w.Options.Seed, h.w.NextSerial()), workspace: n.Profile, user: c.Key.User, node: n,
		kind: kind, status: jobQueued, fields: fields, created: c.Now, updated: c.Now,
	}
	h.area.metadata.extractions = append(h.area.metadata.extractions, j)
	h.w.Touch(h.w.Now(), n.Profile, fieldMetadata)
	h.w.Later(h.w.Now().Add(h.extractTime()), func() { h.finish(j, h.w.Options.Metadata.ExtractRetries) })
	return j
}

func (h *extractor) extractTime() time.Duration {
	return max(0, cmp.Or(h.w.Options.Metadata.ExtractTime, extractTime))
}

// finish ends a job. The platform may retry a failed one, with another result.
func (h *extractor) finish(j *extraction, retries int) {
	j.updated = h.w.Now()
	j.status = jobErrored
	h.w.Touch(j.updated, j.workspace, fieldMetadata)
	if retries > 0 {
		h.w.Later(j.updated.Add(h.extractTime()), func() { h.finish(j, retries-1) })
		return
	}
	text := j.node.Text()
	if text == "" {
		return
	}
	j.status = jobCompleted
	h.w.Charge(h.w.OrgOf(j.workspace), 1)
	if found := h.takeDown(j, text); len(found) > 0 {
		h.area.factsChanged(j.node, world.Event{Name: eventExtracted, CallingUser: j.user}, found)
	}
}

// takeDown stores the facts of a text. Those written by users stay.
func (h *extractor) takeDown(j *extraction, text string) []string {
	v := h.area.vocabularyOf(j.workspace)
	var names []string
	file := func(f *metaField, value any, rationale string) {
		held := h.area.metadata.facts[j.node.ID][fieldKey(f.name)]
		fitted, fits := fitValue(f.kind, value)
		wanted := len(j.fields) == 0 || slices.Contains(j.fields, f.name)
		if !fits || !wanted || held != nil && held.source == sourceUser {
			return
		}
		h.area.keepFact(j.node, fact{
			field: f, value: fitted, stored: f.kind, source: sourceAI, confidence: "high", rationale: rationale,
			updated: j.updated,
		})
		names = append(names, f.name)
	}
	for line := range strings.Lines(text) {
		label, value, said := statement(line)
		if !said {
			continue
		}
		if f := h.area.fieldFor(v, label, value, len(j.fields) == 0); f != nil && f.allowed == nil {
			file(f, value, "The text says so.")
		}
	}
	category, sub := sortOf(j.node, text)
	file(v.governing(fieldCategory), category, "It reads like one.")
	file(v.governing(fieldSub), sub, "It reads like one.")
	return names
}

// fieldFor finds the field of a label, or creates it if allowed.
func (h *Handlers) fieldFor(v *vocabulary, label string, value any, mayAdd bool) *metaField {
	for _, f := range v.fields {
		if foldName(f.name) == foldName(label) {
			return v.governing(f.name)
		}
	}
	if !mayAdd || h.fieldRoom(v) == 0 {
		return nil
	}
	return v.add(strings.ReplaceAll(strings.ToLower(label), " ", "_"), typeOf(value), originAI, h.w.Now())
}

// statement parses a line "label: value".
func statement(line string) (label string, value any, said bool) {
	label, text, said := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-*# "), ": ")
	label, text = strings.Trim(label, "* "), strings.Trim(text, "* ")
	const wordsMost = 4
	said = said && label != "" && text != "" && len(strings.Fields(label)) <= wordsMost && isFieldName(label) &&
		utf8.RuneCountInString(label) <= fieldNameMost
	return label, readText(text), said
}

// sortOf returns the category of a file by words in it.
func sortOf(n *world.Node, text string) (category, sub string) {
	words := strings.ToLower(n.Name + " " + text)
	for _, sort := range [...][3]string{
		{"invoice", "Finance", "Invoice"},
		{"receipt", "Finance", "Receipt"},
		{"contract", "Legal", "Contract"},
		{"lease", "Legal", "Agreement"},
		{"report", "Operations", "Report"},
		{"specification", "Engineering", "Specification"},
		{"proposal", "Sales", "Proposal"},
		{"resume", "People", "Resume"},
		{"plan", "Product", "Plan"},
	} {
		if strings.Contains(words, sort[0]) {
			return sort[1], sort[2]
		}
	}
	return categoryOther, categoryOther
}

// jobs lists the jobs of a workspace. Ended ones are deleted after an hour.
func (h *extractor) jobs(c *wire.Call, id string) (wire.Object, error) {
	list := wire.Filter(h.area.metadata.extractions, func(j *extraction) bool {
		return j.workspace == id && (j.status == jobQueued || c.Now.Sub(j.updated) < jobsKept)
	})
	return wire.Object{{"jobs", wire.Object{
		{"metadata_extract", wire.Rows(list, (*extraction).object)},
		{"intelligence", nil},
		{"summarize", nil},
		{"upsert_file", nil},
	}}}, c.Check.Refusal()
}
