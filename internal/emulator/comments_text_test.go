package emulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func TestCommentBodies(t *testing.T) {
	t.Parallel()
	b := newBoard()
	mention := "@[user:" + b.ada.ID + ":Ada Stone]"
	long := func(n int) string { return strings.Repeat("ü", n) }
	pills := func(n int) string { return strings.Repeat("@[file:2abc:"+long(100)+"]", n) }
	tests := map[string]struct {
		body   any
		status int
		code   int
	}{
		"500 code points":              {long(500), 200, 0},
		"501":                          {long(501), 406, 166910},
		"8192 with mentions":           {pills(71) + long(8192-71*113), 200, 0},
		"8193":                         {strings.Repeat("@[user:4000000000000000001:"+long(30)+"]", 141) + long(8193-141*58), 406, 162417},
		"empty":                        {"", 406, 10022},
		"blanks":                       {" \n\t ", 406, 10022},
		"nothing but control":          {"\x01\x02", 406, 10022},
		"none":                         {nil, 406, 10021},
		"a number":                     {7, 406, 10023},
		"a mention beside 500":         {long(500) + mention, 200, 0},
		"a mention in a span":          {long(480) + "`" + mention + "`", 406, 166910},
		"a mention in a fence":         {long(480) + "\n```\n" + mention + "\n```", 406, 166910},
		"an open fence":                {"~~~\n" + long(470) + mention, 406, 166910},
		"a fence in a quote":           {long(480) + "\n> ```\n> " + mention, 200, 0},
		"an indented fence":            {long(470) + "\n    ```\n" + mention, 200, 0},
		"indented code":                {long(480) + "\n    " + mention, 200, 0},
		"a span over lines":            {long(480) + "`\n" + mention + "`", 200, 0},
		"a longer fence inside":        {"````\n```\n" + long(470) + mention + "\n````", 406, 166910},
		"a fence with words is no end": {"```\n``` no end\n" + long(470) + mention, 406, 166910},
		"behind a fence":               {"```\ncode\n```\n" + long(480) + mention, 200, 0},
		"two ticks closed by two":      {long(470) + "``a`" + mention + "``", 406, 166910},
		"two ticks that one ends":      {long(470) + "``" + mention + "`", 200, 0},
		"a fence that is a span":       {long(470) + "\n``` a ``` b\n" + mention, 200, 0},
		"an unknown kind":              {long(480) + "@[robot:4000000000000000001:Robot]", 406, 166910},
		"a mention over two lines":     {long(480) + "@[user:4000000000000000001:Ro\nbot]", 406, 166910},
		"tildes that backticks do not": {"~~~\n```\n" + long(470) + mention, 406, 166910},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoard()
			got := b.post(t, b.ben, b.onPlan(), hash{"body": test.body})
			expect(t, got, test.status, test.code)
			if test.code == 166910 {
				if text, _ := got.get("error.text").(string); !strings.ContainsAny(text, "0123456789") {
					t.Errorf("the count is missing: %s", got.Body)
				}
			}
			id := b.say(t, b.ben, b.onPlan(), "first")
			code := test.code
			if code == 162417 {
				code = 164797
			}
			expect(t, b.post(t, b.ben, at(id, "update"), hash{"body": test.body}), test.status, code)
		})
	}
	id := b.say(t, b.ben, b.onPlan(), "a\x00b\x07\tc\r\nd\u0085")
	if got := b.list(t, b.ben, at(id, "details")).get("comment.body"); got != "ab\tc\r\nd" {
		t.Errorf("control characters: %q", got)
	}
}

