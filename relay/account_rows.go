package relay

import (
	"slices"
	"time"

	"github.com/fastio-go/fastio/api"
)

// index is a sorted list of names, a part of which can be read without looking at the others.
type index struct{ names []string }

// add adds a name, unless it is there.
func (x *index) add(name string) {
	if i, found := slices.BinarySearch(x.names, name); !found {
		x.names = slices.Insert(x.names, i, name)
	}
}

// remove removes a name.
func (x *index) remove(name string) {
	if i, found := slices.BinarySearch(x.names, name); found {
		x.names = slices.Delete(x.names, i, i+1)
	}
}

// after returns the names that follow name, in their order.
func (x *index) after(name string) []string {
	i, found := slices.BinarySearch(x.names, name)
	if found {
		i++
	}
	return x.names[i:]
}

// profileRow is what is known of a profile of an account that is to be followed.
type profileRow struct {
	profile  api.Profile
	followed *followed // nil while it is not followed
	began    time.Time // of the row
	success  int64     // the latest one before followed, in Unix nanoseconds; 0 if there was none
	failure  string    // why it is not followed, or was not before; "" after a success
}

// profileRows are those of an account.
type profileRows struct {
	keys  index
	byKey map[string]*profileRow
}

// row returns the row of a profile, which it adds if necessary. The caller holds a.mu, the mutex of the replica.
func (a *accountRun) row(p api.Profile) *profileRow {
	key := profileKey(p)
	row := a.rows.byKey[key]
	if row == nil {
		row = &profileRow{profile: p, began: time.Now()}
		if a.rows.byKey == nil {
			a.rows.byKey = map[string]*profileRow{}
		}
		a.rows.byKey[key] = row
		a.rows.keys.add(key)
	}
	return row
}

// setFollowing records that the profile is followed, or that it is not any more: then its row keeps
// the time of the latest success.
func (f *followed) setFollowing(following bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row := f.row(f.profile)
	if following {
		f.following[f], row.followed = true, f
		return
	}
	delete(f.following, f)
	row.followed, row.success = nil, max(row.success, f.success.Load())
}

// setFailed records why a profile is not followed.
func (a *accountRun) setFailed(p api.Profile, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.row(p).failure = err.Error()
}

// removeRow removes a profile that is not to be followed any more.
func (a *accountRun) removeRow(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rows.keys.remove(key)
	delete(a.rows.byKey, key)
}

// clearRows removes all profiles, because the account is not followed.
func (a *accountRun) clearRows() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rows = profileRows{}
}

// recordSuccess records that a search has succeeded and its events are stored.
func (f *followed) recordSuccess() {
	f.success.Store(time.Now().UnixNano())
	f.failure.Store(nil)
}

// age returns the time since the last success of the profile or, before the first, since it is
// to be followed. The caller holds the mutex of the replica.
func (row *profileRow) age(now time.Time) time.Duration {
	success := row.success
	if row.followed != nil {
		success = max(success, row.followed.success.Load())
	}
	since := row.began
	if success != 0 {
		since = time.Unix(0, success)
	}
	return max(0, now.Sub(since))
}

// pending returns the number of events that were read and are not stored.
func (row *profileRow) pending() int {
	if row.followed == nil {
		return 0
	}
	return row.followed.pub.unstored()
}

// reason returns the text of the latest failure since the last success, "" if there was none. row.followed has the
// failures since the profile is followed. Until its first success, an earlier failure (row.failure) counts as well.
func (row *profileRow) reason() string {
	if row.followed == nil {
		return row.failure
	}
	if failure := row.followed.failure.Load(); failure != nil {
		return *failure
	}
	if row.followed.success.Load() == 0 {
		return row.failure
	}
	return ""
}
