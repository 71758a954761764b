package contract_test

import (
	"net/url"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// IDs in calls, as the platform displays them; requests hold them without hyphens.
const (
	orgID           = "4210987654321098765"
	workspaceID     = "4219876543210987654"
	closedWorkspace = "4229876543210987654"
	shareID         = "5217654321098765432"
	portalID        = "5317654321098765432"
	theirShare      = "5417654321098765432"
	looseShare      = "5517654321098765432"
	fileShareID     = "6217654321098765432"
	loanID          = "6214365870987654321"
	luigiID         = "1912345678901234567"
	maryID          = "1923456789012345678"
	coinsID         = "4291234567890123456"
	loomsID         = "4239876543210987654"
	spindlesID      = "4249876543210987654"

	uploadEvent  = "eup10-ad0fd-3s1gn-f1135-b3ta1-2345"
	childEvent   = "ech11-d0fth-3up10-adb3t-a1234-5678"
	signInEvent  = "es1gn-1n0fa-d4b3t-a1234-56789-0xyz"
	missingEvent = "en0wh-3r3t0-b3f0u-nd123-45678-9xyz"

	drawingID    = "2f11e-0fdr4-w1ngs-0fth3-m111b-3ta1"
	deedFile     = "2d33d0fth3m1115h4r3db3ta12345"
	planFile     = "2p14n-0fth3-m111b-3ta12-34567-8901"
	posterFile   = "2p0st-er0ft-h3p0r-ta1b3-ta123-4567"
	folderID     = "2f01d-3r0ft-h3m11-1b3ta-12345-6789"
	cardsFolder  = "2f0ld-3r0ft-h3c4r-dsb3t-a1234-5678"
	linkNode     = "211nk-t0th3-m111b-3ta12-34567-8901"
	millNote     = "2n0te-0fth3-m111b-3ta12-34567-8901"
	oiledNote    = "2n0te-0nth3-m111b-3ta12-34567-8901"
	oiledVersion = "3v3rs-10n0f-th3n0-teb3t-a1234-5678"
	postedNote   = "2n0te-0fth3-p0rt4-lb3ta-12345-6789"
	minutesNote  = "2n0t3-0fth3-m111b-3ta12-34567-890a"
	picture      = "2p1ct-ur30f-th3m1-11b3t-a1234-5678"
	poemNote     = "2p03m-0fth3-m111b-3ta12-34567-8901"
	missingNode  = "2m155-1ngm1-11b3t-a1234-56789-0123"

	questionID     = "caqu3-5t10n-0nth3-m111b-3ta12-34567"
	legacyID       = "ca1d0-fth3w-0rkf1-0w5b3-ta123-45678"
	deletedID      = "cag0n-30fth-3m111-b3ta1-23456-78xyz"
	invitationID   = "1nv1tat10nt0th3p0rt4lb3ta1234"
	myInvitation   = "1nv1tat10nt0th31rsb3ta1234567"
	loomInvitation = "1nv1tat10nt0th3l00m5b3ta12345"
	quickShare     = "q111l-1nkt0-th3m1-11b3t-a1234-5678"
	quickNote      = "q222l-1nkt0-th3p0-3mb3t-a1234-5678"
	quickDrawing   = "q333l1nkt0th3dr4w1ngb3ta12345"
	cardID         = "file_added:eup10ad0fd3s1gnf1135b3ta12345"

	posterHash    = "cf4a45fb871fa637909143ac63e79b91b9d4532c3f955d3e3f15a498a3dff237"
	deedText      = "The mill belongs to its maker.\n"
	loanPassword  = "0p3n s3sam3"
	sharePassword = "d1ff3r3nc3"
	invitationKey = "k3y0fth31nv1tat10n"
	cardSource    = "https://loom.test/Card.txt?signature=s1gn"
)

// epoch is the start of the emulator's clock, which advances with the test's.
func epoch() time.Time { return time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC) }

// keyEnd is the expiry of keys and links.
func keyEnd() time.Time { return time.Date(2027, time.March, 2, 9, 30, 0, 0, time.UTC) }

