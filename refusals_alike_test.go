package fastio_test

// alike has the rows that a program cannot tell apart: the documents give them one
// status, and neither params nor a code or reason of their own.
func alike() map[string][]string {
	return map[string][]string{
		"account.Me: 401 code 10011":                                    {"dead token", "no token"},
		"account.Workspaces.Create: 406 code 10022 folder_name:invalid": {"folder name against its pattern", "folder name too short"},
		"account.Workspaces.Create: 406 code 10022 name:invalid":        {"name too long", "name with control characters"},
		"activity.Poll: 400 code 10022 fields:invalid":                  {"bad field name", "more than 30 fields"},
		"activity.PollProfile: 400": {
			"no permission", "no permission on the share", "outside the token's scope", "share without multiplayer",
		},
		"activity.PollProfile: 400 code 10022 fields:invalid": {"bad field name", "more than 30 fields"},
		"ai.Files.Read: 404":                              {"index that is no number", "index too high", "link expired", "link used three times", "token invalid"},
		"ai.Files.Share: 406 code 10022 files:invalid":    {"file over 50 MB", "files over 100 MB", "more than 25 files", "no files"},
		"ai.Notes.Update: 406 code 10022 content:invalid": {"content blank", "content over 100 KB"},
		"ai.Threads.Create: 401":                          {"guest where chat is off", "guest with a restricted view who attaches a folder"},
		"ai.Threads.Create: 402":                          {"out of credits", "plan without ai_agent", "plan without content_ai"},
		"ai.Threads.Create: 403 ai_policy_denied agent":   {"policy against the agent", "policy against the agent and Intelligence"},
		"ai.Threads.Create: 404": {
			"pinned version unavailable", "referenced file deleted", "referenced file elsewhere", "referenced file missing",
			"referenced folder missing",
		},
		"ai.Threads.Create: 406 code 10022 references:invalid": {
			"file said to be a folder", "file that is not ready", "files over 2 GB", "folder said to be a file",
			"malformed reference", "more than 20 files", "more than 200 occurrences",
		},
		"ai.Threads.Get: 404":             {"chat deleted", "chat not accessible"},
		"ai.Threads.Update: 406":          {"thread inaccessible", "thread not found"},
		"ai.Turns.Send: 402":              {"out of credits", "plan without ai_agent"},
		"ai.Turns.Send: 404":              {"chat of somebody else", "chat that is not there", "referenced file missing"},
		"ai.Turns.Send: 409 code 168116":  {"conversation too large", "message too large"},
		"comments.Create: 401 code 10011": {"dead token", "not authenticated"},
		"comments.Create: 404": {
			"attachment not found", "entity not found", "entity of another type", "parent comment in another scope",
			"parent comment not found", "parent comment on another entity",
		},
		"comments.Create: 406":                                    {"comment limit of the plan", "malformed JSON", "spam detected"},
		"comments.Create: 406 code 10022 target_ids:invalid":      {"more than 25 attachments", "no attachment at all"},
		"comments.Create: 406 code 10023 parent_id:type_mismatch": {"malformed id of the parent comment", "parent id malformed"},
		"comments.CreateOnFileShare: 401":                         {"File Share for anyone with the link", "comments not enabled"},
		"comments.CreateOnFileShare: 404":                         {"File Share not found", "another node"},
		"comments.CreateOnNode: 404":                              {"comment to change not found", "node not found"},
		"comments.Delete: 401":                                    {"comment of a File Share's recipient", "neither author nor admin"},
		"comments.Update: 406":                                    {"comment is deleted", "malformed JSON", "spam detected"},
		"events.Ack: 406":                                         {"internal event", "no permission"},
		"events.Get: 406":                                         {"event for somebody else", "internal event", "no permission"},
		"events.Search: 401":                                      {"audit by parent alone", "audit by user"},
		"events.Search: 401 code 10011":                           {"dead token", "no token"},
		"events.Search: 406 code 10022 cursor:invalid": {
			"cursor of another search", "cursor of somebody else", "cursor with a parent", "foreign cursor",
		},
		"events.Search: 406 code 10022 workspace_id:invalid": {"parent with another filter", "profile of the wrong kind"},
		"events.Summarize: 401":                              {"audit by parent alone", "audit by user"},
		"events.Summarize: 406 code 10022 user_context:invalid": {
			"user_context over 64 characters", "user_context with other characters",
		},
		"fileshares.Download: 403":                             {"infected", "view alone"},
		"fileshares.Get: 401":                                  {"password missing", "password missing for a member", "password wrong"},
		"fileshares.Get: 404":                                  {"expired", "no such link"},
		"howto.Ask: 401 code 10011":                            {"invalid token", "no token"},
		"howto.Ask: 406 code 10021 question:missing":           {"question blank", "question missing"},
		"metadata.Fields.Declare: 406 code 10021 name:missing": {"name blank", "name missing"},
		"metadata.Fields.Declare: 406 code 10022 name:invalid": {"name against the policy", "name over 64 characters"},
		"metadata.Fields.Merge: 406 code 10023 confirm:type_mismatch": {
			"confirm as text", "confirm null", "confirm of a form empty", "confirm of a form unknown",
		},
		"metadata.Fields.Merge: 503": {"counts unreadable", "vocabulary busy"},
		"oauth.CompleteAuthorization: 403 code 10768 access_mode_exceeds_initiate": {
			"more than the ceiling", "settings that were not asked for",
		},
		"oauth.Register: 400 invalid_client_metadata": {
			"authentication at the token endpoint", "name over 128 bytes", "redirect URIs of a form that are no JSON",
			"redirect URIs that are no array", "reserved name",
		},
		"oauth.Register: 400 invalid_redirect_uri": {
			"eleven redirect URIs", "empty redirect URI", "no redirect URI at all", "redirect URI that is no URL",
			"redirect URI that is no string", "redirect URI with a fragment", "redirect URI without TLS",
		},
		"oauth.Register: 400 invalid_request": {"JSON over 64 KB", "JSON that is no object", "redirect URIs missing"},
		"oauth.StartAuthorization: 406 code 1605 client_id:invalid": {
			"disabled client", "document of another client", "document on another domain", "document over 10 KB",
			"document that cannot be fetched", "document that is no JSON", "document that is not found",
			"document that takes too long", "document with redirect URIs that break the rules", "document without HTTPS",
			"document without client_id", "document without its authentication", "document without redirect URIs",
			"document without the code grant", "document without the code response", "unknown client",
		},
		"oauth.StartAuthorization: 406 code 1605 redirect_uri:invalid": {
			"redirect URI that the document lacks", "redirect_uri that is not registered",
		},
		"oauth.StartAuthorization: 406 scope:invalid": {"scope in another case", "scope that names none"},
		"oauth.UpdateRegistration: 400 invalid_client_metadata": {
			"name over 128 characters", "redirect URIs that are no array", "reserved name",
		},
		"oauth.UpdateRegistration: 400 invalid_redirect_uri": {
			"no redirect URI at all", "redirect URI with a fragment", "redirect URI without TLS",
		},
		"oauth.UpdateRegistration: 400 invalid_request": {
			"client that is not local", "client_id missing", "neither name nor redirect URIs",
		},
		"oauth.UpdateRegistration: 401 invalid_request": {"another token", "no token"},
		"oauth.UpdateRegistration: 404 invalid_client":  {"disabled client", "unknown client"},
		"realtime.NoteToken: 404":                       {"no such note", "note in the trash"},
		"realtime.RoomToken: 401 code 10011":            {"dead token", "no token"},
		"realtime.RoomToken: 401 code 10545":            {"no permission", "share without multiplayer"},
		"realtime.ValidateNoteToken: 401":               {"header missing", "malformed", "signature failed", "token expired", "token of a room"},
		"realtime.ValidateRoomToken: 401":               {"signature failed", "token expired"},
		"realtime.ValidateRoomToken: 406": {
			"header malformed", "no bearer", "no token", "not in the form of a token", "token of a WebSocket",
			"token of a note",
		},
		"search.Storage: 401 code 10545": {"no view permission", "no view permission on the share"},
		"search.Storage: 406 code 10022 files_scope:invalid": {
			"bare 0", "folder among the files", "malformed file", "more than 100 files", "version of another file",
		},
		"search.Storage: 406 code 10022 folders_scope:invalid": {
			"bare 0 among the folders", "file among the folders", "malformed folder", "root as a folder", "trash as a folder",
		},
		"shares.Create: 403 policy_sharing_disabled":      {"sharing disabled by the organization", "sharing disabled by the workspace"},
		"shares.Create: 406 code 10022 expires:invalid":   {"expiration invalid", "expiration of a workspace folder", "expiration past"},
		"shares.GetPublic: 401":                           {"password missing", "password wrong"},
		"shares.Import: 406":                              {"not owned", "several owners", "share of a workspace already"},
		"shares.Join: 401 code 10545":                     {"neither of the share nor of the workspace", "not of the organization either"},
		"shares.Members.Add: 401 code 10545":              {"no member-edit permission", "not a member"},
		"shares.Members.Add: 403 external_invites_denied": {"direct add of an outsider denied", "external invites denied"},
		"shares.Members.Add: 406": {
			"adding an owner", "body of JSON", "oneself as the target", "owner as the target", "permission above the caller's",
		},
		"shares.Members.TransferOwnership: 401":              {"not the owner", "ownership changed"},
		"shares.Members.Update: 406":                         {"body of JSON", "owner as the target"},
		"shares.QuickShares.Get: 404":                        {"expired", "no such link"},
		"shares.Update: 406 code 10022 intelligence:invalid": {"intelligence of a workspace folder", "intelligence without the plan"},
	}
}
