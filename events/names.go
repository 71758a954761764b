package events

// Name is the name of an event. The platform adds new ones; unknown values are kept.
type Name string

// Category is the broadest kind of an event. Unknown values are kept.
type Category string

// Categories of events.
const (
	CategoryUpload     Category = "upload"
	CategoryUser       Category = "user"
	CategoryOrg        Category = "org"
	CategoryWorkspace  Category = "workspace" // and its files
	CategoryShare      Category = "share"     // and its files
	CategoryAI         Category = "ai"
	CategoryInvitation Category = "invitation"
	CategoryEmail      Category = "email"
	CategoryBilling    Category = "billing"
	CategoryMetadata   Category = "metadata"
	CategoryDomain     Category = "domain"
	CategoryApps       Category = "apps"
	CategoryWorkflow   Category = "workflow" // retired; in old logs only
	CategoryNode       Category = "node"     // AI processing of a file
	CategoryImport     Category = "import"   // cloud sync
)

// SubCategory is the kind of an event within its category. Unknown values are kept.
type SubCategory string

// Subcategories of events.
const (
	SubCategoryStorage        SubCategory = "storage"
	SubCategoryComments       SubCategory = "comments"
	SubCategoryMembers        SubCategory = "members"
	SubCategoryLifecycle      SubCategory = "lifecycle"
	SubCategorySettings       SubCategory = "settings"
	SubCategorySecurity       SubCategory = "security"
	SubCategoryAuthentication SubCategory = "authentication"
	SubCategoryAI             SubCategory = "ai"
	SubCategoryInvitations    SubCategory = "invitations"
	SubCategoryBilling        SubCategory = "billing"
	SubCategoryAssets         SubCategory = "assets"
	SubCategoryUpload         SubCategory = "upload"
	SubCategoryTransfer       SubCategory = "transfer"
	SubCategoryImportExport   SubCategory = "import_export"
	SubCategoryQuickshare     SubCategory = "quickshare"
	SubCategoryMetadata       SubCategory = "metadata"
	SubCategoryWorkflow       SubCategory = "workflow"
	SubCategoryFileshare      SubCategory = "fileshare"
	SubCategoryCloudImport    SubCategory = "cloud_import"
)

// Visibility is the log that an event belongs to. Unknown values are kept.
type Visibility string

// Visibilities of events.
const (
	VisibilityInternal Visibility = "internal"           // never readable
	VisibilityAudit    Visibility = "external_audit_log" // for audits and compliance
	VisibilityExternal Visibility = "external"           // for all callers with the permission
)

// Permission is the role required to see an event. Unknown values are kept.
type Permission string

// Permissions to see an event.
const (
	PermissionMember   Permission = "member"   // any member of the profile
	PermissionAdmin    Permission = "admin"    // admins of the profile
	PermissionTargeted Permission = "targeted" // the subject of the event; in a search of the audit log also admins
)

// Names of events: workspace storage.
const (
	NameWorkspaceStorageFileAdded            Name = "workspace_storage_file_added"
	NameWorkspaceStorageFileDeleted          Name = "workspace_storage_file_deleted"
	NameWorkspaceStorageFileMoved            Name = "workspace_storage_file_moved"
	NameWorkspaceStorageFileCopied           Name = "workspace_storage_file_copied"
	NameWorkspaceStorageFileUpdated          Name = "workspace_storage_file_updated"
	NameWorkspaceStorageFileRestored         Name = "workspace_storage_file_restored"
	NameWorkspaceStorageFileVersionRestored  Name = "workspace_storage_file_version_restored"
	NameWorkspaceStorageFolderCreated        Name = "workspace_storage_folder_created"
	NameWorkspaceStorageFolderDeleted        Name = "workspace_storage_folder_deleted"
	NameWorkspaceStorageFolderMoved          Name = "workspace_storage_folder_moved"
	NameWorkspaceStorageDownloadTokenCreated Name = "workspace_storage_download_token_created"
	NameWorkspaceStorageZipDownloaded        Name = "workspace_storage_zip_downloaded"
	NameWorkspaceStorageLinkAdded            Name = "workspace_storage_link_added"
	NameWorkspaceStorageLockOverridden       Name = "workspace_storage_lock_overridden"
	NameWorkspaceStorageFileSyncAdded        Name = "workspace_storage_file_sync_added"
	NameWorkspaceStorageFileSyncUpdated      Name = "workspace_storage_file_sync_updated"
)

