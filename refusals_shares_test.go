package fastio_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

func shareRefusals() []refusal {
	const (
		create  = " POST /current/workspace/" + coverWorkspace + "/create/share/ intelligence=false"
		inside  = "&storage_mode=workspace_folder&folder_node_id=" + refusalsFolder
		gate    = "/current/share/" + coverShare + "/"
		details = " GET " + gate + "details/"
		public  = " GET " + gate + "public/details/"
		update  = " POST " + gate + "update/ "
		confirm = " DELETE " + gate + "delete/?confirm=" + coverShare
		archive = " POST " + gate + "archive/ "
		enter   = "nobody POST " + gate + "auth/password/ "
		taken   = " GET /current/shares/check/name/"
		move    = " POST /current/workspace/" + coverWorkspace + "/import/share/" + coverShare + "/ "
	)
	nobody := " GET /current/share/" + refusalsNobody
	locked := portal(func(s *fastiotest.Share) { s.Access, s.Password = "Anyone with the link", refusalsPassword })
	return []refusal{
		{"shares.Create", "custom name invalid", "ada" + create + "&custom_name=a-b", "406 code 10022 custom_name:invalid", nil},
		{"shares.Create", "custom name in use", "ada" + create + "&custom_name=portal", "406 custom_name:invalid", nil},
		{"shares.Create", "expiration invalid", "ada" + create + "&expires=tomorrow", "406 code 10022 expires:invalid", nil},
		{"shares.Create", "expiration past", "ada" + create + "&expires=2020-01-01+00:00:00", "406 code 10022 expires:invalid", nil},
		{"shares.Create", "expiration of a workspace folder", "ada" + create + inside + "&expires=2999-01-01+00:00:00", "406 code 10022 expires:invalid", nil},
		{"shares.Create", "password on a share that is not public", "ada" + create + "&password=" + refusalsPassword, "406 code 10022 password:invalid", nil},
		{"shares.Create", "folder missing", "ada" + create + "&storage_mode=workspace_folder", "406 code 10021 folder_node_id:missing", nil},
		{"shares.Create", "folder that is none", "ada" + create + "&storage_mode=workspace_folder&folder_node_id=" + coverNode, "406 code 10022 folder_node_id:invalid", nil},
		{"shares.Create", "folder shared already", "ada" + create + inside, "406 folder_node_id:invalid", folderShare},
		{"shares.Create", "intelligence missing", "ada POST /current/workspace/" + coverWorkspace + "/create/share/ title=Portal", "406 code 10021 intelligence:missing", nil},
		{"shares.Create", "intelligence without the plan", "ada" + create + "&intelligence=true", "406 code 10022 intelligence:invalid", lacking("ai_agent")},
		{"shares.Create", "portal that receives", "ada" + create + "&share_type=receive", "406 code 10022 share_type:invalid", nil},
		{"shares.Create", "anonymous uploads to a portal", "ada" + create + "&anonymous_uploads_enabled=true", "406 code 10022 anonymous_uploads_enabled:invalid", nil},
		{"shares.Create", "title too short", "ada" + create + "&title=x", "406 code 10022 title:invalid", nil},
		{"shares.Create", "description too short", "ada" + create + "&description=short", "406 code 10022 description:invalid", nil},
		{"shares.Create", "custom URL too short", "ada" + create + "&custom_url=short", "406 code 10022 custom_url:invalid", nil},
		{"shares.Create", "access option unknown", "ada" + create + "&access_options=Everybody", "406 code 10022 access_options:invalid", nil},
		{"shares.Create", "color that is no JSON", "ada" + create + "&accent_color=red", "406 code 10022 accent_color:invalid", nil},
		{"shares.Create", "background image out of range", "ada" + create + "&background_image=129", "406 code 10022 background_image:invalid", nil},
		{"shares.Create", "body of JSON", "ada POST /current/workspace/" + coverWorkspace + `/create/share/ {"intelligence":"false"}`, "406", nil},
		{"shares.Create", "not a member", "eve" + create, "401 code 10545", nil},
		{"shares.Create", "share quota", "ada" + create, "412", under(func(o *fastiotest.Options) { o.Shares.Limit = 1 })},
		{"shares.Create", "sharing disabled by the organization", "ada" + create, "403 policy_sharing_disabled", unsharing(fastiotest.Org{NoSharing: true})},
		{"shares.Create", "sharing disabled by the workspace", "ada" + create, "403 policy_sharing_disabled", withheld},
		{"shares.Create", "concurrent operation", "ada" + create, "409", under(func(o *fastiotest.Options) { o.Shares.Conflicts = 1 })},
		{"shares.Create", "update failed", "ada" + create, "500", broken("shares.Create", http.StatusInternalServerError, 0)},

		{"shares.Get", "authentication required", "nobody" + details, "401 code 10011", nil},
		{"shares.Get", "no view permission", "eve" + details, "401 code 144499", nil},
		{"shares.Get", "outside the token's scope", "narrow" + details, "403 code 10754", nil},
		{"shares.Get", "no such share", "ada" + nobody + "/details/", "404", nil},
		{"shares.GetPublic", "no public view permission", "nobody" + public, "401 code 183836", nil},
		{"shares.GetPublic", "password missing", "nobody" + public, "401", locked},
		{"shares.GetPublic", "password wrong", "nobody+x" + public, "401", locked},
		{"shares.GetPublic", "storage failure", "ada" + public, "500 code 121168", broken("shares.GetPublic", http.StatusInternalServerError, 121168)},

		{"shares.Update", "title too short", "ada" + update + "title=x", "406 code 10022 title:invalid", nil},
		{"shares.Update", "password on a share that is not public", "ada" + update + "password=" + refusalsPassword, "406 code 10022 password:invalid", nil},
		{"shares.Update", "intelligence of a workspace folder", "ada" + update + "intelligence=true", "406 code 10022 intelligence:invalid", folderShare},
		{"shares.Update", "intelligence without the plan", "ada" + update + "intelligence=true", "406 code 10022 intelligence:invalid", lacking("ai_agent")},
		{"shares.Update", "external invites back to inherit", "ada" + update + "external_invites=null", "406 code 10022 external_invites:invalid", nil},
		{"shares.Update", "link that is not null", "ada" + update + "share_link_node_id=" + coverNode, "406 code 10022 share_link_node_id:invalid", nil},
		{"shares.Update", "not an admin", "gil" + update + "title=Gate", "401", nil},
		{"shares.Update", "token that only reads", "reader" + update + "title=Gate", "403 code 10770 scope_write_required", nil},
		{"shares.Delete", "confirm missing", "ada DELETE " + gate + "delete/", "406 code 130987", nil},
		{"shares.Delete", "confirm wrong", "ada" + confirm + "x", "406 code 10022 confirm:invalid", nil},
		{"shares.Delete", "not an admin", "gil" + confirm, "401", nil},
		{"shares.Delete", "no such share", "ada DELETE /current/share/" + refusalsNobody + "/delete/?confirm=x", "404", nil},
		{"shares.Archive", "share of a workspace folder", "ada" + archive, "406 code 10022 share_id:invalid", folderShare},
		{"shares.Archive", "not an admin", "gil" + archive, "401", nil},
		{"shares.AuthPassword", "password wrong", enter + "password=x", "401", locked},
		{"shares.AuthPassword", "password empty", enter + "password=", "406 code 10021 password:missing", locked},
		{"shares.AuthPassword", "no such share", "nobody POST /current/share/" + refusalsNobody + "/auth/password/ password=x", "404", nil},
		{"shares.CheckName", "name invalid", "ada" + taken + "a-b/", "406 code 10022 name:invalid", nil},
		{"shares.CheckName", "name in use", "ada" + taken + "portal/", "406 name:invalid", nil},

		{"shares.Import", "not owned", "ben" + move, "406", imported(refusalsBen, fastiotest.Admin)},
		{"shares.Import", "several owners", "ben" + move, "406", imported(refusalsBen, fastiotest.Owner)},
		{"shares.Import", "share of a workspace already", "ada" + move, "406", nil},
		{"shares.Import", "share limit of the workspace", "ada" + move, "412", sequence(
			under(func(o *fastiotest.Options) { o.Shares.Limit = 1 }), sibling, imported(refusalsGil, fastiotest.Guest))},
		{"shares.Import", "internal failure", "ada" + move, "500", broken("shares.Import", http.StatusInternalServerError, 0)},
	}
}

