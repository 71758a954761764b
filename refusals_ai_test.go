package fastio_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/howto"
)

func agentRefusals() []refusal {
	const (
		agent   = " /current/workspace/" + coverWorkspace + "/ai/agent/"
		create  = " POST" + agent + " "
		onShare = " POST /current/share/" + coverShare + "/ai/agent/ "
		ask     = "question=Why%3F"
		send    = " POST" + agent + "{chat}/message/ " + ask
		nowhere = agent + refusalsNothing
		message = agent + "{chat}/message/" + refusalsNothing
		folder  = `&references=[{"type":"folder","id":"` + refusalsFolder + `","folder_details":{"node_id":"` + refusalsFolder + `"}}]`
	)
	refer := func(kind, id, more string) string {
		return `[{"type":"` + kind + `","id":"` + id + `","` + kind + `_details":{"node_id":"` + id + `"` + more + `}}]`
	}
	repeated := func(n int) string {
		item := strings.Trim(refer("file", coverNode, ""), "[]")
		return "[" + strings.Repeat(item+",", n-1) + item + "]"
	}
	brief := under(func(o *fastiotest.Options) { o.AI.ConversationLimit = 3 })
	slow := under(func(o *fastiotest.Options) { o.AI.CommitTime = time.Hour })
	return []refusal{
		{"ai.Threads.Create", "question missing", "ada" + create + "name=Mill", "406 code 10021 question:missing", nil},
		{"ai.Threads.Create", "question over 32000 characters", "ada" + create + "question=" + strings.Repeat("x", 32001), "406 code 10022 question:invalid", nil},
		{"ai.Threads.Create", "bad privacy", "ada" + create + ask + "&privacy=secret", "406 code 10022 privacy:invalid", nil},
		{"ai.Threads.Create", "bad kind", "ada" + create + ask + "&kind=robot", "406 code 10022 kind:invalid", nil},
		{"ai.Threads.Create", "bad name", "ada" + create + ask + "&name=", "406 code 10022 name:invalid", nil},
		{"ai.Threads.Create", "idempotency key over 64 characters", "ada" + create + ask + "&idempotency_key=" + strings.Repeat("x", 65), "406 code 10022 idempotency_key:invalid", nil},
		{"ai.Threads.Create", "references that are no JSON", "ada" + create + ask + "&references=mill", "406 code 10023 references:type_mismatch", nil},
		{"ai.Threads.Create", "malformed reference", "ada" + create + ask + `&references=[{"type":"file","id":"mill"}]`, "406 code 10022 references:invalid", nil},
		{"ai.Threads.Create", "malformed content part", "ada" + create + ask + `&content_parts=[{"type":"song"}]`, "406 code 10022 content_parts:invalid", nil},
		{"ai.Threads.Create", "malformed subject", "ada" + create + ask + `&subjects=[{"type":"song"}]`, "406 code 10022 subjects:invalid", nil},
		{"ai.Threads.Create", "folder said to be a file", "ada" + create + ask + "&references=" + refer("file", refusalsFolder, ""), "406 code 10022 references:invalid", nil},
		{"ai.Threads.Create", "file said to be a folder", "ada" + create + ask + "&references=" + refer("folder", coverNode, ""), "406 code 10022 references:invalid", nil},
		{"ai.Threads.Create", "file that is not ready", "ada" + create + ask + "&references=" + refer("file", refusalsNothing, ""), "406 code 10022 references:invalid", unindexed},
		{"ai.Threads.Create", "more than 20 files", "ada" + create + ask + "&references={files}", "406 code 10022 references:invalid", files(21, 1)},
		{"ai.Threads.Create", "files over 2 GB", "ada" + create + ask + "&references={files}", "406 code 10022 references:invalid", files(2, 1<<30+1)},
		{"ai.Threads.Create", "more than 200 occurrences", "ada" + create + ask + "&references=" + repeated(201), "406 code 10022 references:invalid", nil},
		{"ai.Threads.Create", "body of JSON", "ada" + create + `{"question":"Why?"}`, "406", nil},
		{"ai.Threads.Create", "referenced file missing", "ada" + create + ask + "&references=" + refer("file", refusalsNothing, ""), "404", nil},
		{"ai.Threads.Create", "referenced folder missing", "ada" + create + ask + "&references=" + refer("folder", refusalsNothing, ""), "404", nil},
		{"ai.Threads.Create", "referenced file deleted", "ada" + create + ask + "&references=" + refer("file", coverMill, ""), "404", trashed},
		{"ai.Threads.Create", "referenced file elsewhere", "ada" + create + ask + "&references=" + refer("file", refusalsPosted, ""), "404", nil},
		{"ai.Threads.Create", "pinned version unavailable", "ada" + create + ask + "&references=" + refer("file", coverNode, `,"version_id":"`+refusalsNothing+`"`), "404", nil},
		{"ai.Threads.Create", "guest with a restricted view who attaches a folder", "gil" + onShare + ask + folder, "401", restricted},
		{"ai.Threads.Create", "guest where chat is off", "gil" + onShare + ask, "401", portal(func(s *fastiotest.Share) { s.NoGuestChat = true })},
		{"ai.Threads.Create", "not a member", "eve" + create + ask, "401 code 10545", nil},
		{"ai.Threads.Create", "no token", "nobody" + create + ask, "401 code 10011", nil},
		{"ai.Threads.Create", "public", "ada" + create + ask + "&privacy=public", "403", nil},
		{"ai.Threads.Create", "policy against the agent", "ada" + create + ask, "403 ai_policy_denied agent", policy(fastiotest.AIPolicy{DenyAgent: true})},
		{"ai.Threads.Create", "policy against the agent and Intelligence", "ada" + create + ask, "403 ai_policy_denied agent", policy(fastiotest.AIPolicy{DenyAgent: true, DenyIntelligence: true})},
		{"ai.Threads.Create", "policy against Intelligence", "ada" + create + ask, "403 ai_policy_denied intelligence", policy(fastiotest.AIPolicy{DenyIntelligence: true})},
		{"ai.Threads.Create", "policy for other workspaces", "ada" + create + ask, "403 ai_policy_workspace_not_allowed intelligence", policy(fastiotest.AIPolicy{IntelligenceIn: []api.ProfileID{refusalsOther}})},
		{"ai.Threads.Create", "still committing its first turn", "ada" + create + ask + "&idempotency_key=k", "409", sequence(slow, asked)},
		{"ai.Threads.Create", "message too large", "ada" + create + "question=Why+not%3F", "409 code 153795", brief},
		{"ai.Threads.Create", "message too large on a share", "ada" + onShare + "question=Why+not%3F", "409 code 144657", brief},
		{"ai.Threads.Create", "creation failed", "ada" + create + ask, "500", broken("ai.Threads.Create", http.StatusInternalServerError, 0)},
		{"ai.Threads.Create", "plan without ai_agent", "ada" + create + ask, "402", lacking("ai_agent")},
		{"ai.Threads.Create", "plan without content_ai", "ada" + create + ask, "402", lacking("content_ai")},
		{"ai.Threads.Create", "out of credits", "ada" + create + ask, "402", poor},

		{"ai.Turns.Send", "question missing", "ada POST" + agent + "{chat}/message/ ", "406 code 10021 question:missing", asked},
		{"ai.Turns.Send", "malformed reference", "ada" + send + `&references=[{"type":"file","id":"mill"}]`, "406 code 10022 references:invalid", asked},
		{"ai.Turns.Send", "referenced file missing", "ada" + send + "&references=" + refer("file", refusalsNothing, ""), "404", asked},
		{"ai.Turns.Send", "chat that is not there", "ada POST" + nowhere + "/message/ " + ask, "404", nil},
		{"ai.Turns.Send", "chat of somebody else", "ben" + send, "404", asked},
		{"ai.Turns.Send", "not a member", "eve" + send, "401 code 10545", asked},
		{"ai.Turns.Send", "token that only reads", "reader" + send, "403 code 10770 scope_write_required", asked},
		{"ai.Turns.Send", "policy against the agent", "ada" + send, "403 ai_policy_denied agent", sequence(asked, policy(fastiotest.AIPolicy{DenyAgent: true}))},
		{"ai.Turns.Send", "policy against Intelligence", "ada" + send, "403 ai_policy_denied intelligence", sequence(asked, policy(fastiotest.AIPolicy{DenyIntelligence: true}))},
		{"ai.Turns.Send", "policy for other workspaces", "ada" + send, "403 ai_policy_workspace_not_allowed intelligence", sequence(asked, policy(fastiotest.AIPolicy{IntelligenceIn: []api.ProfileID{refusalsOther}}))},
		{"ai.Turns.Send", "locked by a turn under way", "ada" + send, "406", sequence(endless, asked)},
		{"ai.Turns.Send", "still committing its first turn", "ada" + send, "409", sequence(slow, asked)},
		{"ai.Turns.Send", "message too large", "ada" + send + strings.Repeat("x", 1000), "409 code 168116", sequence(under(func(o *fastiotest.Options) { o.AI.ConversationLimit = 1000 }), asked)},
		{"ai.Turns.Send", "conversation too large", "ada" + send, "409 code 168116", sequence(under(func(o *fastiotest.Options) { o.AI.ConversationLimit = 5 }), asked)},
		{"ai.Turns.Send", "message creation or queuing failed", "ada" + send, "500", sequence(asked, broken("ai.Turns.Send", http.StatusInternalServerError, 0))},
		{"ai.Turns.Send", "plan without ai_agent", "ada" + send, "402", sequence(lacking("ai_agent"), nameless)},
		{"ai.Turns.Send", "out of credits", "ada" + send, "402", sequence(asked, poor)},

		{"ai.Threads.Get", "chat not accessible", "ben GET" + agent + "{chat}/details/", "404", asked},
		{"ai.Threads.Get", "chat deleted", "ada GET" + agent + "{chat}/details/", "404", deletedChat},
		{"ai.Turns.Get", "turn missing", "ada GET" + message + "/details/", "404", asked},
		{"ai.Turns.Stream", "turn missing", "ada GET" + message + "/read/", "404", asked},
		{"ai.Threads.List", "bad kind", "ada GET" + agent + "list/?kind=robot", "406 code 10022 kind:invalid", nil},
		{"ai.Threads.List", "plan without content_ai", "ada GET" + agent + "list/", "402", lacking("content_ai")},
		{"ai.Threads.Update", "bad name", "ada POST" + agent + "{chat}/update/ name=", "406 code 10022 name:invalid", asked},
		{"ai.Threads.Update", "thread not found", "ada POST" + nowhere + "/update/ name=Mill", "406", nil},
		{"ai.Threads.Update", "thread inaccessible", "ben POST" + agent + "{chat}/update/ name=Mill", "406", asked},
		{"ai.Threads.Update", "update failed", "ada POST" + agent + "{chat}/update/ name=Mill", "500", sequence(asked, broken("ai.Threads.Update", http.StatusInternalServerError, 0))},
		{"ai.Threads.Publish", "publishing is off", "ada POST" + agent + "{chat}/publish/ ", "403", asked},
		{"ai.Threads.Publish", "thread not found", "ada POST" + nowhere + "/publish/ ", "406", nil},
		{"ai.Threads.Publish", "chat already public", "ada POST" + agent + "{chat}/publish/ ", "409", sequence(asked, broken("ai.Threads.Publish", http.StatusConflict, 0))},
		{"ai.Turns.Cancel", "thread not found", "ada POST" + nowhere + "/cancel/", "406", nil},
		{"ai.Turns.Cancel", "plan without content_ai", "ada POST" + nowhere + "/cancel/", "402", lacking("content_ai")},
	}
}

