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

// object renders a job. The object of a queued job does not have its id, and the id of the
// node has no hyphens, in contrast to other objects.
func (j *extraction) object() wire.Object {
	var id, failure any
	percent := 0
	hasRun := j.status != jobQueued
	if hasRun {
		id, percent = wire.Hyphenated(j.id), 100
	}
	if j.status == jobErrored {
		failure = "The file has no text that can be read."
	}
	return wire.Object{
		{"job_id", id},
		{"kind", j.kind},
		{"node_id", j.node.ID},
		{"fields", j.fields},
		{"status", j.status},
		{"progress", wire.Object{{"percent", percent}}}, // its form is assumed
		{"error_message", failure},
		{"created", wire.Stamp(j.created.Unix())},
		{"updated", wire.Stamp(j.updated.Unix())},
	}
}

// readExtraction returns the names of the fields to extract; none means all.
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
		f := v.liveField(name)
		if f == nil {
			c.Check.Invalid("fields", "There is no field "+name+".")
			break
		}
		fields = append(fields, f.name)
	}
	return fields, c.Check.Err()
}

// extract starts a job that extracts facts from a node, unless the node has facts in
// all requested fields. The response says where the status of the job can be read.
func (h *extractor) extract(c *wire.Call, id string, n *world.Node) (wire.Object, error) {
	fields, err := h.readExtraction(c, id)
	if err != nil {
		return nil, err
	}
	uri := "/current/workspace/" + id + "/jobs/status/"
	if h.allExtracted(n, fields) {
		return extractAnswer(nil, n, fields, "already_extracted", uri), nil // nil: no job
	}
	j := h.queueExtraction(c, n, jobSingle, fields)
	return c.Accepted(extractAnswer(wire.Hyphenated(j.id), n, fields, j.status, uri))
}

// extractAnswer renders the response of extract; without a job, job is nil.
func extractAnswer(job any, n *world.Node, fields []string, status, uri string) wire.Object {
	return wire.Object{{"job_id", job}, {"node_id", n.ID}, {"fields", fields}, {"status", status}, {"status_uri", uri}}
}

// allExtracted reports whether a node has facts, which may be empty, in each of the fields.
// It reports false without fields.
func (h *extractor) allExtracted(n *world.Node, fields []string) bool {
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(name string) bool {
		return h.area.metadata.facts[n.ID][fieldKey(name)] == nil
	})
}

// extractAll starts a job for each file and note in a folder and below it that does not
// have facts in all requested fields.
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
	for _, n := range h.w.NodesOf(id) {
		inside := folder == world.RootFolder || h.w.InFolder(n, folder)
		if n.HasContent() && inside && !h.allExtracted(n, fields) {
			h.queueExtraction(c, n, jobBatch, fields)
		}
	}
	return c.Accepted(wire.Object{
		{"fields", fields},
		{"status", jobQueued},
		{"status_uri", "/current/workspace/" + id + "/jobs/status/"},
	})
}

// queueExtraction adds a job, and schedules its first attempt after extractTime. The first
// ExtractRetries attempts fail, and each is followed by another after extractTime.
func (h *extractor) queueExtraction(c *wire.Call, n *world.Node, kind string, fields []string) *extraction {
	j := &extraction{
		id:        world.Opaque('9', h.w.Options.Seed, h.w.NextSerial()), // 9 begins the ids of AI jobs
		workspace: n.Profile, user: c.Key.User, node: n, kind: kind, status: jobQueued, fields: fields,
		created: c.Now, updated: c.Now,
	}
	h.area.metadata.extractions = append(h.area.metadata.extractions, j)
	h.w.MarkChanged(h.w.Now(), n.Profile, fieldMetadata)
	h.w.Schedule(h.w.Now().Add(h.extractTime()), finishJob{h.area, j, h.w.Options.Metadata.ExtractRetries})
	return j
}

// extractTime returns how long a job takes.
func (h *extractor) extractTime() time.Duration {
	return max(0, cmp.Or(h.w.Options.Metadata.ExtractTime, extractTime))
}

// finishJob is the task of [extractor.finish].
type finishJob struct {
	h       *Handlers
	j       *extraction
	retries int
}

// Do implements [world.Task].
func (t finishJob) Do() { t.h.extractor.finish(t.j, t.retries) }

