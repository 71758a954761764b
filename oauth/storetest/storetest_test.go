package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/oauth/storetest"
)

// defectEnv is set in a child, to the defect of its store.
const defectEnv = "STORETEST_DEFECT"

// defects are those that Run must find, each by the test whose name is the value.
func defects() map[string]string {
	return map[string]string{
		"names in lower case":             "records_of_all_names_and_sizes",
		"nil saves an empty record":       "records_of_all_names_and_sizes",
		"short records":                   "records_of_all_names_and_sizes",
		"data are not copied":             "saved_data_are_copied",
		"data follow a save":              "a_record_is_saved_several_times",
		"saved at unlock":                 "a_record_is_saved_several_times",
		"locks lock nothing":              "no_update_is_lost",
		"load waits":                      "load_does_not_wait_for_a_lock",
		"one lock for all":                "load_does_not_wait_for_a_lock",
		"a wait stays":                    "a_wait_ends_with_its_context",
		"contexts are ignored":            "a_context_that_is_done",
		"unlock twice":                    "a_record_is_unlocked_twice",
		"save after unlock":               "a_record_is_not_saved_after_unlock",
		"save after loss":                 "a_lost_lock",
		"unlock after loss":               "a_lost_lock",
		"a killed process saves":          "a_process_that_is_killed_with_a_lock",
		"a killed process keeps its lock": "a_process_that_is_killed_with_a_lock",
		"none":                            "",
	}
}

// Each defect of a store fails the test that is for it, and a store without one passes.
func TestRunFindsDefects(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][2]string{}
	for defect, test := range defects() {
		rows[defect] = [2]string{defect, test}
	}
	table.Each(t, rows, func(t *testing.T, row [2]string) {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestDefect$/"+row[1], "-test.v")
		cmd.Env = append(os.Environ(), defectEnv+"="+row[0])
		out, err := cmd.CombinedOutput()
		found := strings.Contains(string(out), "--- FAIL: TestDefect/"+row[1]+" ")
		switch {
		case row[1] == "" && (err != nil || strings.Contains(string(out), "SKIP")):
			t.Errorf("a store without a defect fails, or is not tested: %v\n%s", err, out)
		case row[1] != "" && (err == nil || !found):
			t.Errorf("the test %q does not fail: %v\n%s", row[1], err, out)
		}
	})
}

func TestDefect(t *testing.T) {
	t.Parallel()
	defect := os.Getenv(defectEnv)
	if defect == "" {
		t.Skip("only in a child")
	}
	longest := time.Minute
	if defect != "none" {
		longest = 300 * time.Millisecond // that a test waits before it fails
	}
	storetest.RunFor(t, func(t *testing.T) storetest.Fixture {
		t.Helper()
		s := newStore(defect)
		return storetest.Fixture{Store: s, Lose: s.lose, Kill: func(account string) { s.kill(t, account) }}
	}, longest)
}

// store is a store in memory with a defect, or none.
type store struct {
	defect string

	mu     sync.Mutex
	data   map[string][]byte
	locks  map[string]chan struct{} // each holds a value while it is locked
	holder map[string]*record
}

func newStore(defect string) *store {
	return &store{
		defect: defect, data: map[string][]byte{}, locks: map[string]chan struct{}{}, holder: map[string]*record{},
	}
}

func (s *store) err(ctx context.Context) error {
	if s.defect == "contexts are ignored" {
		return nil
	}
	return ctx.Err()
}

func (s *store) clone(data []byte) []byte {
	if s.defect == "data are not copied" {
		return data
	}
	return bytes.Clone(data)
}

func (s *store) Load(ctx context.Context, account string) ([]byte, error) {
	if s.defect == "load waits" {
		r, err := s.Lock(ctx, account)
		if err != nil {
			return nil, err
		}
		defer r.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clone(s.data[s.record(account)]), s.err(ctx)
}

// record is the name of the record of an account.
func (s *store) record(account string) string {
	if s.defect == "names in lower case" {
		return strings.ToLower(account)
	}
	return account
}

// lock is the lock of an account. The caller holds the mutex.
func (s *store) lock(account string) chan struct{} {
	if s.defect == "one lock for all" {
		account = ""
	}
	if s.locks[account] == nil {
		s.locks[account] = make(chan struct{}, 1)
	}
	return s.locks[account]
}

func (s *store) Lock(ctx context.Context, account string) (oauth.Record, error) {
	if err := s.err(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	lock := s.lock(account)
	s.mu.Unlock()
	if s.defect != "locks lock nothing" {
		select {
		case lock <- struct{}{}:
		case <-ctx.Done():
			if s.defect == "a wait stays" {
				go func() { lock <- struct{}{} }()
			}
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &record{store: s, account: account, data: s.clone(s.data[s.record(account)])}
	s.holder[account] = r
	return r, nil
}

// lose releases all locks.
func (s *store) lose() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.locks)
	clear(s.holder)
	return func() {}
}

func (s *store) kill(t *testing.T, account string) {
	t.Helper()
	r, err := s.Lock(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	if s.defect == "a killed process saves" {
		_ = r.Save(t.Context(), []byte("half"))
	}
	if s.defect != "a killed process keeps its lock" {
		s.lose()
	}
}

type record struct {
	store    *store
	account  string
	data     []byte
	saves    []func() // with the defect "saved at unlock"
	unlocked bool
}

func (r *record) Data() []byte { return r.data }

func (r *record) Save(ctx context.Context, data []byte) error {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.err(ctx); err != nil {
		return err
	}
	late := s.holder[r.account] != r && s.defect != "locks lock nothing"
	if late && s.defect != "save after loss" && (!r.unlocked || s.defect != "save after unlock") {
		return errors.New("not locked")
	}
	switch s.defect {
	case "nil saves an empty record":
		data = append([]byte{}, data...)
	case "short records":
		data = data[:min(len(data), 1<<15)]
	case "data follow a save":
		r.data = data
	}
	data = s.clone(data)
	write := func() {
		delete(s.data, s.record(r.account))
		if data != nil {
			s.data[s.record(r.account)] = data
		}
	}
	if s.defect == "saved at unlock" {
		r.saves = append(r.saves, write)
		return nil
	}
	write()
	return nil
}

func (r *record) Unlock() {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, write := range r.saves {
		write()
	}
	r.saves = nil
	held := s.holder[r.account] == r
	if held {
		s.holder[r.account] = nil
	}
	if held || r.unlocked && s.defect == "unlock twice" || !r.unlocked && s.defect == "unlock after loss" {
		select {
		case <-s.lock(r.account):
		default:
		}
	}
	r.unlocked = true
}
