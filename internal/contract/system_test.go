package contract_test

import (
	"github.com/fastio-go/fastio/api"
)

func systemSteps() []step {
	return []step{
		{"system.Ping", func(c call) (any, error) { return c.Ping(c.ctx) }},
		{"system.Status", func(c call) (any, error) { return c.Status(c.ctx) }},
		{"system.Docs", func(c call) (any, error) { return c.Docs(c.ctx) }},
		{"system.DocsFull", func(c call) (any, error) { return c.DocsFull(c.ctx) }},
		{"system.DocsTopic", func(c call) (any, error) { return c.DocsTopic(c.ctx, "events") }},
		{"system.DocsTopic", func(c call) (any, error) { return c.DocsTopic(c.ctx, "no/such") }},
		{"system.Agents", func(c call) (any, error) { return c.Agents(c.ctx) }},
		{"system.Introspect", func(c call) (any, error) {
			return c.Introspect(c.ctx, api.Path("/current/event/{event_id}/details/", "x"))
		}},
		{"system.Introspect", func(c call) (any, error) { return c.Introspect(c.ctx, api.Path("/current/ping/")) }},
	}
}
