package orgs

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// TransferTokens hands organizations over to persons. Who claims a token, with
// [Service.Claim] or at its URL, becomes the owner. The calls of TransferTokens
// require the account of an agent that owns the organization. An organization has 5
// tokens at most, each valid for 72 hours.
type TransferTokens struct{ c api.Client }

// TransferToken makes its claimant the owner of an organization. Its members are
// not documented, except for Token.
type TransferToken struct {
	ID      string     `json:"id"`               // "" means unknown (assumed name)
	Token   api.Secret `json:"token"`            // for [Service.Claim] or [TransferToken.URL]
	Created api.Time   `json:"created,omitzero"` // (assumed name)
	Expires api.Time   `json:"expires,omitzero"` // zero means unknown (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// URL returns the address of the web page on which a person claims the token. It is a
// secret like the token.
func (t *TransferToken) URL() api.Secret {
	return api.NewSecret("https://go.fast.io/claim?token=" + url.QueryEscape(t.Token.Reveal()))
}

// TransferTokenPage is one page of transfer tokens.
type TransferTokenPage struct {
	Tokens     []*TransferToken `json:"transfer_tokens" also:"tokens"` // (assumed name)
	Pagination *api.Pagination  `json:"pagination"`                    // nil if not in the response

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

func (p *TransferTokenPage) rows() ([]*TransferToken, *api.Pagination) { return p.Tokens, p.Pagination }

// Create creates a token for an organization, which may be named by its domain. It is
// not idempotent and is retried only if it was not processed.
//
// Errors: [api.ErrLimit] if there are 5 tokens; [api.ErrForbidden] if the caller is not
// the owner, or not an agent.
//
// It calls POST /current/org/{org_id}/transfer/token/create/.
func (t *TransferTokens) Create(ctx context.Context, org api.ID, opts ...api.CallOption) (*TransferToken, error) {
	r := endpoint.OrgsTransferTokensCreate(org)
	made, err := call.Payload[TransferToken](ctx, t.c, r, opts)
	if err == nil && made.Token.IsZero() {
		return nil, call.Missing(r.Op, "token")
	}
	return made, err
}

// List returns one page of the tokens of an organization, which may be named by its
// domain.
//
// Errors: [api.ErrForbidden] if the caller is not the owner; [api.ErrInvalid] if a
// bound is out of range.
//
// It calls GET /current/org/{org_id}/transfer/token/list/.
func (t *TransferTokens) List(
	ctx context.Context, org api.ID, list *PageOptions, opts ...api.CallOption,
) (*TransferTokenPage, error) {
	return call.Page[TransferTokenPage](ctx, t.c, endpoint.OrgsTransferTokensList(org, nil), list.query, opts)
}

// All returns the tokens of all pages of [TransferTokens.List], from list.Offset on.
// Default: pages of 500.
func (t *TransferTokens) All(
	ctx context.Context, org api.ID, list *PageOptions, opts ...api.CallOption,
) iter.Seq2[*TransferToken, error] {
	o := *cmp.Or(list, &PageOptions{})
	fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*TransferTokenPage, error) {
		return t.List(ctx, org, &PageOptions{limit, offset}, opts...)
	}
	return page.Rows(ctx, "orgs.TransferTokens.List", o.Limit, o.Offset, opts, fetch, (*TransferTokenPage).rows)
}

// Delete revokes a token, named by its ID.
//
// Errors: [api.ErrNotFound] if there is none; [api.ErrForbidden] if the caller is not
// the owner.
//
// It calls DELETE /current/org/{org_id}/transfer/token/{token_id}/.
func (t *TransferTokens) Delete(ctx context.Context, org api.ID, token string, opts ...api.CallOption) error {
	return call.Remove(ctx, t.c, endpoint.OrgsTransferTokensDelete(org, token), opts)
}

// Claim makes the caller the owner of the organization of a token. Only a transfer back
// undoes that. The previous owner becomes an administrator. The call is retried only if
// it was not processed; after a lost response, [Org].Owner shows whether it succeeded.
//
// Errors: [api.ErrNotFound] if the token is unknown, has been claimed or has expired.
//
// It calls POST /current/org/transfer/claim/.
func (s *Service) Claim(ctx context.Context, token api.Secret, opts ...api.CallOption) error {
	if token.IsZero() {
		return input.Parameters("orgs.Claim").Refuse("token", "must be given", "")
	}
	return call.Do(ctx, s.c, endpoint.OrgsClaim(api.Form{"token": {token.Reveal()}}), opts)
}
