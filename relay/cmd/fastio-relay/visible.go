package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
)

// visibility knows which profiles the credential can see. A search in a profile that
// it cannot see returns nothing without an error.
type visibility struct {
	get func(ctx context.Context, p api.Profile) error // nil does not check

	mu      sync.Mutex
	checked map[api.Profile]time.Time
	errs    map[api.Profile]error // of those that are not visible
}

// getProfile returns a function that reads a profile and returns the error, nil if the
// credential of the client may see it.
func getProfile(c *fastio.Client) func(ctx context.Context, p api.Profile) error {
	return func(ctx context.Context, p api.Profile) error {
		var err error
		switch p.Kind {
		case api.ProfileKindOrg:
			_, err = c.Orgs.Get(ctx, p.ID)
		case api.ProfileKindWorkspace:
			_, err = c.Workspaces.Get(ctx, p.ID)
		case api.ProfileKindShare:
			_, err = c.Shares.Get(ctx, p.ID)
		case api.ProfileKindUser, api.ProfileKindFileShare: // not reached: -profiles refuses them
		}
		return err
	}
}

const (
	checksPerPatience = 6 // each of one profile
	patiencesToAgain  = 2 // until a profile is checked again
)

// run checks the profiles that this replica holds until ctx is done: one profile at a time, and
// checksPerPatience profiles in each period of the length patience. A profile is not checked again
// before patiencesToAgain such periods have passed.
func (v *visibility) run(ctx context.Context, patience time.Duration, held func() []api.Profile) {
	if v.get == nil {
		return
	}
	tick := time.NewTicker(patience / checksPerPatience)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		longAgo := time.Now().Add(-patiencesToAgain * patience)
		if p := v.next(held(), longAgo); p != (api.Profile{}) {
			v.record(p, v.get(ctx, p))
		}
	}
}

// next returns the profile whose last check is the oldest, if that check was earlier
// than before, and otherwise the zero Profile.
func (v *visibility) next(held []api.Profile, before time.Time) (oldest api.Profile) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range held {
		if at := v.checked[p]; at.Before(before) {
			oldest, before = p, at
		}
	}
	return oldest
}

// record records whether a profile is visible, from the result of get. Errors other
// than api.ErrNotFound and api.ErrForbidden say nothing about that.
func (v *visibility) record(p api.Profile, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.checked == nil {
		v.checked, v.errs = map[api.Profile]time.Time{}, map[api.Profile]error{}
	}
	v.checked[p] = time.Now()
	switch {
	case errors.Is(err, api.ErrNotFound), errors.Is(err, api.ErrForbidden):
		v.errs[p] = err
	case err == nil:
		delete(v.errs, p)
	}
}

// err returns why a profile is not visible, nil if it is or was not checked.
func (v *visibility) err(p api.Profile) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.errs[p]
}
