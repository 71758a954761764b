package emulator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// refs is a list of reference items.
func refs(kind string, ids ...string) string {
	var items []string
	for _, id := range ids {
		items = append(items, fmt.Sprintf(`{"type":%q,"id":%q,%q:{"node_id":%q}}`, kind, id, kind+"_details", id))
	}
	return "[" + strings.Join(items, ",") + "]"
}

func TestQuestionRules(t *testing.T) {
	t.Parallel()
	l := newLounge(quick)
	fake := func(n int) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprintf("2%028d", i))
		}
		return ids
	}
	for name, test := range map[string]struct {
		fields []string
		status int
		failed []string
	}{
		"nothing asked":          {[]string{}, 406, []string{"question missing"}},
		"blanks":                 {[]string{"question", " \n"}, 406, []string{"question missing"}},
		"the longest":            {[]string{"question", strings.Repeat("é", 32_000)}, 200, nil},
		"too long":               {[]string{"question", strings.Repeat("é", 32_001)}, 406, []string{"question invalid"}},
		"the longest key":        {[]string{"question", "x", "idempotency_key", strings.Repeat("é", 64)}, 200, nil},
		"a long key":             {[]string{"question", "x", "idempotency_key", strings.Repeat("k", 65)}, 406, []string{"idempotency_key invalid"}},
		"no JSON":                {[]string{"question", "x", "references", "lease"}, 406, []string{"references type_mismatch"}},
		"no array":               {[]string{"question", "x", "subjects", "{}"}, 406, []string{"subjects type_mismatch"}},
		"no object":              {[]string{"question", "x", "view", "[]"}, 406, []string{"view type_mismatch"}},
		"context":                {[]string{"question", "x", "view", "{}", "activity", "[]", "uploads", "[]", "role_in_org", "cook", "effort", "high"}, 200, nil},
		"an unknown effort":      {[]string{"question", "x", "effort", "low"}, 406, []string{"effort invalid"}},
		"a malformed reference":  {[]string{"question", "x", "references", `[{"type":"file","id":"2"}]`}, 406, []string{"references invalid"}},
		"two ids in one":         {[]string{"question", "x", "references", strings.Replace(refs("file", l.lease.ID), l.lease.ID, l.note.ID, 1)}, 406, []string{"references invalid"}},
		"a folder's version":     {[]string{"question", "x", "references", strings.Replace(refs("folder", l.folder.ID), `{"node_id"`, `{"version_id":"","node_id"`, 1)}, 406, []string{"references invalid"}},
		"the wrong type":         {[]string{"question", "x", "references", refs("folder", l.lease.ID)}, 406, []string{"references invalid"}},
		"a note as a file":       {[]string{"question", "x", "references", refs("file", l.note.ID)}, 200, nil},
		"a missing file":         {[]string{"question", "x", "references", refs("file", fake(1)...)}, 404, nil},
		"a file elsewhere":       {[]string{"question", "x", "references", refs("file", l.photo.ID)}, 404, nil},
		"a missing version":      {[]string{"question", "x", "references", strings.Replace(refs("file", l.lease.ID), `{"node_id"`, `{"version_id":"`+object29+`","node_id"`, 1)}, 404, nil},
		"21 files":               {[]string{"question", "x", "references", refs("file", fake(21)...)}, 406, []string{"references invalid"}},
		"101 folders":            {[]string{"question", "x", "references", refs("folder", fake(101)...)}, 406, []string{"references invalid"}},
		"20 files among 100":     {[]string{"question", "x", "references", refs("file", fake(20)...), "subjects", refs("folder", fake(100)[20:]...)}, 404, nil},
		"one 200 times":          {[]string{"question", "x", "references", refs("file", slicesOf(l.lease.ID, 200)...)}, 200, nil},
		"one 201 times":          {[]string{"question", "x", "references", refs("file", slicesOf(l.lease.ID, 150)...), "subjects", refs("file", slicesOf(l.lease.ID, 51)...)}, 406, []string{"references invalid"}},
		"a name":                 {[]string{"question", "x", "name", strings.Repeat("n", 100)}, 200, nil},
		"a long name":            {[]string{"question", "x", "name", strings.Repeat("n", 101)}, 406, []string{"name invalid"}},
		"an agent's chat":        {[]string{"question", "x", "kind", "agent", "privacy", "private"}, 200, nil},
		"an unknown kind":        {[]string{"question", "x", "kind", "bot"}, 406, []string{"kind invalid"}},
		"an unknown privacy":     {[]string{"question", "x", "privacy", "secret"}, 406, []string{"privacy invalid"}},
		"public":                 {[]string{"question", "x", "privacy", "public"}, 403, nil},
		"public with bad fields": {[]string{"privacy", "public"}, 406, []string{"question missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, l.post(t, l.ben, l.inRoom()+"agent/", test.fields...), test.status, 0, test.failed...)
		})
	}
	expect(t, l.post(t, l.ben, l.inPortal()+"agent/", "question", "x", "kind", "agent", "privacy", "private"), 200, 0)
	expect(t, l.post(t, l.ben, l.inPortal()+"agent/", "question", "x", "privacy", "public"), 403, 0)
	expect(t, l.body(t, l.ben, http.MethodPost, l.inRoom()+"agent/", "application/json", `{"question":"x"}`), 406, 0)
	pending := l.AddNode(emulator.Node{Profile: l.room.ID, Name: "new.txt", Content: "x", AIState: "failed"})
	expect(t, l.post(t, l.ben, l.inRoom()+"agent/", "question", "x", "references", refs("file", pending.ID)), 406, 0, "references invalid")
	huge := l.AddNode(emulator.Node{Profile: l.room.ID, Name: "film.mp4", Size: 2<<30 + 1})
	expect(t, l.post(t, l.ben, l.inRoom()+"agent/", "question", "x", "references", refs("file", huge.ID)), 406, 0, "references invalid")
}