// unsharing is the organization with another policy.
func unsharing(o fastiotest.Org) func(w *refusing) {
	return func(w *refusing) {
		o.ID, o.Domain, o.Owner = coverOrg, "difference", w.User().ID
		w.AddOrg(o)
	}
}

func withheld(w *refusing) {
	w.AddWorkspace(fastiotest.Workspace{ID: coverWorkspace, Org: coverOrg, Name: "Design", NoSharing: true})
}

// imported is the share as one that ada owns outside of workspaces, with somebody
// else in it.
func imported(user string, role fastiotest.Role) func(w *refusing) {
	return func(w *refusing) {
		portal(func(s *fastiotest.Share) { s.Workspace = "" })(w)
		w.AddMembership(fastiotest.Membership{Profile: coverShare, User: api.ProfileID(user), Role: role})
	}
}

// sibling is another share of the workspace.
func sibling(w *refusing) {
	w.AddShare(fastiotest.Share{Workspace: coverWorkspace, Title: "Sibling"})
}

// refusalsInvitation is the invitation that a row adds.
const refusalsInvitation = "0nv1tat10nt0th3p0rta1b3ta1234"

func memberRefusals() []refusal {
	const (
		members  = "/current/share/" + coverShare + "/members/"
		add      = " POST " + members
		lovelace = add + "lovelace@example.test/ permissions=guest"
		one      = " POST /current/share/" + coverShare + "/member/"
		hand     = "/transfer_ownership/ "
		join     = " POST " + members + "join/ "
		with     = " POST " + members + "join/k3y/"
		invite   = " POST " + members + "invitation/" + refusalsInvitation + "/ "
	)
	denied := unsharing(fastiotest.Org{ExternalInvites: "denied"})
	object := portal(func(s *fastiotest.Share) { s.ExternalInvites = "denied" })
	asked := invitation("lovelace@example.test", fastiotest.Guest)
	return []refusal{
		{"shares.Members.Add", "adding an owner", "ada" + add + "lovelace@example.test/ permissions=owner", "406", nil},
		{"shares.Members.Add", "bad permissions", "ada" + add + "lovelace@example.test/ permissions=king", "406 code 10022 permissions:invalid", nil},
		{"shares.Members.Add", "owner as the target", "ben" + add + "{ada}/ permissions=guest", "406", manages},
		{"shares.Members.Add", "oneself as the target", "ada" + add + "{ada}/ permissions=guest", "406", manages},
		{"shares.Members.Add", "permission above the caller's", "ben" + add + "lovelace@example.test/ permissions=admin", "406", guestsInvite},
		{"shares.Members.Add", "body of JSON", "ada" + add + `lovelace@example.test/ {"permissions":"guest"}`, "406", nil},
		{"shares.Members.Add", "neither address nor user", "ada" + add + "lovelace/ permissions=guest", "406 code 10022 email_or_user:invalid", nil},
		{"shares.Members.Add", "message too short", "ada" + lovelace + "&message=short", "406 code 10022 message:invalid", nil},
		{"shares.Members.Add", "no member-edit permission", "gil" + lovelace, "401 code 10545", nil},
		{"shares.Members.Add", "not a member", "eve" + lovelace, "401 code 10545", nil},
		{"shares.Members.Add", "no such user", "ada" + add + refusalsNobody + "/ permissions=guest", "404", nil},
		{"shares.Members.Add", "invitation quota", "ada" + add + "byron@example.test/ permissions=guest", "412", sequence(under(func(o *fastiotest.Options) { o.Shares.InvitationLimit = 1 }), asked)},
		{"shares.Members.Add", "external invites denied", "ada" + lovelace, "403 external_invites_denied", denied},
		{"shares.Members.Add", "external invites denied by the share", "ada" + lovelace, "403 external_invites_object_denied", object},
		{"shares.Members.Add", "direct add of an outsider denied", "ada" + add + refusalsEve + "/ permissions=guest", "403 external_invites_denied", denied},

		{"shares.Members.Update", "permissions unknown", "ada" + one + refusalsGil + "/update/ permissions=king", "406 code 10022 permissions:invalid", nil},
		{"shares.Members.Update", "notify options unknown", "ada" + one + refusalsGil + "/update/ notify_options=always", "406 code 10022 notify_options:invalid", nil},
		{"shares.Members.Update", "expires past", "ada" + one + refusalsGil + "/update/ expires=2020-01-01+00:00:00+UTC", "406 code 10022 expires:invalid", nil},
		{"shares.Members.Update", "body of JSON", "ada" + one + refusalsGil + `/update/ {"permissions":"admin"}`, "406", nil},
		{"shares.Members.Update", "owner as the target", "ada" + one + "me/update/ permissions=guest", "406", nil},
		{"shares.Members.Update", "no member-edit permission", "gil" + one + "me/update/ permissions=admin", "401 code 10545", nil},
		{"shares.Members.Update", "no such member", "ada" + one + refusalsEve + "/update/ permissions=guest", "404", nil},
		{"shares.Members.Update", "external invites denied", "ada" + one + refusalsGil + "/update/ permissions=member", "403 external_invites_denied", denied},
		{"shares.Members.Update", "external invites denied by the share", "ada" + one + refusalsGil + "/update/ permissions=member", "403 external_invites_object_denied", object},

		{"shares.Join", "share that is not for joining", "eve" + join, "406", portal(func(s *fastiotest.Share) { s.Access = "Anyone with the link" })},
		{"shares.Join", "neither of the share nor of the workspace", "eve" + join, "401 code 10545", nil},
		{"shares.Join", "not of the organization either", "eve" + join, "401 code 10545", portal(func(s *fastiotest.Share) { s.Access = "Members of the Share, Workspace or Org" })},
		{"shares.Join", "no token", "nobody" + join, "401 code 10011", nil},
		{"shares.JoinWithKey", "no such invitation", "eve" + with + "accept/ ", "404", nil},
		{"shares.JoinWithKey", "answer unknown", "eve" + with + "maybe/ ", "406 code 10022 answer:invalid", nil},
		{"shares.JoinWithKey", "external invites denied", "eve" + with + "accept/ ", "403 external_invites_denied", sequence(denied, asked)},
		{"shares.JoinWithKey", "external invites denied by the share", "eve" + with + "accept/ ", "403 external_invites_object_denied", sequence(object, asked)},

		{"shares.Invitations.Update", "permission above one's own", "ben" + invite + "permissions=admin", "406 code 127022", sequence(guestsInvite, asked)},
		{"shares.Invitations.Update", "owner", "ada" + invite + "permissions=owner", "406", asked},
		{"shares.Invitations.Update", "state unknown", "ada" + invite + "state=late", "406 code 10022 state:invalid", asked},
		{"shares.Invitations.Update", "expires past", "ada" + invite + "expires=2020-01-01+00:00:00+UTC", "406 code 10022 expires:invalid", asked},
		{"shares.Invitations.Update", "no member-edit permission", "gil" + invite + "state=accepted", "401 code 10545", asked},
		{"shares.Invitations.Update", "invitation of another share", "ada" + invite + "state=pending", "404", foreign},
		{"shares.Invitations.Update", "resend denied", "ada" + invite + "state=pending", "403 external_invites_denied", sequence(denied, asked)},
		{"shares.Invitations.Update", "resend denied by the share", "ada" + invite + "state=pending", "403 external_invites_object_denied", sequence(object, asked)},
		{"shares.Invitations.Delete", "no member-edit permission", "gil DELETE " + members + "invitation/" + refusalsInvitation + "/", "401 code 10545", asked},
		{"shares.Invitations.Delete", "no such invitation", "ada DELETE " + members + "invitation/" + refusalsInvitation + "/", "404", nil},
		{"shares.Leave", "owner", "ada DELETE /current/share/" + coverShare + "/member/", "406", nil},
		{"shares.Leave", "not a member", "eve DELETE /current/share/" + coverShare + "/member/", "401 code 10545", nil},
		{"shares.Members.Remove", "owner", "ada DELETE " + members + "me/", "406", nil},
		{"shares.Members.Remove", "no member-edit permission", "gil DELETE " + members + refusalsBen + "/", "401 code 10545", nil},
		{"shares.Members.Get", "no such member", "ada GET /current/share/" + coverShare + "/member/" + refusalsEve + "/details/", "404", nil},

		{"shares.Members.TransferOwnership", "wrong method", "ada GET /current/share/" + coverShare + "/member/" + refusalsGil + "/transfer_ownership/", "405 code 10003", nil},
		{"shares.Members.TransferOwnership", "oneself", "ada" + one + "me" + hand, "406 successor_is_self", nil},
		{"shares.Members.TransferOwnership", "not a member", "ada" + one + refusalsEve + hand, "406 successor_not_member", nil},
		{"shares.Members.TransferOwnership", "account disabled", "ada" + one + refusalsGil + hand, "406 successor_unavailable", gilGone},
		{"shares.Members.TransferOwnership", "another transfer", "ada" + one + refusalsGil + hand, "409 transfer_in_progress", under(func(o *fastiotest.Options) { o.Shares.TransferConflicts = 1 })},
		{"shares.Members.TransferOwnership", "not the owner", "gil" + one + "me" + hand, "401", nil},
		{"shares.Members.TransferOwnership", "ownership changed", "ada" + one + refusalsGil + hand, "401", handedOver},
		{"shares.Members.TransferOwnership", "token that is not admin-capable", "reader" + one + refusalsGil + hand, "403 code 10767 scope_admin_required", nil},
		{"shares.Members.TransferOwnership", "stopped half-way", "ada" + one + refusalsGil + hand, "500", under(func(o *fastiotest.Options) { o.Shares.HalfTransfers = 1 })},
		{"shares.Members.TransferOwnership", "unavailable", "ada" + one + refusalsGil + hand, "503", broken("shares.Members.TransferOwnership", http.StatusServiceUnavailable, 0)},
	}
}

