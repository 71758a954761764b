package ai

import (
	"context"
	"encoding/json"
	"net/http"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
)

// Shares lets the platform's AI work on a share itself.
type Shares struct{ c Client }

// AutoTitleOptions helps to find a title. Nil does not.
type AutoTitleOptions struct {
	UserContext string // what the share is for, in words
}

// AutoTitle is what became of a share. The form of the answer is not published:
// what could not be read is in Extra, and the share itself has what was applied.
type AutoTitle struct {
	Title       string `json:"title"`
	Description string `json:"description"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// AutoTitle has a title and a description made for a share, from what is in it, and
// applies them. It costs credits, so it is only repeated when it was never sent. A
// plan without it is [api.ErrPaymentRequired].
//
// It calls POST /current/share/{share_id}/ai/autotitle/.
func (s *Shares) AutoTitle(ctx context.Context, share api.ProfileID, o *AutoTitleOptions, opts ...api.CallOption) (*AutoTitle, error) {
	form := api.Form{}
	if o != nil && o.UserContext != "" {
		form["user_context"] = []string{o.UserContext}
	}
	return call.Do[AutoTitle](ctx, s.c, &api.Request{
		Op: "ai.Shares.AutoTitle", Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/ai/autotitle/", string(share)),
		Body: form, Replay: api.ReplayOnce,
	}, opts)
}

// OGImage returns the picture that stands for a share where its link is posted. It
// takes no sign-in for a share that is open to anyone with the link, or to anyone
// who is registered; that of another is a placeholder. The caller closes it.
//
// It calls GET /current/share/{share_id}/ai/autoog/.
func (s *Shares) OGImage(ctx context.Context, share api.ProfileID, opts ...api.CallOption) (*api.Download, error) {
	r := get("ai.Shares.OGImage", api.Path("/current/share/{share_id}/ai/autoog/", string(share)))
	r.Auth = api.AuthOptional
	return download.Open(ctx, s.c, r, download.Options{}, opts)
}

// Transactions is what AI has cost a workspace.
type Transactions struct{ c Client }

// Transaction is one entry. The form of entries is not published: what is not
// there is zero, and what has no field is in Extra.
type Transaction struct {
	ThreadID api.OpaqueID  `json:"thread_id"`
	TurnID   api.OpaqueID  `json:"turn_id"`
	UserID   api.ProfileID `json:"user_id"`
	Cost     Cost          `json:"cost"`
	Created  api.Time      `json:"created_at"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // everything else about it
}

// transactions are a list, or an object that holds one.
type transactions []*Transaction

func (t *transactions) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		return jsonv2.UnmarshalDecode(dec, (*[]*Transaction)(t))
	}
	var w struct {
		Items []*Transaction `json:"items"`
	}
	err := jsonv2.UnmarshalDecode(dec, &w)
	*t = w.Items
	return err
}

// List returns the latest entries of a workspace, at most 40.
//
// It calls GET /current/workspace/{workspace_id}/ai/transactions/.
func (t *Transactions) List(ctx context.Context, workspace api.ProfileID, opts ...api.CallOption) ([]*Transaction, error) {
	const op = "ai.Transactions.List"
	a, err := call.Do[struct {
		Transactions transactions `json:"transactions"`
	}](ctx, t.c, get(op, api.Path("/current/workspace/{workspace_id}/ai/transactions/", string(workspace))), opts)
	if err != nil {
		return nil, err
	}
	return a.Transactions, nil
}
