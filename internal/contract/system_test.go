package contract_test

import (
	"errors"
	"testing"

	"github.com/fastio-go/fastio/api"
)

func systemSteps() []step {
	return []step{
		makes("Ping"),
		makes("Status"),
		makes("Docs"),
		makes("DocsFull"),
		makes("DocsTopic", "events"),
		makes("DocsTopic", "no/such"),
		makes("Agents"),
		makes("Introspect", api.Path("/current/event/{event_id}/details/", "x")),
		makes("Introspect", api.Path("/current/ping/")),
		makes("Introspect", api.Path("/current/nothing/")),
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
