package relay

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
)

// slots is the number of parts into which work is divided: accounts, or profiles, by the
// hashes of their names. Slots move between replicas, with all that is in them. It is a
// constant of the bucket.
const slots = 4096

// slotOf returns the slot of a name.
func slotOf(name string) int { return int(hash64(name) % slots) }

// hash64 returns the FNV-1a hash of a name, mixed. It is the same in all processes.
func hash64(name string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // those of FNV-1a with 64 bits
	h := uint64(offset)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	return mix(h)
}

// mix spreads the differences between the hashes of similar names over all bits. It is the
// finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is what one replica holds: what is in a slot and can be followed by the same replicas.
type unit struct {
	place

	weight int
}

// divide returns the index of the replica of each unit, given the names of the replicas, and -1 for a
// unit that none can follow. All replicas compute the same. Fits reports whether a replica can follow
// a unit; nil means that all can.
func divide(units []unit, replicas []string, fits func(unit, replica int) bool) []int {
	d := distribution{hashes: make([]uint64, len(replicas)), loads: make([]int, len(replicas))}
	for i, name := range replicas {
		d.hashes[i] = hash64(name)
	}
	total := 0
	for _, u := range units {
		total += u.weight
	}
	d.share = (total + len(replicas) - 1) / max(1, len(replicas)) // rounded up: together they have room for all
	result := make([]int, len(units))
	for i, u := range units {
		chosen := d.choose(u, func(replica int) bool { return fits == nil || fits(i, replica) })
		result[i] = chosen
		if chosen >= 0 {
			d.loads[chosen] += u.weight
		}
	}
	return result
}

// distribution is what divide knows of the replicas, by their indexes.
type distribution struct {
	hashes []uint64 // of their names
	loads  []int    // weights of their units so far
	share  int      // weight for which each has room
}

// choose returns the replica of a unit, one of those that fit; -1 if none does. Of those with room, it
// is the one with the highest hash of replica and unit (rendezvous hashing): so few units move when
// a replica starts or stops. If none has room, it is the one with the least load.
func (d *distribution) choose(u unit, fits func(replica int) bool) int {
	const none = -1
	highest, leastLoaded := none, none
	highestHash, unitHash := uint64(0), u.hash()
	for r, load := range d.loads {
		if !fits(r) {
			continue
		}
		if leastLoaded == none || load < d.loads[leastLoaded] {
			leastLoaded = r
		}
		hasRoom := load+u.weight <= d.share
		hash := mix(d.hashes[r] ^ unitHash)
		if hasRoom && (highest == none || hash > highestHash) {
			highest, highestHash = r, hash
		}
	}
	if highest == none {
		return leastLoaded
	}
	return highest
}

// names returns the names of the replicas that are the members of a view.
func (v *view) names() []string {
	names := make([]string, len(v.Members))
	for i, p := range v.Members {
		names[i] = p.Name
	}
	return names
}

// divideSlots returns, for each slot (a part of the accounts), the index of the member that
// holds it. All members can hold all slots.
func (v *view) divideSlots() []int {
	units := make([]unit, slots)
	for i := range units {
		units[i] = unit{place: place{slot: i}, weight: 1}
	}
	var fits func(unit, member int) bool // nil: all can
	return divide(units, v.names(), fits)
}

// shares is the division of profiles in a view.
type shares struct {
	members   []peer
	listsWith map[string]string // IDs of the lists that have a profile, as ".1.2"; nil if all members have the same list
	holders   map[place]int     // indexes of members
}

// place is where a profile belongs.
type place struct {
	slot  int
	lists string // as in shares.listsWith: which members can follow the profile; "" if all can
}

// place returns where a profile belongs.
func (s *shares) place(profile string) place { return place{slotOf(profile), s.listsWith[profile]} }

// hash returns a hash of the place.
func (p place) hash() uint64 {
	h := mix(uint64(p.slot) + 1) //nolint:gosec // not negative; +1 because mix(0) is 0
	if p.lists != "" {           // the places of one slot differ in their lists
		h ^= hash64(p.lists)
	}
	return h
}

