package ai

import (
	"context"
	"encoding/json"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// AutoTitleOptions are the options of [Service.AutoTitle]. Nil means no options.
type AutoTitleOptions struct {
	UserContext string // the purpose of the share, as free text
}

// AutoTitle is the result of [Service.AutoTitle]. The form of the response is not
// published; shares.Service.Get returns the title and description of the share.
type AutoTitle struct {
	Title       string `json:"title"`
	Description string `json:"description"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// AutoTitle generates a title and a description of a share from its content, and
// applies them. It costs credits, so it is retried only if it was not processed.
//
// Errors: [api.ErrPaymentRequired] if the plan lacks [PlanFeatureAutoTitle].
//
// It calls POST /current/share/{share_id}/ai/autotitle/.
func (s *Service) AutoTitle(
	ctx context.Context, share api.ID, o *AutoTitleOptions, opts ...api.CallOption,
) (*AutoTitle, error) {
	form := api.Form{}
	if o != nil && o.UserContext != "" {
		form["user_context"] = []string{o.UserContext}
	}
	return call.Payload[AutoTitle](ctx, s.c, endpoint.AIAutoTitle(share, form), opts)
}

// OGImage returns the Open Graph image of a share: the picture shown where its
// link is posted. It requires no sign-in if anyone with the link, or any registered
// account, may open the share. For other shares it is a default picture, unless
// the plan has [PlanFeatureAutoOG]. The caller must close it.
//
// It calls GET /current/share/{share_id}/ai/autoog/.
func (s *Service) OGImage(ctx context.Context, share api.ID, opts ...api.CallOption) (*api.Download, error) {
	return download.Open(ctx, s.c, endpoint.AIOGImage(share), download.Options{}, opts)
}

// Transactions lists what AI has cost a workspace.
type Transactions struct{ c api.Client }

// Transaction is one entry. Its form is not published: fields that are not in
// the response are zero, and other members are in Extra.
type Transaction struct {
	ThreadID api.OpaqueID `json:"thread_id"`  // (assumed name)
	TurnID   api.OpaqueID `json:"turn_id"`    // (assumed name)
	UserID   api.ID       `json:"user_id"`    // (assumed name)
	Cost     Cost         `json:"cost"`       // (assumed name)
	Created  api.Time     `json:"created_at"` // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // all other members
}

// transactions are an array, or an object with an array of items.
type transactions []*Transaction

type transactionItems struct {
	Items []*Transaction `json:"items"`
}

// UnmarshalJSONFrom reads a list, or an object that has one.
func (t *transactions) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		return jsonv2.UnmarshalDecode(dec, (*[]*Transaction)(t))
	}
	var w transactionItems
	err := jsonv2.UnmarshalDecode(dec, &w)
	*t = w.Items
	return err
}

// JSONType returns the type as which a value of a kind is decoded.
func (*transactions) JSONType(kind jsontext.Kind) reflect.Type {
	if kind == '{' {
		return reflect.TypeFor[transactionItems]()
	}
	return reflect.TypeFor[[]*Transaction]()
}

// List returns the latest transactions of a workspace, at most 40.
//
// It calls GET /current/workspace/{workspace_id}/ai/transactions/.
func (t *Transactions) List(ctx context.Context, workspace api.ID, opts ...api.CallOption) ([]*Transaction, error) {
	a, err := call.Payload[struct {
		Transactions transactions `json:"transactions"`
	}](ctx, t.c, endpoint.AITransactionsList(workspace), opts)
	if err != nil {
		return nil, err
	}
	return a.Transactions, nil
}
