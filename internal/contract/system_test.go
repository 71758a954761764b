package contract_test

import (
	"errors"
	"testing"

	"github.com/fastio-go/fastio/api"
)

func systemSteps() []step {
	return []step{
		{"Ping", func(c call) (any, error) { return c.Ping(c) }},
		{"Status", func(c call) (any, error) { return c.Status(c) }},
		{"Docs", func(c call) (any, error) { return c.Docs(c) }},
		{"DocsFull", func(c call) (any, error) { return c.DocsFull(c) }},
		{"DocsTopic", func(c call) (any, error) { return c.DocsTopic(c, "events") }},
		{"DocsTopic", func(c call) (any, error) { return c.DocsTopic(c, "no/such") }},
		{"Agents", func(c call) (any, error) { return c.Agents(c) }},
		{"Introspect", func(c call) (any, error) {
			return c.Introspect(c, api.Path("/current/event/{event_id}/details/", "x"))
		}},
		{"Introspect", func(c call) (any, error) { return c.Introspect(c, api.Path("/current/ping/")) }},
		{"Introspect", func(c call) (any, error) { return c.Introspect(c, api.Path("/current/nothing/")) }},
	}
}

func TestSystemInput(t *testing.T) {
	t.Parallel()
	c := overNetwork(t, nil)
	_, topic := c.DocsTopic(t.Context(), "")
	_, path := c.Introspect(t.Context(), api.Path("/current/event/{event_id}/details/", ""))
	for want, err := range map[string]error{
		`fastio: system.DocsTopic: topic must be neither blank nor made of dots, got ""`:     topic,
		`fastio: system.Introspect: event_id must be neither blank nor made of dots, got ""`: path,
	} {
		if !errors.Is(err, api.ErrInvalid) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
