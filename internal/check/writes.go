package check

import "net/http"

// A Write is an endpoint that the program may call with -write, for objects that the run has
// created.
type Write struct {
	Read

	// Fields are all that a request may have: placeholders of the path, query parameters and
	// members of the body, as the guard names them. "parent=node|root!" is one that must be
	// given (!) and must name a node of the run or the root. A field without a kind names no
	// object. Other kinds: "marker" is a text that begins with the marker of the run, and
	// ":workspace" is that word.
	Fields string

	Makes string // the kinds of objects of which the response has the IDs
	With  With   // the flag that also allows it
}

// With is a flag beside -write.
type With string

// Flags beside -write.
const (
	WithNothing   With = ""
	WithAI        With = "-ai"
	WithSecondKey With = "-second-key"
)

// Writes returns the endpoints that the program may call with -write and the flags. The
// list is reviewed by hand. It has some reads too: those that cost credits, and those that
// find what belongs to an object of the run.
func Writes(flags ...With) []Write {
	allowed := map[With]bool{WithNothing: true}
	for _, f := range flags {
		allowed[f] = true
	}
	var all []Write
	for _, area := range [][]Write{
		placeWrites(), nodeWrites(), uploadWrites(), commentWrites(), metadataWrites(), linkWrites(), memberWrites(),
		aiWrites(),
	} {
		for _, w := range area {
			if allowed[w.With] {
				all = append(all, w)
			}
		}
	}
	return all
}

const (
	get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete

	ofWorkspace, ofShare = "/current/workspace/{workspace_id}", "/current/share/{share_id}"
)

// inWorkspace returns the write whose path is that of a workspace, which must be one of the
// run, followed by tail. For fields and makes see [Write].
func inWorkspace(op, method, tail, fields, makes string) Write {
	return Write{
		Read:   Read{Op: op, Method: method, Path: ofWorkspace + tail, Needs: "a workspace"},
		Fields: "{workspace_id}=workspace " + fields, Makes: makes,
	}
}

// inShare returns the write whose path is that of a share, which must be one of the run,
// followed by tail. For fields and makes see [Write].
func inShare(op, method, tail, fields, makes string) Write {
	return Write{
		Read:   Read{Op: op, Method: method, Path: ofShare + tail, Needs: "a share"},
		Fields: "{share_id}=share " + fields, Makes: makes,
	}
}

// inBoth returns the write of a workspace and the same one of a share.
func inBoth(op, method, tail, fields, makes string) []Write {
	return []Write{inWorkspace(op, method, tail, fields, makes), inShare(op, method, tail, fields, makes)}
}

// atPath returns the write of a whole path, which need not be below a workspace or share.
// Only the fields limit such a request to the objects of the run. For them and makes see [Write].
func atPath(op, method, path, fields, makes string) Write {
	return Write{Read: Read{Op: op, Method: method, Path: path}, Fields: fields, Makes: makes}
}

// with sets the flag that the program needs to make the writes, and returns them.
func with(flag With, all ...Write) []Write {
	for i := range all {
		all[i].With = flag
	}
	return all
}

