package emulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
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

// extraction is a job of the platform's agent: to read one file or note and write down what it says.
type extraction struct {
	id, workspace, user string
	node                *node
	kind, status        string
	fields              []string // none is whatever it finds
	created, updated    time.Time
}

func (j *extraction) object() object {
	id := any(nil)
	if j.status != jobQueued {
		id = hyphenated(j.id)
	}
	return object{
		{"job_id", id},
		{"kind", j.kind},
		{"node_id", j.node.ID}, // raw, unlike elsewhere
		{"fields", j.fields},
		{"status", j.status},
		{"progress", object{{"percent", map[bool]int{true: 0, false: 100}[j.status == jobQueued]}}}, // its form is assumed
		{"error_message", j.failure()},
		{"created", stamp(j.created.Unix())},
		{"updated", stamp(j.updated.Unix())},
	}
}

// failure is why a job failed, nil if it did not.
func (j *extraction) failure() any {
	if j.status != jobErrored {
		return nil
	}
	return "The file has no text that can be read."
}

// readExtraction reads the fields that a job shall look for, none for all.
func (s *Server) readExtraction(c *call, workspaceID string) ([]string, *answer) {
	if !c.readForm() {
		a := noForm()
		return nil, &a
	}
	if _, sent := c.field("template_id"); sent {
		a := refuse(http.StatusNotAcceptable, codeTemplates, "There are no templates any more.")
		return nil, &a
	}
	v := s.state.vocabularyOf(workspaceID)
	fields := []string{}
	for _, name := range c.jsonTexts("fields", extractMost) {
		f := v.governing(name)
		if f == nil {
			c.check.invalid("fields", "There is no field "+name+".")
			break
		}
		fields = append(fields, f.name)
	}
	return fields, c.check.refusal()
}

// extract lets the platform's agent read one file or note.
func (s *Server) extract(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, n, refusal := s.metadataNode(c, Member, write)
	if refusal != nil {
		return *refusal
	}
	fields, refusal := s.readExtraction(c, id)
	if refusal != nil {
		return *refusal
	}
	uri := "/current/workspace/" + id + "/jobs/status/"
	if s.state.allExtracted(n, fields) {
		return ok(extractAnswer(nil, n, fields, "already_extracted", uri)...)
	}
	j := s.queueExtraction(c, n, jobSingle, fields)
	return accepted(extractAnswer(hyphenated(j.id), n, fields, j.status, uri)...)
}

func extractAnswer(job any, n *node, fields []string, status, uri string) object {
	return object{{"job_id", job}, {"node_id", n.ID}, {"fields", fields}, {"status", status}, {"status_uri", uri}}
}

// allExtracted tells whether every one of the named fields has a row on a node, emptied or not.
func (st *state) allExtracted(n *node, fields []string) bool {
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(name string) bool {
		return st.metadata.facts[n.ID][fieldKey(name)] == nil
	})
}

// extractAll lets the platform's agent read everything in a folder, or in the whole workspace.
func (s *Server) extractAll(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.metadataOf(c, Admin, admin)
	if refusal != nil {
		return *refusal
	}
	folder := plain(c.segment("node_id"))
	if folder != rootFolder {
		if n := s.state.node(id, folder); n == nil || n.Kind != kindFolder {
			return *noSuch(codeNotFound, "folder")
		}
	}
	fields, refusal := s.readExtraction(c, id)
	if refusal != nil {
		return *refusal
	}
	queued := 0
	for _, n := range s.state.nodesOf(id) {
		inside := folder == rootFolder || s.state.inFolder(n, folder)
		if n.hasContent() && inside && !s.state.allExtracted(n, fields) {
			s.queueExtraction(c, n, jobBatch, fields)
			queued++
		}
	}
	return accepted(
		member{"folder_id", folder},
		member{"fields", fields},
		member{"queued", queued},
		member{"status", jobQueued},
		member{"status_uri", "/current/workspace/" + id + "/jobs/status/"},
	)
}

