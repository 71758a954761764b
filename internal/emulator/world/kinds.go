package world

import (
	"strings"
)

// EventKind has the common fields of all events of one name.
type EventKind struct {
	Event, Category, Sub     string
	Visibility, Permission   string
	Severity, Notification   string
	template                 string
	NodeType, Operation      string
	RequiresParent, IsChange bool
}

// Visibilities of events, and who may see them.
const (
	InternalOnly = "internal"
	AuditLog     = "external_audit_log"
	External     = "external"
	ForMember    = "member"
	ForAdmin     = "admin"
	ForTarget    = "targeted"
)

// catalogue lists name, category, subcategory, permission, visibility and text of the events the platform records.
// Tokens in the text: actor is the attributed user, subject the event's user, object the object, place the profile.
//
//nolint:dupword // a category and its subcategory often share their name
const catalogue = `
workspace_storage_file_added workspace storage member external {{actor}} added {{object}} to {{place}}
workspace_storage_file_deleted workspace storage member external {{actor}} deleted {{object}} from {{place}}
workspace_storage_file_moved workspace storage member external {{actor}} moved {{object}} within {{place}}
workspace_storage_file_copied workspace storage member external {{actor}} copied {{object}} within {{place}}
workspace_storage_file_updated workspace storage member external {{actor}} updated {{object}} in {{place}}
workspace_storage_file_restored workspace storage member external {{actor}} restored {{object}} in {{place}}
workspace_storage_file_version_restored workspace storage member external {{actor}} restored a version of {{object}}
workspace_storage_folder_created workspace storage member external {{actor}} created the folder {{object}} in {{place}}
workspace_storage_folder_deleted workspace storage member external {{actor}} deleted the folder {{object}} in {{place}}
workspace_storage_folder_moved workspace storage member external {{actor}} moved the folder {{object}} within {{place}}
workspace_storage_download_token_created workspace transfer member external {{actor}} opened a download of {{object}}
workspace_storage_zip_downloaded workspace transfer member external {{actor}} downloaded an archive from {{place}}
workspace_storage_link_added workspace storage member external {{actor}} linked {{object}} into {{place}}
workspace_storage_lock_overridden workspace storage member external {{actor}} overrode the lock of {{object}}
workspace_storage_file_sync_added workspace storage member external {{object}} arrived in {{place}} by synchronization
workspace_storage_file_sync_updated workspace storage member external {{object}} changed in {{place}} by synchronization
share_storage_file_added share storage member external {{actor}} added {{object}} to {{place}}
share_storage_file_deleted share storage member external {{actor}} deleted {{object}} from {{place}}
share_storage_file_moved share storage member external {{actor}} moved {{object}} within {{place}}
share_storage_file_copied share storage member external {{actor}} copied {{object}} within {{place}}
share_storage_file_updated share storage member external {{actor}} updated {{object}} in {{place}}
share_storage_file_restored share storage member external {{actor}} restored {{object}} in {{place}}
share_storage_folder_created share storage member external {{actor}} created the folder {{object}} in {{place}}
share_storage_folder_deleted share storage member external {{actor}} deleted the folder {{object}} from {{place}}
share_storage_folder_moved share storage member external {{actor}} moved the folder {{object}} within {{place}}
share_storage_download_token_created share transfer member external {{actor}} opened a download of {{object}}
share_storage_zip_downloaded share transfer member external {{actor}} downloaded an archive from {{place}}
share_storage_lock_overridden share storage member external {{actor}} overrode the lock of {{object}}
comment_created workspace comments member external {{actor}} commented on {{object}}
comment_updated workspace comments member external {{actor}} edited a comment on {{object}}
comment_deleted workspace comments member external {{actor}} removed a comment from {{object}}
comment_mentioned workspace comments targeted external {{actor}} mentioned {{subject}} in a comment on {{object}}
comment_replied workspace comments member external {{actor}} replied to a comment on {{object}}
comment_reaction workspace comments member external {{actor}} reacted to a comment on {{object}}
added_member_to_org org members admin external {{actor}} added {{subject}} to {{place}}
removed_member_from_org org members admin external {{actor}} removed {{subject}} from {{place}}
added_member_to_workspace workspace members member external {{actor}} added {{subject}} to {{place}}
removed_member_from_workspace workspace members member external {{actor}} removed {{subject}} from {{place}}
added_member_to_share share members member external {{actor}} added {{subject}} to {{place}}
removed_member_from_share share members member external {{actor}} removed {{subject}} from {{place}}
membership_updated workspace members admin external {{actor}} changed the role of {{subject}} in {{place}}
ownership_transferred org security admin external_audit_log {{actor}} handed {{place}} over to {{subject}}
workspace_created workspace lifecycle member external {{actor}} created {{place}}
workspace_updated workspace settings member external {{actor}} changed the settings of {{place}}
workspace_deleted workspace lifecycle admin external {{actor}} deleted {{place}}
workspace_archived workspace lifecycle member external {{actor}} archived {{place}}
workspace_unarchived workspace lifecycle member external {{actor}} reopened {{place}}
share_created share lifecycle member external {{actor}} created {{place}}
share_updated share settings member external {{actor}} changed the settings of {{place}}
share_deleted share lifecycle admin external {{actor}} deleted {{place}}
share_archived share lifecycle member external {{actor}} archived {{place}}
share_unarchived share lifecycle member external {{actor}} reopened {{place}}
share_imported_to_workspace share import_export member external {{actor}} imported a share into {{place}}
ai_chat_created ai ai member external {{actor}} started the chat {{object}} in {{place}}
ai_chat_updated ai ai member external {{actor}} renamed the chat {{object}}
ai_chat_deleted ai ai member external {{actor}} deleted the chat {{object}}
ai_chat_new_message ai ai member external {{actor}} asked about {{object}} in {{place}}
ai_chat_published ai ai member external {{actor}} published the chat {{object}}
node_ai_summary_created node ai member external A summary of {{object}} is ready in {{place}}
node_ai_state_set node ai member internal {{object}} changed its index state
node_ai_added_to_rag node ai member internal {{object}} entered the index
node_ai_removed_from_rag node ai member internal {{object}} left the index
workspace_ai_share_created ai ai member external {{actor}} exported {{place}} for an assistant
metadata_kv_update metadata metadata member external {{actor}} set metadata of {{object}}
metadata_kv_delete metadata metadata member external {{actor}} removed metadata of {{object}}
metadata_kv_extract metadata metadata member external {{actor}} extracted metadata from {{object}}
metadata_template_update metadata metadata member external {{actor}} changed a metadata template in {{place}}
metadata_template_delete metadata metadata member external {{actor}} deleted a metadata template in {{place}}
metadata_template_select metadata metadata member external {{actor}} chose a metadata template in {{place}}
metadata_view_update metadata metadata member external {{actor}} changed a metadata view in {{place}}
metadata_view_delete metadata metadata member external {{actor}} deleted a metadata view in {{place}}
workspace_quickshare_created workspace quickshare member external {{actor}} made a quick link to {{object}}
workspace_quickshare_updated workspace quickshare member external {{actor}} changed the quick link to {{object}}
workspace_quickshare_deleted workspace quickshare member external {{actor}} removed the quick link to {{object}}
workspace_quickshare_file_downloaded workspace quickshare member external {{object}} was downloaded over its quick link
workspace_quickshare_file_previewed workspace quickshare member external {{object}} was viewed over its quick link
invitation_email_sent invitation invitations admin external {{actor}} invited {{subject}} to {{place}}
invitation_accepted invitation invitations member external {{subject}} accepted the invitation to {{place}}
invitation_declined invitation invitations admin external {{subject}} declined the invitation to {{place}}
file_share_created share fileshare member external {{actor}} made a link to {{object}}
file_share_updated share fileshare member external {{actor}} changed the link to {{object}}
file_share_content_updated share fileshare member external {{actor}} replaced {{object}} through its link
file_share_deleted share fileshare member external The link to {{object}} ended
file_share_access_granted share fileshare member external {{actor}} gave the link to {{object}} to {{subject}}
file_share_access_revoked share fileshare member external {{actor}} took the link to {{object}} from {{subject}}
user_created user lifecycle targeted external {{subject}} opened an account
user_updated user settings targeted external {{subject}} changed the profile
user_deleted user lifecycle admin external_audit_log {{subject}} closed the account
user_email_reset user security targeted external_audit_log {{subject}} reset the e-mail address
user_asset_updated user assets targeted external {{subject}} changed the picture
user_login user authentication admin external_audit_log {{actor}} signed in
org_created org lifecycle admin external {{actor}} created {{place}}
org_updated org settings admin external {{actor}} changed the settings of {{place}}
org_closed org lifecycle admin external_audit_log {{actor}} closed {{place}}
org_transfer_token_created org security admin external_audit_log {{actor}} prepared the transfer of {{place}}
org_transfer_completed org security admin external_audit_log {{actor}} transferred {{place}}
org_security_alert org security admin external_audit_log A security rule of {{place}} fired
subscription_created billing billing admin external {{actor}} subscribed {{place}} to a plan
subscription_cancelled billing billing admin external {{actor}} ended the plan of {{place}}
billing_free_trial_ended billing billing admin external The trial of {{place}} ended
import_source_sync_failed import cloud_import admin external A synchronization of {{place}} failed
legal_hold_placed org security admin external_audit_log {{actor}} placed a legal hold on {{object}}
legal_hold_released org security admin external_audit_log {{actor}} released the legal hold on {{object}}
`