func slicesOf(id string, n int) []string {
	return strings.Fields(strings.Repeat(id+" ", n))
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	l := newLounge(quick)
	first := l.ask(t, l.ben, l.inRoom(), "When?", "idempotency_key", "k")
	if again := l.ask(t, l.ben, l.inRoom(), "When?", "idempotency_key", "k"); again != first {
		t.Errorf("the same key made %v after %v", again, first)
	}
	for name, other := range map[string]chat{
		"another user":  l.ask(t, l.ada, l.inRoom(), "When?", "idempotency_key", "k"),
		"another place": l.ask(t, l.ben, l.inPortal(), "When?", "idempotency_key", "k"),
		"another key":   l.ask(t, l.ben, l.inRoom(), "When?", "idempotency_key", "K"),
		"no key":        l.ask(t, l.ben, l.inRoom(), "When?"),
	} {
		if other.turn == first.turn {
			t.Errorf("%s has the same turn", name)
		}
	}
	if one, two := l.ask(t, l.ben, l.inRoom(), "A?", "idempotency_key", ""), l.ask(t, l.ben, l.inRoom(), "B?", "idempotency_key", ""); one != two {
		t.Error("a blank key is none")
	}
	send := func(key string) any {
		return l.post(t, l.ben, first.path+"message/", "question", "And?", "idempotency_key", key).get("turn_id")
	}
	if one := send("k"); one == first.turn || one != send("k") || one == send("l") {
		t.Error("keys of messages")
	}
	if got := l.get(t, l.ben, first.path+"details/").get("turns.count"); got != 3.0 {
		t.Errorf("%v turns", got)
	}
	if credits := l.Credits(l.org.ID); credits != 8 { // 6 chats and 2 messages, each of at most 100 tokens
		t.Errorf("%d credits: a replay was billed", credits)
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	t.Run("the first turn is being stored", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge(quick, func(o *emulator.Options) { o.AI.CommitTime = time.Second })
			c := l.ask(t, l.ben, l.inRoom(), "When?", "idempotency_key", "k")
			expect(t, l.post(t, l.ben, l.inRoom()+"agent/", "question", "When?", "idempotency_key", "k"), 409, 0)
			expect(t, l.post(t, l.ben, c.path+"message/", "question", "And?"), 409, 0)
			time.Sleep(time.Second)
			if again := l.ask(t, l.ben, l.inRoom(), "When?", "idempotency_key", "k"); again != c {
				t.Errorf("the key made %v after %v", again, c)
			}
			expect(t, l.post(t, l.ben, c.path+"message/", "question", "And?"), 200, 0)
		})
	})
	t.Run("one turn at a time", func(t *testing.T) {
		t.Parallel()
		l := newLounge(still)
		c := l.ask(t, l.ben, l.inRoom(), "When?")
		expect(t, l.post(t, l.ben, c.path+"message/", "question", "And?"), 406, 0)
		l.as(t, l.ben, http.MethodPost, c.path+"cancel/")
		expect(t, l.post(t, l.ben, c.path+"message/", "question", "And?"), 200, 0)
	})
	t.Run("too large for good", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick, func(o *emulator.Options) { o.AI.ConversationLimit = 1000 })
		long := strings.Repeat("x", 999)
		for place, codes := range map[string][2]int{l.inRoom(): {153795, 168116}, l.inPortal(): {144657, 148135}} {
			expect(t, l.post(t, l.ben, place+"agent/", "question", long+"yz"), 409, codes[0])
			c := l.ask(t, l.ben, place, "When?")
			expect(t, l.post(t, l.ben, c.path+"message/", "question", long), 409, codes[1])
		}
	})
}

