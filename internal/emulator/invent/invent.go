// Package invent makes up the organization of a small design studio: its people,
// and a workspace for each client with files, versions, comments, facts,
// conversations, shares and invitations that belong together.
//
// The studio and a project are seed files with documents beside them, in which
// {name} stands for what differs from world to world. The text of a PDF stands for
// the PDF, and a PNG is drawn. Larger worlds have more projects, each with an
// archive of documents that are made when they are read.
package invent

import (
	"embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/pdf"
	"github.com/fastio-go/fastio/internal/emulator/seedfile"
)

//go:embed studio project
var templates embed.FS

// Extent is how much a world holds.
type Extent struct {
	projects int
	Nodes    int // without the roots
	Events   int // in the log
}

// ExtentOf returns how many projects, nodes and events a world of a size has. The default
// is small.
func ExtentOf(size seed.Size) (Extent, error) {
	switch size {
	case "", seed.Small:
		return Extent{projects: 1, Nodes: 50, Events: 500}, nil
	case seed.Medium:
		return Extent{projects: 8, Nodes: 2000, Events: 50_000}, nil
	case seed.Large:
		return Extent{projects: 24, Nodes: 100_000, Events: 1_000_000}, nil
	}
	return Extent{}, fmt.Errorf("size: got %q, want one of %s, %s, %s", size, seed.Small, seed.Medium, seed.Large)
}

// staff are the people of the studio apart from its owner.
func staff() []string { return []string{"mara", "jonas", "priya", "tomas", "aiko", "lena", "scout"} }

// studio makes the parts of a world.
type studio struct {
	number uint64
	now    time.Time
	world  seedfile.World
	values map[string]string // of placeholders
	scenes [pictures]string  // photographs, drawn when they are needed
}

// World invents the organization of a design studio, its people and projects. It calls add
// with several seed files of these objects, one after the other. All times are before now,
// except those of plans.
func World(w seed.World, now time.Time, in seedfile.World, add func(*seed.File) error) error {
	extent, err := ExtentOf(w.Size)
	if err != nil {
		return err
	}
	s := &studio{number: w.Number, now: now.UTC().Truncate(time.Second), world: in, values: map[string]string{}}
	owner := s.foundStudio(w.Owner)
	if w.Owner == "" {
		if err := add(&seed.File{Users: []seed.User{owner}}); err != nil {
			return err
		}
	}
	if err := s.addPart("studio", s.now, s.values, add); err != nil {
		return err
	}
	left := extent.Nodes - studioNodes
	for i := range extent.projects {
		share := left / (extent.projects - i)
		left -= share
		if err := s.addProject(i, share, add); err != nil {
			return err
		}
	}
	return nil
}

// foundStudio chooses the name of the studio and the ids of its people, and stores them as
// values of placeholders. It returns its owner, who gets a new id if owner is "".
func (s *studio) foundStudio(owner string) seed.User {
	s.values["org"] = s.world.NewID("org")
	for _, name := range staff() {
		s.values[name] = s.world.NewID("user")
	}
	names := [...]string{"Merrowby", "Brackenfold", "Ottersley", "Pellamoor", "Quillhaven"}
	name := names[s.number%uint64(len(names))]
	s.values["studio"], s.values["domain"] = name+" Studio", strings.ToLower(name)
	if owner == "" {
		owner = s.world.NewID("user")
	}
	s.values["owner"] = owner
	const founded = 701 // days ago
	return seed.User{
		ID: owner, Email: "owner@example.test", FirstName: "Olive", LastName: "Hartwell",
		Created: s.now.AddDate(0, 0, -founded),
	}
}

// The nodes of the two seed files.
const (
	studioNodes  = 10
	projectNodes = 40
)

// addPart adds the objects of the seed file in a folder of templates. The values replace the
// placeholders in it; days are relative to the time from.
func (s *studio) addPart(folder string, from time.Time, values map[string]string, add func(*seed.File) error) error {
	f, err := s.readTemplates(folder, from, values)
	if err != nil {
		return err
	}
	return add(f)
}

// readTemplates returns the seed file in a folder of templates. The placeholders in it, and
// in the files that it names, are filled with the values, and with times relative to from.
// A PDF is written from the text of its file, and a picture is drawn, without a file.
func (s *studio) readTemplates(folder string, from time.Time, values map[string]string) (*seed.File, error) {
	filled := func(name string) (string, error) {
		text, err := templates.ReadFile(path.Join(folder, name))
		return fillPlaceholders(string(text), from, values), err
	}
	text, err := filled("seed.json")
	if err != nil {
		return nil, err
	}
	return seedfile.Read(strings.NewReader(text), s.world, func(name string) ([]byte, error) {
		if path.Ext(name) == ".png" {
			return draw(name, values["color"], values["client"])
		}
		text, err := filled(name)
		if path.Ext(name) == ".pdf" {
			return pdf.Write(text), err
		}
		return []byte(text), err
	})
}

var placeholder = regexp.MustCompile(`\{([a-z][a-z0-9_]*)([+-]\d+)?( \d\d:\d\d)?\}`)

