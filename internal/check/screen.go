package check

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Show writes a report for the screen: a table by area, the differences, worst first, what
// became of assumed names and paths, what was not reached and why, and then how many members
// no response held and what was seen of rate limits.
func Show(w io.Writer, r *Report) error {
	text := &strings.Builder{}
	r.showTable(text)
	r.showDifferences(text)
	r.showAssumed(text)
	r.showNotReached(text)
	r.showNeverSeen(text)
	r.showLimits(text)
	_, err := io.WriteString(w, text.String())
	return err
}

// showTable writes the number of endpoints with each outcome, a line for each
// area and one for all.
func (r *Report) showTable(w *strings.Builder) {
	row := func(name string, counts ...any) {
		fmt.Fprintf(w, "%-12s", name)
		for _, n := range counts {
			if n == 0 {
				n = "-" // so that the other numbers stand out
			}
			fmt.Fprintf(w, "%13v", n)
		}
		w.WriteByte('\n')
	}
	counts := func(area string) []any {
		all := r.count(area, anyOutcome)
		return []any{
			all, all - r.count(area, NotReached), r.count(area, AsBelieved), r.count(area, Different),
			r.count(area, NotReached),
		}
	}
	row("area", "endpoints", "reached", "as believed", "different", "not reached")
	for _, area := range r.Areas() {
		row(area, counts(area)...)
	}
	row("all", counts(allAreas)...)
}

// showDifferences writes the differences by kind, each with some of its
// operations.
func (r *Report) showDifferences(w *strings.Builder) {
	if r.Different() == 0 {
		fmt.Fprintln(w, "\nNo differences: what was reached is as this version believes.")
		return
	}
	found := r.Found()
	for _, kind := range Kinds() {
		if len(found[kind]) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", kind.title())
		for _, f := range found[kind] {
			fmt.Fprintf(w, "  %s\n", f.Text)
			fmt.Fprintf(w, "      %s\n", list(f.Ops, maxListed))
		}
	}
}

// A Finding is a difference, and the operations that have it.
type Finding struct {
	Text string
	Ops  []string
}

// Found returns the differences by kind, each once.
func (r *Report) Found() map[Kind][]Finding {
	found := map[Kind][]Finding{}
	for _, key := range r.Keys() {
		o := r.Operations[key]
		for _, d := range o.Differences {
			text, all := d.text(), found[d.Kind]
			i := slices.IndexFunc(all, func(f Finding) bool { return f.Text == text })
			if i < 0 {
				found[d.Kind] = append(all, Finding{text, []string{o.Op}})
			} else if !slices.Contains(all[i].Ops, o.Op) {
				all[i].Ops = append(all[i].Ops, o.Op)
			}
		}
	}
	found[KindUnknown] = joinUnknown(found[KindUnknown])
	return found
}

// joinUnknown joins the findings about unknown members of one type with the same
// operations: one finding lists all members.
func joinUnknown(all []Finding) []Finding {
	var result []Finding
	for _, f := range all {
		i := strings.LastIndexByte(f.Text, '.') + 1
		typePrefix, member := f.Text[:i], f.Text[i:]
		same := func(other Finding) bool {
			return typePrefix != "" && strings.HasPrefix(other.Text, typePrefix) && slices.Equal(other.Ops, f.Ops)
		}
		if at := slices.IndexFunc(result, same); at >= 0 {
			result[at].Text += ", " + member
		} else {
			result = append(result, f)
		}
	}
	return result
}

// title returns the heading of a kind of differences in a report. "Other" means other than
// this version of the SDK expects.
func (k Kind) title() string {
	switch k {
	case KindPath:
		return "Endpoints that the platform does not have"
	case KindRequest:
		return "Fields of requests that are refused"
	case KindStatus:
		return "Other statuses"
	case KindDecode:
		return "Responses that cannot be decoded"
	case KindEnvelope:
		return "Other envelopes"
	case KindError:
		return "Other errors"
	case KindShape:
		return "Values of another kind"
	case KindPaging:
		return "Other pages"
	case KindLevel:
		return "Members that only a lower level of output has"
	case KindValue:
		return "Values that this version has no constant for"
	case KindUnknown:
		return "Members of responses that this version has no field for"
	}
	return string(k)
}

