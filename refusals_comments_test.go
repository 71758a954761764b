package fastio_test

import (
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest"
)

// Comments of the rows, beside the one that newRefusing adds.
const (
	refusalsReply = "cam111r3p1y0nth33ng1n3b3ta123"
	refusalsGone  = "cam111g0n3fr0mth33ng1n3b3ta12"
)

func commentRefusals() []refusal {
	const (
		list     = " GET /current/comments/workspace/"
		post     = " POST /current/comments/workspace/" + coverWorkspace + "/ "
		onNode   = " POST /current/comments/workspace/" + coverWorkspace + "/" + coverNode + "/ "
		onShare  = " POST /current/comments/share/" + coverShare + "/ "
		onLink   = " POST /current/comments/fileshare/" + coverFileShare + "/" + coverNode + "/ "
		update   = " POST /current/comments/" + coverComment + "/update/ "
		details  = " GET /current/comments/" + coverComment + "/details/"
		attach   = " POST /current/comments/" + coverComment + "/attachments/ "
		text     = `{"body":"Brass?"}`
		anchored = `{"body":"Brass?","reference":{"type":`
	)
	long := `{"body":"` + strings.Repeat("x", 8193) + `"}`
	shown := `{"body":"` + strings.Repeat("x", 501) + ` @[user:` + refusalsBen + `:Ben]"}`
	spam := under(func(o *fastiotest.Options) { o.Comments.SpamWord = "brass" })
	full := under(func(o *fastiotest.Options) { o.Comments.Limit = 1 })
	return []refusal{
		{"comments.List", "entity type missing", "ada GET /current/comments//" + coverWorkspace + "/", "406 code 10021 entity_type:missing", nil},
		{"comments.List", "entity type that takes no comments", "ada GET /current/comments/org/" + coverOrg + "/", "406 code 10022 entity_type:invalid", nil},
		{"comments.List", "parent id missing", "ada" + list + "/", "406 code 10021 parent_id:missing", nil},
		{"comments.List", "parent id malformed", "ada" + list + "design/", "406 code 10023 parent_id:type_mismatch", nil},
		{"comments.List", "sort unknown", "ada" + list + coverWorkspace + "/?sort=newest", "406 code 10022 sort:invalid", nil},
		{"comments.List", "limit out of range", "ada" + list + coverWorkspace + "/?limit=1", "406 code 10022 limit:invalid", nil},
		{"comments.List", "kind of reference unknown", "ada" + list + coverWorkspace + "/?reference_type=x", "406 code 10022 reference_type:invalid", nil},
		{"comments.List", "entity not found", "ada" + list + refusalsNobody + "/", "404", nil},
		{"comments.List", "no permission", "eve" + list + coverWorkspace + "/", "401 code 10545", nil},
		{"comments.List", "outside the token's scope", "narrow" + list + coverWorkspace + "/", "403 code 10754", nil},
		{"comments.List", "not authenticated", "nobody" + list + coverWorkspace + "/", "401 code 10011", nil},
		{"comments.List", "failed to retrieve", "ada" + list + coverWorkspace + "/", "500", broken("comments.List", 500, 0)},
		{"comments.ListOnNode", "node not found", "ada" + list + coverWorkspace + "/" + refusalsNothing + "/", "404", nil},
		{"comments.ListOnNode", "node malformed", "ada" + list + coverWorkspace + "/mill/", "406 code 10023 node_id:type_mismatch", nil},

		{"comments.Create", "entity type missing", "ada POST /current/comments//" + coverWorkspace + "/ " + text, "406 code 10021 entity_type:missing", nil},
		{"comments.Create", "entity type that takes no comments", "ada POST /current/comments/org/" + coverOrg + "/ " + text, "406 code 10022 entity_type:invalid", nil},
		{"comments.Create", "parent id missing", "ada POST /current/comments/workspace// " + text, "406 code 10021 parent_id:missing", nil},
		{"comments.Create", "parent id malformed", "ada POST /current/comments/workspace/design/ " + text, "406 code 10023 parent_id:type_mismatch", nil},
		{"comments.Create", "malformed JSON", "ada" + post + `{"body":`, "406", nil},
		{"comments.Create", "body missing", "ada" + post + `{"reference":null}`, "406 code 10021 body:missing", nil},
		{"comments.Create", "body empty", "ada" + post + `{"body":""}`, "406 code 10022 body:invalid", nil},
		{"comments.Create", "body over 8192 characters", "ada" + post + long, "406 code 162417", nil},
		{"comments.Create", "display text over 500 characters", "ada" + post + shown, "406 code 166910", nil},
		{"comments.Create", "spam detected", "ada" + post + text, "406", spam},
		{"comments.Create", "malformed id of the parent comment", "ada" + post + `{"body":"Brass?","parent_id":"mill"}`, "406 code 10023 parent_id:type_mismatch", nil},
		{"comments.Create", "kind of reference unknown", "ada" + post + anchored + `"song"}}`, "406 code 10022 reference.type:invalid", nil},
		{"comments.Create", "reference that is no object", "ada" + post + `{"body":"Brass?","reference":"page 1"}`, "406 code 10023 reference:type_mismatch", nil},
		{"comments.Create", "page of the reference invalid", "ada" + post + anchored + `"document","page":0}}`, "406 code 10022 reference.page:invalid", nil},
		{"comments.Create", "comment limit of the plan", "ada" + post + text, "406", commentedUnder(full)},
		{"comments.Create", "not authenticated", "nobody" + post + text, "401 code 10011", nil},
		{"comments.Create", "dead token", "ghost" + post + text, "401 code 10011", nil},
		{"comments.Create", "insufficient permission", "eve" + post + text, "401 code 10545", nil},
		{"comments.Create", "token that only reads", "reader" + post + text, "403 code 10770 scope_write_required", nil},
		{"comments.Create", "guest where comments are off", "gil" + onShare + text, "401", portal(func(s *fastiotest.Share) { s.NoComments = true })},
		{"comments.Create", "entity not found", "ada POST /current/comments/workspace/" + refusalsNobody + "/ " + text, "404", nil},
		{"comments.Create", "entity of another type", "ada POST /current/comments/workspace/" + coverShare + "/ " + text, "404", nil},
		{"comments.Create", "parent comment not found", "ada" + post + `{"body":"Brass?","parent_id":"` + refusalsReply + `"}`, "404", nil},
		{"comments.Create", "parent comment on another entity", "ada" + onShare + `{"body":"Brass?","parent_id":"` + coverComment + `"}`, "404", nil},
		{"comments.Create", "parent comment in another scope", "ada" + post + `{"body":"Brass?","parent_id":"` + coverComment + `"}`, "404", nil},
		{"comments.Create", "more than 25 attachments", "ada" + post + `{"body":"Brass?","target_ids":[` + strings.Repeat(`"`+coverNode+`",`, 25) + `"` + coverNode + `"]}`, "406 code 10022 target_ids:invalid", nil},
		{"comments.Create", "no attachment at all", "ada" + post + `{"body":"Brass?","target_ids":[]}`, "406 code 10022 target_ids:invalid", nil},
		{"comments.Create", "attachment not found", "ada" + post + `{"body":"Brass?","target_id":"` + refusalsNothing + `"}`, "404", nil},
		{"comments.Create", "failed to save", "ada" + post + text, "500", broken("comments.Create", 500, 0)},
		{"comments.CreateOnNode", "node not found", "ada POST /current/comments/workspace/" + coverWorkspace + "/" + refusalsNothing + "/ " + text, "404", nil},
		{"comments.CreateOnNode", "comment to change not found", "ada" + onNode + `{"body":"Brass?","comment_id":"` + refusalsReply + `"}`, "404", nil},
		{"comments.CreateOnNode", "comment of somebody else", "ben" + onNode + `{"body":"Brass?","comment_id":"` + coverComment + `"}`, "401", nil},
		{"comments.CreateOnNode", "comment is deleted", "ada" + onNode + `{"body":"Brass?","comment_id":"` + refusalsGone + `"}`, "406", deletedComment},
		{"comments.CreateOnFileShare", "node missing", "ada POST /current/comments/fileshare/" + coverFileShare + "// " + text, "406 code 10021 node_id:missing", link("named_people", true)},
		{"comments.CreateOnFileShare", "File Share malformed", "ada POST /current/comments/fileshare/mill/" + coverNode + "/ " + text, "406 code 10023 parent_id:type_mismatch", link("named_people", true)},
		{"comments.CreateOnFileShare", "not authenticated", "nobody" + onLink + text, "401 code 10011", link("anyone_with_link", true)},
		{"comments.CreateOnFileShare", "comments not enabled", "ada" + onLink + text, "401", link("any_registered", false)},
		{"comments.CreateOnFileShare", "File Share for anyone with the link", "eve" + onLink + text, "401", link("anyone_with_link", true)},
		{"comments.CreateOnFileShare", "File Share of others", "eve" + onLink + text, "401 code 115069", link("named_people", true)},
		{"comments.CreateOnFileShare", "File Share not found", "ada" + onLink + text, "404", nil},
		{"comments.CreateOnFileShare", "another node", "ada POST /current/comments/fileshare/" + coverFileShare + "/" + coverMill + "/ " + text, "404", link("any_registered", true)},

		{"comments.Update", "id malformed", "ada POST /current/comments/mill/update/ " + text, "406 code 10023 comment_id:type_mismatch", nil},
		{"comments.Update", "malformed JSON", "ada" + update + `{"body":`, "406", nil},
		{"comments.Update", "body missing", "ada" + update + `{"properties":{}}`, "406 code 10021 body:missing", nil},
		{"comments.Update", "body over 8192 characters", "ada" + update + long, "406 code 164797", nil},
		{"comments.Update", "display text over 500 characters", "ada" + update + shown, "406 code 166910", nil},
		{"comments.Update", "spam detected", "ada" + update + text, "406", spam},
		{"comments.Update", "comment is deleted", "ada POST /current/comments/" + refusalsGone + "/update/ " + text, "406", deletedComment},
		{"comments.Update", "not the author", "ben" + update + text, "401", nil},
		{"comments.Update", "not authenticated", "nobody" + update + text, "401 code 10011", nil},
		{"comments.Update", "comment not found", "ada POST /current/comments/" + refusalsReply + "/update/ " + text, "404", nil},
		{"comments.Update", "failed to save", "ada" + update + text, "500", broken("comments.Update", 500, 0)},

		{"comments.Get", "id missing", "ada GET /current/comments//details/", "406 code 10021 comment_id:missing", nil},
		{"comments.Get", "id malformed", "ada GET /current/comments/mill/details/", "406 code 10023 comment_id:type_mismatch", nil},
		{"comments.Get", "no permission", "eve" + details, "401 code 10545", nil},
		{"comments.Get", "hidden from guests", "gil GET /current/comments/" + refusalsGone + "/details/", "401", hiddenComment},
		{"comments.Get", "not authenticated", "nobody" + details, "401 code 10011", nil},
		{"comments.Get", "comment not found", "ada GET /current/comments/" + refusalsReply + "/details/", "404", nil},
		{"comments.Get", "failed to retrieve", "ada" + details, "500", broken("comments.Get", 500, 0)},
		{"comments.Delete", "neither author nor admin", "ben DELETE /current/comments/" + coverComment + "/delete/", "401", nil},
		{"comments.Delete", "comment of a File Share's recipient", "ada DELETE /current/comments/" + refusalsReply + "/delete/", "401", receivedComment},
		{"comments.Delete", "comment not found", "ada DELETE /current/comments/" + refusalsReply + "/delete/", "404", nil},
		{"comments.Attachments.Attach", "more than 25 attachments", "ada" + attach + `{"target_ids":[` + strings.Repeat(`"`+coverNode+`",`, 25) + `"` + coverNode + `"]}`, "406 code 10022 target_ids:invalid", nil},
		{"comments.Attachments.Attach", "attachment not found", "ada" + attach + `{"target_id":"` + refusalsNothing + `"}`, "404", nil},
	}
}