// fillPlaceholders replaces the placeholders of a text: {at-3 10:15} is a time in RFC
// 3339, {day-3} and {iso-3} are dates, and others are values.
func fillPlaceholders(text string, from time.Time, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(m string) string {
		groups := placeholder.FindStringSubmatch(m)
		name, offset, clock := groups[1], groups[2], groups[3] // such as at, -3 and " 10:15"
		days, _ := strconv.Atoi(offset)
		date := time.Date(from.Year(), from.Month(), from.Day()+days, 0, 0, 0, 0, time.UTC)
		switch name {
		case "at":
			return date.Format(time.DateOnly) + "T" + clock[1:] + ":00Z"
		case "day":
			return date.Format("2 January 2006")
		case "iso":
			return date.Format(time.DateOnly)
		}
		value, known := values[name]
		if !known {
			panic("invent: unknown placeholder " + m)
		}
		return value
	})
}

// daysApart is how many days after one project the next one begins.
const daysApart = 12

// addProject adds the i-th project, counted from the latest one, with a number of nodes:
// those of the templates, and an archive with the others.
func (s *studio) addProject(i, nodes int, add func(*seed.File) error) error {
	from := s.now.AddDate(0, 0, -daysApart*i)
	dice := rand.New(rand.NewPCG(s.number, uint64(i))) //nolint:gosec // repeatable on purpose
	values := maps.Clone(s.values)
	s.chooseDetails(values, i, dice)
	f, err := s.readTemplates("project", from, values)
	if err != nil {
		return err
	}
	s.addArchive(f, values["client"], from, nodes-projectNodes, dice)
	return add(f)
}

// chooseDetails sets the placeholders of the i-th project in v: client, goods, color,
// contact and prices. Projects next to each other have different clients.
func (s *studio) chooseDetails(v map[string]string, i int, dice *rand.Rand) {
	clients := [...]string{
		"Vellinor", "Hobbleton", "Pomerly", "Asterwick", "Dunmarrow", "Kessing", "Oakrill", "Tamberlin", "Wrenfold",
		"Ludbrook", "Marrowby", "Fennimoor", "Corvale", "Ishmoor", "Pelwyn", "Sundrick", "Tolverne", "Garrowin",
		"Ellisbeck", "Hartlow", "Nimbry", "Ostrell", "Quindle", "Yarrowmere",
	}
	goods := [...]struct{ company, plural string }{
		{"Tea", "tea tins"},
		{"Soap", "soap boxes"},
		{"Seeds", "seed packets"},
		{"Candles", "candle boxes"},
		{"Coffee", "coffee bags"},
		{"Honey", "honey jars"},
		{"Spices", "spice jars"},
		{"Pencils", "pencil boxes"},
	}
	colors := [...]struct{ name, hex string }{
		{"brick red", "#a8442e"}, {"deep blue", "#22456b"}, {"mustard", "#c79a2b"}, {"plum", "#6b2f55"}, {"slate", "#4a5a63"},
	}
	first := [...]string{"Edda", "Ruben", "Salma", "Nils", "Carla", "Otto"}
	last := [...]string{"Winther", "Adeyemi", "Castell", "Lindqvist", "Moreau", "Falk"}
	at := uint64(i) + s.number //nolint:gosec // a small number
	name, good := clients[at%uint64(len(clients))], goods[dice.IntN(len(goods))]
	color := colors[dice.IntN(len(colors))]
	v["client_name"], v["client"], v["client_domain"] = name, name+" "+good.company, strings.ToLower(name)
	v["goods"], v["goods_title"] = good.plural, strings.ToUpper(good.plural[:1])+good.plural[1:]
	v["color_name"], v["color"] = color.name, color.hex
	v["sort"] = "The plain one"
	v["contact_first"], v["contact_last"] = first[dice.IntN(len(first))], last[dice.IntN(len(last))]
	v["contact_mail"] = strings.ToLower(v["contact_first"]) + "@" + v["client_domain"] + ".example.test"
	const invoiced = 58 // days before the end of the project
	v["invoice_number"] = fmt.Sprintf("%d-%03d", s.now.AddDate(0, 0, -daysApart*i-invoiced).Year(), 101+dice.IntN(800))
	choosePrices(v, dice)
}

// choosePrices sets the placeholders of the prices of a project in v, with commas and, as
// NAME_raw, without. The budget is the sum of design, copy, photo, print and web; parts of
// design, copy and web are spent already. Two other printers (print2, print3) have made
// higher offers. The placeholder units is the number of pieces to print.
func choosePrices(v map[string]string, dice *rand.Rand) {
	sums := map[string]int{
		"design": 14_000 + 400*dice.IntN(20), "copy": 2400 + 100*dice.IntN(12), "photo": 1800,
		"print": 9000 + 300*dice.IntN(20), "web": 6000 + 200*dice.IntN(15), "units": 8000 + 500*dice.IntN(12),
	}
	sums["budget"] = sums["design"] + sums["copy"] + sums["photo"] + sums["print"] + sums["web"]
	sums["deposit"] = sums["budget"] * 30 / 100
	sums["print2"], sums["print3"] = sums["print"]+1150, sums["print"]+2300
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		v[name], v[name+"_raw"] = thousands(sums[name]), strconv.Itoa(sums[name])
	}
	designSpent, copySpent, webSpent := sums["design"]*3/4, sums["copy"]/2, sums["web"]/4
	v["design_spent"], v["copy_spent"] = strconv.Itoa(designSpent), strconv.Itoa(copySpent)
	v["web_spent"], v["spent"] = strconv.Itoa(webSpent), strconv.Itoa(designSpent+copySpent+webSpent)
}

// thousands returns a number with a comma before each three digits.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