func TestGates(t *testing.T) {
	t.Parallel()
	open := func(o *emulator.Options) {}
	for name, test := range map[string]struct {
		options             func(*emulator.Options)
		org                 func(o *emulator.Org, l *lounge)
		status              int
		reason, feature     string
		reads, onPortal     int
		withoutIntelligence int
	}{
		"nothing": {open, func(*emulator.Org, *lounge) {}, 200, "", "", 200, 200, 200},
		"no AI":   {func(o *emulator.Options) { o.Lacks = []string{"content_ai"} }, func(*emulator.Org, *lounge) {}, 402, "", "", 402, 402, 402},
		"no agent, whatever the policy": {
			func(o *emulator.Options) { o.Lacks = []string{"ai_agent"} },
			func(o *emulator.Org, _ *lounge) { o.AIPolicy.DenyAgent = true }, 402, "", "", 200, 402, 402,
		},
		"no credits": {open, func(o *emulator.Org, _ *lounge) { o.OutOfCredits = true }, 402, "", "", 200, 402, 402},
		"the agent, before the index": {open, func(o *emulator.Org, _ *lounge) {
			o.AIPolicy = emulator.AIPolicy{DenyAgent: true, DenyIntelligence: true}
		}, 403, "ai_policy_denied", "agent", 200, 403, 403},
		"the index": {open, func(o *emulator.Org, _ *lounge) { o.AIPolicy.DenyIntelligence = true }, 403, "ai_policy_denied", "intelligence", 200, 403, 200},
		"the index here": {open, func(o *emulator.Org, l *lounge) {
			o.AIPolicy.IntelligenceIn = []string{l.attic.ID}
		}, 403, "ai_policy_workspace_not_allowed", "intelligence", 200, 403, 200},
		"the index elsewhere": {open, func(o *emulator.Org, l *lounge) { o.AIPolicy.IntelligenceIn = []string{l.room.ID} }, 200, "", "", 200, 200, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLounge(quick, test.options)
			var c chat
			if test.reads == 200 && name != "no agent, whatever the policy" {
				c = l.ask(t, l.ben, l.inRoom(), "When?")
			}
			test.org(&l.org, l)
			l.AddOrg(l.org)
			paths := []string{l.inRoom() + "agent/"}
			if c.path != "" {
				paths = append(paths, c.path+"message/")
			}
			for _, path := range paths {
				got := l.post(t, l.ben, path, "question", "When?")
				feature, _ := got.get("error.params.feature").(string)
				if got.Status != test.status || got.reason() != test.reason || feature != test.feature {
					t.Errorf("%s", got.Body)
				}
			}
			expect(t, l.get(t, l.ben, l.inRoom()+"agent/list/"), test.reads, 0)
			if c.path != "" {
				expect(t, l.post(t, l.ben, c.path+"update/", "name", "n"), 200, 0)
				expect(t, l.as(t, l.ben, http.MethodPost, c.path+"cancel/"), 200, 0)
			}
			expect(t, l.post(t, l.ben, l.inPortal()+"agent/", "question", "When?"), test.onPortal, 0)
			l.room.NoIntelligence = true
			l.AddWorkspace(l.room)
			expect(t, l.post(t, l.ben, l.inRoom()+"agent/", "question", "When?"), test.withoutIntelligence, 0)
		})
	}
}