// join returns the writes of all lists.
func join(lists ...[]Write) []Write {
	var all []Write
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// placeWrites returns the reviewed writes of workspaces, cards, intents, events and pictures.
// A row is the operation, method and path, the fields that a request may have, and the
// kinds of objects that the response names. There are reads among them, because later
// writes need the events and cards that only their responses name.
//
// In the list of fields, "name=marker!" must be given (!) and begins with the marker of the
// run, "confirm=workspace!" names the workspace of the run, "{asset_name}=:banner|:logo" is one
// of two words, and "limit" may have any value (see [Write.Fields]). inBoth makes two rows: one
// for a workspace, one for a share.
func placeWrites() []Write {
	return join(
		[]Write{
			atPath(
				"workspaces.Create", post, "/current/org/{org_id}/create/workspace/",
				"{org_id}=org! folder_name=marker! name=marker! description intelligence perm_join perm_member_manage",
				kindWorkspace,
			),
			inWorkspace("workspaces.Update", post, "/update/", "name=marker folder_name=marker description", ""),
			inWorkspace("workspaces.Archive", post, "/archive/", "", ""),
			inWorkspace("workspaces.Unarchive", post, "/unarchive/", "", ""),
			inWorkspace("workspaces.Delete", del, "/delete/", "confirm=workspace!", ""),

			inWorkspace("activity.Dashboard.List", get, "/dashboard/", "limit offset", "card"),
			inWorkspace(
				"activity.Dashboard.Dismiss", post, "/dashboard/cards/{card_key}/dismiss/", "{card_key}=card snooze_until", ""),
			inWorkspace("activity.Dashboard.Restore", del, "/dashboard/cards/{card_key}/dismiss/", "{card_key}=card", ""),
			inWorkspace("activity.Intents.Allocate", post, "/intents/", "node_id=node intent", "intent"),
			inWorkspace(
				"activity.Intents.Fill", post, "/intents/{intent_id}/", "{intent_id}=intent topic message intent version", ""),
			inWorkspace("activity.Intents.Release", del, "/intents/{intent_id}/", "{intent_id}=intent", ""),

			atPath("events.Search", get, "/current/events/search/", "workspace_id=workspace! limit", "event"),
			atPath("events.Ack", post, "/current/event/{event_id}/ack/", "{event_id}=event event_id=event", ""),
		},
		inBoth("assets.Upload", post, "/assets/{asset_name}/", "{asset_name}=:banner|:logo file", ""),
		inBoth("assets.Delete", del, "/assets/{asset_name}/", "{asset_name}=:banner|:logo", ""),
	)
}

// nodeWrites returns the reviewed writes of files and folders. A row is the operation,
// method and path, the fields that a request may have, and the kinds of objects that the
// response names.
//
// In the list of fields, "parent=node|root!" must be given and names a node of the run or
// the root, "from.upload.id=upload" is the ID of an upload of the run, nested in two
// objects, "client_info.*" is the object client_info with any members, and "name" may have
// any value (see [Write.Fields]). Calls in rows with WithAI are made only with the flag -ai:
// they may cost credits, although they are not calls of the AI agent.
func nodeWrites() []Write {
	const node, folder = "{node_id}=node ", "{parent_id}=node|root "
	return join(
		inBoth("storage.CreateFolder", post, "/storage/{parent_id}/createfolder/", folder+"name force", "node"),
		inBoth("storage.Move", post, "/storage/{node_id}/move/", node+"parent=node|root!", ""),
		inBoth("storage.Copy", post, "/storage/{node_id}/copy/", node+"parent=node|root!", "node"),
		inBoth(
			"storage.Update", post, "/storage/{node_id}/update/",
			node+"name from.type from.upload.id=upload if_version_id=version metadata_title metadata_short", "",
		),
		inBoth("storage.Delete", del, "/storage/{node_id}/delete/", node, ""),
		inBoth("storage.EmptyTrash", del, "/storage/trash/delete/", "", ""),
		inBoth("storage.Restore", post, "/storage/{node_id}/restore/", node, ""),
		inBoth("storage.Purge", del, "/storage/{node_id}/purge/", node, ""),
		inBoth(
			"storage.AddFile", post, "/storage/{parent_id}/addfile/", folder+"name from.type from.upload.id=upload!", "node"),
		[]Write{
			inWorkspace("storage.AddLink", post, "/storage/{parent_id}/addlink/", folder+"type share=share!", "node"),
			inWorkspace("storage.Notes.Create", post, "/storage/{parent_id}/createnote/", folder+"name content", "node version"),
			inWorkspace(
				"storage.Notes.Update", post, "/storage/{node_id}/updatenote/", node+"content if_version_id=version", "version"),
		},
		inBoth("storage.Versions.List", get, "/storage/{node_id}/versions/", node, "version"),
		inBoth("storage.Versions.Restore", post, "/storage/{node_id}/restore-version/", node+"version_id=version!", ""),
		inBoth("storage.Locks.Acquire", post, "/storage/{node_id}/lock/", node+"duration client_info.*", ""),
		inBoth("storage.Locks.Heartbeat", post, "/storage/{node_id}/lock/heartbeat/", node+"lock_token", ""),
		inBoth("storage.Locks.Release", del, "/storage/{node_id}/lock/", node+"lock_token", ""),
		with(WithAI, inBoth("storage.Downloads.Zip", get, "/storage/{node_id}/zip/", node, "")...),
		with(WithAI, inBoth(
			"storage.Transforms.Read", get, "/storage/{node_id}/transform/image/read/",
			node+"token output-format width height size", "",
		)...),
	)
}

// uploadWrites returns the reviewed writes of uploads. A row is the operation, method and
// path, the fields that a request may have, and the kinds of objects that the response
// names.
//
// In the list of fields, "name=marker!" must be given (!) and begins with the marker of the
// run, "folder_id=node|root" names a node of the run or the root, "id=import!" names an import
// of the run, and "size" may have any value. "source_url=:https://example.com/!" must be exactly
// that text. "manifest..index" is a member of each object in the list manifest. The placeholders
// of the path are fields too: "{upload_id}=upload" (see [Write.Fields]). The paths have no workspace
// or share (atPath): only the fields limit a request to the objects of the run.
func uploadWrites() []Write {
	const target = "instance_id=workspace|share folder_id=node|root profile_type "
	upload := func(op, method, tail, fields, makes string) Write {
		return atPath(op, method, "/current/upload/{upload_id}/"+tail, "{upload_id}=upload "+fields, makes)
	}
	return []Write{
		atPath(
			"uploads.Start", post, "/current/upload/", target+"name=marker! action size stream max_size chunk", "upload",
		),
		upload("uploads.Get", get, "details/", "", "node"), // listed as a write, so that the journal gets the new file
		upload("uploads.Chunks.Send", post, "chunk/", "order size hash hash_algo file_crc32c chunk", ""),
		upload("uploads.Chunks.Delete", del, "chunk/", "order", ""),
		upload("uploads.Complete", post, "complete/", "", ""),
		upload("uploads.Cancel", del, "", "", ""),
		upload("uploads.Stream", post, "stream/", "hash hash_algo", ""),
		atPath(
			"uploads.Batch", post, "/current/upload/batch/",
			"instance_id=workspace|share! folder_id=node|root creator file_0 "+
				"manifest..index manifest..filename=marker! manifest..hash manifest..hash_algo", "node",
		),
		atPath(
			"uploads.Web.Start", post, "/current/web_upload/",
			"source_url=:"+webSource+"! profile_id=workspace! profile_type folder_id=node|root file_name=marker!", "import",
		),
		atPath("uploads.Web.Cancel", del, "/current/web_upload/", "id=import!", ""),
	}
}

// commentWrites returns the writes of comments that fastio-check may send. A row is the
// operation, method and path, the fields that a request may have, and the kinds of objects
// that the response names.
//
// In the list of fields, "{parent_id}=workspace|share" must name a workspace or a share that this
// run has created, and "{entity_type}=:workspace|:share" must be one of these two words. A field
// without "=", such as "body", may have any value. Fields with "!" must be given. See [Write.Fields].
func commentWrites() []Write {
	const path, comment, text = "/current/comments/", "{comment_id}=comment ",
		"body target_id=node target_ids=node parent_id=comment"
	const place = "{entity_type}=:workspace|:share {parent_id}=workspace|share "
	return []Write{
		atPath("comments.Create", post, path+"{entity_type}/{parent_id}/", place+text, "comment"),
		atPath(
			"comments.CreateOnNode", post, path+"{entity_type}/{parent_id}/{node_id}/", place+"{node_id}=node "+text, "comment",
		),
		atPath(
			"comments.CreateOnFileShare", post, path+"fileshare/{fileshare_id}/{node_id}/",
			"{fileshare_id}=fileshare {node_id}=node "+text, "comment",
		),
		atPath("comments.Update", post, path+"{comment_id}/update/", comment+"body", ""),
		atPath("comments.Delete", del, path+"{comment_id}/delete/", comment, ""),
		atPath("comments.DeleteMany", post, path+"bulk/delete/", "comment_ids=comment!", ""),
		atPath("comments.React", post, path+"{comment_id}/reactions/", comment+"emoji", ""),
		atPath("comments.Unreact", del, path+"{comment_id}/reactions/", comment, ""),
		atPath(
			"comments.Attachments.Attach", post, path+"{comment_id}/attachments/", comment+"target_id=node target_ids=node", ""),
		atPath("comments.Attachments.Detach", post, path+"{comment_id}/attachments/detach/", comment+"target_id=node!", ""),
	}
}

// metadataWrites returns the reviewed writes of metadata. A row is the operation, method
// and path, the fields that a request may have, and the kinds of objects that the response
// names.
//
// In the list of fields, "{node_id}=node" is a placeholder of the path and names a node that
// this run has created, "facts.*" is the object facts with any members, "keys." is an element of
// the list keys, and "name" may have any value (see [Write.Fields]). "predicate.field" is a
// member of each object in the list predicate, and "predicate" is that list if it is empty. If
// the last column is "", the response names no object.
func metadataWrites() []Write {
	const predicate = "name description predicate.field predicate.operator predicate.value predicate"
	return []Write{
		inWorkspace("metadata.Fields.Declare", post, "/metadata/fields/", "name declared_type", ""),
		inWorkspace("metadata.Fields.Merge", post, "/metadata/fields/merge/", "source target confirm", ""),
		inWorkspace("metadata.Facts.Set", post, "/storage/{node_id}/metadata/facts/", "{node_id}=node facts.*", ""),
		inWorkspace("metadata.Facts.Delete", del, "/storage/{node_id}/metadata/", "{node_id}=node keys.", ""),
		inWorkspace("metadata.Filters.Create", post, "/metadata/filters/", predicate, "filter"),
		inWorkspace("metadata.Filters.Update", put, "/metadata/filters/{filter_id}/", "{filter_id}=filter "+predicate, ""),
		inWorkspace("metadata.Filters.Delete", del, "/metadata/filters/{filter_id}/", "{filter_id}=filter", ""),
	}
}

// linkWrites returns the reviewed writes of shares and File Shares. A row is the operation,
// method and path, the fields that a request may have, and, if it creates an object, the
// kind of that.
//
// In the list of fields, "title=marker!" must be given and begins with the marker of the
// run, "node=node!" names a node of the run, "user=person!" the second person, and
// "expires" may have any value (see [Write.Fields]).
func linkWrites() []Write {
	share := func(op, method, tail, fields string) Write { return inShare(op, method, tail, fields, "") }
	fileShare := func(op, method, tail, fields string) Write {
		path := "/current/fileshare/{fileshare_id}" + tail
		return Write{Read: Read{op, method, path, "a File Share"}, Fields: "{fileshare_id}=fileshare " + fields}
	}
	return join(
		[]Write{
			inWorkspace(
				"shares.Create", post, "/create/share/", "title=marker! intelligence access_options password expires", kindShare),
			share("shares.Update", post, "/update/", "title=marker description access_options"),
			share("shares.Archive", post, "/archive/", ""),
			share("shares.Unarchive", post, "/unarchive/", ""),
			share("shares.AuthPassword", post, "/auth/password/", "password"),
			share("shares.AuthGuest", post, "/auth/guest/", ""),
			share("shares.Delete", del, "/delete/", "confirm=share!"),
			inWorkspace("shares.QuickShares.Create", post, "/storage/{node_id}/quickshare/", "{node_id}=node", ""),
			inWorkspace(
				"fileshares.Create", post, "/create/fileshare/",
				"node=node! title=marker! access_option comments_enabled expires", "fileshare"),
			fileShare("fileshares.Update", post, "/update/", "title=marker expires_at"),
			fileShare("fileshares.Delete", del, "/delete/", ""),
		},
		with(WithSecondKey,
			fileShare("fileshares.Grants.Set", post, "/grants/", "user=person! capability"),
			fileShare("fileshares.Grants.Revoke", del, "/grants/", "user=person!"),
		),
	)
}

// memberWrites returns the reviewed writes of members and invitations. A row is the
// operation, method and path, the fields that a request may have, and the kinds of objects
// that the response names. Some need the second person, who becomes a member.
//
// In the list of fields, "{email_or_user}=person|address" is the second person or the
// address that the run invites, and "{user_id}=person|me" may also be the caller. A field
// without "=", such as "permissions", may have any value (see [Write.Fields]). inBoth makes
// two rows: one for a workspace, one for a share.
func memberWrites() []Write {
	const role, person = "permissions notifications notify_options", "{user_id}=person"
	return join(
		inBoth("members.Add", post, "/members/{email_or_user}/", "{email_or_user}=person|address "+role, "invitation"),
		inBoth("members.Invitations.List", get, "/members/invitations/list/", "", "invitation"),
		inBoth(
			"members.Invitations.Update", post, "/members/invitation/{invitation_id}/",
			"{invitation_id}=invitation permissions", ""),
		inBoth("members.Invitations.Delete", del, "/members/invitation/{invitation_id}/", "{invitation_id}=invitation", ""),
		with(WithSecondKey, join(
			inBoth("members.Update", post, "/member/{user_id}/update/", person+" "+role, ""),
			inBoth("members.Remove", del, "/members/{user_id}/", person, ""),
			inBoth("members.TransferOwnership", post, "/member/{user_id}/transfer_ownership/", "{user_id}=person|me", ""),
			inBoth("members.Leave", del, "/member/", "", ""),
			inBoth("members.Join", post, "/members/join/", "notify_options", ""),
		)...),
	)
}

// aiWrites returns the reviewed writes of the agent, all of which cost credits. A row is
// the operation, method and path, the fields that a request may have, and the kinds of
// objects that the response names.
//
// In the list of fields, which blanks separate, "question" may have any value, and
// "{token}=export" is a placeholder of the path: here it must be the token of an export of the
// run. "workspace_id=workspace!" must be given (!) and names the workspace of the run.
// "files.=node" is an element of the list files, and names a node of the run (see
// [Write.Fields]). The last column of "ai.Threads.Create" says that its response has the IDs of
// a thread and of a turn; "" says that there are none.
func aiWrites() []Write {
	const thread, question = "{chat_id}=thread ", "question idempotency_key"
	return with(WithAI, join(
		inBoth("ai.Threads.Create", post, "/ai/agent/", "name "+question, "thread turn"),
		inBoth("ai.Threads.Update", post, "/ai/agent/{chat_id}/update/", thread+"name", ""),
		inBoth("ai.Threads.Delete", del, "/ai/agent/{chat_id}/", thread, ""),
		inBoth("ai.Threads.Publish", post, "/ai/agent/{chat_id}/publish/", thread, ""),
		inBoth("ai.Turns.Send", post, "/ai/agent/{chat_id}/message/", thread+question, "turn"),
		inBoth("ai.Turns.Cancel", post, "/ai/agent/{chat_id}/cancel/", thread, ""),
		inBoth("ai.ExportFiles", post, "/ai/share/", "files.=node", kindExport),
		[]Write{
			// It is a read, but as a write it is allowed only with the token of an export of the run.
			atPath("ai.ReadExport", get, "/current/ai/share/{token}", "{token}=export file part", ""),
			{
				Read:   Read{"ai.AutoTitle", post, ofShare + "/ai/autotitle/", "a share"},
				Fields: "{share_id}=share user_context",
			},
			atPath("events.Summarize", get, "/current/events/search/summarize/", "workspace_id=workspace! user_context", ""),
			atPath("howto.Ask", post, "/current/how-to/", "question surface", ""),
			inWorkspace("metadata.Extract", post, "/storage/{node_id}/metadata/extract/", "{node_id}=node fields.", ""),
			inWorkspace("metadata.ExtractAll", post, "/storage/{node_id}/metadata/extract-all/", "{node_id}=node", ""),
		},
	)...)
}

// RefusedWrites returns the writes that the program never sends, with the reason. A key is
// an operation, an area, or an area and the first word of paths: "members org" stands for
// the writes of members below /current/org/.
func RefusedWrites() map[string]string {
	return map[string]string{
		"account":                   "changes the account",
		"oauth":                     "changes what gives access to the account",
		"orgs":                      "changes the organization",
		"members org":               "changes the organization",
		"assets org":                "changes the organization",
		"assets user":               "changes the account",
		"members.JoinWithKey":       "needs the key of a mail",
		"comments.Unlink":           "is for old comments only",
		"shares.Import":             "needs a share that is in no workspace",
		"shares.QuickShares.Delete": "no QuickShare can be created any more",
		"uploads.CancelAll":         "ends the uploads of other programs",
		"system.Introspect":         "is no operation of its own",
	}
}