// manages makes ben an admin of the share.
func manages(w *refusing) {
	w.SetMember(coverShare, refusalsBen, fastiotest.Admin)
	w.where("{ada}", string(w.User().ID))
}

// guestsInvite lets everybody in the share invite.
func guestsInvite(w *refusing) { portal(func(s *fastiotest.Share) { s.Invite = "guests" })(w) }

func gilGone(w *refusing) {
	w.AddUser(fastiotest.User{ID: refusalsGil, Email: "gil@example.test", Disabled: true})
}

func handedOver(w *refusing) {
	w.SetMember(coverShare, refusalsBen, fastiotest.Owner)
	w.SetMember(coverShare, w.User().ID, fastiotest.Admin)
}

func invitation(email string, role fastiotest.Role) func(w *refusing) {
	return func(w *refusing) {
		w.AddInvitation(fastiotest.Invitation{ID: refusalsInvitation, Key: "k3y", Profile: coverShare, Email: email, Inviter: w.User().ID, Role: role})
	}
}

func foreign(w *refusing) {
	other := w.AddShare(fastiotest.Share{Workspace: coverWorkspace, Title: "Sibling"})
	w.AddInvitation(fastiotest.Invitation{ID: refusalsInvitation, Profile: other.ID, Email: "lovelace@example.test"})
}