func TestWhoMayChat(t *testing.T) {
	t.Parallel()
	l := newLounge(quick)
	agent := l.inRoom() + "agent/"
	c := l.ask(t, l.cleo, l.inRoom(), "May guests ask?")
	expect(t, l.post(t, l.eve, agent, "question", "x"), 401, 10545)
	expect(t, l.get(t, l.eve, agent+"list/"), 401, 10545)
	expect(t, l.post(t, l.ben, "/workspace/4000000000000000000/ai/agent/", "question", "x"), 404, 0)
	expect(t, l.post(t, l.ben, "/workspace/"+l.portal.ID+"/ai/agent/", "question", "x"), 404, 0)
	expect(t, l.post(t, l.ben, "/workspace/nowhere/ai/agent/", "question", "x"), 404, 0)
	for _, path := range []string{c.details(), c.path + "details/", c.path + "messages/list/", c.stream()} {
		expect(t, l.get(t, l.ada, path), 404, 0)
	}
	expect(t, l.post(t, l.ada, c.path+"message/", "question", "x"), 404, 0)
	expect(t, l.post(t, l.ada, c.path+"update/", "name", "x"), 406, 0)
	expect(t, l.post(t, l.ada, c.path+"publish/"), 406, 0)
	expect(t, l.as(t, l.ada, http.MethodPost, c.path+"cancel/"), 406, 0)
	expect(t, l.as(t, l.ada, http.MethodDelete, c.path), 404, 0)
	expect(t, l.get(t, l.cleo, strings.Replace(c.path, l.inRoom(), l.inPortal(), 1)+"details/"), 404, 0)
	expect(t, l.get(t, l.cleo, c.path+"message/"+object29+"/details/"), 404, 0)
	expect(t, l.get(t, l.cleo, c.path+"message/1/details/"), 406, 0, "message_id type_mismatch")
	expect(t, l.get(t, l.cleo, agent+"1/details/"), 406, 0, "chat_id type_mismatch")

	send := func(scope, method, path string) reply {
		key := l.AddKey(emulator.Key{User: l.cleo.ID, Scopes: []string{scope}})
		return l.with(t, key.Token, method, path)
	}
	expect(t, send("workspace:"+l.attic.ID+":rw", http.MethodGet, c.details()), 403, 10754)
	expect(t, send("workspace:"+l.room.ID+":r", http.MethodPost, c.path+"cancel/"), 403, 10770)
	expect(t, send("workspace:"+l.room.ID+":r", http.MethodGet, c.details()), 200, 0)

	folder := l.AddNode(emulator.Node{Profile: l.portal.ID, Kind: "folder"})
	l.portal.RestrictGuests = true
	l.AddShare(l.portal)
	expect(t, l.post(t, l.cleo, l.inPortal()+"agent/", "question", "x", "references", refs("folder", folder.ID)), 401, 0)
	expect(t, l.post(t, l.ben, l.inPortal()+"agent/", "question", "x", "references", refs("folder", folder.ID)), 200, 0)
	l.portal.NoGuestChat = true
	l.AddShare(l.portal)
	expect(t, l.post(t, l.cleo, l.inPortal()+"agent/", "question", "x"), 401, 0)
	expect(t, l.post(t, l.ben, l.inPortal()+"agent/", "question", "x"), 200, 0)
}

