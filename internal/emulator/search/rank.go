package search

import (
	"cmp"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Ways to compare a name.
const (
	matchAuto     = "auto"
	matchExact    = "exact"
	matchPrefix   = "prefix"
	matchContains = "contains"
	matchGlob     = "glob"
)

type found struct {
	hits         []*hit
	intelligence bool   // the contents are indexed
	semantic     bool   // a search by meaning was possible
	hybrid       bool   // it was made, beside that by words
	reason       string // why contents were not searched at all
}

// hit is a matching node with its scores; 0 means no match.
type hit struct {
	node           *world.Node
	byName, byWord float64 // the name, and what the platform's agent says of the file
	byMeaning      float64
	excerpt        *excerpt // the best one
	relevance      float64
}

func (h *hit) keyword() float64 { return 2*h.byName + h.byWord }

// matchSource returns by what a hit was found: by words, by meaning or both.
func (h *hit) matchSource() string {
	switch {
	case h.byMeaning == 0:
		return "keyword"
	case h.keyword() == 0:
		return "semantic"
	}
	return "both"
}

// scoreSource returns what the score of a hit comes from, and that score: meaning, then
// words. A hit by its name alone has no score, and the source "filename".
func (h *hit) scoreSource() (source string, score any) {
	switch {
	case h.byMeaning > 0:
		return "semantic", h.byMeaning
	case h.byWord > 0:
		return "keyword", h.byWord
	}
	return inNames, nil
}

// findFiles returns the nodes of a storage that match a search, the best first: by
// words in names and summaries, and by meaning in indexed excerpts. Only the excerpts are
// limited to a scope. If the caller may not read the summaries, contents are found by
// excerpts only; if these cannot be searched either, the result says why.
func (h *Handlers) findFiles(store world.Store, q *fileQuery) *found {
	searchesContent := q.in != inNames
	seesSummaries := h.w.ShowsSummaries(store) // the store knows the caller
	policyAllows := h.w.RefuseIntelligence(store.Profile) == nil
	f := &found{intelligence: h.w.IsIndexed(store.Profile)}
	f.semantic = f.intelligence && policyAllows && !h.w.Options.Search.NoSemantic
	f.hybrid = f.semantic && searchesContent
	nodes := slices.DeleteFunc(h.w.NodesOf(store.Profile), func(n *world.Node) bool { return !q.filter.Passes(n) })
	hits := make([]*hit, len(nodes))
	for i, n := range nodes {
		hits[i] = &hit{node: n}
	}
	if q.in != inContent {
		rateNames(hits, q)
	}
	if searchesContent && seesSummaries {
		rateSummaries(hits, q.text)
	}
	hasExcerpts := f.hybrid && h.rateExcerpts(hits, q)
	onlyExcerpts := searchesContent && !seesSummaries // a search by summaries needs no reason
	if onlyExcerpts {
		f.reason = f.reasonNotSearched(hasExcerpts) // "" if excerpts were searched
	}
	f.hits = slices.DeleteFunc(hits, func(match *hit) bool { return match.keyword() == 0 && match.byMeaning == 0 })
	f.rank()
	return f
}

// reasonNotSearched returns why no contents were searched for a caller who may not read the
// summaries: the index is off, only the summaries could be searched (because the search by
// meaning is off), or no content is indexed. It returns "" if excerpts were searched.
func (f *found) reasonNotSearched(hasExcerpts bool) string {
	switch {
	case !f.intelligence:
		return "intelligence_disabled"
	case !f.semantic:
		return "summary_permission_denied"
	case !hasExcerpts:
		return "content_not_indexed"
	}
	return ""
}

// rank sorts hits by reciprocal rank fusion: a hit gets 1/(60+n) for being number n by
// words, and the same by meaning; 60 is the usual constant. The sum is divided by that of
// the best hit, whose relevance is then 1.
func (f *found) rank() {
	const damping = 60
	best := 0.0
	for _, score := range []func(*hit) float64{(*hit).keyword, func(h *hit) float64 { return h.byMeaning }} {
		order := slices.Clone(f.hits)
		slices.SortStableFunc(order, func(a, b *hit) int { return cmp.Compare(score(b), score(a)) })
		for i, h := range order {
			if score(h) > 0 {
				h.relevance += 1 / float64(damping+i+1)
				best = max(best, h.relevance)
			}
		}
	}
	for _, h := range f.hits {
		h.relevance /= best
	}
	slices.SortStableFunc(f.hits, func(a, b *hit) int { return cmp.Compare(b.relevance, a.relevance) })
}

// rateNames sets the scores of names: by words or, if the query is a pattern, 1 for
// each match among the first examinedMost nodes.
func rateNames(hits []*hit, q *fileQuery) {
	if q.match == matchAuto {
		c := newCorpus(len(hits), func(i int) string { return hits[i].node.Name })
		for i, score := range c.scoreTexts(q.text) {
			hits[i].byName = score
		}
		return
	}
	for _, h := range hits[:min(len(hits), examinedMost)] {
		if nameMatches(h.node.Name, q) {
			h.byName = 1
		}
	}
}

// nameMatches reports whether a name matches the pattern of a query. An exact pattern
// may leave out the extension.
func nameMatches(name string, q *fileQuery) bool {
	pattern := q.text
	if !q.cased {
		name, pattern = strings.ToLower(name), strings.ToLower(pattern)
	}
	switch q.match {
	case matchExact:
		return name == pattern || strings.TrimSuffix(name, path.Ext(name)) == pattern
	case matchPrefix:
		return strings.HasPrefix(name, pattern)
	case matchContains:
		return strings.Contains(name, pattern)
	}
	return globMatches(name, pattern)
}

// globMatches matches a whole name against a pattern with * and ?.
func globMatches(name, pattern string) bool {
	pattern = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("(?s)^" + pattern + "$").MatchString(name)
}

// rateSummaries sets the scores of the summaries of nodes by the words of a text.
func rateSummaries(hits []*hit, text string) {
	c := newCorpus(len(hits), func(i int) string { return hits[i].node.SummaryText() })
	for i, score := range c.scoreTexts(text) {
		hits[i].byWord = score
	}
}

// excerpt is a chunk of a text in a search.
type excerpt struct {
	storage.Chunk
	hit *hit
}

// rateExcerpts sets the score by meaning of each hit in the scope, and its best excerpt.
// Meaning is emulated by the words of excerpts. It returns false if there are no excerpts.
func (h *Handlers) rateExcerpts(hits []*hit, q *fileQuery) bool {
	var all []excerpt
	for _, match := range hits {
		if match.node.AIState != world.AIIndexed || !q.scope.has(match.node) {
			continue
		}
		chunks, _ := storage.ChunksOf(match.node)
		for _, chunk := range chunks {
			all = append(all, excerpt{chunk, match})
		}
	}
	c := newCorpus(len(all), func(i int) string { return all[i].Text })
	for i, score := range c.scoreTexts(q.text) {
		if one := all[i].hit; score > one.byMeaning {
			one.byMeaning, one.excerpt = score, &all[i]
		}
	}
	return len(all) > 0
}

// corpus is a set of texts to be rated: rare words count more.
type corpus struct {
	counts    []map[string]float64
	lengths   []float64
	documents map[string]float64 // in how many texts a word is
}

// newCorpus counts the words of n texts: how often each is in a text, and in how many
// texts (documents) it is.
func newCorpus(n int, text func(i int) string) *corpus {
	c := &corpus{documents: map[string]float64{}}
	for i := range n {
		counts := map[string]float64{}
		all := words(text(i))
		for _, w := range all {
			counts[w]++
		}
		for w := range counts {
			c.documents[w]++
		}
		c.counts, c.lengths = append(c.counts, counts), append(c.lengths, float64(len(all)))
	}
	return c
}

// scoreTexts scores every text by the words of a query, much as BM25 does; 0 means no
// match. A word counts more in fewer texts, and less in a long text, and more
// occurrences of it count less and less. Fillers such as "the" count only if there is
// no other word.
func (c *corpus) scoreTexts(query string) []float64 {
	scores := make([]float64, len(c.counts))
	wanted := words(query)
	slices.Sort(wanted) // sums of floats depend on their order
	wanted = slices.Compact(wanted)
	if telling := slices.DeleteFunc(slices.Clone(wanted), isFiller); len(telling) > 0 {
		wanted = telling
	}
	for i, counts := range c.counts {
		for _, w := range wanted {
			if n := counts[w]; n > 0 {
				rarity := math.Log(1 + float64(len(c.counts))/c.documents[w])
				scores[i] += rarity * n / (n + 1 + c.lengths[i]/100)
			}
		}
	}
	return scores
}

// words returns the stems of the words of a text.
func words(text string) []string {
	fields := wire.InWords(text)
	for i, w := range fields {
		fields[i] = stem(w)
	}
	return fields
}

// stem returns a word without the ending ing, ed, es or s, if three letters are left.
func stem(w string) string {
	const least = 3
	for _, ending := range [...]string{"ing", "ed", "es", "s"} {
		if cut, found := strings.CutSuffix(w, ending); found && len(cut) >= least {
			return cut
		}
	}
	return w
}

// isFiller reports whether a stem is that of a common word such as "the", which does not
// distinguish texts; "doe" and "thi" are the stems of "does" and "this".
func isFiller(w string) bool {
	const fillers = " a an and are as at by do doe for from how in is it of on or our that the thi this to was we what " +
		"when where which who why with "
	return strings.Contains(fillers, " "+w+" ")
}
