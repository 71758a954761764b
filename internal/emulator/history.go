package emulator

import (
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"time"
)

// habit is how often somebody does something; of the weights of one person only the proportions matter.
type habit struct {
	event  string
	weight int
}

// person is somebody whose past is invented.
type person struct {
	id     string
	number uint32 // in the log's names
	actor  uint32
	from   int // hours of work, UTC
	to     int
	weight int
	habits []habit
	total  int
}

const (
	firstEvent  = "workspace_storage_file_added"
	defaultSpan = 90 * 24 * time.Hour
	crew        = 7   // people invented for a workspace that has none
	remembered  = 100 // files the next history of a workspace goes on with
)

func uploader() []habit {
	return []habit{
		{"workspace_storage_file_added", 30},
		{"workspace_storage_file_updated", 34},
		{"workspace_storage_file_moved", 6},
		{"workspace_storage_file_deleted", 4},
		{"workspace_storage_folder_created", 3},
		{"workspace_storage_file_version_restored", 1},
		{"workspace_storage_download_token_created", 8},
		{"comment_created", 8},
		{"user_login", 2},
	}
}

func reviewer() []habit {
	return []habit{
		{"comment_created", 34},
		{"comment_replied", 18},
		{"comment_reaction", 10},
		{"comment_mentioned", 5},
		{"workspace_storage_file_updated", 12},
		{"ai_chat_new_message", 9},
		{"metadata_kv_update", 5},
		{"user_login", 2},
	}
}

func manager() []habit {
	return []habit{
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
	}
}

func assistant() []habit {
	return []habit{
		{"ai_chat_new_message", 20},
		{"metadata_kv_extract", 24},
		{"metadata_kv_update", 16},
		{"node_ai_summary_created", 14},
		{"node_ai_state_set", 6},
		{"workspace_storage_file_added", 8},
		{"comment_created", 6},
	}
}

// Generate invents the past of a workspace: people with habits and hours of work, files that are added, changed,
// discussed and described. The same seed and state give the same past. A workspace without members gets some.
func (s *Server) Generate(h History) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.state.workspaces[h.Workspace]
	if w == nil || h.Events <= 0 {
		return
	}
	now := s.now()
	if h.To.IsZero() {
		h.To = now
	}
	if h.From.IsZero() || !h.From.Before(h.To) {
		h.From = h.To.Add(-defaultSpan)
	}
	s.state.generated++
	dice := rand.New(rand.NewPCG(h.Seed, mix(s.o.Seed)+s.state.generated)) //nolint:gosec // repeatable on purpose
	g := &generator{
		state: &s.state,
		dice:  dice,
		at:    place{org: w.it.Org, workspace: h.Workspace},
		now:   now.UnixNano(),
		files: s.state.recent[h.Workspace],
	}
	g.people = s.crew(h.Workspace, dice)
	first := len(s.state.log.entries)
	g.run(h)
	s.state.touchTail(now, first)
	s.state.recent[h.Workspace] = slices.Clone(g.files[max(0, len(g.files)-remembered):])
}

// crew lists the people of a workspace, inventing them where there are none.
func (s *Server) crew(workspaceID string, dice *rand.Rand) []person {
	st := &s.state
	if len(st.members[workspaceID]) == 0 {
		first := [...]string{"Mara", "Jonas", "Priya", "Tomas", "Aiko", "Lena", "Scout"}
		last := [...]string{"Berg", "Okafor", "Rao", "Silva", "Mori", "Novak", ""}
		for i := range crew {
			u := User{ID: s.newProfile(""), FirstName: first[i], LastName: last[i], AccountType: "human"}
			u.Email = slug(u.FirstName) + u.ID[profileLen-4:] + "@example.test"
			if i == crew-1 {
				u.AccountType = "agent"
			}
			st.users[u.ID] = &held[User]{u, s.now().Unix()}
			st.setMember(workspaceID, u.ID, Member)
		}
	}
	var people []person
	for i, id := range st.membersOf(workspaceID) {
		people = append(people, s.person(id, i, dice))
	}
	return people
}

func (s *Server) person(id string, i int, dice *rand.Rand) person {
	st := &s.state
	p := person{
		id:     id,
		number: st.log.names.intern(id),
		actor:  st.log.actors.intern(*st.actor(id)),
		from:   6 + dice.IntN(5),
		weight: 2 + dice.IntN(9),
	}
	p.to = p.from + 8
	switch u := st.users[id]; {
	case u != nil && u.it.AccountType == "agent":
		p.habits, p.from, p.to = assistant(), 0, 24
	case i%3 == 0:
		p.habits = uploader()
	case i%3 == 1:
		p.habits = reviewer()
	default:
		p.habits = manager()
	}
	for _, h := range p.habits {
		p.total += h.weight
	}
	return p
}

// generator writes one history.
type generator struct {
	state  *state
	dice   *rand.Rand
	people []person
	at     place
	now    int64
	files  []uint32
	hours  [24][]int // who works at an hour, as often as their weight
}

func (g *generator) run(h History) {
	for hour := range g.hours {
		for i, p := range g.people {
			if hour >= p.from && hour < p.to {
				g.hours[hour] = append(g.hours[hour], slices.Repeat([]int{i}, p.weight)...)
			}
		}
	}
	l := &g.state.log
	here, above := l.places.intern(g.at), l.places.intern(place{org: g.at.org})
	first := number(len(l.entries))
	g.state.recordNames(first, g.at.org, g.at.workspace)
	for _, p := range g.people {
		g.state.recordNames(first, p.id)
	}
	l.entries = slices.Grow(l.entries, h.Events)
	for created := range g.times(h) {
		g.event(created, here, above)
	}
	l.adopt(first)
}

