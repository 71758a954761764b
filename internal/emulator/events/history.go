package events

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// weight is the relative frequency of an action of one user.
type weight struct {
	event  string
	weight int
}

type person struct {
	id     string
	number uint32 // in the log's names
	actor  uint32
	from   int // hours of work, UTC
	to     int
	weight int
	habits []weight
	total  int
	agent  bool
}

const (
	fileAdded   = "workspace_storage_file_added"
	defaultSpan = 90 * 24 * time.Hour
	crew        = 7 // people invented for a workspace that has none
)

// habits returns which events people cause, for four kinds of people, with weights: an
// event with twice the weight of another one is twice as frequent.
func habits() [4][]weight {
	return [4][]weight{
		{ // those who work on files
			{"workspace_storage_file_added", 30},
			{"workspace_storage_file_updated", 34},
			{"workspace_storage_file_moved", 6},
			{"workspace_storage_file_deleted", 4},
			{"workspace_storage_folder_created", 3},
			{"workspace_storage_file_version_restored", 1},
			{"workspace_storage_download_token_created", 8},
			{"comment_created", 8},
			{"user_login", 2},
		}, { // those who discuss them
			{"comment_created", 34},
			{"comment_replied", 18},
			{"comment_reaction", 10},
			{"comment_mentioned", 5},
			{"workspace_storage_file_updated", 12},
			{"ai_chat_new_message", 9},
			{"metadata_kv_update", 5},
			{"user_login", 2},
		}, { // those who organize
			{"comment_created", 16},
			{"workspace_storage_file_added", 10},
			{"added_member_to_workspace", 3},
			{"membership_updated", 2},
			{"invitation_email_sent", 3},
			{"workspace_updated", 2},
			{"workspace_quickshare_created", 4},
			{"org_updated", 1},
			{"ai_chat_created", 4},
			{"user_login", 3},
		}, { // agents
			{"ai_chat_new_message", 20},
			{"metadata_kv_extract", 24},
			{"metadata_kv_update", 16},
			{"node_ai_summary_created", 14},
			{"node_ai_state_set", 6},
			{"workspace_storage_file_added", 8},
			{"comment_created", 6},
		},
	}
}

// randomRead returns the name of a random event that changes no content of a file, for
// histories that must not change any. The weights are percent; agents extract more than
// they download.
func (p *person) randomRead(dice *rand.Rand) string {
	downloads, extractions := 78, 10
	if p.agent {
		downloads, extractions = 18, 70
	}
	return drawEvent(dice, 100, []weight{
		{"workspace_storage_download_token_created", downloads},
		{"user_login", 10},
		{"workspace_storage_file_moved", 2},
		{"metadata_kv_extract", extractions},
	})
}

// drawEvent returns the name of a random event of a list, by its weights, which add up to
// total.
func drawEvent(dice *rand.Rand, total int, list []weight) string {
	roll := dice.IntN(total)
	for _, kind := range list {
		roll -= kind.weight
		if roll < 0 {
			return kind.event
		}
	}
	return list[0].event
}

// Generate generates the history of a workspace: users with working hours and
// preferences; files that are added, changed and discussed. It is deterministic
// for a seed and state. A workspace without members gets some.
func (h *Handlers) Generate(history world.History) {
	h.w.Lock()
	defer h.w.Unlock()
	w := h.w.Workspace(history.Workspace)
	if w == nil || history.Events <= 0 {
		return
	}
	now := h.w.Now()
	history.To = cmp.Or(history.To, now)
	if history.From.IsZero() || !history.From.Before(history.To) {
		history.From = history.To.Add(-defaultSpan)
	}
	h.generated++
	source := rand.NewPCG(history.Seed, world.Mix(h.w.Options.Seed)+h.generated)
	dice := rand.New(source) //nolint:gosec // repeatable on purpose
	g := &generator{
		state:     h,
		dice:      dice,
		at:        world.Scope{Org: w.Value.Org, Workspace: history.Workspace},
		now:       now.UnixNano(),
		owner:     h.w.Log.Names.Intern(h.w.OwnerOf(history.Workspace)),
		files:     h.recent[history.Workspace],
		readsOnly: h.readsOnly[history.Workspace], // then the events only read files: none changes one
	}
	g.people = h.peopleOf(history.Workspace, dice)
	first := len(h.w.Log.Entries)
	g.addEvents(history)
	h.wakePolls(now, first)
	h.recent[history.Workspace] = slices.Clone(g.files[max(0, len(g.files)-world.Remembered):])
}

