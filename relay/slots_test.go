package relay_test

import (
	"fmt"
	"testing"

	"github.com/fastio-go/fastio/relay"
)

// profileKeys returns so many profiles.
func profileKeys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("workspace.%019d", i))
	}
	return keys
}

// replicaNames returns the names of so many replicas.
func replicaNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("replica-", i))
	}
	return names
}

// No replica has more than its share, rounded up, and a replica that starts moves at most two
// shares and some more.
func TestDivisionIsEvenAndMovesFew(t *testing.T) {
	t.Parallel()
	for name, divide := range map[string]func(v relay.View) []string{
		"slots": func(v relay.View) (all []string) {
			for _, member := range v.Divide() {
				all = append(all, v.Name(member))
			}
			return all
		},
		"profiles": func(v relay.View) []string { return v.DivideProfiles(profileKeys(200)) },
	} {
		for _, n := range []int{1, 2, 3, 7, 20, 50} {
			before, after := divide(relay.NewView(replicaNames(n)...)), divide(relay.NewView(replicaNames(n+1)...))
			load, moved := map[string]int{}, 0
			for i, replica := range after {
				load[replica]++
				if before[i] != replica {
					moved++
				}
			}
			share := (len(after) + n) / (n + 1)
			for replica, held := range load {
				if held > share {
					t.Errorf("%s: %s of %d holds %d, more than its share of %d", name, replica, n+1, held, share)
				}
			}
			if moved > 2*share+share/4+10 {
				t.Errorf("%s: %d move for replica %d, whose share is %d", name, moved, n+1, share)
			}
		}
	}
}

// A profile is given to a replica that has it, and what several have is divided evenly.
func TestDivisionGivesProfilesToReplicasThatHaveThem(t *testing.T) {
	t.Parallel()
	all := profileKeys(300)
	v := relay.NewView("a", "b", "c", "d")
	lists := map[string][]string{"1": all[:200], "2": all[100:], "3": nil}
	holders := v.DivideLists(lists, map[string]string{"a": "1", "b": "2", "c": "2", "d": "3"}, append(all, "workspace.unknown"))
	load := map[string]int{}
	for i, holder := range holders {
		load[holder]++
		if i < 100 && holder != "a" || i >= 200 && i < 300 && holder != "b" && holder != "c" {
			t.Errorf("%q holds profile %d", holder, i)
		}
	}
	if holders[300] != "" || load["d"] != 0 || load["a"]+load["b"]+load["c"] != 300 || load["a"] > 101 || load["b"] > 101 || load["c"] > 101 {
		t.Errorf("the replicas hold %v", load)
	}
}

// The list of the profiles of a replica is what it was after it was stored.
func TestListOfProfilesIsStored(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 10_000} {
		keys := profileKeys(n)
		value := relay.PackList(keys)
		got, err := relay.UnpackList(value)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(keys) {
			t.Errorf("%d profiles: %d are read, %v", n, len(got), err)
		}
		t.Logf("%d profiles take %d bytes", n, len(value))
	}
}

// A replica reads the lists of others for a view, in one goroutine, and writes its own from time to time, in
// another one. It fails with the race detector if both use the same map.
func TestListsAreReadAndWrittenAtTheSameTime(t *testing.T) {
	t.Parallel()
	js, _ := connect(t, startServer(t))
	if err := relay.ReadListsWhileWriting(t.Context(), js, 100); err != nil {
		t.Error(err)
	}
}

// The division of 100,000 profiles between 200 replicas, which each does when a replica
// starts or stops.
func BenchmarkDivision(b *testing.B) {
	v, profiles := relay.NewView(replicaNames(200)...), profileKeys(100_000)
	b.Run("profiles", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Shares(profiles)
		}
	})
	b.Run("slots", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Divide()
		}
	})
}