func (w *world) addEvents(ada string) {
	at := func(minute int) time.Time { return epoch().Add(time.Duration(minute-60) * time.Minute) }
	w.add(
		seed.Event{
			Name: "org_updated", Org: orgID, CallingUser: ada, Created: at(0),
			Extra: map[string]any{"policy_changes": []any{map[string]any{"policy": "sharing", "to": "members"}}},
		},
		seed.Event{
			ID: signInEvent, Name: "user_login", Org: orgID, User: ada, CallingUser: ada, Created: at(1),
			IP: "192.0.2.7", Country: "GB",
			Telemetry: map[string]any{
				"method": "password", "mfa": "totp", "new_country": "no", "client_id": "c-1", "session_id": "s-42",
				"token_id": "t-7", "agent_name": "Notator", "device_name": "Mill", "user_agent": "Engine/1.0",
			},
		},
		seed.Event{
			ID: uploadEvent, Name: "workspace_storage_file_added", Workspace: workspaceID, CallingUser: ada,
			Created: at(2), Object: "2f11e0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Mühle №1.pdf",
			Actor: &seed.Actor{
				User: ada, Kind: "agent", AgentName: "Notator", NameSource: "self_declared", CredentialType: "api_key",
			},
		},
		seed.Event{
			ID: childEvent, Name: "workspace_storage_file_copied", Workspace: workspaceID, CallingUser: ada,
			Created: at(3), Object: "2c0py0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Copy.pdf", Parent: uploadEvent,
			Unattributed: true, AgentDelegation: "none",
		},
		seed.Event{
			Name: "comment_created", Workspace: workspaceID, CallingUser: ada, Created: at(4),
			Object: "2f11e0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Mühle №1.pdf",
		},
	)
}

// populate adds users, and workspaces and shares to join.
func (w *world) populate() {
	ada, royal, mint := w.server.User(), "4381234567890123456", "4391234567890123456"
	bot := "1987654321098765432"
	w.add(
		seed.User{ID: maryID, FirstName: "Mary", LastName: "Somerville", Email: "mary@example.test"},
		seed.User{ID: bot, FirstName: "Notator", Email: "notator@example.test", AccountType: "agent"},
	)
	w.server.SetMember(workspaceID, maryID, seed.Member)
	w.server.SetMember(orgID, bot, seed.Admin)
	club := seed.Org{ID: "4387654321098765432", Domain: "club", Name: "Analytical Club", Owner: maryID}
	w.add(
		seed.Org{ID: royal, Domain: "royal", Name: "Royal Society", Owner: maryID, Joinable: true}, club,
		seed.Invitation{Profile: club.ID, Email: ada.Email, Inviter: maryID},
		seed.Invitation{Profile: workspaceID, Email: "luigi@example.test", Inviter: ada.ID, Role: seed.Guest},
		seed.Org{ID: mint, Domain: "mint", Name: "Mint", Owner: maryID},
		seed.Workspace{ID: coinsID, Org: mint, Name: "Coins"},
	)
	w.server.SetMember(mint, ada.ID, seed.Member)
}

// recruit adds people, and invitations of the caller.
func (w *world) recruit() {
	ada, mint := w.server.User(), "4391234567890123456"
	weavers := seed.Org{ID: "4371234567890123456", Domain: "weavers", Name: "Weavers", Owner: maryID}
	w.add(
		seed.User{ID: luigiID, FirstName: "Federico", LastName: "Menabrea", Email: "federico@example.test"}, weavers,
		seed.Workspace{ID: loomsID, Org: weavers.ID, Name: "Looms"},
		seed.Invitation{
			Profile: orgID, Email: "dorothea@example.test", Inviter: ada.ID, State: "declined", Created: epoch(),
		},
		seed.Invitation{
			Key: invitationKey, Profile: "4387654321098765432", Email: ada.Email, Inviter: maryID, Created: epoch(),
		},
		seed.Invitation{Key: "c01nk3y", Profile: coinsID, Email: ada.Email, Inviter: maryID},
		seed.Workspace{ID: spindlesID, Org: weavers.ID, Name: "Spindles"},
		seed.Share{ID: portalID, Workspace: loomsID, Title: "Patterns", Creator: maryID},
		seed.Share{ID: theirShare, Workspace: loomsID, Title: "Cards", Creator: maryID},
		seed.Invitation{ID: loomInvitation, Key: "l00mk3y", Profile: loomsID, Email: ada.Email, Inviter: maryID},
		seed.Invitation{ID: "1nv1tat10nt0th3sp1ndl35b3ta12", Profile: spindlesID, Email: ada.Email, Inviter: maryID},
		seed.Invitation{ID: "1nv1tat10nt0th3p4tt3rn5b3ta12", Profile: portalID, Email: ada.Email, Inviter: maryID},
		seed.Invitation{ID: "1nv1tat10nt0th3c4rdsb3ta12345", Profile: theirShare, Email: ada.Email, Inviter: maryID},
		seed.Invitation{
			ID: myInvitation, Profile: weavers.ID, Email: ada.Email, Inviter: maryID, Created: epoch(), Expires: keyEnd(),
		},
		seed.Invitation{Key: "0th3rk3y", Profile: weavers.ID, Email: "countess@example.test", Inviter: maryID},
	)
	w.server.SetMember(workspaceID, ada.ID, seed.Owner)
	w.server.SetMember(mint, ada.ID, "")
}