// peopleOf returns the members of a workspace as people with habits. If it has no members,
// it first adds seven users, of which the last is an agent.
func (h *Handlers) peopleOf(workspaceID string, dice *rand.Rand) []person {
	if len(h.w.MembersOf(workspaceID)) == 0 {
		first := [...]string{"Mara", "Jonas", "Priya", "Tomas", "Aiko", "Lena", "Scout"}
		last := [...]string{"Berg", "Okafor", "Rao", "Silva", "Mori", "Novak", ""}
		for i := range crew {
			u := world.User{ID: h.w.NewProfileID(""), FirstName: first[i], LastName: last[i], AccountType: "human"}
			u.Email = world.Slug(u.FirstName) + u.ID[wire.ProfileLen-4:] + "@example.test"
			if i == crew-1 {
				u.AccountType = "agent"
			}
			h.w.KeepUser(u)
			h.w.PutMember(workspaceID, u.ID, world.Member)
		}
	}
	var people []person
	for i, id := range h.w.MembersOf(workspaceID) {
		people = append(people, h.person(id, i, dice))
	}
	return people
}

// person returns the i-th member of a workspace with eight hours of work that begin
// between 6 and 10 o'clock, a random weight, by which people are chosen, and one of three
// habits. Agents have habits of their own and work all day.
func (h *Handlers) person(id string, i int, dice *rand.Rand) person {
	p := person{
		id:     id,
		number: h.w.Log.Names.Intern(id),
		actor:  h.w.Log.Actors.Intern(*h.w.Actor(id)),
		from:   6 + dice.IntN(5),
		weight: 2 + dice.IntN(9),
	}
	p.to = p.from + 8
	all := habits()
	ofPeople, ofAgents := all[:3], all[3]
	switch u := h.w.User(id); {
	case u != nil && u.Value.AccountType == "agent":
		p.habits, p.from, p.to, p.agent = ofAgents, 0, 24, true
	default:
		p.habits = ofPeople[i%len(ofPeople)]
	}
	for _, kind := range p.habits {
		p.total += kind.weight
	}
	return p
}

// generator generates the events of a workspace.
type generator struct {
	state     *Handlers
	dice      *rand.Rand
	people    []person
	at        world.Scope // the workspace
	place     uint32      // its number in the log, see numberPlaces
	orgPlace  uint32      // the number of its organization
	now       int64
	owner     uint32
	files     []uint32
	hours     [24][]int // who works at an hour, as often as their weight
	begins    []int64   // when the files were added; nil means before everything else
	readsOnly bool      // only the events of randomRead
}

// addEvents adds events until a search of the workspace by its owner finds as many as the
// history requires. Those that only other members find are not counted.
func (g *generator) addEvents(h world.History) {
	g.fillHours()    // who works at which hour
	g.numberPlaces() // the workspace and its organization get numbers in the log
	g.recordNames()  // for the texts of the events
	l := &g.state.w.Log
	first := world.Number(len(l.Entries))                   // of the new rows, which are indexed at the end
	l.Entries = slices.Grow(l.Entries, h.Events+h.Events/8) // the owner does not find about 6 percent
	for created := range g.eventTimes(h) {
		for isFound := false; !isFound; {
			g.addEvent(created)
			isFound = g.isFoundByOwner(&l.Entries[len(l.Entries)-1])
		}
	}
	indexRows(l, first)
}

// numberPlaces sets the numbers that the workspace and its organization have in the log.
func (g *generator) numberPlaces() {
	places := &g.state.w.Log.Places
	g.place, g.orgPlace = places.Intern(g.at), places.Intern(world.Scope{Org: g.at.Org})
}

// fillHours lists, for each hour of a day, the people who work then. It lists a person as
// often as the weight of the person says, because each event takes one of the list at
// random.
func (g *generator) fillHours() {
	for hour := range g.hours {
		for i, p := range g.people {
			if hour >= p.from && hour < p.to {
				g.hours[hour] = append(g.hours[hour], slices.Repeat([]int{i}, p.weight)...)
			}
		}
	}
}

