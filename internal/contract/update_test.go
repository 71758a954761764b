package contract_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// -update does not write a failure over a success, nor an operation that only fails.
func TestUpdateKeepsSuccesses(t *testing.T) {
	t.Parallel()
	const (
		fine   = "< 200 {ID:1}\n"
		failed = "< 404 error {Code:1}\n"
		nested = "< 200 {ID:1\n    Name:a} error {Code:1}\n"
	)
	for before, rows := range map[string]map[string][]string{
		"a.Get x\n" + fine: {
			"a.Get x\n" + fine:                            nil,
			"a.Get x\n" + failed:                          {"a.Get"},
			"a.Get x\n" + nested:                          {"a.Get"},
			"a.Get x\n" + fine + "a.Get#2 y\n" + failed:   nil,
			"a.Get x\n" + fine + "a.Put x\n" + failed:     {"a.Put"},
			"a.Put x\n" + failed + "a.Put#2 y\n" + fine:   nil,
			"a.Put x\n" + failed + "a.Put#2 y\n" + failed: {"a.Put", "a.Put#2"},
		},
		"a.Get x\n" + failed: {
			"a.Get x\n" + failed:                          nil,
			"a.Get x\n" + failed + "a.Get#2 y\n" + failed: nil,
		},
	} {
		for now, want := range rows {
			if diff := cmp.Diff(want, broken(before, now)); diff != "" && len(want)+len(broken(before, now)) > 0 {
				t.Errorf("after\n%s, of\n%s(-want +got):\n%s", before, now, diff)
			}
		}
	}
}
