package check

import (
	"maps"
	"net/http"
	"slices"
)

// WriteJournal makes an object one of the run.
func WriteJournal(j *Journal, kind, id string) error { return j.write(kind, id) }

// OpenJournal opens a journal of a run that has ended.
func OpenJournal(path string) (*Journal, error) { return openJournal(path) }

// SentNames returns the names of the query parameters and top members of the body of a
// request.
func SentNames(r *http.Request) (names []string, err error) {
	fields, _, err := readFields(r)
	for _, f := range fields {
		names = append(names, f.root())
	}
	return names, err
}

// OwnedIDs returns the IDs of the objects of a run that the platform has created.
func OwnedIDs(j *Journal) []string {
	var all []string
	for kind := range j.owned {
		switch kind {
		case kindOrg, kindPlatform, kindIntent, kindMe, "card": // a card is named by a key of several words
		default:
			all = slices.AppendSeq(all, maps.Keys(j.owned[kind])) // as requests have them
		}
	}
	return all
}
