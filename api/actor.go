package api

import "encoding/json"

// ActorKind says what acted.
type ActorKind string

// The kinds of actor. Another value is one that is newer than this package.
const (
	ActorKindHuman   ActorKind = "human"
	ActorKindAgent   ActorKind = "agent"
	ActorKindAPIKey  ActorKind = "api_key"
	ActorKindApp     ActorKind = "app"
	ActorKindSystem  ActorKind = "system"
	ActorKindUnknown ActorKind = "unknown" // from before actions were attributed
)

// Actor is who did something, and by what means.
type Actor struct {
	UserID         ProfileID `json:"user_id,omitzero"` // whose account was used
	Kind           ActorKind `json:"kind,omitzero"`
	AgentName      string    `json:"agent_name,omitzero"`      // "" if no agent is known
	NameSource     string    `json:"name_source,omitzero"`     // where AgentName comes from
	CredentialType string    `json:"credential_type,omitzero"` // what the call was signed with

	// Verified is true only for the platform's built-in agent. Any other
	// AgentName is what the agent calls itself.
	Verified bool `json:"verified,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members newer than this package
}
