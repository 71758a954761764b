package relay

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// assign returns the replica of each profile, given the profiles that each replica can
// follow. All replicas compute the same result. No replica has more than its share,
// rounded up, unless it is the only one that can follow a profile; apart from that, a
// profile goes to the replica with the highest hash of both names (rendezvous hashing),
// so that few profiles move when a replica starts or stops.
func assign(replicas map[string][]string) map[string]string {
	type pair struct {
		profile, replica string
		score            uint64
	}
	var pairs []pair
	holders := map[string]string{}
	for replica, profiles := range replicas {
		for _, profile := range profiles {
			h := fnv.New64a()
			h.Write([]byte(replica + "\x00" + profile))
			pairs = append(pairs, pair{profile, replica, mix(h.Sum64())})
			holders[profile] = ""
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score),
			cmp.Compare(a.profile, b.profile), cmp.Compare(a.replica, b.replica))
	})
	load := map[string]int{}
	share := (len(holders) + len(replicas) - 1) / max(1, len(replicas))
	for _, bounded := range []bool{true, false} {
		for _, p := range pairs {
			if holders[p.profile] == "" && (!bounded || load[p.replica] < share) {
				holders[p.profile] = p.replica
				load[p.replica]++
			}
		}
	}
	return holders
}

// mix spreads the differences between the hashes of similar names over all bits. It is the
// finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
