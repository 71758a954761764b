package invent

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/pdf"
)

// An archive holds what a project leaves behind: folders of minutes, hours, invoices,
// pictures and orders, which all follow from a number each.
const (
	perFolder    = 40  // files
	archiveDays  = 60  // before the day of the project
	perComment   = 20  // files
	pictures     = 16  // that all archives share
	minutesOfDay = 480 // of work
)

// kind is a kind of document in an archive.
type kind uint8

const (
	minutes kind = iota
	hours
	invoice
	feedback
	order
	photo
	kindCount // how many there are
)

// document is a text that is made when it is read. It is the source of a version.
type document struct {
	kind   kind
	number uint64
	client string
	day    time.Time
}

// Document returns a document, whose type is part of the state of a world.
func Document() io.ReaderAt { return &document{} }

// Text returns the text of a document as search and agent read it, the same at each
// call.
func (d *document) Text() string {
	dice := rand.New(rand.NewPCG(d.number, uint64(d.kind))) //nolint:gosec // repeatable on purpose
	var b strings.Builder
	switch d.kind {
	case minutes:
		d.writeMinutes(&b, dice)
	case hours:
		d.writeHours(&b, dice)
	case invoice:
		fmt.Fprintf(&b, "Invoice %s\n\n%s, %s\n\n%s\n\nTotal: %d EUR\n\nPlease pay within 14 days.\n",
			d.reference(), d.client, d.day.Format("2 January 2006"), pick(dice, works()), d.amount())
	case feedback:
		fmt.Fprintf(&b, "# Feedback of a shop\n\n%s, about %s.\n\n%s\n\n%s\n", d.day.Format("2 January 2006"), d.client,
			pick(dice, remarks()), pick(dice, remarks()))
	case order:
		fmt.Fprintf(&b, "Item,Pieces,Shop\n")
		for range 3 + dice.IntN(5) {
			fmt.Fprintf(&b, "%s %s,%d,%s\n", d.client, pick(dice, sorts()), 10*(1+dice.IntN(30)), pick(dice, shops()))
		}
	case photo, kindCount:
	}
	return b.String()
}

// writeMinutes writes the minutes of a meeting with the client, in Markdown.
func (d *document) writeMinutes(b *strings.Builder, dice *rand.Rand) {
	fmt.Fprintf(b, "# Minutes: %s\n\n%s. Present: %s, %s.\n\n", d.client, d.day.Format("2 January 2006"),
		pick(dice, people()), pick(dice, people()))
	for range 3 + dice.IntN(4) {
		fmt.Fprintf(b, "- %s\n", pick(dice, decisions()))
	}
	fmt.Fprintf(b, "\nNext meeting: %s.\n", d.day.AddDate(0, 0, 7).Format("2 January 2006"))
}

// writeHours writes the hours of a week as CSV, with their total.
func (d *document) writeHours(b *strings.Builder, dice *rand.Rand) {
	const days = 5 // of the week, of which d.day is the last
	total := 0
	b.WriteString("Day,Who,Work,Hours\n")
	for i := range days {
		n := 1 + dice.IntN(8)
		total += n
		date := d.day.AddDate(0, 0, i+1-days).Format(time.DateOnly)
		fmt.Fprintf(b, "%s,%s,%s,%d\n", date, pick(dice, people()), pick(dice, works()), n)
	}
	fmt.Fprintf(b, "Total,,,%d\n", total)
}

func (d *document) reference() string { return fmt.Sprintf("%d-%05d", d.day.Year(), d.number%100_000) }

// amount is the sum of an invoice in euros.
func (d *document) amount() int { return 200 + 10*int(d.number*7919%480) }

// fileName returns the file name of a document.
func (d *document) fileName() string {
	number := strconv.FormatUint(d.number%100_000, 10)
	switch d.kind {
	case minutes:
		return "Minutes " + number + ".md"
	case hours:
		return "Hours " + number + ".csv"
	case invoice:
		return "Invoice " + d.reference() + ".pdf"
	case feedback:
		return "Feedback " + number + ".md"
	case order:
		return "Order " + number + ".csv"
	case photo, kindCount:
	}
	return "Photo " + number + ".png"
}

// bytes returns the content of a document; that of an invoice is a PDF.
func (d *document) bytes() []byte {
	if d.kind == invoice {
		return pdf.Write("# " + d.Text()) // the first line is a heading
	}
	return []byte(d.Text())
}

// ReadAt implements [io.ReaderAt].
func (d *document) ReadAt(p []byte, off int64) (int, error) {
	return strings.NewReader(string(d.bytes())).ReadAt(p, off)
}