// recordNames records the names of the people and places for the texts of the events that
// are added from now on.
func (g *generator) recordNames() {
	row := world.Number(len(g.state.w.Log.Entries))
	g.state.w.RecordNames(row, g.at.Org, g.at.Workspace)
	for _, p := range g.people {
		g.state.w.RecordNames(row, p.id)
	}
}

// isFoundByOwner reports whether the owner of the workspace finds an event by a search
// of the workspace.
func (g *generator) isFoundByOwner(e *world.Entry) bool {
	kind := &g.state.w.Log.Kinds.Values[e.Kind]
	concernsOwner := kind.Permission != world.ForTarget || e.Caller == g.owner || e.User == g.owner
	return e.Place == g.place && kind.Visibility != world.InternalOnly && concernsOwner
}

// eventTimes yields the times of creation of the events, in Unix seconds and in order.
// The weight of an hour is its share of the events: it is greater the more people work in
// the hour, and a tenth of that on weekends. The total of the weights is divided into
// h.Events equal parts, and each part has one event, at a random point.
func (g *generator) eventTimes(h world.History) func(yield func(int64) bool) {
	// The weight of an hour without workers, what each worker adds, and the factor of a weekend.
	const idle, perWorker, weekend = 1, 30, 0.1
	from, hours := h.From.Unix(), int(h.To.Sub(h.From)/time.Hour)+1
	sums := make([]float64, hours) // of the weights up to the end of each hour
	total := 0.0
	for i := range sums {
		at := time.Unix(from+int64(i)*3600, 0).UTC()
		weight := idle + perWorker*float64(len(g.hours[at.Hour()]))
		if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
			weight *= weekend
		}
		total += weight
		sums[i] = total
	}
	end := h.To.Unix()
	return func(yield func(int64) bool) {
		last := from
		for i := range h.Events {
			point := (float64(i) + g.dice.Float64()) / float64(h.Events) * total
			hour := sort.SearchFloat64s(sums, point)
			beginOfHour := 0.0
			if hour > 0 {
				beginOfHour = sums[hour-1]
			}
			partOfHour := (point - beginOfHour) / (sums[hour] - beginOfHour)
			at := from + int64((float64(hour)+partOfHour)*3600)
			last = max(last, min(end, at)) // never before the previous event
			if !yield(last) {
				return
			}
		}
	}
}

// addEvent adds an event of a random person who works at the time created, in Unix
// seconds. Sign-ins and changes of the organization have the organization as their place.
func (g *generator) addEvent(created int64) {
	l := &g.state.w.Log
	p := g.randomPerson(created)
	name := g.randomEventOf(p)
	e := world.Entry{
		Created: created,
		Shown:   max(created*int64(time.Second), g.now), // from now on, or from its creation if that is later
		Place:   g.place,
		Caller:  p.number,
		Actor:   p.actor,
		Kind:    l.KindNamed(name),
	}
	n := world.Number(len(l.Entries))
	switch name {
	case "comment_mentioned", "added_member_to_workspace", "membership_updated", "invitation_email_sent":
		e.User = g.people[g.dice.IntN(len(g.people))].number
	case "user_login":
		e.Place = g.orgPlace
		g.addLoginDetail(n, p)
	case "org_updated":
		e.Place = g.orgPlace
		l.SetDetail(n, &world.Detail{Extra: map[string]any{"policy_changes": map[string]any{"link_sharing": "members"}}})
	case "node_ai_summary_created", "node_ai_state_set":
		e.Caller = 0 // the platform, and no person, does it
		e.Actor = l.Actors.Intern(world.Actor{Kind: "system"})
	}
	switch name {
	case fileAdded, "workspace_storage_folder_created", "ai_chat_created":
		e.Object = world.Number(len(l.Things))
		l.Things = append(l.Things, world.LogObject{}) // its ID and name are invented when they are read
		if name == fileAdded {
			g.files = append(g.files, e.Object)
		}
	case "user_login", "org_updated": // about no object
	default:
		e.Object = g.randomFile(created)
	}
	l.Entries = append(l.Entries, e)
}