// Names of events: share storage.
const (
	NameShareStorageFileAdded            Name = "share_storage_file_added"
	NameShareStorageFileDeleted          Name = "share_storage_file_deleted"
	NameShareStorageFileMoved            Name = "share_storage_file_moved"
	NameShareStorageFileCopied           Name = "share_storage_file_copied"
	NameShareStorageFileUpdated          Name = "share_storage_file_updated"
	NameShareStorageFileRestored         Name = "share_storage_file_restored"
	NameShareStorageFolderCreated        Name = "share_storage_folder_created"
	NameShareStorageFolderDeleted        Name = "share_storage_folder_deleted"
	NameShareStorageFolderMoved          Name = "share_storage_folder_moved"
	NameShareStorageDownloadTokenCreated Name = "share_storage_download_token_created"
	NameShareStorageZipDownloaded        Name = "share_storage_zip_downloaded"
	NameShareStorageLockOverridden       Name = "share_storage_lock_overridden"
)

// Names of events: comments.
const (
	NameCommentCreated   Name = "comment_created"
	NameCommentUpdated   Name = "comment_updated"
	NameCommentDeleted   Name = "comment_deleted"
	NameCommentMentioned Name = "comment_mentioned" // targeted
	NameCommentReplied   Name = "comment_replied"
	NameCommentReaction  Name = "comment_reaction"
)

// Names of events: membership.
const (
	NameAddedMemberToOrg           Name = "added_member_to_org"
	NameRemovedMemberFromOrg       Name = "removed_member_from_org"
	NameAddedMemberToWorkspace     Name = "added_member_to_workspace"
	NameRemovedMemberFromWorkspace Name = "removed_member_from_workspace"
	NameAddedMemberToShare         Name = "added_member_to_share"
	NameRemovedMemberFromShare     Name = "removed_member_from_share"
	NameMembershipUpdated          Name = "membership_updated"
	NameOwnershipTransferred       Name = "ownership_transferred"
)

// Names of events: lifecycle of workspaces and shares.
const (
	NameWorkspaceCreated         Name = "workspace_created"
	NameWorkspaceUpdated         Name = "workspace_updated"
	NameWorkspaceDeleted         Name = "workspace_deleted"
	NameWorkspaceArchived        Name = "workspace_archived"
	NameWorkspaceUnarchived      Name = "workspace_unarchived"
	NameShareCreated             Name = "share_created"
	NameShareUpdated             Name = "share_updated"
	NameShareDeleted             Name = "share_deleted"
	NameShareArchived            Name = "share_archived"
	NameShareUnarchived          Name = "share_unarchived"
	NameShareImportedToWorkspace Name = "share_imported_to_workspace"
)

// Names of events: AI.
const (
	NameAIChatCreated           Name = "ai_chat_created"
	NameAIChatUpdated           Name = "ai_chat_updated"
	NameAIChatDeleted           Name = "ai_chat_deleted"
	NameAIChatNewMessage        Name = "ai_chat_new_message"
	NameAIChatPublished         Name = "ai_chat_published"
	NameNodeAISummaryCreated    Name = "node_ai_summary_created"
	NameWorkspaceAIShareCreated Name = "workspace_ai_share_created"
)

// Names of events: metadata.
const (
	NameMetadataKVUpdate  Name = "metadata_kv_update"
	NameMetadataKVDelete  Name = "metadata_kv_delete"
	NameMetadataKVExtract Name = "metadata_kv_extract"
)

// Names of events: QuickShares.
const (
	NameWorkspaceQuickshareCreated        Name = "workspace_quickshare_created"
	NameWorkspaceQuickshareUpdated        Name = "workspace_quickshare_updated"
	NameWorkspaceQuickshareDeleted        Name = "workspace_quickshare_deleted"
	NameWorkspaceQuickshareFileDownloaded Name = "workspace_quickshare_file_downloaded"
	NameWorkspaceQuickshareFilePreviewed  Name = "workspace_quickshare_file_previewed"
)

