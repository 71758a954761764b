package contract_test

import (
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/fastiotest"
)

// discuss adds comments on a drawing, which also go into the log.
func (w *world) discuss() {
	ada, at := w.server.User().ID, epoch().Add(-30*time.Minute)
	charles := w.server.AddUser(fastiotest.User{ID: "1912345678901234567", FirstName: "Charles"}).ID
	w.server.SetMember(workspaceID, charles, fastiotest.Member)
	recipient := w.server.AddUser(fastiotest.User{ID: "1987654321098765432", FirstName: "Luigi"}).ID
	w.server.AddNode(fastiotest.Node{ID: drawingID, Profile: workspaceID, Name: "Mühle №1.pdf", Creator: ada})
	w.server.AddFileShare(fastiotest.FileShare{
		ID: fileShareID, Node: drawingID, Owner: charles, Access: "any_registered", CommentsEnabled: true,
		Password: "m111",
	})
	vault := w.server.AddOrg(fastiotest.Org{ID: "4399999999999999999", Domain: "vault", Owner: charles}).ID
	hidden := w.server.AddWorkspace(fastiotest.Workspace{ID: "4299999999999999999", Name: "Vault", Org: vault}).ID
	w.server.AddComment(fastiotest.Comment{
		ID: questionID, Profile: workspaceID, Node: drawingID, User: ada, Created: at,
		Body:       "@[user:" + string(charles) + ":Charles] Why brass?\nSteel is cheaper.",
		Properties: map[string]any{"pinned": true, "rank": 1},
		Reference:  map[string]any{"type": "document", "page": 7, "text_snippet": "brass"},
		Targets:    []string{string(drawingID), string(hidden)},
	})
	w.server.AddComment(fastiotest.Comment{
		Profile: workspaceID, Node: drawingID, User: charles, Parent: questionID, Created: at.Add(time.Minute),
		Body: "It does not rust.", Edited: at.Add(2 * time.Minute),
		Actor: &fastiotest.Actor{
			User: charles, Kind: "agent", AgentName: "Notator", NameSource: "self_declared", CredentialType: "oauth",
		},
	})
	w.server.AddComment(fastiotest.Comment{
		ID: legacyID, Profile: workspaceID, Node: drawingID, User: ada, Unattributed: true,
		Created: at.Add(-24 * time.Hour), Body: "From before.",
		LinkedEntityType: "task", LinkedEntity: "t4sk0fth30ldw0rkf10w5b3ta1234",
		ExternalAuthorEmail: "jacquard@example.test", ExternalAuthorName: "J. M. Jacquard", ExternalAuthorTokenID: "x7",
	})
	w.server.AddComment(fastiotest.Comment{
		ID: deletedID, Profile: workspaceID, Node: drawingID, User: ada, Body: "Never mind.", Created: at,
		Deleted: at.Add(time.Hour),
	})
	w.server.AddComment(fastiotest.Comment{
		FileShare: fileShareID, User: recipient, Body: "May I copy this?", Created: at.Add(time.Minute),
	})
	w.server.AddComment(fastiotest.Comment{Profile: workspaceID, User: charles, Body: "The room is **cold**."})
}

func commentSteps() []step {
	room, drawing := comments.On(api.Workspace(workspaceID)), comments.OnNode(api.Workspace(workspaceID), drawingID)
	loan, unlocked := comments.OnNode(api.FileShare(fileShareID), drawingID), api.LinkPassword(api.NewSecret("m111"))
	region := &comments.Region{X: 0.5, Y: 0.25, Width: 0.125, Height: 1}
	return []step{
		between((*world).discuss),
		{"List", func(c call) (any, error) {
			return c.Comments.List(c, room, &comments.ListOptions{IncludeTotal: true})
		}},
		{"List", func(c call) (any, error) {
			return c.Comments.List(c, comments.On(api.Workspace("4299999999999999999")), nil)
		}},
		{"ListOnNode", func(c call) (any, error) {
			return c.Comments.List(c, drawing, &comments.ListOptions{
				NewestFirst: true, IncludeDeleted: true,
			})
		}},
		{"ListOnNode", func(c call) (any, error) {
			return c.Comments.List(c, drawing, &comments.ListOptions{
				ReferenceType: comments.AnchorTypeAudio,
			})
		}},
		{"ListOnFileShare", func(c call) (any, error) {
			return c.Comments.List(c, loan, nil, unlocked)
		}},
		{"Create", func(c call) (any, error) {
			return c.Comments.Create(c, room, comments.CreateRequest{
				Body: "Light the stove.", Targets: []api.OpaqueID{drawingID},
			})
		}},
		{"Create", func(c call) (any, error) {
			return c.Comments.Create(c, room, comments.CreateRequest{Body: strings.Repeat("tick ", 101)})
		}},
		{"CreateOnNode", func(c call) (any, error) {
			return c.Comments.Create(c, drawing, comments.CreateRequest{
				Body: "Look here.", Properties: map[string]any{"color": "red"},
				Targets:   []api.OpaqueID{drawingID, api.OpaqueID(workspaceID)},
				Reference: comments.VideoAnchor(81250*time.Millisecond, region),
			})
		}},
		{"CreateOnNode", func(c call) (any, error) {
			reply := comments.CreateRequest{Body: "Why?", ParentID: deletedID}
			return c.Comments.Create(c, drawing, reply)
		}},
		{"CreateOnFileShare", func(c call) (any, error) {
			return c.Comments.Create(c, loan, comments.CreateRequest{Body: "You may."}, unlocked)
		}},
		{"Get", func(c call) (any, error) { return c.Comments.Get(c, questionID) }},
		makes("Get", legacyID),
		makes("Get", missingEvent),
		makes("Update", questionID, comments.UpdateRequest{
			Body: "Why not steel?", Properties: map[string]any{"rank": 2},
			Reference: comments.TextAnchor(comments.Quote{
				Exact: "brass", Prefix: "made of ", Suffix: " and oak", Start: 410, End: 415,
			}),
		}),
		makes("Update", deletedID, comments.UpdateRequest{Body: "Do mind."}),
		makes("React", questionID, "👍"),
		makes("Unreact", questionID),
		makes("Attachments.List", questionID),
		makes("Attachments.Attach", questionID, []api.OpaqueID{api.OpaqueID(workspaceID)}),
		makes("Attachments.Detach", questionID, drawingID),
		makes("Attachments.Detach", questionID, drawingID),
		makes("Unlink", legacyID),
		makes("DeleteMany", []api.OpaqueID{legacyID, deletedID}),
		makes("Delete", questionID),
	}
}
