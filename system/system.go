// Package system reads the state of the platform, its own documentation, and the
// parameters of its endpoints. Only [Service.Introspect] sends the client's token, if
// there is one.
//
//	health, err := client.System.Ping(ctx)
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(health.Service)
package system

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Service is the System field of a fastio.Client. It is safe for concurrent use.
type Service struct{ c api.Client }

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service { return &Service{c} }

// Health is the state of the platform.
type Health struct {
	Status    string   `json:"status"`             // "ok"
	Timestamp api.Time `json:"timestamp,omitzero"` // of the server's clock; by Ping only
	Service   string   `json:"service"`            // "fast.io"; by Ping only

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Ping succeeds if the platform responds, and returns its time. It requires no token.
//
// It calls GET /current/ping/.
func (s *Service) Ping(ctx context.Context, opts ...api.CallOption) (*Health, error) {
	return call.Payload[Health](ctx, s.c, endpoint.SystemPing(), opts)
}

// Status returns the state that the platform reports. It requires no token.
//
// It calls GET /current/system/status/.
func (s *Service) Status(ctx context.Context, opts ...api.CallOption) (*Health, error) {
	return call.Payload[Health](ctx, s.c, endpoint.SystemStatus(), opts)
}

// Docs returns the index of the platform's own documentation, as text. It needs
// no token.
//
// It calls GET /current/llms/.
func (s *Service) Docs(ctx context.Context, opts ...api.CallOption) (string, error) {
	return call.Text(ctx, s.c, endpoint.SystemDocs(), opts)
}

// DocsFull returns the platform's whole documentation, as text. It requires no
// token.
//
// It calls GET /current/llms/full/.
func (s *Service) DocsFull(ctx context.Context, opts ...api.CallOption) (string, error) {
	return call.Text(ctx, s.c, endpoint.SystemDocsFull(), opts)
}

// DocsTopic returns the platform's documentation of one topic, such as "events",
// as text. It requires no token. An unknown topic is [api.ErrNotFound].
//
// It calls GET /current/llms/{topic}/.
func (s *Service) DocsTopic(ctx context.Context, topic string, opts ...api.CallOption) (string, error) {
	return call.Text(ctx, s.c, endpoint.SystemDocsTopic(topic), opts)
}

// Agents returns the platform's guide for software agents, in Markdown. It needs
// no token.
//
// It calls GET /current/agents/.
func (s *Service) Agents(ctx context.Context, opts ...api.CallOption) (string, error) {
	return call.Text(ctx, s.c, endpoint.SystemAgents(), opts)
}

// Introspect asks an endpoint which parameters it takes. The form of the response is
// not published, so it is returned as it is. Most endpoints do not offer it: they
// return [api.ErrUnsupported].
//
// It calls OPTIONS /current/{path}.
func (s *Service) Introspect(
	ctx context.Context, of api.Route, opts ...api.CallOption,
) (json.RawMessage, error) {
	r := &api.Request{
		Op: "system.Introspect", Method: http.MethodOptions, Path: of,
		Replay: api.ReplaySafe, Auth: api.AuthOptional,
	}
	if err := call.CheckRequest(ctx, s.c, r); err != nil {
		return nil, err
	}
	var answer json.RawMessage
	err := s.c.Call(ctx, r, &answer, opts...)
	return answer, err
}
