package oauth

import "context"

// A Store keeps what sign-ins came to, a record for each profile. Records are
// secrets: a store that leaves the machine must encrypt them. It is safe for
// concurrent use, by several processes if it outlives one.
type Store interface {
	// Load returns the record of a profile, nil if there is none. It does not
	// wait for an Update.
	Load(ctx context.Context, profile string) ([]byte, error)

	// Update calls edit with the record of a profile, nil if there is none. Until
	// edit returns, nobody else edits the record. What edit gives to save is
	// durable when save returns; nil removes the record. The error of edit is
	// returned as it is, and what was saved before stays. Edit may take as long
	// as a request does; ctx bounds the wait for its turn alone.
	Update(ctx context.Context, profile string, edit func(record []byte, save func(record []byte) error) error) error
}