// slotsOf returns the slots of the member with a name. A nil view has none.
func (v *view) slotsOf(name string) map[int]bool {
	own := map[int]bool{}
	if v == nil {
		return own
	}
	for slot, holder := range v.divideSlots() {
		if holder >= 0 && v.Members[holder].Name == name { // -1 means that there are no members
			own[slot] = true
		}
	}
	return own
}

// divideProfiles divides profiles, which are given by their keys (profileKey), among the members. Each
// member has a list of the profiles that it can follow. The map lists holds these lists by their IDs.
// The profiles of a slot (see slotOf) that are in the same lists are a unit: one member gets them all. With
// several lists, listsWith has, for each profile, the IDs of the lists that contain it, as ".ID.ID".
func (v *view) divideProfiles(lists map[string][]string) *shares {
	s := &shares{members: v.Members, holders: map[place]int{}}
	ids := v.listIDs()
	var units []unit
	var fits func(unit, member int) bool // nil: all can
	if len(ids) == 1 {                   // as usual: every member can follow every profile, and listsWith stays nil
		units = s.units(slices.Values(lists[ids[0]]))
	} else {
		s.listsWith = map[string]string{}
		for _, id := range ids {
			for _, profile := range lists[id] {
				s.listsWith[profile] += "." + id
			}
		}
		units = s.units(maps.Keys(s.listsWith))
		fits = func(unit, member int) bool { // all IDs have the same length: none is part of another
			return strings.Contains(units[unit].lists, "."+v.Members[member].List)
		}
	}
	for i, r := range divide(units, v.names(), fits) {
		s.holders[units[i].place] = r
	}
	return s
}

// listIDs returns the IDs of the lists of the members, each once. They are sorted, so that all replicas
// name the same lists in the same order.
func (v *view) listIDs() (ids []string) {
	for _, p := range v.Members {
		if !slices.Contains(ids, p.List) {
			ids = append(ids, p.List)
		}
	}
	slices.Sort(ids)
	return ids
}

// units returns the places of profiles, each with its number of profiles as the weight. The places that
// few members can follow come first, and among equals the heaviest: divide finds room for the first ones
// most easily. A place names the lists that contain its profiles, and each member has one list of profiles
// that it can follow: few lists mean few members. The order is the same in all replicas.
func (s *shares) units(profiles iter.Seq[string]) []unit {
	weights := map[place]int{}
	for profile := range profiles {
		weights[s.place(profile)]++
	}
	units := make([]unit, 0, len(weights))
	for at, weight := range weights {
		units = append(units, unit{at, weight})
	}
	slices.SortFunc(units, func(a, b unit) int {
		byMembers := len(a.lists) - len(b.lists) // list IDs are equally long: a shorter text has fewer of them
		byWeight := b.weight - a.weight
		return cmp.Or(byMembers, byWeight, a.slot-b.slot, strings.Compare(a.lists, b.lists))
	})
	return units
}

// holder returns the name of the replica that has a profile, "" if none can follow it.
func (s *shares) holder(profile string) string {
	if s == nil {
		return ""
	}
	r, ok := s.holders[s.place(profile)]
	if !ok {
		return ""
	}
	return s.members[r].Name
}

// listID returns the name of a list of profiles, a part of its hash: equal lists have the
// same name.
func listID(profiles []string) string {
	h := sha256.New()
	for _, p := range profiles {
		_, _ = io.WriteString(h, p+"\n")
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// listKey returns the key of a list of profiles in the bucket, where replicas read those that
// differ from their own.
func listKey(id string) string { return "list." + id }

// packList returns the value of a list of profiles in the bucket, which is compressed.
func packList(profiles []string) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err == nil {
		_, err = io.WriteString(w, strings.Join(profiles, "\n"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("fastio: relay: " + err.Error()) // impossible: a buffer takes everything
	}
	return b.Bytes()
}

// unpackList returns the list of profiles of a compressed value of the bucket.
func unpackList(value []byte) ([]string, error) {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(value)))
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return strings.Split(string(text), "\n"), nil
}
