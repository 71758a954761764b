package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Locks locks files of workspaces and shares. A lock is exclusive and ends after
// its duration: [Locks.Heartbeat] renews it. [Service.WithLock] does all of that. The
// server refuses the writes of other users with [api.ErrLocked] meanwhile; other
// programs of the same user can write.
type Locks struct{ c api.Client }

// Lock is the lock of a file.
type Lock struct {
	Token api.Secret `json:"lock_token,omitzero"` // renews and releases the lock; only in the result of [Locks.Acquire]
	Info  *LockInfo  `json:"lock_info,omitzero"`  // nil if the file is not locked

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// LockInfo says who has locked a file, and until when. No document names its members: all
// names are assumed.
type LockInfo struct {
	Holder api.ID     `json:"user_id,omitzero"`     // a user; "" for callers who are not members (assumed name)
	Ends   api.Time   `json:"expires,omitzero"`     // unless it is renewed (assumed name)
	Client LockClient `json:"client_info,omitzero"` // of the holder; zero for callers who are not members (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// LockClient describes the client that holds a lock, as its [LockOptions] do.
type LockClient struct {
	DeviceName    string `json:"device_name,omitzero"`
	ClientVersion string `json:"client_version,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// LockOptions describe a new lock. Nil and zero fields mean the defaults of the
// server.
type LockOptions struct {
	Duration      time.Duration // 1 minute to 1 hour, in whole seconds; default: 5 minutes
	DeviceName    string        // of the client, as others see it
	ClientVersion string        // as DeviceName
}

// Limits of the duration of a lock.
const (
	minLock     = time.Minute
	maxLock     = time.Hour
	defaultLock = 5 * time.Minute // of the server
)

// form checks the options and returns them as a form.
func (o *LockOptions) form(op string) (api.Body, error) {
	form := url.Values{}
	if d := o.Duration; d != 0 {
		if d < minLock || d > maxLock || d%time.Second != 0 {
			const rule = "must be 1 minute to 1 hour, in whole seconds"
			return nil, input.Fields[LockOptions](op).Refuse("duration", rule, d.String())
		}
		form.Set("duration", strconv.FormatInt(int64(d/time.Second), 10))
	}
	info := struct {
		Device  string `json:"device_name,omitempty"`
		Version string `json:"client_version,omitempty"`
	}{o.DeviceName, o.ClientVersion}
	if o.DeviceName != "" || o.ClientVersion != "" {
		text, err := json.Marshal(info)
		if err != nil {
			return nil, err
		}
		form.Set("client_info", string(text))
	}
	return api.Form(form), nil
}

// Acquire locks a file and returns the lock with its token. It is retried only if it
// was not processed. If its response is lost, the file may be locked until the duration
// has passed.
//
// Errors: [api.ErrLocked] if the file is locked; [api.ErrForbidden] without the
// right to edit; [api.ErrNotFound] if the file is not in that workspace or share.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/lock/.
// It calls POST /current/share/{share_id}/storage/{node_id}/lock/.
func (l *Locks) Acquire(
	ctx context.Context, in api.Profile, node api.OpaqueID, o *LockOptions, opts ...api.CallOption,
) (*Lock, error) {
	if o == nil {
		o = &LockOptions{}
	}
	const op = "storage.Locks.Acquire"
	form, err := o.form(op)
	if err != nil {
		return nil, err
	}
	lock, err := call.Payload[Lock](ctx, l.c, endpoint.StorageLocksAcquire(in, node, form), opts)
	switch {
	case err != nil:
		return nil, asLocked(err)
	case lock.Token.IsZero():
		return nil, errors.New("fastio: " + op + ": the response holds no lock_token")
	}
	return lock, nil
}

// asLocked returns the error of a call about a lock, as an [api.ErrLocked] if it
// is a conflict: in such a call, that means another lock.
func asLocked(err error) error {
	if errors.Is(err, api.ErrConflict) {
		return fmt.Errorf("%w: %w", api.ErrLocked, err)
	}
	return err
}

// Get returns the state of the lock of a file, without its token. The response
// names the holder only to members of the workspace or share.
//
// Errors: [api.ErrNotFound] if the file is not in that workspace or share;
// [api.ErrForbidden] without access to it.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/lock/.
// It calls GET /current/share/{share_id}/storage/{node_id}/lock/.
func (l *Locks) Get(ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption) (*Lock, error) {
	return call.Payload[Lock](ctx, l.c, endpoint.StorageLocksGet(in, node), opts)
}

const fieldLockToken = "lock_token"

// Heartbeat renews a lock for its duration, from now on (assumed). Call it after
// half of the duration.
//
// Errors: [api.ErrLocked] or [api.ErrNotFound] if the lock is lost.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/lock/heartbeat/.
// It calls POST /current/share/{share_id}/storage/{node_id}/lock/heartbeat/.
func (l *Locks) Heartbeat(
	ctx context.Context, in api.Profile, node api.OpaqueID, token api.Secret, opts ...api.CallOption,
) error {
	values, err := tokenValues("storage.Locks.Heartbeat", token)
	if err != nil {
		return err
	}
	return asLocked(call.Do(ctx, l.c, endpoint.StorageLocksHeartbeat(in, node, api.Form(values)), opts))
}

// Release unlocks a file.
//
// Errors: [api.ErrLocked] or [api.ErrNotFound] if the lock was lost before.
//
// It calls DELETE /current/workspace/{workspace_id}/storage/{node_id}/lock/.
// It calls DELETE /current/share/{share_id}/storage/{node_id}/lock/.
func (l *Locks) Release(
	ctx context.Context, in api.Profile, node api.OpaqueID, token api.Secret, opts ...api.CallOption,
) error {
	values, err := tokenValues("storage.Locks.Release", token)
	if err != nil {
		return err
	}
	return asLocked(call.Remove(ctx, l.c, endpoint.StorageLocksRelease(in, node, values), opts))
}

// tokenValues returns the parameter with the token of a lock, which must not be
// empty.
func tokenValues(op string, token api.Secret) (url.Values, error) {
	if token.IsZero() {
		return nil, input.Parameters(op, fieldLockToken, "token").Refuse(fieldLockToken, "must be the token of Acquire", "")
	}
	return url.Values{fieldLockToken: {token.Reveal()}}, nil
}
