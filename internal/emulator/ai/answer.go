package ai

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// passage is a piece of a file that an answer rests on.
type passage struct {
	node     *world.Node
	version  string
	text     string
	page     int
	score    int
	attached bool // the question is about it
}

const citationsMost = 3

// lookUp finds the passages that a question is about: in what it refers to, or in everything that is indexed.
func (h *Handlers) lookUp(t *turn) []passage {
	words := terms(t.query)
	var found []passage
	for _, src := range h.readable(t) {
		version, _ := src.node.Version(src.version)
		src.version = version.ID
		if src.search(version.Content, words); src.text != "" && (src.attached || src.score > 0) {
			found = append(found, src)
		}
	}
	slices.SortStableFunc(found, func(a, b passage) int { return b.score - a.score })
	return found[:min(citationsMost, len(found))]
}

// readable lists what the agent may read for a question. Folders, and the whole place when nothing is named, need the
// index.
func (h *Handlers) readable(t *turn) []passage {
	place := t.thread.profile
	var list []passage
	for _, ref := range t.refs {
		if n := h.Node(place, ref.id); n != nil && !ref.folder {
			list = append(list, passage{node: n, version: ref.version, attached: true})
		}
	}
	if !h.Intelligent(place) {
		return list
	}
	for _, n := range h.NodesOf(place) {
		named := len(t.refs) == 0 || slices.ContainsFunc(t.refs,
			func(r reference) bool { return r.folder && h.InFolder(n, r.id) })
		known := slices.ContainsFunc(list, func(src passage) bool { return src.node == n })
		if named && !known && n.AIState == world.AIIndexed {
			list = append(list, passage{node: n})
		}
	}
	return list
}

// search picks the sentence that shares most words with a question, the first one of those that share as many.
func (src *passage) search(text string, words []string) {
	if !utf8.ValidString(text) {
		return
	}
	page := 1
	for sentence := range sentences(text) {
		page += strings.Count(sentence, "\f")
		sentence = strings.TrimLeft(strings.TrimSpace(sentence), "#->*\f ")
		score := 0
		for _, word := range terms(sentence) {
			if slices.Contains(words, word) {
				score++
			}
		}
		if sentence != "" && (src.text == "" || score > src.score) {
			src.text, src.score, src.page = sentence, score, page
		}
	}
}

// sentences cuts a text at the ends of lines and sentences.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin := 0
		for i, r := range text {
			stop := strings.ContainsRune(".!?", r) && (i+1 == len(text) || unicode.IsSpace(rune(text[i+1])))
			if !stop && r != '\n' {
				continue
			}
			if !yield(text[begin : i+1]) {
				return
			}
			begin = i + 1
		}
		if begin < len(text) {
			yield(text[begin:])
		}
	}
}

// terms lists the words of a text that say what it is about, each once and without its plural.
func terms(text string) []string {
	const empty = " about and are can did does for from has have how not our that the there this was what when where " +
		"which who will with you your "
	var words []string
	for _, word := range strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) < 3 || strings.Contains(empty, " "+word+" ") {
			continue
		}
		if word = strings.TrimSuffix(word, "s"); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// compose writes an answer out of what was found.
func (h *Handlers) compose(t *turn) string {
	place := h.ProfileName(t.thread.profile)
	if len(t.sources) == 0 {
		return "Nothing in " + place + " answers that."
	}
	var b strings.Builder
	b.WriteString("From the files of " + place + ":")
	for i, src := range t.sources {
		b.WriteString("\n\n" + src.text + " [" + strconv.Itoa(i+1) + "]")
	}
	return b.String()
}

// object is a source as a citation.
func (src *passage) object() wire.Object {
	return wire.Object{
		{"node_id", wire.Hyphenated(src.node.ID)},
		{"version_id", wire.Hyphenated(src.version)},
		{"name", src.node.Name},
		{"page", src.page},
		{"snippet", src.text},
	}
}
