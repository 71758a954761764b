package emulator

import (
	"context"
	"net/http"
)

// First returns the token that was added first and the id of the first workspace, "" where there is none.
func (s *Server) First() (token, workspaceID string) {
	s.RLock()
	defer s.RUnlock()
	if len(s.WorkspaceList) > 0 {
		workspaceID = s.WorkspaceList[0]
	}
	return s.signin.FirstKey, workspaceID
}

// AddKey adds a credential, or replaces the one with the same token, and returns it with its token.
func (s *Server) AddKey(k Key) Key { return s.signin.AddKey(k) }

// OneTimeCode returns what the user would type now: the code of the latest message that still counts, or else what an
// authenticator app shows.
func (s *Server) OneTimeCode(userID string) string { return s.signin.OneTimeCode(userID) }

// ValidationCode returns the code that confirms the e-mail address of a user.
func (s *Server) ValidationCode(userID string) string { return s.account.ValidationCode(userID) }

// AddClient adds an OAuth client, or replaces the one with the same id.
func (s *Server) AddClient(c Client) Client { return s.oauth.AddClient(c) }

// Decide answers an authorization request as its user would.
func (s *Server) Decide(loginURL string, d Decision) (Outcome, error) {
	return s.oauth.Decide(loginURL, d)
}

// Generate invents a history of a workspace.
func (s *Server) Generate(h History) { s.events.Generate(h) }

// BlockLocation makes an organization refuse the details and the acknowledgment of its events because of where the
// caller is.
func (s *Server) BlockLocation(orgID string, blocked bool) { s.events.BlockLocation(orgID, blocked) }

// InvalidateCursors makes every cursor handed out so far invalid.
func (s *Server) InvalidateCursors() { s.events.InvalidateCursors() }

// ExpireChanges ends the retention of the change feed: cursors handed out so far are answered with cursor_expired.
func (s *Server) ExpireChanges() { s.events.ExpireChanges() }

// CutPolls ends every poll that is held now, as a proxy does that takes its time to be over.
func (s *Server) CutPolls() { s.activity.CutPolls() }

// AddComment adds a comment without asking the rules, with its events.
func (s *Server) AddComment(it Comment) Comment { return s.comments.AddComment(it) }

// AddField adds a field to the vocabulary of a workspace.
func (s *Server) AddField(it Field) Field { return s.metadata.AddField(it) }

// AddFact adds a fact about a file or note.
func (s *Server) AddFact(it Fact) error { return s.metadata.AddFact(it) }

// Script makes the agent take questions another way. The first script that matches and is not used up decides.
func (s *Server) Script(it Script) { s.ai.Script(it) }

// AddFileShare adds a File Share, or replaces the one with the same id.
func (s *Server) AddFileShare(f FileShare) FileShare { return s.fileshares.AddFileShare(f) }

// AddQuickShare adds a QuickShare, or replaces the one with the same id.
func (s *Server) AddQuickShare(q QuickShare) QuickShare { return s.quickshares.AddQuickShare(q) }

// Sockets returns how many sockets are open.
func (s *Server) Sockets() int { return s.realtime.Sockets() }

// DropSockets cuts the sockets of a profile, all for "", and returns how many there were.
func (s *Server) DropSockets(profileID string) int { return s.realtime.DropSockets(profileID) }

// Close ends all sockets and refuses new ones.
func (s *Server) Close() error { return s.realtime.Close() }

// Attach ends sockets with an HTTP server.
func (s *Server) Attach(ctx context.Context, server *http.Server) (stop func()) {
	return s.realtime.Attach(ctx, server)
}

// Credits returns the AI credits a profile was billed so far.
func (s *Server) Credits(profileID string) int {
	s.RLock()
	defer s.RUnlock()
	return s.World.Credits[profileID]
}