// finish ends an attempt of a job. With retries left, the attempt fails, and the next one
// has one retry less. The last attempt succeeds if the file has text.
func (h *extractor) finish(j *extraction, retries int) {
	j.updated = h.w.Now()
	j.status = jobErrored
	h.w.MarkChanged(j.updated, j.workspace, fieldMetadata)
	if retries > 0 {
		h.w.Schedule(j.updated.Add(h.extractTime()), finishJob{h.area, j, retries - 1})
		return
	}
	text := j.node.Text()
	if text == "" {
		return
	}
	j.status = jobCompleted
	h.w.Charge(h.w.OrgOf(j.workspace), 1)
	if found := h.storeFacts(j, text); len(found) > 0 {
		h.area.factsChanged(j.node, world.Event{Name: eventExtracted, CallingUser: j.user}, found)
	}
}

// storeFacts stores the facts that a text states as "label: value", and a category. It
// returns the names of their fields. Facts that users have written stay. A job that names
// fields changes only the facts of these. The fields with a list of allowed values, category
// and sub_category, are filled by categoryOf only; every workspace has them.
func (h *extractor) storeFacts(j *extraction, text string) []string {
	v := h.area.vocabularyOf(j.workspace)
	var names []string
	store := func(f *metaField, value any, rationale string) {
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
	mayAddFields := len(j.fields) == 0 // the job is for all fields
	for line := range strings.Lines(text) {
		label, value, isStatement := parseStatement(line)
		if !isStatement {
			continue
		}
		if f := h.area.fieldFor(v, label, value, mayAddFields); f != nil && f.allowed == nil {
			store(f, value, "The text says so.")
		}
	}
	category, sub := categoryOf(j.node, text)
	store(v.liveField(fieldCategory), category, "It reads like one.")
	store(v.liveField(fieldSub), sub, "It reads like one.")
	return names
}

// fieldFor returns the field of a label, or the one that it was merged into. If there is none,
// it adds one for the value, or returns nil if mayAdd is false or the workspace has no room.
func (h *Handlers) fieldFor(v *vocabulary, label string, value any, mayAdd bool) *metaField {
	for _, f := range v.fields {
		if foldName(f.name) == foldName(label) {
			return v.liveField(f.name)
		}
	}
	if !mayAdd || h.fieldsLeft(v) == 0 {
		return nil
	}
	return v.addField(strings.ReplaceAll(strings.ToLower(label), " ", "_"), typeOf(value), originAI, h.w.Now())
}

// parseStatement parses a line "label: value", without the marks of Markdown. It
// returns false for any other line; a label has at most four words.
func parseStatement(line string) (label string, value any, isStatement bool) {
	label, text, hasColon := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-*# "), ": ")
	label, text = strings.Trim(label, "* "), strings.Trim(text, "* ")
	const wordsMost = 4
	isLabel := label != "" && len(strings.Fields(label)) <= wordsMost && isFieldName(label) &&
		utf8.RuneCountInString(label) <= fieldNameMost
	return label, typedValue(text), hasColon && isLabel && text != ""
}

// categoryOf returns the category and subcategory of a file: those of the first word in a table
// that occurs in the name or the text of the file. If no word does, both are Other.
func categoryOf(n *world.Node, text string) (category, sub string) {
	words := strings.ToLower(n.Name + " " + text)
	for _, row := range [...]struct{ word, category, sub string }{
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
		if strings.Contains(words, row.word) {
			return row.category, row.sub
		}
	}
	return categoryOther, categoryOther
}

// jobs returns the jobs of a workspace that are queued or have ended within the last hour.
func (h *extractor) jobs(c *wire.Call, id string) (wire.Object, error) {
	list := wire.Filter(h.area.metadata.extractions, func(j *extraction) bool {
		return j.workspace == id && (j.status == jobQueued || c.Now.Sub(j.updated) < jobsKept)
	})
	return wire.Object{{"jobs", wire.Object{
		{"metadata_extract", wire.Rows(list, (*extraction).object)},
		{"intelligence", nil},
		{"summarize", nil},
		{"upsert_file", nil},
	}}}, c.Check.Err() // the level of detail was checked before, and may be wrong
}

// Tasks returns a task of each kind.
func Tasks() []world.Task { return []world.Task{finishJob{}} }
