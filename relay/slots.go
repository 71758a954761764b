package relay

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"io"
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

// divide returns the index of the replica of each unit, given the names of the replicas, and
// -1 for a unit that none can follow. All replicas compute the same. A unit goes to the replica
// with the highest hash of both (rendezvous hashing) of those that can follow it and have room
// for it in their share, rounded up: so few units move when a replica starts or stops. If none
// has room, it goes to the one with the least. Fits reports whether a replica can follow a
// unit; nil means that all can.
func divide(units []unit, replicas []string, fits func(unit, replica int) bool) []int {
	hashes := make([]uint64, len(replicas))
	for i, name := range replicas {
		hashes[i] = hash64(name)
	}
	total := 0
	for _, u := range units {
		total += u.weight
	}
	share := (total + len(replicas) - 1) / max(1, len(replicas)) // of a replica, rounded up
	load, result := make([]int, len(replicas)), make([]int, len(units))
	for i, u := range units {
		id := mix(uint64(u.slot) + 1) //nolint:gosec // not negative, and not 0, of which mix makes 0
		if u.lists != "" {
			id ^= hash64(u.lists)
		}
		highest, emptiest := -1, -1 // of the replicas with room, that with the highest hash; of all, that with the least load
		highestHash := uint64(0)
		for r := range replicas {
			if fits != nil && !fits(i, r) {
				continue
			}
			if emptiest < 0 || load[r] < load[emptiest] {
				emptiest = r
			}
			hasRoom := load[r]+u.weight <= share
			hash := mix(hashes[r] ^ id)
			if hasRoom && (highest < 0 || hash > highestHash) {
				highest, highestHash = r, hash
			}
		}
		chosen := highest
		if chosen < 0 {
			chosen = emptiest
		}
		result[i] = chosen
		if chosen >= 0 {
			load[chosen] += u.weight
		}
	}
	return result
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
		units[i] = unit{place{slot: i}, 1}
	}
	return divide(units, v.names(), nil)
}

// shares is the division of profiles in a view.
type shares struct {
	members []peer
	lists   map[string]string // IDs of the lists that have a profile, as ".1.2"; nil if all members have the same
	holders map[place]int     // indexes of members
}

// place is where a profile belongs.
type place struct {
	slot  int
	lists string // as in shares: which members can follow the profile
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

// divideProfiles divides profiles, by profileKey, among the members, given the lists of those
// that members can follow. Profiles of one slot that the same members can follow go to one
// member together; their number is the weight. If all members have the same list, the lists
// play no part.
func (v *view) divideProfiles(lists map[string][]string) *shares {
	s := &shares{members: v.Members, holders: map[place]int{}}
	var ids []string // of the lists of the members, each once
	for _, p := range v.Members {
		if !slices.Contains(ids, p.List) {
			ids = append(ids, p.List)
		}
	}
	weights := map[place]int{} // numbers of profiles
	if len(ids) == 1 {
		for _, profile := range lists[ids[0]] {
			weights[place{slot: slotOf(profile)}]++
		}
	} else {
		slices.Sort(ids) // so that equal sets of lists are equal texts
		s.lists = map[string]string{}
		for _, id := range ids {
			for _, profile := range lists[id] {
				s.lists[profile] += "." + id
			}
		}
		for profile, itsLists := range s.lists {
			weights[place{slotOf(profile), itsLists}]++
		}
	}
	units := make([]unit, 0, len(weights))
	for at, weight := range weights {
		units = append(units, unit{at, weight})
	}
	slices.SortFunc(units, func(a, b unit) int { // what few can follow, and the heaviest, first
		return cmp.Or(len(a.lists)-len(b.lists), b.weight-a.weight, a.slot-b.slot, strings.Compare(a.lists, b.lists))
	})
	fits := func(u, member int) bool { return strings.Contains(units[u].lists, "."+v.Members[member].List) }
	if s.lists == nil { // all members can follow all profiles
		fits = nil
	}
	for i, r := range divide(units, v.names(), fits) {
		s.holders[units[i].place] = r
	}
	return s
}

// holder returns the name of the replica that has a profile, "" if none can follow it.
func (s *shares) holder(profile string) string {
	if s == nil {
		return ""
	}
	r, ok := s.holders[place{slotOf(profile), s.lists[profile]}]
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
