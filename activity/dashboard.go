package activity

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Dashboard is the caller's own list of cards of a workspace. Other users have
// their own.
type Dashboard struct{ c api.Client }

// CardKind is the subject of a [Card]. Unknown values are kept.
type CardKind string

// Kinds of cards.
const (
	CardKindSignature   CardKind = "signature" // only if signatures are enabled
	CardKindMention     CardKind = "mention"
	CardKindFileVersion CardKind = "file_version"
	CardKindFileAdded   CardKind = "file_added"
	CardKindSynthesis   CardKind = "synthesis"
)

// CardSource is the origin of a [Card]. Unknown values are kept.
type CardSource string

// Sources of cards.
const (
	CardSourceEvent     CardSource = "event"
	CardSourceSignature CardSource = "signature"
	CardSourceAI        CardSource = "ai"
)

// Card is one entry of a dashboard.
type Card struct {
	Key             string     `json:"card_key"`
	Kind            CardKind   `json:"type"`
	Source          CardSource `json:"source"`
	Blocking        bool       `json:"blocking"`
	DueAt           api.Time   `json:"due_at,omitzero"` // zero means none
	AISummary       string     `json:"ai_summary"`
	Urgency         *int       `json:"urgency"` // 0 to 100; nil means unknown
	SuggestedAction string     `json:"suggested_action"`
	Dismissible     bool       `json:"dismissible"`

	AISeed        json.RawMessage `json:"ripley_seed"`    // a question for the platform's AI, as received
	PrimaryAction json.RawMessage `json:"primary_action"` // the call that completes the card, as received

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// CardPage is one page of cards.
type CardPage struct {
	Cards             []*Card         `json:"cards"`
	Pagination        *api.Pagination `json:"pagination"`             // nil if not in the response
	DismissedRecently int             `json:"dismissed_recent_count"` // number of cards
}

// CardListOptions selects a page of a dashboard. Nil means the first.
type CardListOptions struct {
	Limit  int // cards a page, 1 to 200; 0 means the default of the server, 50
	Offset int // cards to skip
}

const maxCards = 200

// List returns one page of the cards of a workspace, named by its ID or folder name.
// Cards that the caller has dismissed are left out, and snoozed ones until their snooze ends.
//
// Errors: [api.ErrForbidden] without access to the workspace.
//
// It calls GET /current/workspace/{workspace_id}/dashboard/.
func (d *Dashboard) List(
	ctx context.Context, workspace api.ID, o *CardListOptions, opts ...api.CallOption,
) (*CardPage, error) {
	const op = "activity.Dashboard.List"
	q := url.Values{}
	if o != nil {
		args := input.Fields[CardListOptions](op)
		if o.Limit < 0 || o.Limit > maxCards {
			return nil, args.Refuse("limit", "must be 1 to 200", strconv.Itoa(o.Limit))
		}
		if o.Offset < 0 {
			return nil, args.Refuse("offset", "must be 0 or more", strconv.Itoa(o.Offset))
		}
		for name, n := range map[string]int{"limit": o.Limit, "offset": o.Offset} {
			if n > 0 {
				q.Set(name, strconv.Itoa(n))
			}
		}
	}
	return call.Payload[CardPage](ctx, d.c, endpoint.ActivityDashboardList(workspace, q), opts)
}

// All returns the cards of all pages of [Dashboard.List], from o.Offset on.
// Default: pages of 200.
func (d *Dashboard) All(
	ctx context.Context, workspace api.ID, o *CardListOptions, opts ...api.CallOption,
) iter.Seq2[*Card, error] {
	o = cmp.Or(o, &CardListOptions{})
	list := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*CardPage, error) {
		return d.List(ctx, workspace, &CardListOptions{limit, offset}, opts...)
	}
	rows := func(p *CardPage) ([]*Card, *api.Pagination) { return p.Cards, p.Pagination }
	return page.Rows(ctx, "activity.Dashboard.List", cmp.Or(o.Limit, maxCards), o.Offset, opts, list, rows)
}

// Dismiss removes a card from the caller's dashboard until the given time; zero
// means permanently. It is idempotent. Errors: [api.ErrInvalid] if the key is
// unknown.
//
// It calls POST /current/workspace/{workspace_id}/dashboard/cards/{card_key}/dismiss/.
func (d *Dashboard) Dismiss(
	ctx context.Context, workspace api.ID, key string, until time.Time, opts ...api.CallOption,
) error {
	r := endpoint.ActivityDashboardDismiss(workspace, key, nil)
	if !until.IsZero() {
		if !until.After(time.Now()) {
			args := input.Parameters(r.Op, "snooze_until", "until")
			return args.Refuse("snooze_until", "must be in the future", until.UTC().Format(time.DateTime))
		}
		r.Body = api.JSON(map[string]string{"snooze_until": api.Time{Time: until.Truncate(time.Second)}.String()})
	}
	return call.Do(ctx, d.c, r, opts)
}

// Restore restores a dismissed card.
//
// It calls DELETE /current/workspace/{workspace_id}/dashboard/cards/{card_key}/dismiss/.
func (d *Dashboard) Restore(ctx context.Context, workspace api.ID, key string, opts ...api.CallOption) error {
	return call.Do(ctx, d.c, endpoint.ActivityDashboardRestore(workspace, key), opts)
}