// addVault adds a workspace of the caller.
func (w *world) addVault() {
	w.add(seed.Workspace{ID: closedWorkspace, Org: orgID, Name: "Vault"})
	w.server.SetMember(closedWorkspace, w.server.User().ID, seed.Owner)
}

// becomeAgent makes the account of the caller that of an agent.
func (w *world) becomeAgent() {
	ada := w.server.User()
	w.add(seed.User{
		ID: ada.ID, Email: ada.Email, FirstName: ada.FirstName, LastName: ada.LastName, AccountType: "agent",
	})
}

// readMail learns the code in the latest message to the signed-in user.
func (w *world) readMail() { w.learn("code", w.server.ValidationCode(w.server.User().ID)) }

// readToken learns the token in the latest mail to a new address.
func (w *world) readToken() {
	mails := w.server.Mails(newAddress)
	w.learn("token of the mail", mails[len(mails)-1].Token)
}

// newAddress is the e-mail address that the signed-in user changes to.
const newAddress = "countess@example.test"

// readCode learns the one-time code of the signed-in user.
func (w *world) readCode() { w.learn("code", w.server.OneTimeCode(w.server.User().ID)) }

// approve approves the authorization as a user in the browser.
func (w *world) approve() {
	outcome, err := w.server.SignIns.Approve(w.known["login"], seed.Decision{})
	if err != nil {
		panic(err)
	}
	to, err := url.Parse(outcome.Redirect)
	if err != nil {
		panic(err)
	}
	w.learn("code", to.Query().Get("code"))
}

// furnishChats adds the files for questions, and the replies of the agent.
func (w *world) furnishChats() {
	w.add(
		seed.Node{ID: millNote, Kind: "note", Name: "Mill.md", Versions: []seed.Version{
			{ID: "3v3rs10n0fth3n0teb3ta123456789", Content: "# The mill\n\nIt grinds numbers, and it is of brass.\n"},
		}},
		seed.Share{ID: shareID, Org: orgID, Title: "Portal", Access: "Anyone with the link", Password: sharePassword},
	)
	w.server.SetMember(shareID, w.server.User().ID, seed.Admin)
	w.add(seed.Node{
		ID: postedNote, Profile: shareID, Kind: "note", Name: "Portal.md",
		Content: "# The portal\n\nThe mill stands behind it.",
	})
	w.server.Script(seed.Script{Match: "When", Status: "needs_input", Question: "Which mill?"})
	w.server.Script(seed.Script{Match: "Why", Status: "failed", Error: "The mill stands still."})
}