// kindOf returns the kind of an event name: from the catalogue, or else derived from
// the words of the name. A line of the catalogue is the name, the category, subcategory,
// permission and visibility, and a template.
func kindOf(event string) EventKind {
	k := EventKind{Event: event, Visibility: External, Permission: ForMember, Severity: "info", Notification: "none"}
	for line := range strings.Lines(catalogue) {
		if rest, found := strings.CutPrefix(line, event+" "); found {
			words := strings.SplitN(strings.TrimSpace(rest), " ", 5)
			k.Category, k.Sub, k.Permission, k.Visibility, k.template = words[0], words[1], words[2], words[3], words[4]
			break
		}
	}
	if k.Category == "" {
		k.Category, k.Sub = classify(event)
		k.template = "{{actor}}: " + strings.ReplaceAll(event, "_", " ")
	}
	k.deriveFromName()
	return k
}

// classify returns the category and subcategory of an event that the catalogue does not
// list, by the words of its name.
func classify(event string) (category, sub string) {
	first, _, _ := strings.Cut(event, "_")
	switch first {
	case "task", "worklog", "approval", "todo":
		return "workflow", "workflow"
	case "sign":
		return "workflow", "lifecycle"
	case "file":
		return "share", "fileshare"
	case "email", "domain", "apps", "upload", "billing", "metadata", "invitation", "ai", "org", "share", "user":
		category = first
	default:
		category = "workspace"
	}
	switch {
	case strings.Contains(event, "storage"):
		return category, "storage"
	case strings.HasSuffix(event, "_created"), strings.HasSuffix(event, "_deleted"):
		return category, "lifecycle"
	case category == "upload", category == "metadata", category == "billing", category == "ai":
		return category, category
	}
	return category, "settings"
}

