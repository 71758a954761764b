//go:build go1.27

package transport

// closeWaitsForRead: net/http tries to read the rest of a body that is closed, and so waits up to 50 ms
// for a Read that is under way; in a bubble of testing/synctest for ever, because a Read holds a
// mutex, and time stands while something waits for one. So each attempt gets a context that can
// be canceled, which takes 6 allocations.
const closeWaitsForRead = true