// linkRefusals are those of links to single files.
func linkRefusals() []refusal {
	const (
		quick = "nobody GET /current/quickshare/" + refusalsLink + "/"
		one   = " GET /current/fileshare/" + coverFileShare + "/"
		read  = one + "storage/read/"
		alone = "/current/workspace/" + coverWorkspace
	)
	used := func(change func(q *fastiotest.QuickShare)) func(w *refusing) {
		return func(w *refusing) {
			w.AddNode(fastiotest.Node{ID: coverNode, Profile: coverWorkspace, Name: "Mill.pdf", Content: "It grinds."})
			q := fastiotest.QuickShare{ID: refusalsLink, Workspace: coverWorkspace, Node: coverNode}
			change(&q)
			w.AddQuickShare(q)
		}
	}
	fresh := used(func(*fastiotest.QuickShare) {})
	open := func(change func(f *fastiotest.FileShare)) func(w *refusing) {
		return func(w *refusing) {
			f := fastiotest.FileShare{ID: coverFileShare, Node: coverNode, Owner: w.User().ID, Access: "anyone_with_link"}
			change(&f)
			w.AddFileShare(f)
		}
	}
	locked := open(func(f *fastiotest.FileShare) { f.Password = refusalsPassword })
	return []refusal{
		{"shares.QuickShares.Create", "deprecated", "ada POST " + alone + "/storage/" + coverNode + "/quickshare/ ", "403 code 10756", nil},
		{"shares.QuickShares.Get", "id malformed", "nobody GET /current/quickshare/mill/details/", "406 code 10023 quickshare_id:type_mismatch", nil},
		{"shares.QuickShares.Get", "no such link", quick + "details/", "404", nil},
		{"shares.QuickShares.Get", "expired", quick + "details/", "404", used(func(q *fastiotest.QuickShare) { q.Expires = time.Now().Add(-time.Hour) })},
		{"shares.QuickShares.Download", "bandwidth limit", quick + "storage/read/", "450", used(func(q *fastiotest.QuickShare) { q.LimitExceeded = true })},
		{"shares.QuickShares.Download", "corrupt source", quick + "storage/read/", "422", sequence(under(func(o *fastiotest.Options) { o.Shares.CorruptSource = "Mill" }), fresh)},
		{"shares.QuickShares.Download", "no such link", quick + "storage/read/", "404", nil},
		{"shares.QuickShares.ReadNote", "not a note", quick + "storage/readnote/", "406 code 153548", fresh},
		{"shares.QuickShares.Preview", "preview limit", quick + "storage/preview/image/read/", "401", used(func(q *fastiotest.QuickShare) { q.Previewed = 1 << 40 })},
		{"shares.QuickShares.Preview", "type unknown", quick + "storage/preview/song/read/", "406 code 10022 type:invalid", fresh},
		{"shares.QuickShares.Preview", "corrupt source", quick + "storage/preview/image/read/", "422", sequence(under(func(o *fastiotest.Options) { o.Shares.CorruptSource = "Mill" }), fresh)},

		{"fileshares.Create", "node missing", "ada POST " + alone + "/create/fileshare/ title=Mill", "406 code 10021 node:missing", nil},
		{"fileshares.Create", "node that is no file", "ada POST " + alone + "/create/fileshare/ node=" + refusalsFolder, "406 code 10022 node:invalid", nil},
		{"fileshares.Create", "access option unknown", "ada POST " + alone + "/create/fileshare/ node=" + coverNode + "&access_option=all", "406 code 10022 access_option:invalid", nil},
		{"fileshares.Create", "no such file", "ada POST " + alone + "/create/fileshare/ node=" + refusalsNothing, "404 code 133123", nil},
		{"fileshares.Create", "not a member", "eve POST " + alone + "/create/fileshare/ node=" + coverNode, "403", nil},
		{"fileshares.Update", "another node", "ada POST /current/fileshare/" + coverFileShare + "/update/ node=" + coverMill, "406 code 10022 node:invalid", locked},
		{"fileshares.Get", "no such link", "nobody" + one + "details/", "404", nil},
		{"fileshares.Get", "expired", "nobody" + one + "details/", "404", open(func(f *fastiotest.FileShare) { f.Expires = time.Now().Add(-time.Hour) })},
		{"fileshares.Get", "signing in needed", "nobody" + one + "details/", "401 code 10011", open(func(f *fastiotest.FileShare) { f.Access = "any_registered" })},
		{"fileshares.Get", "not granted", "eve" + one + "details/", "401 code 115069", open(func(f *fastiotest.FileShare) { f.Access = "named_people" })},
		{"fileshares.Get", "password missing", "nobody" + one + "details/", "401", locked},
		{"fileshares.Get", "password wrong", "nobody+x" + one + "details/", "401", locked},
		{"fileshares.Get", "password missing for a member", "ada" + one + "details/", "401", locked},
		{"fileshares.Download", "view alone", "eve" + read, "403", open(viewed)},
		{"fileshares.Download", "infected", "nobody" + read, "403", sequence(open(func(*fastiotest.FileShare) {}), infected)},
		{"fileshares.Download", "no such link", "nobody" + read, "404", nil},
		{"fileshares.Preview", "no such preview", "nobody" + one + "storage/preview/hlsstream/read/", "404 code 143705", open(func(*fastiotest.FileShare) {})},
		{"fileshares.Preview", "no such link", "nobody" + one + "storage/preview/image/read/", "404", nil},
		{"fileshares.Grants.Set", "capability unknown", "ada POST /current/fileshare/" + coverFileShare + "/grants/ user=" + refusalsEve + "&capability=own", "406 code 10022 capability:invalid", locked},
		{"fileshares.Grants.Set", "neither user nor address", "ada POST /current/fileshare/" + coverFileShare + "/grants/ capability=view", "406 code 10022 user:invalid", locked},
		{"fileshares.Grants.Set", "not a member", "eve POST /current/fileshare/" + coverFileShare + "/grants/ capability=view", "403", locked},
		{"fileshares.List", "not a member", "eve GET " + alone + "/list/fileshares/", "403", nil},
	}
}