// times spreads the events over the hours people work, in order of time.
func (g *generator) times(h History) func(yield func(int64) bool) {
	from, hours := h.From.Unix(), int(h.To.Sub(h.From)/time.Hour)+1
	busy := make([]float64, hours)
	total := 0.0
	for i := range busy {
		at := time.Unix(from+int64(i)*3600, 0).UTC()
		weight := 1 + 30*float64(len(g.hours[at.Hour()]))
		if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
			weight *= 0.1
		}
		total += weight
		busy[i] = total
	}
	end := h.To.Unix()
	return func(yield func(int64) bool) {
		last := from
		for i := range h.Events {
			target := (float64(i) + g.dice.Float64()) / float64(h.Events) * total
			hour := sort.SearchFloat64s(busy, target)
			before := 0.0
			if hour > 0 {
				before = busy[hour-1]
			}
			part := (target - before) / (busy[hour] - before)
			last = max(last, min(end, from+int64((float64(hour)+part)*3600)))
			if !yield(last) {
				return
			}
		}
	}
}

// event invents one event.
func (g *generator) event(created int64, here, above uint32) {
	l := &g.state.log
	p := g.who(created)
	name := p.does(g.dice)
	if len(g.files) == 0 {
		name = firstEvent // what else could people work on
	}
	e := entry{
		created: created,
		shown:   max(created*int64(time.Second), g.now),
		place:   here,
		caller:  p.number,
		actor:   p.actor,
		kind:    l.named(name),
	}
	n := number(len(l.entries))
	switch name {
	case firstEvent, "workspace_storage_folder_created", "ai_chat_created":
		e.object = number(len(l.things))
		l.things = append(l.things, thing{})
		if name == firstEvent {
			g.files = append(g.files, e.object)
		}
	case "comment_mentioned", "added_member_to_workspace", "membership_updated", "invitation_email_sent":
		e.user = g.people[g.dice.IntN(len(g.people))].number
	case "user_login":
		e.place = above
		g.login(n, p)
	case "org_updated":
		e.place = above
		l.details[n] = &detail{extra: map[string]any{"policy_changes": map[string]any{"link_sharing": "members"}}}
	case "node_ai_summary_created", "node_ai_state_set":
		e.caller = 0
		e.actor = l.actors.intern(Actor{Kind: "system"})
	}
	if e.object == 0 && name != "user_login" && name != "org_updated" {
		e.object = g.recentFile()
	}
	l.entries = append(l.entries, e)
}

// login adds what audit searches tell about a sign-in.
func (g *generator) login(n uint32, p *person) {
	word := mix(uint64(n) + g.dice.Uint64())
	countries := [...]string{"DE", "US", "JP", "BR", "XX"}
	g.state.log.details[n] = &detail{
		ip:      address(uint64(p.number)<<3 | word&3),
		country: countries[p.number%5],
		telemetry: map[string]any{
			"method":      "password",
			"mfa":         word&4 == 0,
			"new_country": word%50 == 0,
			"session_id":  opaque('s', word, 0),
		},
	}
}

// who picks somebody at work at a time.
func (g *generator) who(created int64) *person {
	if present := g.hours[created/3600%24]; len(present) > 0 {
		return &g.people[present[g.dice.IntN(len(present))]]
	}
	return &g.people[g.dice.IntN(len(g.people))]
}

func (p *person) does(dice *rand.Rand) string {
	roll := dice.IntN(p.total)
	for _, h := range p.habits {
		if roll -= h.weight; roll < 0 {
			return h.event
		}
	}
	return p.habits[0].event
}

// recentFile prefers what was touched lately, as people do.
func (g *generator) recentFile() uint32 {
	back := int(g.dice.ExpFloat64() * 12)
	return g.files[max(0, len(g.files)-1-back)]
}

// address is a documentation address.
func address(n uint64) string {
	const blocks = 254
	return "198.51.100." + strconv.FormatUint(n%blocks+1, 10)
}

// adopt indexes all rows from first on at once, which is cheaper than one by one.
func (l *eventLog) adopt(first uint32) {
	added := map[string][]uint32{}
	feeds := map[string][]uint32{}
	for n := first; n < number(len(l.entries)); n++ {
		e := &l.entries[n]
		at := l.places.values[e.place]
		for _, id := range [...]string{at.org, at.workspace, at.share, l.names.values[e.user]} {
			if id != "" {
				added[id] = append(added[id], n)
			}
		}
		if at.org != "" && l.kinds.values[e.kind].isChange {
			feeds[at.org] = append(feeds[at.org], n)
		}
	}
	for id, rows := range added {
		l.index[id] = mergeSorted(l.index[id], rows, l.byPosition)
	}
	for id, rows := range feeds {
		l.feed[id] = mergeSorted(l.feed[id], rows, l.byShown)
	}
}

func mergeSorted(rows, more []uint32, compare func(a, b uint32) int) []uint32 {
	sorted := len(rows) == 0 || compare(rows[len(rows)-1], more[0]) <= 0
	rows = append(rows, more...)
	if !sorted || !slices.IsSortedFunc(more, compare) {
		slices.SortFunc(rows, compare)
	}
	return rows
}