// randomEventOf returns the name of a random event that a person causes: a read, if the
// generator adds only reads. While the workspace has no file to work on, the event adds one.
func (g *generator) randomEventOf(p *person) string {
	name := p.randomEvent(g.dice) // also if it is replaced: a draw changes all later ones
	if g.readsOnly {
		name = p.randomRead(g.dice)
	}
	if len(g.files) == 0 {
		name = fileAdded
	}
	return name
}

// randomFile returns the number in the log of a random file that existed at a time, in
// Unix seconds. The newest files are the most frequent.
func (g *generator) randomFile(at int64) uint32 {
	existing := len(g.files)
	if g.begins != nil { // the times of creation of g.files; without them, all existed before
		existing, _ = slices.BinarySearch(g.begins, at+1)
	}
	newer := int(g.dice.ExpFloat64() * 12) // how many files are newer, 12 on average
	return g.files[max(0, existing-1-newer)]
}

// addLoginDetail adds the details of a sign-in to row n: a person has four addresses, of
// the range for documentation, and always signs in from the same country. The flag
// new_country is random, and does not follow from the country.
func (g *generator) addLoginDetail(n uint32, p *person) {
	random := world.Mix(uint64(n) + g.dice.Uint64())
	const perPerson, spacing = 4, 8 // addresses of a person, and from one person to the next
	address := spacing*uint64(p.number) + random%perPerson
	countries := [...]string{"DE", "US", "JP", "BR", "XX"}
	g.state.w.Log.SetDetail(n, &world.Detail{
		IP:      "198.51.100." + strconv.FormatUint(address%254+1, 10), // people far apart share some of the 254
		Country: countries[p.number%5],
		Telemetry: map[string]any{
			"method":      "password",
			"mfa":         random&4 == 0,  // every second time
			"new_country": random%50 == 0, // every fiftieth time
			"session_id":  world.Opaque('s', random, 0),
		},
	})
}

// randomPerson returns a random person among those who work at a time, in Unix seconds,
// or among all if none works then.
func (g *generator) randomPerson(created int64) *person {
	if present := g.hours[created/3600%24]; len(present) > 0 {
		return &g.people[present[g.dice.IntN(len(present))]]
	}
	return &g.people[g.dice.IntN(len(g.people))]
}

// randomEvent returns the name of a random event, by the habits of the person.
func (p *person) randomEvent(dice *rand.Rand) string { return drawEvent(dice, p.total, p.habits) }

// indexRows adds the rows from first on to the indexes of the log, all at once, which
// is faster than one by one. It finds the lists of a place only once.
func indexRows(l *world.Log, first uint32) {
	added, feeds := rowLists{}, rowLists{}
	ofPlace := make([][]*[]uint32, len(l.Places.Values))
	for n := first; n < world.Number(len(l.Entries)); n++ {
		e := &l.Entries[n]
		at := &l.Places.Values[e.Place]
		if ofPlace[e.Place] == nil {
			for _, id := range [...]string{at.Org, at.Workspace, at.Share} {
				if id != "" {
					ofPlace[e.Place] = append(ofPlace[e.Place], added.of(id))
				}
			}
		}
		for _, rows := range ofPlace[e.Place] {
			*rows = append(*rows, n)
		}
		if user := l.Names.Values[e.User]; user != "" {
			rows := added.of(user)
			*rows = append(*rows, n)
		}
		if at.Org != "" && l.Kinds.Values[e.Kind].IsChange {
			rows := feeds.of(at.Org)
			*rows = append(*rows, n)
		}
	}
	for id, rows := range added {
		l.AddRows(id, *rows)
	}
	for id, rows := range feeds {
		l.AddChanges(id, *rows)
	}
}

// rowLists are lists of rows, by ID. They are pointers, so that a row is added to one
// without another write to the map.
type rowLists map[string]*[]uint32

// of returns the list of an ID, a new one if there is none.
func (r rowLists) of(id string) *[]uint32 {
	if r[id] == nil {
		r[id] = new([]uint32)
	}
	return r[id]
}

// wakePolls reports the events from row first on as changes to those who poll, but only the
// latest: a history can have a million events, and a few are enough to wake all polls.
func (h *Handlers) wakePolls(now time.Time, first int) {
	const most = 100
	entries := h.w.Log.Entries
	for n := max(first, len(entries)-most); n < len(entries); n++ {
		if entries[n].Shown <= now.UnixNano() {
			h.w.MarkEventFields(now, world.Number(n))
		}
	}
}