func TestCommentsAreJSON(t *testing.T) {
	t.Parallel()
	b := newBoard()
	const form = "application/x-www-form-urlencoded"
	for name, got := range map[string]reply{
		"a form":            b.post(t, b.ben, b.onPlan(), "body=hello", "Content-Type", form),
		"a form with JSON":  b.post(t, b.ben, b.onPlan(), `{"body":"hello"}`, "Content-Type", form),
		"cut short":         b.post(t, b.ben, b.onPlan(), `{"body":"hello"`),
		"two of them":       b.post(t, b.ben, b.onPlan(), `{"body":"hello"}{}`),
		"a list":            b.post(t, b.ben, b.onPlan(), `["hello"]`),
		"null":              b.post(t, b.ben, b.onPlan(), `null`),
		"nothing":           b.post(t, b.ben, b.onPlan(), nil),
		"a form to unlink":  b.post(t, b.ben, at(b.say(t, b.ben, b.onPlan(), "x"), "unlink"), "a=b", "Content-Type", form),
		"a form to react":   b.post(t, b.ben, at(b.say(t, b.ben, b.onPlan(), "x"), "reactions"), "emoji=x", "Content-Type", form),
		"a form to many":    b.post(t, b.ben, "/comments/bulk/delete/", "comment_ids=x", "Content-Type", form),
		"a form to attach":  b.post(t, b.ben, at(b.say(t, b.ben, b.onPlan(), "x"), "attachments"), "target_id=x", "Content-Type", form),
		"a form to change":  b.post(t, b.ben, at(b.say(t, b.ben, b.onPlan(), "x"), "update"), "body=x", "Content-Type", form),
		"an unreadable one": b.post(t, b.ben, b.onPlan(), `{}`, "Content-Type", ";"),
	} {
		if got.Status != http.StatusNotAcceptable {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	expect(t, b.post(t, b.ben, b.onPlan(), hash{"body": "x"}, "Content-Type", "application/json; charset=utf-8"), 200, 0)
}

func TestReferences(t *testing.T) {
	t.Parallel()
	b := newBoard()
	region := hash{"x": 0.1, "y": 0, "width": 0.5, "height": 1}
	with := func(kind, name string, value any) hash { return hash{"type": kind, name: value} }
	quote := func(name string, value any) hash { return hash{"type": "document", "exact": "net", name: value} }
	// The frame of {"note":"…","type":"image"} takes 27 bytes.
	sized := func(text string) hash { return hash{"type": "image", "note": text} }
	tests := map[string]struct {
		reference any
		ok        bool
	}{
		"an image":               {with("image", "region", region), true},
		"a moment":               {with("video", "timestamp", 81.25), true},
		"a sound":                {with("audio", "timestamp", 0), true},
		"a page":                 {hash{"type": "document", "page": 7, "text_snippet": "net 30 days"}, true},
		"a quote":                {hash{"type": "document", "exact": "net", "prefix": "", "suffix": "after", "start_offset": 4, "end_offset": 7}, true},
		"general":                {hash{"type": "general"}, true},
		"members nobody knows":   {with("general", "end", hash{"deep": []any{1.0, nil}}), true},
		"null":                   {nil, true},
		"no type":                {hash{"page": 1}, false},
		"an unknown type":        {hash{"type": "page"}, false},
		"a list":                 {[]any{1}, false},
		"a text":                 {"image", false},
		"text without its text":  {hash{"type": "text"}, false},
		"a negative time":        {with("video", "timestamp", -1), false},
		"a time in words":        {with("video", "timestamp", "soon"), false},
		"a region too wide":      {with("image", "region", hash{"x": 0, "y": 0, "width": 1.5, "height": 1}), false},
		"half a region":          {with("image", "region", hash{"x": 0, "y": 0}), false},
		"a region that is none":  {with("image", "region", 4), false},
		"page 0":                 {with("document", "page", 0), false},
		"page one and a half":    {with("document", "page", 1.5), false},
		"500 quoted":             {with("document", "exact", strings.Repeat("x", 500)), true},
		"501 quoted":             {with("document", "exact", strings.Repeat("x", 501)), false},
		"nothing quoted":         {with("document", "exact", ""), false},
		"100 before":             {quote("prefix", strings.Repeat("x", 100)), true},
		"101 before":             {quote("prefix", strings.Repeat("x", 101)), false},
		"101 behind":             {quote("suffix", strings.Repeat("x", 101)), false},
		"before nothing":         {with("document", "prefix", "x"), false},
		"an offset below 0":      {quote("start_offset", -1), false},
		"2048 bytes":             {sized(strings.Repeat("x", 2048-26)), true},
		"2049 bytes":             {sized(strings.Repeat("x", 2049-26)), false},
		"six bytes a character":  {sized(strings.Repeat("ü", 337)), true},
		"and one too many":       {sized(strings.Repeat("ü", 338)), false},
		"twelve bytes a picture": {sized(strings.Repeat("😀", 168)), true},
		"and one picture more":   {sized(strings.Repeat("😀", 169)), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoard()
			got := b.post(t, b.ben, b.onPlan(), hash{"body": "x", "reference": test.reference})
			if !test.ok {
				expect(t, got, 406, 0)
				return
			}
			var want any
			encoded, _ := json.Marshal(test.reference)
			if err := json.Unmarshal(encoded, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.get("comment.reference")); got.Status != 200 || diff != "" {
				t.Errorf("%d (-want +got):\n%s%s", got.Status, diff, got.Body)
			}
		})
	}
	got := b.post(t, b.ben, b.onPlan(), hash{"body": "x", "reference": hash{"type": "text", "exact": "net"}})
	if got.get("comment.reference.type") != "document" {
		t.Errorf("the alias: %s", got.Body)
	}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	b := newBoard()
	of := func(u emulator.User) string { return "@[user:" + u.ID + ":" + u.FirstName + "]" }
	tests := map[string]struct {
		path string
		by   emulator.User
		body string
		want []any
	}{
		"members and guests":         {b.onPlan(), b.ben, of(b.ada) + of(b.cleo), []any{b.ada.ID, b.cleo.ID}},
		"no stranger":                {b.onPlan(), b.ben, of(b.eve) + of(b.ada), []any{b.ada.ID}},
		"each once":                  {b.onPlan(), b.ben, of(b.ada) + of(b.ada), []any{b.ada.ID}},
		"a profile":                  {b.onPlan(), b.ben, "@[profile:" + b.ada.ID + "]", []any{b.ada.ID}},
		"no file":                    {b.onPlan(), b.ben, "@[file:" + b.plan.ID + ":plan.pdf]", []any{}},
		"not in code":                {b.onPlan(), b.ben, "`" + of(b.ada) + "`\n~~~\n" + of(b.ada), []any{}},
		"nobody":                     {b.onPlan(), b.ben, "@[user:4999999999999999999:Nobody]", []any{}},
		"recipients":                 {b.onLink(), b.eve, of(b.dora) + of(b.ben) + of(b.fay), []any{b.dora.ID, b.ben.ID}},
		"guests of the share":        {b.onPhoto(), b.fay, of(b.cleo) + of(b.dora), []any{b.cleo.ID}},
		"a name with a line's break": {b.onPlan(), b.ben, "@[user:" + b.ada.ID + ":A\nda]", []any{}},
	}
	registered := b.AddFileShare(emulator.FileShare{Node: b.plan.ID, Access: "any_registered", CommentsEnabled: true})
	late := tests["no stranger"]
	late.path = "/comments/fileshare/" + registered.ID + "/" + b.plan.ID + "/"
	tests["nobody who could come"] = late
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.post(t, test.by, test.path, hash{"body": "To " + test.body})
			if diff := cmp.Diff(any(test.want), got.get("comment.mentions")); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, got.Body)
			}
		})
	}
}
