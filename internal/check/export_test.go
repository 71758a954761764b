package check

import "net/http"

// WriteJournal makes an object one of the run.
func WriteJournal(j *Journal, kind, id string) error { return j.write(kind, id) }

// SentNames returns the names of the query parameters and top members of the body of a
// request.
func SentNames(r *http.Request) (names []string, err error) {
	fields, _, err := readFields(r)
	for _, f := range fields {
		names = append(names, f.root())
	}
	return names, err
}