// discuss adds comments on a drawing, and events for them.
func (w *world) discuss() {
	ada, at := w.server.User().ID, epoch().Add(-30*time.Minute)
	charles, recipient := "1912345678901234567", "1987654321098765432"
	vault, hidden := "4399999999999999999", "4299999999999999999"
	w.add(seed.User{ID: charles, FirstName: "Charles"})
	w.server.SetMember(workspaceID, charles, seed.Member)
	w.add(
		seed.User{ID: recipient, FirstName: "Luigi"},
		seed.Node{ID: drawingID, Name: "Mühle №1.pdf"},
		seed.FileShare{
			ID: fileShareID, Node: drawingID, Owner: charles, Access: "any_registered", CommentsEnabled: true,
			Password: "m111",
		},
		seed.Org{ID: vault, Domain: "vault", Owner: charles},
		seed.Workspace{ID: hidden, Name: "Vault", Org: vault},
		seed.Comment{
			ID: questionID, Profile: workspaceID, Node: drawingID, User: ada, Created: at,
			Body:       "@[user:" + charles + ":Charles] Why brass?\nSteel is cheaper.",
			Properties: map[string]any{"pinned": true, "rank": 1},
			Reference:  map[string]any{"type": "document", "page": 7, "text_snippet": "brass"},
			Targets:    []string{drawingID, hidden},
		},
		seed.Comment{
			Profile: workspaceID, Node: drawingID, User: charles, Parent: questionID, Created: at.Add(time.Minute),
			Body: "It does not rust.", Edited: at.Add(2 * time.Minute),
			Actor: &seed.Actor{
				User: charles, Kind: "agent", AgentName: "Notator", NameSource: "self_declared", CredentialType: "oauth",
			},
		},
		seed.Comment{
			ID: legacyID, Profile: workspaceID, Node: drawingID, User: ada, Unattributed: true,
			Created: at.Add(-24 * time.Hour), Body: "From before.", LinkedEntityType: "task",
			LinkedEntity: "t4sk0fth30ldw0rkf10w5b3ta1234", ExternalAuthorEmail: "jacquard@example.test",
			ExternalAuthorName: "J. M. Jacquard", ExternalAuthorTokenID: "x7",
		},
		seed.Comment{
			ID: deletedID, Profile: workspaceID, Node: drawingID, User: ada, Body: "Never mind.", Created: at,
			Deleted: at.Add(time.Hour),
		},
		seed.Comment{FileShare: fileShareID, User: recipient, Body: "May I copy this?", Created: at.Add(time.Minute)},
		seed.Comment{Profile: workspaceID, User: charles, Body: "The room is **cold**."},
	)
}

// addEvent adds an event, so that a feed has a change.
func (w *world) addEvent() {
	w.add(seed.Event{
		ID: "e1at3r0fth3up10adb3ta12345678", Name: "workspace_storage_file_updated", Workspace: workspaceID,
		CallingUser: w.server.User().ID, Object: "2f11e0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Mühle №1.pdf",
	})
}

// lend adds a file and a link to it.
func (w *world) lend() {
	w.add(seed.Node{ID: deedFile, Name: "Deed.pdf", Content: deedText}, seed.FileShare{
		ID: loanID, IDAlt: "q2d33d0fth3m111b3ta1234567890", Node: deedFile, Owner: w.server.User().ID,
		Title: "The deed", Access: "any_registered", CommentsEnabled: true, Password: loanPassword, Expires: keyEnd(),
		Grants: []seed.Grant{{Email: "later@example.test", Capability: "view"}},
	})
}

// openPortals adds shares and their members.
func (w *world) openPortals() {
	ada, epoch := w.server.User(), time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	w.add(seed.User{ID: luigiID, FirstName: "Luigi", LastName: "Menabrea", Email: "luigi@example.test"})
	w.server.SetMember(workspaceID, luigiID, seed.Member)
	w.add(
		seed.Node{ID: cardsFolder, Kind: "folder", Name: "Cards", Created: epoch},
		seed.Node{ID: planFile, Name: "Plan.txt", Content: "A mill, and a store.", Created: epoch},
		seed.Node{ID: poemNote, Kind: "note", Name: "Poem.md", Content: "# Poem", Created: epoch},
		seed.Share{
			ID: portalID, Org: orgID, Workspace: workspaceID, Title: "Engines", CustomName: "engines7",
			Creator: ada.ID, Description: "They grind numbers.", CustomURL: "the-engines-of-adas",
			Access: "Anyone with the link", Password: sharePassword, Invite: "guests", Notify: "never",
			Expires:         time.Date(2026, time.December, 31, 12, 0, 0, 0, time.UTC),
			ExternalInvites: "allowed", DownloadSecurity: "medium", DisplayType: "list", AccentColor: `{"r":1}`,
			BackgroundImage: 7, Link1: `{"url":"https://a.test"}`, OwnerDefined: `{"room":[1,2]}`,
		},
		seed.Node{
			ID: postedNote, Profile: portalID, Kind: "note", Name: "Portal.md", Content: "# The portal", Created: epoch,
		},
		seed.Membership{
			Profile: portalID, User: luigiID, Role: seed.Member, Notify: "Notify me in app", Added: epoch,
		},
		seed.Share{
			ID: theirShare, Org: orgID, Workspace: workspaceID, Title: "Looms", CustomName: "looms7", Creator: luigiID,
		},
		seed.Share{ID: looseShare, Title: "Letters", CustomName: "letters7", Creator: ada.ID, Archived: true},
		seed.Workspace{ID: closedWorkspace, Org: orgID, Name: "Vault", NoSharing: true},
		seed.Invitation{
			ID: invitationID, Profile: portalID, Email: "jacquard@example.test", Inviter: ada.ID,
			Role: seed.Guest, Created: epoch, Expires: epoch.AddDate(0, 1, 0),
		},
		seed.Invitation{
			ID: myInvitation, Key: invitationKey, Profile: theirShare, Email: ada.Email, Inviter: luigiID, Created: epoch,
		},
		seed.QuickShare{ID: quickShare, Node: planFile, Created: epoch, Expires: epoch.AddDate(0, 1, 0)},
		seed.QuickShare{ID: quickNote, Node: poemNote, Created: epoch},
	)
}