// portal is the share, changed.
func portal(change func(s *fastiotest.Share)) func(w *refusing) {
	return func(w *refusing) {
		s := fastiotest.Share{ID: coverShare, Workspace: coverWorkspace, Title: "Portal", Creator: w.User().ID}
		change(&s)
		w.AddShare(s)
	}
}

// link is the File Share.
func link(access string, comments bool) func(w *refusing) {
	return func(w *refusing) {
		w.AddFileShare(fastiotest.FileShare{ID: coverFileShare, Node: coverNode, Owner: w.User().ID, Access: access, CommentsEnabled: comments})
	}
}

// commentedUnder is a workspace with a comment on itself.
func commentedUnder(options func(w *refusing)) func(w *refusing) {
	return func(w *refusing) {
		options(w)
		w.AddComment(fastiotest.Comment{Profile: coverWorkspace, User: w.User().ID, Body: "A fine room."})
	}
}

func deletedComment(w *refusing) {
	w.AddComment(fastiotest.Comment{ID: refusalsGone, Profile: coverWorkspace, Node: coverNode, User: w.User().ID, Body: "?", Deleted: time.Now()})
}

// hiddenComment is one of the team's, which the share does not show to guests.
func hiddenComment(w *refusing) {
	portal(func(s *fastiotest.Share) { s.HideTeamComments = true })(w)
	w.AddComment(fastiotest.Comment{ID: refusalsGone, Profile: coverShare, User: w.User().ID, Body: "?"})
}

func receivedComment(w *refusing) {
	link("any_registered", true)(w)
	w.AddComment(fastiotest.Comment{ID: refusalsReply, FileShare: coverFileShare, User: refusalsEve, Body: "?"})
}