// text returns a difference as one line of a report: where it is, what was believed, and
// what came.
func (d Difference) text() string {
	place := strings.Trim(d.Type+"."+d.Member, ".")
	if place == "" {
		place = "the response"
	}
	s := place
	if d.Kind == KindUnknown && d.Member == hidden {
		s = d.Type + ": a name that may be a value, and is not shown"
	}
	if d.Form != "" {
		s += " (" + string(d.Form) + ")"
	}
	switch {
	case d.Want != "" && d.Got != "":
		s += ": believed " + d.Want + ", got " + d.Got
	case d.Got != "": // an unknown value: any of the constants was believed
		s += ": " + d.Got
	}
	return s
}

const maxListed = 4 // operations after which a line says "and N more"

// list joins the first names, up to a number of them, and says how many more there are.
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// showAssumed writes how many assumed names and paths were confirmed, and lists
// the names that were refuted.
func (r *Report) showAssumed(w *strings.Builder) {
	names, paths := map[string]int{}, map[string]int{}
	var wrong []string
	for _, key := range r.Keys() {
		o := r.Operations[key]
		paths[o.Path]++ // o.Path is confirmed, refuted or notSeen, or ""
		if o.Names == nil {
			continue
		}
		names[confirmed] += len(o.Names.Confirmed)
		names[refuted] += len(o.Names.Refuted)
		names[notSeen] += len(o.Names.NotSeen)
		for _, name := range o.Names.Refuted {
			wrong = append(wrong, fmt.Sprintf("%s of %s", name, o.Op))
		}
	}
	fmt.Fprintf(
		w, "\nAssumed names: %d confirmed, %d refuted, %d not seen.", names[confirmed], names[refuted], names[notSeen],
	)
	fmt.Fprintf(
		w, " Assumed paths: %d confirmed, %d refuted, %d not seen.\n", paths[confirmed], paths[refuted], paths[notSeen],
	)
	for _, name := range wrong {
		fmt.Fprintf(w, "  refuted: %s\n", name)
	}
}

// showNotReached writes the operations that were not reached, by the reason.
func (r *Report) showNotReached(w *strings.Builder) {
	reasons := map[string][]string{}
	for _, key := range r.Keys() {
		if o := r.Operations[key]; o.Outcome == NotReached {
			reasons[o.Reason] = append(reasons[o.Reason], o.Op)
		}
	}
	if len(reasons) == 0 {
		return
	}
	title := "\nNot reached"
	if !r.Header.Finished {
		title += ", also because the run has not finished"
	}
	fmt.Fprintln(w, title)
	for _, reason := range sortedKeys(reasons) {
		ops := slices.Compact(slices.Sorted(slices.Values(reasons[reason])))
		fmt.Fprintf(w, "  %s\n      %s\n", reason, list(ops, maxListed))
	}
}

// showNeverSeen writes the number of members that no response held.
func (r *Report) showNeverSeen(w *strings.Builder) {
	const never = "\nMembers that no response of an operation held: %d; the report lists them. They are no differences.\n"
	fmt.Fprintf(w, never, len(r.membersNeverSeen()))
}

// showLimits writes what was seen of rate limits.
func (r *Report) showLimits(w *strings.Builder) {
	fmt.Fprintf(
		w, "Rate limits: headers of %d operations; counted by: %s.\n", len(r.Limits.Operations), r.Limits.CountedBy,
	)
}

// ShowWords writes the words of responses that a report holds, for a person to read before
// the report is written.
func ShowWords(w io.Writer, r *Report) error {
	text := "\nThe report holds no word of your data: only names and kinds that this version has."
	if len(r.Words) > 0 {
		text = "\nThese words of responses are in the report. They look like words of the platform;\n" +
			"do not send the report if one of them is yours:\n" + wrap(r.Words)
	}
	_, err := io.WriteString(w, text+"\n")
	return err
}

// wrap writes words in lines of at most 90 columns. Two blanks stand before each word.
func wrap(words []string) string {
	const width, blanks = 90, "  "
	var b strings.Builder
	column := 0
	for _, word := range words {
		word = blanks + word
		if column > 0 && column+len(word) > width {
			b.WriteByte('\n')
			column = 0
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