// Names of events: File Shares.
const (
	NameFileShareCreated        Name = "file_share_created"
	NameFileShareUpdated        Name = "file_share_updated"
	NameFileShareContentUpdated Name = "file_share_content_updated"
	NameFileShareDeleted        Name = "file_share_deleted"
	NameFileShareAccessGranted  Name = "file_share_access_granted"
	NameFileShareAccessRevoked  Name = "file_share_access_revoked"
)

// Names of events: signing.
const (
	NameSignEnvelopeDrafted           Name = "sign_envelope_drafted"
	NameSignEnvelopeSent              Name = "sign_envelope_sent"
	NameSignEnvelopeVoided            Name = "sign_envelope_voided"
	NameSignEnvelopeViewed            Name = "sign_envelope_viewed"
	NameSignEnvelopeRecipientSigned   Name = "sign_envelope_recipient_signed"
	NameSignEnvelopeRecipientDeclined Name = "sign_envelope_recipient_declined"
	NameSignEnvelopeDocumentSigned    Name = "sign_envelope_document_signed"
	NameSignEnvelopeCompleted         Name = "sign_envelope_completed"
	NameSignEnvelopeExpired           Name = "sign_envelope_expired"
)

// Names of events: imports.
const (
	NameImportSourceSyncFailed Name = "import_source_sync_failed"
)

// Names of events: invitations.
const (
	NameInvitationEmailSent Name = "invitation_email_sent"
	NameInvitationAccepted  Name = "invitation_accepted"
	NameInvitationDeclined  Name = "invitation_declined"
)

// Names of events: users.
const (
	NameUserCreated      Name = "user_created"
	NameUserUpdated      Name = "user_updated"
	NameUserDeleted      Name = "user_deleted"
	NameUserEmailReset   Name = "user_email_reset"
	NameUserAssetUpdated Name = "user_asset_updated"
	NameUserLogin        Name = "user_login"
)

// Names of events: organizations.
const (
	NameOrgCreated              Name = "org_created"
	NameOrgUpdated              Name = "org_updated"
	NameOrgClosed               Name = "org_closed"
	NameOrgTransferTokenCreated Name = "org_transfer_token_created"
	NameOrgTransferCompleted    Name = "org_transfer_completed"
	NameOrgSecurityAlert        Name = "org_security_alert"
)

// Names of events: billing.
const (
	NameSubscriptionCreated   Name = "subscription_created"
	NameSubscriptionCancelled Name = "subscription_cancelled"
	NameBillingFreeTrialEnded Name = "billing_free_trial_ended"
)

// Names of events: metadata templates and views, found in old logs.
//
// Deprecated: the platform no longer records them.
const (
	NameMetadataTemplateUpdate Name = "metadata_template_update"
	NameMetadataTemplateDelete Name = "metadata_template_delete"
	NameMetadataTemplateSelect Name = "metadata_template_select"
	NameMetadataViewUpdate     Name = "metadata_view_update"
	NameMetadataViewDelete     Name = "metadata_view_delete"
)

// Names of events: workflow. The documents list them; that they are found in old logs
// only, as the features have ended, is assumed.
const (
	NameTaskListCreated                 Name = "task_list_created"
	NameTaskListUpdated                 Name = "task_list_updated"
	NameTaskListDeleted                 Name = "task_list_deleted"
	NameTaskCreated                     Name = "task_created"
	NameTaskUpdated                     Name = "task_updated"
	NameTaskDeleted                     Name = "task_deleted"
	NameTaskStatusChanged               Name = "task_status_changed"
	NameTaskAssigned                    Name = "task_assigned"
	NameTaskCompleted                   Name = "task_completed"
	NameWorklogEntryCreated             Name = "worklog_entry_created"
	NameWorklogInterjectionCreated      Name = "worklog_interjection_created"
	NameWorklogInterjectionAcknowledged Name = "worklog_interjection_acknowledged"
	NameApprovalRequested               Name = "approval_requested"
	NameApprovalApproved                Name = "approval_approved"
	NameApprovalRejected                Name = "approval_rejected"
	NameTodoCreated                     Name = "todo_created"
	NameTodoToggled                     Name = "todo_toggled"
	NameTodoDeleted                     Name = "todo_deleted"
	NameTodoUpdated                     Name = "todo_updated"
)
