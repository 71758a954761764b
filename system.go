package fastio

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Health is what the platform says about itself.
type Health struct {
	Status    string   `json:"status"`             // "ok"
	Timestamp api.Time `json:"timestamp,omitzero"` // of the server's clock; by Ping only
	Service   string   `json:"service"`            // "fast.io"; by Ping only

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Ping asks whether the platform answers. It needs no token.
//
// It calls GET /current/ping/.
func (c *Client) Ping(ctx context.Context, opts ...api.CallOption) (*Health, error) {
	return call.One[Health](ctx, c, endpoint.SystemPing(), "", opts)
}

// Status asks how the platform is. It needs no token.
//
// It calls GET /current/system/status/.
func (c *Client) Status(ctx context.Context, opts ...api.CallOption) (*Health, error) {
	return call.One[Health](ctx, c, endpoint.SystemStatus(), "", opts)
}

// Docs returns the index of the platform's own documentation, as text. It needs
// no token.
//
// It calls GET /current/llms/.
func (c *Client) Docs(ctx context.Context, opts ...api.CallOption) (string, error) {
	return call.Text(ctx, c, endpoint.SystemDocs(), opts)
}

// DocsFull returns the platform's whole documentation, as text. It needs no
// token.
//
// It calls GET /current/llms/full/.
func (c *Client) DocsFull(ctx context.Context, opts ...api.CallOption) (string, error) {
	return call.Text(ctx, c, endpoint.SystemDocsFull(), opts)
}

// DocsTopic returns the platform's documentation of one topic, such as "events",
// as text. It needs no token. An unknown topic is [api.ErrNotFound].
//
// It calls GET /current/llms/{topic}/.
func (c *Client) DocsTopic(ctx context.Context, topic string, opts ...api.CallOption) (string, error) {
	return call.Text(ctx, c, endpoint.SystemDocsTopic(topic), opts)
}

// Agents returns the platform's guide for software agents, in Markdown. It needs
// no token.
//
// It calls GET /current/agents/.
func (c *Client) Agents(ctx context.Context, opts ...api.CallOption) (string, error) {
	return call.Text(ctx, c, endpoint.SystemAgents(), opts)
}

// Introspect asks an endpoint which parameters it takes. The form of the response is
// not published, so it is returned as it is. Most endpoints do not offer it: they
// return [api.ErrUnsupported].
//
// It calls OPTIONS /current/{path}.
func (c *Client) Introspect(ctx context.Context, endpoint api.Route, opts ...api.CallOption) (json.RawMessage, error) {
	r := &api.Request{
		Op: "system.Introspect", Method: http.MethodOptions, Path: endpoint,
		Replay: api.ReplaySafe, Auth: api.AuthOptional,
	}
	var answer json.RawMessage
	err := c.Call(ctx, r, &answer, opts...)
	return answer, err
}