// refusalsLink is the QuickShare that a row adds.
const refusalsLink = "4u1cksh4r30fth33ng1n3b3ta1234"

// viewed lets eve look and nothing else.
func viewed(f *fastiotest.FileShare) {
	f.Access, f.Grants = "named_people", []fastiotest.Grant{{User: refusalsEve, Capability: "view"}}
}

func infected(w *refusing) {
	w.AddNode(fastiotest.Node{ID: coverNode, Profile: coverWorkspace, Name: "Mill.pdf", Withheld: "infected"})
}

func accountRefusals() []refusal {
	const (
		create = " POST /current/org/" + coverOrg + "/create/workspace/ "
		update = " POST /current/workspace/" + coverWorkspace + "/update/ "
		perms  = "&perm_join=Member+or+above&perm_member_manage=Admin+or+above"
		room   = "folder_name=looms&name=Looms" + perms
		plan   = " POST /current/org/" + coverOrg + "/billing/ "
	)
	long := strings.Repeat("x", 101)
	return []refusal{
		{"account.Workspaces.Create", "folder name missing", "ada" + create + "name=Looms" + perms, "406 code 10021 folder_name:missing", nil},
		{"account.Workspaces.Create", "folder name too short", "ada" + create + "name=Looms&folder_name=x" + perms, "406 code 10022 folder_name:invalid", nil},
		{"account.Workspaces.Create", "folder name against its pattern", "ada" + create + "name=Looms&folder_name=a_loom" + perms, "406 code 10022 folder_name:invalid", nil},
		{"account.Workspaces.Create", "name missing", "ada" + create + "folder_name=looms" + perms, "406 code 10021 name:missing", nil},
		{"account.Workspaces.Create", "name too long", "ada" + create + "folder_name=looms&name=" + long + perms, "406 code 10022 name:invalid", nil},
		{"account.Workspaces.Create", "name with control characters", "ada" + create + "folder_name=looms&name=Lo%07oms" + perms, "406 code 10022 name:invalid", nil},
		{"account.Workspaces.Create", "permissions missing", "ada" + create + "folder_name=looms&name=Looms", "406 code 10021 perm_join:missing perm_member_manage:missing", nil},
		{"account.Workspaces.Create", "description too short", "ada" + create + room + "&description=short", "406 code 10022 description:invalid", nil},
		{"account.Workspaces.Create", "intelligence without the plan", "ada" + create + room + "&intelligence=true", "406 intelligence:invalid", lacking("ai_agent")},
		{"account.Workspaces.Create", "feature limit", "ada" + create + room, "412", crowded},
		{"account.Workspaces.Create", "not a member", "eve" + create + room, "401 code 10545", nil},
		{"account.Workspaces.Update", "intelligence without the plan", "ada" + update + "intelligence=true", "406 intelligence:invalid", lacking("content_ai")},
		{"account.Workspaces.Update", "not an admin", "ben" + update + "name=Looms", "401 code 10545", nil},
		{"account.Workspaces.Get", "no such workspace", "ada GET /current/workspace/" + refusalsNobody + "/details/", "404", nil},
		{"account.Billing.ChangePlan", "plan unknown", "ada" + plan + "billing_plan=free", "406 code 1605 billing_plan:invalid", nil},
		{"account.Billing.ChangePlan", "not the owner", "ben" + plan + "billing_plan=growth_monthly", "401 code 10545", nil},
		{"account.Users.Get", "no such user", "ada GET /current/user/" + refusalsNobody + "/details/", "404", nil},
	}
}

// crowded is an organization with all the workspaces its plan has.
func crowded(w *refusing) {
	unsharing(fastiotest.Org{Plan: "starter"})(w)
	for range 10 {
		w.AddWorkspace(fastiotest.Workspace{Org: coverOrg})
	}
}