func (p reply) items(list, name string) []any {
	rows, _ := p.get(list + ".items").([]any)
	values := []any{}
	for _, row := range rows {
		values = append(values, row.(map[string]any)[name])
	}
	return values
}

func TestListsOfChats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(quick, func(o *emulator.Options) { o.AI.MessagePage = 2 })
		list := func(path string, query ...string) []any {
			return l.get(t, l.ben, l.inRoom()+"agent/"+path, query...).items("chats", "name")
		}
		first := l.ask(t, l.ben, l.inRoom(), "first")
		time.Sleep(time.Second)
		l.ask(t, l.ben, l.inRoom(), "second", "kind", "agent", "name", "Second")
		time.Sleep(time.Second)
		third := l.ask(t, l.ben, l.inRoom(), "third")
		l.ask(t, l.ada, l.inRoom(), "Ada's")
		l.ask(t, l.ben, l.inPortal(), "elsewhere")
		for kind, want := range map[string][]any{"": {"third", "first"}, "agent": {"Second"}, "all": {"third", "Second", "first"}} {
			if diff := cmp.Diff(want, list("list/", "kind", kind, "limit", "1")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", kind, diff)
			}
		}
		expect(t, l.get(t, l.ben, l.inRoom()+"agent/list/", "kind", "bot"), 406, 0, "kind invalid")
		time.Sleep(time.Second)
		for range 4 {
			expect(t, l.post(t, l.ben, first.path+"message/", "question", "more"), 200, 0)
		}
		got := l.get(t, l.ben, l.inRoom()+"agent/list/")
		if got.get("chats.items.0.name") != "first" || got.get("chats.items.0.message_count") != 5.0 || got.get("chats.items.0.latest_message.seq") != 5.0 {
			t.Errorf("%s", got.Body)
		}
		for path, want := range map[string][]any{"": {1.0, 2.0}, "2": {3.0, 4.0}, "2/": {3.0, 4.0}, "4": {5.0}, "9": {}} {
			page := l.get(t, l.ben, first.path+"messages/list/"+path)
			if diff := cmp.Diff(want, page.items("messages", "seq")); diff != "" || page.get("messages.count") != float64(len(want)) {
				t.Errorf("%q (-want +got):\n%s", path, diff)
			}
		}
		expect(t, l.get(t, l.ben, first.path+"messages/list/x"), 406, 0, "offset type_mismatch")

		expect(t, l.post(t, l.ben, third.path+"update/", "name", " New name "), 200, 0)
		expect(t, l.post(t, l.ben, third.path+"update/"), 406, 0, "name missing")
		expect(t, l.post(t, l.ben, third.path+"update/", "name", " "), 406, 0, "name invalid")
		expect(t, l.post(t, l.ben, third.path+"publish/"), 403, 0)
		if diff := cmp.Diff([]any{"New name", "first"}, list("list/")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		expect(t, l.as(t, l.ben, http.MethodDelete, third.path), 200, 0)
		expect(t, l.as(t, l.ben, http.MethodDelete, third.path), 404, 0)
		expect(t, l.get(t, l.ben, third.path+"details/"), 404, 0)
		gone := l.get(t, l.ben, l.inRoom()+"agent/list/deleted")
		if diff := cmp.Diff([]any{"New name"}, gone.items("chats", "name")); diff != "" || gone.get("chats.items.0.continuable") != false {
			t.Errorf("(-want +got):\n%s%s", diff, gone.Body)
		}
		if diff := cmp.Diff([]any{"first"}, list("list/")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("with pages", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick, func(o *emulator.Options) { o.AI.PagedChats = true })
		for _, text := range []string{"a", "b", "c"} {
			l.ask(t, l.ben, l.inRoom(), text)
		}
		got := l.get(t, l.ben, l.inRoom()+"agent/list/", "limit", "1", "offset", "1")
		if len(got.items("chats", "name")) != 1 || got.get("chats.count") != 1.0 {
			t.Errorf("%s", got.Body)
		}
	})
}
