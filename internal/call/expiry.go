package call

import "time"

// Expiry is when something ends that was asked for at start and lives so many seconds:
// early rather than late. What no clock can hold, and 0, is no known end.
func Expiry(start time.Time, seconds int64) time.Time {
	const most = int64(1<<63-1) / int64(time.Second)
	if seconds <= 0 || seconds > most {
		return time.Time{}
	}
	return start.Add(time.Duration(seconds) * time.Second).Round(0) // a wall clock's: it outlives the process
}
