package api

import "encoding/json"

// ActorKind is the kind of an actor.
type ActorKind string

// Kinds of actors. Unknown values are kept.
const (
	ActorKindHuman   ActorKind = "human"
	ActorKindAgent   ActorKind = "agent"
	ActorKindAPIKey  ActorKind = "api_key"
	ActorKindApp     ActorKind = "app"
	ActorKindSystem  ActorKind = "system"
	ActorKindUnknown ActorKind = "unknown" // of actions before attribution existed
)

// Actor is the author of an action, and the credential and agent used.
type Actor struct {
	UserID         ID        `json:"user_id,omitzero"` // of the account used
	Kind           ActorKind `json:"kind,omitzero"`
	AgentName      string    `json:"agent_name,omitzero"`      // "" if no agent is known
	NameSource     string    `json:"name_source,omitzero"`     // source of AgentName
	CredentialType string    `json:"credential_type,omitzero"` // kind of credential of the call

	// Verified is true only for the platform's built-in agent. Any other
	// AgentName is chosen by the agent.
	Verified bool `json:"verified,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}