// addArchive adds an archive with a number of nodes to the first workspace: documents about
// a client in folders ("Box 001") of perFolder files, with comments and facts on them. The
// documents were created in this order, spread over the archiveDays before from.
func (s *studio) addArchive(f *seed.File, client string, from time.Time, nodes int, dice *rand.Rand) {
	if nodes <= 0 {
		return
	}
	workspace := f.Workspaces[0].ID
	begin := from.AddDate(0, 0, -archiveDays)
	lastUsed := uint64(1 + dice.IntN(1000)) //nolint:gosec // small; the numbers of the documents follow it
	folder := func(name, parent string, at time.Time) string {
		id := s.world.NewID("node")
		f.Nodes = append(f.Nodes, seed.Node{
			ID: id, Profile: workspace, Parent: parent, Kind: "folder", Name: name, Creator: s.values["priya"], Created: at,
		})
		return id
	}
	root := folder("Archive", "", begin.AddDate(0, 0, -4)) // some days before its first box
	f.Nodes = slices.Grow(f.Nodes, nodes)
	f.Facts = slices.Grow(f.Facts, nodes/int(kindCount)) // one kind of document has a fact
	box, boxes, room := root, 0, 0                       // the last box, their number, and how many files it still takes
	for added := 1; added < nodes; added++ {             // one is added already: the root
		daysIn := (archiveDays - 1) * added / nodes // so that the documents are spread evenly
		day := workday(begin.AddDate(0, 0, daysIn))
		at := day.Add(9*time.Hour + time.Duration(dice.IntN(minutesOfDay))*time.Minute)
		isLast := added == nodes-1
		startsBox := room == 0 && !isLast // a last box would be empty: the last node is always a file
		if startsBox {
			boxes++
			box, room = folder(fmt.Sprintf("Box %03d", boxes), root, day.Add(8*time.Hour)), perFolder
			continue
		}
		room--
		which := kind(dice.IntN(int(kindCount))) //nolint:gosec // small
		d := &document{kind: which, number: lastUsed + uint64(added), client: client, day: day}
		n := s.nodeOf(d, dice)
		n.Profile, n.Parent, n.Created = workspace, box, at
		f.Nodes = append(f.Nodes, n)
		s.addFactAndComment(f, &n, d, dice)
	}
}

// workday returns a day or, on a weekend, the Friday before it.
func workday(day time.Time) time.Time {
	day = day.Truncate(24 * time.Hour)
	switch day.Weekday() {
	case time.Saturday:
		return day.AddDate(0, 0, -1)
	case time.Sunday:
		return day.AddDate(0, 0, -2)
	case time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday:
	}
	return day
}

// nodeOf returns the node of a document. Its content is generated when it is read,
// except for photos, which share a few pictures.
func (s *studio) nodeOf(d *document, dice *rand.Rand) seed.Node {
	humans := staff()[:6]                               // the last one of the staff is an agent, and creates no document
	creator := s.values[humans[dice.IntN(len(humans))]] // values has the id of each name
	n := seed.Node{ID: s.world.NewID("node"), Name: d.fileName(), Creator: creator}
	if d.kind != photo {
		n.Versions = []seed.Version{{Source: d, Size: int64(len(d.bytes()))}}
		return n
	}
	i := d.number % pictures
	scene := &s.scenes[i]
	if *scene == "" {
		variant := s.number*pictures + i // studios of different numbers have different pictures
		picture, err := draw("scene.png", "#5b6f6a", strconv.FormatUint(variant, 10))
		if err != nil {
			panic(err) // the color is right
		}
		*scene = string(picture)
	}
	n.Content = *scene // which all of its nodes share
	return n
}

// addFactAndComment adds the fact and the comment that some documents have: the amount as a
// fact of an invoice, and a comment on every perComment-th document.
func (s *studio) addFactAndComment(f *seed.File, n *seed.Node, d *document, dice *rand.Rand) {
	if d.kind == invoice {
		f.Facts = append(f.Facts, seed.Fact{
			Node: n.ID, Field: "amount_eur", Value: d.amount(), Confidence: "certain", Rationale: "The line Total.",
			Updated: n.Created.Add(time.Minute),
		})
	}
	if d.number%perComment != 0 {
		return
	}
	texts := [...]string{
		minutes: "I added who does what. Please correct me by tomorrow.", hours: "Checked against the calendar.",
		invoice:  "Sent. The total is " + strconv.Itoa(d.amount()) + " EUR.",
		feedback: "This is the third shop that says so.", order: "All pieces are on their way.",
		photo: "The light is good. Can we use it for the page?",
	}
	const commenters = 5 // the first ones of the staff
	f.Comments = append(f.Comments, seed.Comment{
		Profile: n.Profile, Node: n.ID, User: s.values[staff()[dice.IntN(commenters)]], Body: texts[d.kind],
		Created: n.Created.Add(time.Duration(5+dice.IntN(100)) * time.Minute),
	})
}

func pick(dice *rand.Rand, from []string) string { return from[dice.IntN(len(from))] }

// people and the functions after it return the phrases that documents are made of.
func people() []string {
	return []string{"Mara", "Jonas", "Priya", "Tomas", "Aiko"}
}

// works returns kinds of work, for invoices and lists of hours.
func works() []string {
	return []string{
		"Drawing the package", "Writing texts", "Review with the client", "Preparing files for print", "Building the page",
		"Retouching pictures", "Reading proofs", "Planning the next step",
	}
}

// decisions returns the lines of minutes.
func decisions() []string {
	return []string{
		"The proofs are fine. The green is a little too dark.", "Tomas cuts the texts on the back by a third.",
		"The lid opens too easily. Jonas asks the printer for a second sample.", "The shops get three boxes each to try.",
		"Photography moves by a week, because the studio is taken.", "Nothing new about the barcode.",
		"Mara shows two more shades on Thursday.", "Priya asks the client for the list of ingredients again.",
		"The page loads in under a second on an old phone.", "We keep the matt board. Gloss shows every finger.",
		"The small size waits until after the launch.", "Aiko orders samples of recycled board.",
	}
}

// remarks returns the lines of feedback.
func remarks() []string {
	return []string{
		"The package stands well, also alone.", "Two customers asked whether the old one is still to be had.",
		"The lid of one in twenty was loose.", "People pick it up, and turn it around less often than before.",
		"The price tag does not stick to matt board.", "We would like a display for the counter.",
		"The mild one was sold out after four days.", "No one has asked for the leaf.",
	}
}

func sorts() []string {
	return []string{"plain", "mild", "strong"}
}

func shops() []string {
	return []string{"Market hall", "Station", "Old town", "Harbor", "West end"}
}
