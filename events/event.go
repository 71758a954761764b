package events

import (
	"encoding/json"

	"github.com/fastio-go/fastio/api"
)

// Event is one thing that happened. Which fields are set depends on the level of
// output, see [api.Output], and on the event; a missing one is zero.
type Event struct {
	ID          api.OpaqueID `json:"event_id"`
	Name        Name         `json:"event"`
	Category    Category     `json:"category"`
	SubCategory SubCategory  `json:"sub_category"`
	Visibility  Visibility   `json:"visibility"`
	Permission  Permission   `json:"permission"`
	Created     api.Time     `json:"created"` // to the second

	ObjectID    api.OpaqueID  `json:"object_id"`    // what it happened to
	CallingUser api.ProfileID `json:"calling_user"` // who did it, when recorded
	Actor       *api.Actor    `json:"actor"`        // who did it in more detail; nil on events from before attribution
	UserID      api.ProfileID `json:"user_id"`      // the subject, if there is one; not a reliable identification
	OrgID       api.ProfileID `json:"org_id"`
	WorkspaceID api.ProfileID `json:"workspace_id"`
	ShareID     api.ProfileID `json:"share_id"`
	Profile     api.ProfileID `json:"event_profile"` // whose log it was recorded in

	Description  string   `json:"description"` // rendered, for people; names of files appear nowhere else
	Template     Template `json:"template"`
	Severity     string   `json:"severity"`     // a hint for display
	Notification string   `json:"notification"` // a hint for display
	Acknowledged bool     `json:"acknowledged"` // by the caller

	NodeType           string            `json:"node_type"`      // of events on files and folders
	OperationType      string            `json:"operation_type"` // of events on files and folders
	RequiresParentNode bool              `json:"requires_parent_node"`
	RequiredParams     []json.RawMessage `json:"required_params"`
	AgentDelegation    json.RawMessage   `json:"agent_delegation"` // what events from before attribution have for Actor

	Audit *Audit `json:",embed,inline"` // nil unless the search was for VisibilityAudit

	// Extra holds what some events put beside the fields above, such as
	// policy_changes on org_updated.
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Audit holds the fields that only the audit log has. The types of the sign-in
// fields are not published; they are read as text, whatever they are.
type Audit struct {
	IP         string `json:"ip"`      // "" when not recorded
	Country    string `json:"country"` // ISO 3166 alpha-2, XX for unknown, T1 for Tor; "" when not recorded
	Method     string `json:"method"`  // of a sign-in, as all below
	MFA        string `json:"mfa"`
	NewCountry string `json:"new_country"`
	ClientID   string `json:"client_id"`
	SessionID  string `json:"session_id"`
	TokenID    string `json:"token_id"`
	AgentName  string `json:"agent_name"`
	DeviceName string `json:"device_name"`
	UserAgent  string `json:"user_agent"`
}

// Template is a description to render: its text holds {{...}} tokens that stand
// for Params in their order.
type Template struct {
	Description string            `json:"description"`
	Params      []json.RawMessage `json:"params"`
}