// sequence has one thing happen after the other.
func sequence(steps ...func(w *refusing)) func(w *refusing) {
	return func(w *refusing) {
		for _, step := range steps {
			step(w)
		}
	}
}

// asked is a chat of ada's whose first turn is over.
func asked(w *refusing) {
	chat, err := w.clients["ada"].AI.Threads.Create(w.Context(), api.Workspace(coverWorkspace), ai.CreateThreadRequest{
		Question: ai.Question{Text: "Why", IdempotencyKey: "k"},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.where("{chat}", string(chat.Turns[0].ThreadID))
}

// nameless is for rows that are refused before they look for the chat.
func nameless(w *refusing) { w.where("{chat}", refusalsNothing) }

func deletedChat(w *refusing) {
	asked(w)
	if err := w.ask("ada DELETE /current/workspace/" + coverWorkspace + "/ai/agent/{chat}/"); err != nil {
		w.Fatal(err)
	}
}

// endless has turns go on for ever.
func endless(w *refusing) { w.Script(fastiotest.Script{Status: "running"}) }

func unindexed(w *refusing) {
	under(func(o *fastiotest.Options) { o.Storage.IndexPace = time.Hour })(w)
	w.AddNode(fastiotest.Node{ID: refusalsNothing, Profile: coverWorkspace, Name: "New.pdf", AIState: "pending"})
}

// files are so many of that size, as references.
func files(n int, size int64) func(w *refusing) {
	return func(w *refusing) {
		var items []string
		for range n {
			id := string(w.AddNode(fastiotest.Node{Profile: coverWorkspace, Name: "Part.pdf", Size: size}).ID)
			items = append(items, `{"type":"file","id":"`+id+`","file_details":{"node_id":"`+id+`"}}`)
		}
		w.where("{files}", "["+strings.Join(items, ",")+"]")
	}
}

// restricted is a folder in the share, which guests may not attach.
func restricted(w *refusing) {
	portal(func(s *fastiotest.Share) { s.RestrictGuests = true })(w)
	w.AddNode(fastiotest.Node{ID: refusalsFolder, Profile: coverShare, Kind: "folder", Name: "Drawings"})
}

func policy(p fastiotest.AIPolicy) func(w *refusing) {
	return func(w *refusing) {
		w.AddOrg(fastiotest.Org{ID: coverOrg, Domain: "difference", Owner: w.User().ID, AIPolicy: p})
	}
}

func poor(w *refusing) {
	w.AddOrg(fastiotest.Org{ID: coverOrg, Domain: "difference", Owner: w.User().ID, OutOfCredits: true})
}

func noteRefusals() []refusal {
	const (
		create = " POST /current/workspace/" + coverWorkspace + "/storage/root/createnote/ "
		update = " POST /current/workspace/" + coverWorkspace + "/storage/" + coverMill + "/updatenote/ "
		into   = "ada POST /current/workspace/" + coverWorkspace + "/storage/"
		note   = "name=Loom.md&content=It+weaves."
	)
	long := strings.Repeat("x", 100<<10+1)
	return []refusal{
		{"ai.Notes.Create", "name missing", "ada" + create + "content=It+weaves.", "406 code 10021 name:missing", nil},
		{"ai.Notes.Create", "name that does not end in .md", "ada" + create + "name=Loom.txt&content=It+weaves.", "406 code 10022 name:invalid", nil},
		{"ai.Notes.Create", "content missing", "ada" + create + "name=Loom.md", "406 code 10021 content:missing", nil},
		{"ai.Notes.Create", "content over 100 KB", "ada" + create + "name=Loom.md&content=" + long, "406 code 10022 content:invalid", nil},
		{"ai.Notes.Create", "parent malformed", into + "drawings/createnote/ " + note, "406 code 10023 parent_id:type_mismatch", nil},
		{"ai.Notes.Create", "parent not found", into + refusalsNothing + "/createnote/ " + note, "404 code 133123", nil},
		{"ai.Notes.Create", "parent that is no folder", into + coverNode + "/createnote/ " + note, "406 code 10022 parent_id:invalid", nil},
		{"ai.Notes.Create", "not a member", "eve" + create + note, "401 code 10545", nil},
		{"ai.Notes.Create", "plan without content_ai", "ada" + create + note, "402", lacking("content_ai")},
		{"ai.Notes.Update", "neither name nor content", "ada" + update, "406 code 10021 content:missing", nil},
		{"ai.Notes.Update", "name that does not end in .md", "ada" + update + "name=Loom.txt", "406 code 10022 name:invalid", nil},
		{"ai.Notes.Update", "content blank", "ada" + update + "content=++", "406 code 10022 content:invalid", nil},
		{"ai.Notes.Update", "content over 100 KB", "ada" + update + "content=" + long, "406 code 10022 content:invalid", nil},
		{"ai.Notes.Update", "not a note", into + coverNode + "/updatenote/ content=x", "406 code 153548", nil},
		{"ai.Notes.Update", "not found", into + refusalsNothing + "/updatenote/ content=x", "404 code 133123", nil},
		{"ai.Notes.Update", "another version by now", "ada" + update + "content=x&if_version_id=" + refusalsNothing, "409", nil},
		{"ai.Notes.Read", "not found", "ada GET /current/workspace/" + coverWorkspace + "/storage/" + refusalsNothing + "/read/", "404 code 133123", nil},
	}
}

// fileRefusals are those of what helps with the files of shares.
func fileRefusals() []refusal {
	const (
		hand  = " POST /current/share/" + coverShare + "/ai/share/ "
		title = " POST /current/share/" + coverShare + "/ai/autotitle/ "
		image = "nobody GET /current/share/" + refusalsNobody + "/ai/autoog/"
		one   = `files=["` + refusalsPosted + `"]`
	)
	many := `files=[` + strings.Repeat(`"`+refusalsPosted+`",`, 25) + `"` + refusalsPosted + `"]`
	keeping := portal(func(s *fastiotest.Share) { s.NoGuestDownloads = true })
	return []refusal{
		{"ai.Files.Share", "no files", "ada" + hand + "files=[]", "406 code 10022 files:invalid", nil},
		{"ai.Files.Share", "files missing", "ada" + hand, "406 code 10021 files:missing", nil},
		{"ai.Files.Share", "more than 25 files", "ada" + hand + many, "406 code 10022 files:invalid", nil},
		{"ai.Files.Share", "file over 50 MB", "ada" + hand + one, "406 code 10022 files:invalid", posted(50<<20 + 1)},
		{"ai.Files.Share", "files over 100 MB", "ada" + hand + `files=["` + refusalsPosted + `","` + refusalsPosted + `","` + refusalsPosted + `"]`, "406 code 10022 files:invalid", posted(50 << 20)},
		{"ai.Files.Share", "body of JSON", "ada" + hand + `{"files":["` + refusalsPosted + `"]}`, "406", nil},
		{"ai.Files.Share", "file not found", "ada" + hand + `files=["` + refusalsNothing + `"]`, "404", nil},
		{"ai.Files.Share", "no download permission", "gil" + hand + one, "401", keeping},
		{"ai.Files.Share", "no view permission", "eve" + hand + one, "401 code 10545", nil},
		{"ai.Files.Share", "policy against the agent", "ada" + hand + one, "403 ai_policy_denied agent", policy(fastiotest.AIPolicy{DenyAgent: true})},
		{"ai.Files.Read", "token invalid", "nobody GET /current/ai/share/x?file=0", "404", nil},
		{"ai.Files.Read", "link expired", "nobody GET /current/ai/share/{token}?file=0", "404", exportedAndThen(nil, 6*time.Minute)},
		{"ai.Files.Read", "link used three times", "nobody GET /current/ai/share/{token}?file=0", "404", exportedAndThen(readThrice, 0)},
		{"ai.Files.Read", "index too high", "nobody GET /current/ai/share/{token}?file=1", "404", exportedAndThen(nil, 0)},
		{"ai.Files.Read", "index that is no number", "nobody GET /current/ai/share/{token}?file=x", "404", exportedAndThen(nil, 0)},
		{"ai.Files.Read", "unreadable", "nobody GET /current/ai/share/{token}?file=0", "500", exportedAndThen(takenAway, 0)},
		{"ai.Shares.AutoTitle", "plan without ai_autotitle", "ada" + title, "402", lacking("ai_autotitle")},
		{"ai.Shares.AutoTitle", "not an admin", "gil" + title, "401", nil},
		{"ai.Shares.OGImage", "share not found", image, "404", nil},
	}
}

// posted is the file of the share, with a size.
func posted(size int64) func(w *refusing) {
	return func(w *refusing) {
		w.AddNode(fastiotest.Node{ID: refusalsPosted, Profile: coverShare, Name: "Loom.pdf", Size: size})
	}
}

// exportedAndThen is a link to the file of the share, and what became of it.
func exportedAndThen(happened func(w *refusing), passed time.Duration) func(w *refusing) {
	return func(w *refusing) {
		advance := clocked(w)
		text, err := w.clients["ada"].AI.Files.Share(w.Context(), api.Share(coverShare), []api.OpaqueID{refusalsPosted})
		if err != nil {
			w.Fatal(err)
		}
		_, link, _ := strings.Cut(text, "/current/ai/share/")
		token, _, _ := strings.Cut(link, "?")
		w.where("{token}", token)
		if happened != nil {
			happened(w)
		}
		advance(passed)
	}
}

func readThrice(w *refusing) {
	for range 3 {
		if err := w.ask("nobody GET /current/ai/share/{token}?file=0"); err != nil {
			w.Fatal(err)
		}
	}
}

func takenAway(w *refusing) {
	w.AddNode(fastiotest.Node{ID: refusalsPosted, Profile: coverShare, Name: "Loom.pdf", Trashed: true})
}

func howToRefusals() []refusal {
	const how, why = " POST /current/how-to/ ", " POST /current/how-to/ question=How+do+I+share%3F"
	return []refusal{
		{"howto.Ask", "no token", "nobody" + why, "401 code 10011", nil},
		{"howto.Ask", "invalid token", "ghost" + why, "401 code 10011", nil},
		{"howto.Ask", "question missing", "ada" + how + "context=x", "406 code 10021 question:missing", nil},
		{"howto.Ask", "question blank", "ada" + how + "question=+", "406 code 10021 question:missing", nil},
		{"howto.Ask", "question over 2000 characters", "ada" + how + "question=" + strings.Repeat("x", 2001), "406 code 10022 question:invalid", nil},
		{"howto.Ask", "context over 8000 characters", "ada" + why + "&context=" + strings.Repeat("x", 8001), "406 code 10022 context:invalid", nil},
		{"howto.Ask", "surface over 16 characters", "ada" + why + "&surface=" + strings.Repeat("x", 17), "406 code 10022 surface:invalid", nil},
		{"howto.Ask", "client over 100 characters", "ada" + why + "&client=" + strings.Repeat("x", 101), "406 code 10022 client:invalid", nil},
		{"howto.Ask", "question malformed", "ada" + how + "question=%ff", "406 code 147185", nil},
		{"howto.Ask", "rate limited", "ada" + why, "429 code 10368", spent("howto.Ask", why)},
		{"howto.Ask", "another question in progress", "ada" + why, "429 code 145858", pondering},
		{"howto.Ask", "user not resolved", "ada" + why, "404 code 163750", broken("howto.Ask", http.StatusNotFound, 163750)},
		{"howto.Ask", "index unavailable", "ada" + why, "503 code 195614", broken("howto.Ask", http.StatusServiceUnavailable, 195614)},
		{"howto.Ask", "generation failed", "ada" + why, "503 code 152339", broken("howto.Ask", http.StatusServiceUnavailable, 152339)},
		{"howto.Ask", "internal error", "ada" + why, "500 code 188243", broken("howto.Ask", http.StatusInternalServerError, 188243)},
	}
}

// pondering is a question of the same user that takes an hour.
func pondering(w *refusing) {
	under(func(o *fastiotest.Options) { o.HowTo.Time, o.Limits.Rules = time.Hour, []fastiotest.Limit{} })(w)
	for refused := false; !refused; { // until the first has arrived, for which nobody waits
		ctx, stop := context.WithTimeout(w.Context(), 10*time.Millisecond)
		_, err := w.clients["ada"].HowTo.Ask(ctx, howto.Question{Text: "Why?"})
		refused = errors.Is(err, howto.ErrBusy)
		stop()
	}
}
