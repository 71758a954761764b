package emulator_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	p := newScript(t, "", func(o *seed.Options) {
		o.Limits.Rules = []seed.Limit{{Ops: []seed.Op{"events.Search"}, Max: 50, Size: time.Hour}}
	})
	p.must(t, "event it {}", `fault {"Op":"events.Get","Probability":0.5,"Status":500}`, "node file {}",
		`comment note {"node_id":"{file}"}`)
	var all sync.WaitGroup
	for range 4 {
		for _, step := range []string{
			"ada GET /events/search/?org_id={acme} -> any",
			"ada GET /events/search/summarize/?org_id={acme} -> any",
			"ada GET /event/{it}/details/ -> any",
			"ada POST /event/{it}/ack/ -> any",
			"ada GET /org/acme/events/changes/ -> any",
			"ada GET /workspaces/all/ -> any",
			"event {}",
			`history {"workspace_id":"{attic}","events":20}`,
			"user {}",
			"role {attic} {ben} admin",
			"server InvalidateCursors",
			"ada GET /activity/poll/{room}/?lastactivity=2026-01-01 -> any",
			"ada GET /comments/workspace/{room}/ -> any",
			"ada DELETE /comments/{note}/reactions/ -> any",
			`comment {"node_id":"{file}","user_id":"{ben}"}`,
			"node own {}; fileshare {\"node_id\":\"{own}\"}",
			"ada GET /share/{portal}/members/list/ -> any",
			"ada POST /share/{portal}/members/join/ -> any",
			`invitation new {"email":"eve@example.test"}; eve POST /share/{portal}/members/join/{new.key}/accept/ -> any`,
			"mails eve@example.test -> length",
		} {
			q := p.fork()
			all.Go(func() {
				for range 20 {
					q.must(t, strings.Split(step, "; ")...)
					q.Requests()
					q.Credits(q.id("acme"))
				}
			})
		}
	}
	all.Wait()
	if p.Refusals() != 30 {
		t.Errorf("%d of 80 searches refused, 50 were allowed", p.Refusals())
	}
}

// Nothing a client sends in a query breaks the server, and no cursor but its own is taken.
func FuzzSearch(f *testing.F) {
	p := newScript(f, "")
	p.must(f, `history {"workspace_id":"{room}","events":300}`)
	f.Add("created-min", "2026-01-01T00:00:00Z")
	f.Add("created-max", "0000-00-00 00:00:00")
	f.Add("limit", "99999999999999999999")
	f.Add("offset", "2147483648")
	f.Add("cursor", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==")
	f.Add("output", "terse,,markdown,full")
	f.Add("parent_event_id", "-----")
	f.Add("object_id", "2ZZZZ-\x00")
	f.Fuzz(func(t *testing.T, name, value string) {
		query := url.Values{"workspace_id": {p.id("room")}}
		query.Add(name, value)
		got, err := p.send(&asked{who: "ada", method: "GET", path: "/events/search/", query: query, header: http.Header{}})
		if err = errors.Join(err, got.err); err != nil ||
			!slices.Contains([]int{http.StatusOK, http.StatusNotAcceptable, http.StatusUnauthorized}, got.status) {
			t.Errorf("%s=%q: %v, %d %s", name, value, err, got.status, got.body)
		}
		if name == "cursor" && value != "" && got.status == http.StatusOK {
			t.Errorf("a forged cursor: %q", value)
		}
	})
}

// Nothing a client puts into a comment breaks the server.
func FuzzComment(f *testing.F) {
	p := newScript(f, "")
	f.Add(`{"body":"x"}`)
	f.Add(`{"body":"` + "```" + `\n@[user:4000000000000000001:x]"}`)
	f.Add(`{"body":"@[user:` + p.id("ada") + `:Ada]","reference":{"type":"image","region":{"x":1e400}}}`)
	f.Add(`{"body":"x","reference":{"type":"text","exact":1},"properties":[],"target_ids":[null]}`)
	f.Add(`{"body":{},"parent_id":[],"comment_id":false}`)
	path := "/comments/workspace/" + p.id("room") + "/" + p.id("plan") + "/"
	f.Fuzz(func(t *testing.T, body string) {
		got, err := p.send(&asked{
			who: "ben", method: "POST", path: path, header: http.Header{}, contentType: "application/json", body: body,
		})
		if err = errors.Join(err, got.err); err != nil {
			t.Fatal(err)
		}
		switch got.status {
		case http.StatusOK:
			if text, _ := got.at("comment.body"); len(text) < len(`"x"`) {
				t.Errorf("%s: %s", body, got.body)
			}
		case http.StatusNotAcceptable, http.StatusNotFound:
		default:
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	})
}