// deriveFromName sets what the name of the event implies: severity, notification and, for
// an event on a node, what was done to it, whether the change feed has it (IsChange), and
// whether clients need the new parent of the node (RequiresParent).
func (k *EventKind) deriveFromName() {
	switch {
	case strings.Contains(k.Event, "alert"), strings.HasSuffix(k.Event, "_failed"):
		k.Severity = "warning"
	case strings.HasSuffix(k.Event, "_deleted"), strings.HasPrefix(k.Event, "removed_"):
		k.Severity = "notice"
	}
	switch k.Event {
	case "comment_mentioned", "comment_replied", "invitation_email_sent", "org_security_alert":
		k.Notification = "push"
	}
	if k.Sub != "storage" && k.Sub != "transfer" {
		return
	}
	isOnLock := strings.HasSuffix(k.Event, "_lock_overridden") // the node itself is as before
	k.IsChange = k.Sub == "storage" && !isOnLock
	k.Operation = k.Event[strings.LastIndexByte(k.Event, '_')+1:]
	k.NodeType = "file"
	if strings.Contains(k.Event, "_folder_") {
		k.NodeType = "folder"
	}
	switch k.Operation {
	case "added", "created", "moved", "copied", "restored":
		k.RequiresParent = k.Sub == "storage"
	}
}

// placeholders returns the names in double braces.
func placeholders(template string) []string {
	var names []string
	for {
		_, rest, found := strings.Cut(template, "{{")
		if !found {
			return names
		}
		name, after, _ := strings.Cut(rest, "}}")
		names = append(names, name)
		template = after
	}
}