// queueExtraction makes a job that goes on by the clock.
func (s *Server) queueExtraction(c *call, n *node, kind string, fields []string) *extraction {
	s.state.serials++
	j := &extraction{
		id: opaque('9', s.o.Seed, s.state.serials), workspace: n.Profile, user: c.key.User, node: n,
		kind: kind, status: jobQueued, fields: fields, created: c.now, updated: c.now,
	}
	s.state.metadata.extractions = append(s.state.metadata.extractions, j)
	s.state.touch(s.now(), n.Profile, fieldMetadata)
	s.later(s.now().Add(s.extractTime()), func() { s.finish(j, s.o.Metadata.ExtractRetries) })
	return j
}

func (s *Server) extractTime() time.Duration {
	if s.o.Metadata.ExtractTime == 0 {
		return extractTime
	}
	return max(0, s.o.Metadata.ExtractTime)
}

// finish ends a job. One that failed can be tried again by the platform itself, and so come to another end.
func (s *Server) finish(j *extraction, retries int) {
	j.updated = s.now()
	j.status = jobErrored
	s.state.touch(j.updated, j.workspace, fieldMetadata)
	if retries > 0 {
		s.later(j.updated.Add(s.extractTime()), func() { s.finish(j, retries-1) })
		return
	}
	text := s.state.textOf(j.node)
	if text == "" {
		return
	}
	j.status = jobCompleted
	s.state.credits[s.state.orgOf(j.workspace)]++
	if found := s.takeDown(j, text); len(found) > 0 {
		s.factsChanged(j.node, Event{Name: eventExtracted, CallingUser: j.user}, found)
	}
}

// takeDown files what a text says. What a person wrote stays.
func (s *Server) takeDown(j *extraction, text string) []string {
	st := &s.state
	v := st.vocabularyOf(j.workspace)
	var names []string
	file := func(f *metaField, value any, rationale string) {
		held := st.metadata.facts[j.node.ID][fieldKey(f.name)]
		fitted, fits := fitValue(f.kind, value)
		wanted := len(j.fields) == 0 || slices.Contains(j.fields, f.name)
		if !fits || !wanted || held != nil && held.source == sourceUser {
			return
		}
		st.keepFact(j.node, fact{
			field: f, value: fitted, stored: f.kind, source: sourceAI, confidence: "high", rationale: rationale, updated: j.updated,
		})
		names = append(names, f.name)
	}
	for line := range strings.Lines(text) {
		label, value, said := statement(line)
		if !said {
			continue
		}
		if f := s.fieldFor(v, label, value, len(j.fields) == 0); f != nil && f.allowed == nil {
			file(f, value, "The text says so.")
		}
	}
	category, sub := sortOf(j.node, text)
	file(v.governing(fieldCategory), category, "It reads like one.")
	file(v.governing(fieldSub), sub, "It reads like one.")
	return names
}

// fieldFor finds the field that a label in a text means, and makes one where the job may and the workspace has room.
func (s *Server) fieldFor(v *vocabulary, label string, value any, mayAdd bool) *metaField {
	for _, f := range v.fields {
		if foldName(f.name) == foldName(label) {
			return v.governing(f.name)
		}
	}
	if !mayAdd || s.fieldRoom(v) == 0 {
		return nil
	}
	return v.add(strings.ReplaceAll(strings.ToLower(label), " ", "_"), typeOf(value), originAI, s.now())
}

// statement reads a line that says "label: value".
func statement(line string) (label string, value any, said bool) {
	label, text, said := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-*# "), ": ")
	label, text = strings.Trim(label, "* "), strings.Trim(text, "* ")
	const wordsMost = 4
	said = said && label != "" && text != "" && len(strings.Fields(label)) <= wordsMost && isFieldName(label) &&
		utf8.RuneCountInString(label) <= fieldNameMost
	return label, readText(text), said
}

// sortOf tells what kind of thing a file or note is.
func sortOf(n *node, text string) (category, sub string) {
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

// jobs lists the jobs of a workspace. Those that ended are forgotten after an hour.
func (s *Server) jobs(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.workspaceOfPath(c)
	if refusal == nil {
		refusal = c.check.refusal()
	}
	if refusal != nil {
		return *refusal
	}
	list := []object{}
	for _, j := range s.state.metadata.extractions {
		if j.workspace == id && (j.status == jobQueued || c.now.Sub(j.updated) < jobsKept) {
			list = append(list, j.object())
		}
	}
	return ok(member{"jobs", object{{"metadata_extract", list}, {"intelligence", nil}, {"summarize", nil}, {"upsert_file", nil}}})
}