// invite invites the caller to a share once more.
func (w *world) invite() {
	w.add(seed.Invitation{Key: "0th3rk3y", Profile: theirShare, Email: w.server.User().Email, Inviter: luigiID})
}

// link adds a link to a drawing.
func (w *world) link() {
	w.add(
		seed.Node{ID: drawingID, Name: "Mill.pdf", Content: "%PDF-1.7"},
		seed.QuickShare{ID: quickDrawing, Node: drawingID},
	)
}

// write adds a note to the workspace.
func (w *world) write() { w.add(seed.Node{ID: minutesNote, Kind: "note", Name: "Minutes"}) }

// shelve adds files, folders and notes to the workspace, and a share.
func (w *world) shelve() {
	ada, at := w.server.User().ID, time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	w.add(
		seed.Node{ID: folderID, Kind: "folder", Name: "Drawings & notes", Created: at, Updated: at},
		seed.Node{
			ID: drawingID, Parent: folderID, Name: "Mühle №1.pdf", Created: at, Updated: at.Add(time.Hour),
			Content: "The mill grinds numbers.\n\nIts wheels are of brass.\fThe store holds a thousand numbers.",
			Summary: "How the mill works.",
		},
		seed.Node{
			ID: oiledNote, Kind: "note", Name: "Mill.md", Created: at, Updated: at.Add(2 * time.Hour),
			Versions: []seed.Version{
				{ID: oiledVersion, Content: "# The mill\n\nWheels: 25000\n\nIt needs oil.", Creator: ada, Created: at},
			},
		},
		seed.Node{ID: linkNode, Kind: "link", Name: "Elsewhere", Created: at, Updated: at},
		seed.Node{Name: "Old mill.pdf", Created: at, Updated: at, Trashed: true},
		seed.Share{ID: shareID, Org: orgID, Title: "Portal", Access: "Anyone with the link", Password: "m111"},
		seed.Node{ID: posterFile, Profile: shareID, Name: "Poster.png", Content: "A mill.", Created: at, Updated: at},
		seed.Comment{
			ID: questionID, Profile: workspaceID, Node: drawingID, User: ada, Created: at, Body: "Does the mill rust?",
		},
	)
}

// post adds a note to the share.
func (w *world) post() {
	w.add(seed.Node{ID: postedNote, Profile: shareID, Kind: "note", Name: "Portal.md", Content: "# The portal"})
}

// draw adds a picture to the workspace.
func (w *world) draw() { w.add(seed.Node{ID: picture, Name: "Mill.png"}) }

// addFacts adds facts about nodes, with unused fields as well.
func (w *world) addFacts() {
	w.add(
		seed.Fact{Node: drawingID, Field: "wheels", Value: 25000, Confidence: "high", Rationale: "Page 1 says so."},
		seed.Fact{Node: drawingID, Field: "material", Value: "brass", Source: "user", Confidence: "certain"},
		seed.Fact{Node: drawingID, Field: "category", Value: "Engineering"},
		seed.Fact{Node: oiledNote, Field: "Wheels ", Value: "many"},
		seed.Fact{Node: oiledNote, Field: "ma-terial", Value: "brass"},
		seed.Field{Workspace: workspaceID, Name: "stuff", MergedInto: "material"},
	)
}
