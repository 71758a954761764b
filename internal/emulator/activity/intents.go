package activity

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of intents. Those from 199001 to 199999 are invented.
const (
	codeIntentVersion = 9667
	codeNoIntent      = 199955
)

// Limits of intents. The lifetime and the rows of a page are assumed.
const (
	intentLife  = 10 * time.Minute
	intentRows  = 50
	intentsMost = 250
	topicMost   = 256
	messageMost = 8192
)

// intent is a notice of an agent about its work.
type intent struct {
	id, workspace, node, user string
	token                     string // the credential that allocated it
	kind, topic, message      string
	version                   int
	sequence                  uint64
	expires                   time.Time
}

// intentRoutes returns the routes of intents, by which agents announce what they are about
// to do.
func (h *Handlers) intentRoutes() []*wire.Route {
	const all = "/current/workspace/{workspace_id}/intents/"
	return []*wire.Route{
		wire.Post("activity.Intents.Allocate", all, wire.With(h.workspaceToWrite, h.allocateIntent),
			wire.Form("node_id intent")),
		wire.Get("activity.Intents.List", all, wire.With(h.w.WorkspaceOfPath, h.listIntents), wire.Query("cursor")),
		wire.Get("activity.Intents.Get", all+"{intent_ids}/", wire.With(h.w.WorkspaceOfPath, h.getIntents)),
		wire.Post("activity.Intents.Fill", all+"{intent_id}/", wire.With(h.intentOfPath, h.fillIntent),
			wire.Form("version topic message intent")),
		wire.Delete("activity.Intents.Release", all+"{intent_id}/", wire.With(h.intentOfPath, h.releaseIntent)),
	}
}

// workspaceToWrite returns the workspace in the path. It refuses a credential that may not
// write in it.
func (h *Handlers) workspaceToWrite(c *wire.Call) (string, error) {
	id, err := h.w.WorkspaceOfPath(c)
	switch {
	case err != nil:
		return "", err
	case h.w.AccessMode(c.Key, id) < wire.Write:
		return "", c.Key.ReadOnlyRefusal()
	}
	return id, nil
}

// intentsOf returns the intents of a user in a workspace that have not expired, the
// oldest first.
func (h *Handlers) intentsOf(workspace, user string) []*intent {
	now := h.w.Now()
	return wire.Filter(h.intents, func(it *intent) bool {
		return it.workspace == workspace && it.user == user && now.Before(it.expires)
	})
}

// allocateIntent returns the live intent that the credential has for a node, or a new
// one, and extends its life. An intent says what a client is about to do; without a
// node, it is about the whole workspace.
func (h *Handlers) allocateIntent(c *wire.Call, id string) (wire.Object, error) {
	node, given := c.Field("node_id")
	node = wire.Plain(node)
	switch {
	case given && !wire.IsOpaque(node):
		c.Check.Mistyped("node_id", "opaque_id")
	case given:
		c.Check.InvalidIf(h.w.Node(id, node) == nil, "node_id", "Not a node of this workspace.")
	}
	kind := readIntentKind(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	var it *intent
	for _, own := range h.intentsOf(id, c.Key.User) {
		if own.token == c.Key.Token && own.node == node {
			it = own
			break
		}
	}
	if it == nil {
		serial := h.w.NextSerial()
		it = &intent{
			id: world.Opaque('w', h.w.Options.Seed, serial), workspace: id, node: node, user: c.Key.User, token: c.Key.Token,
			kind: kind, sequence: serial,
		}
		h.intents = append(h.intents, it)
	}
	it.expires = h.w.Now().Add(intentLife)
	return it.object(withMessage), nil
}

// readIntentKind returns the kind of an intent. The kinds are not published, so it
// accepts any word.
func readIntentKind(c *wire.Call) string {
	kind, given := c.Field("intent")
	c.Check.InvalidIf(given && (kind == "" || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz_") != ""), "intent", "A word.")
	return kind
}

// What the response for an intent has: lists leave the message out.
const (
	withMessage    = true
	withoutMessage = false
)

// object renders an intent, with its message or, in lists, without.
func (it *intent) object(message bool) wire.Object {
	state := "allocated"
	if it.topic+it.message != "" {
		state = "filled"
	}
	o := wire.Object{
		{"id", wire.Hyphenated(it.id)},
		{"state", state},
		{"version", it.version},
		{"sequence", strconv.FormatUint(it.sequence, 36)}, // an opaque text
		{"topic", wire.TextOrNull(it.topic)},
	}
	return append(o.With(message, "message", wire.TextOrNull(it.message)),
		wire.Member{"expires_at", wire.Stamp(it.expires.Unix())})
}

// listIntents returns a page of the caller's intents, without their messages. Every
// page that is not empty has a cursor: only an empty one ends the list.
func (h *Handlers) listIntents(c *wire.Call, id string) (wire.Object, error) {
	rows := h.intentsOf(id, c.Key.User)
	binding := "intents " + id // a cursor is valid for this list only
	if text := c.Value("cursor"); text != "" {
		from, valid := h.w.OpenCursor(text, binding)
		c.Check.InvalidIf(!valid, "cursor", "Not a cursor of this list.")
		rows = wire.Filter(rows, func(it *intent) bool { return it.sequence > from.Key })
	}
	rows = rows[:min(intentRows, len(rows))]
	var cursor any
	if len(rows) > 0 {
		cursor = h.w.Cursor(world.Position{Key: rows[len(rows)-1].sequence}, binding)
	}
	items := wire.Rows(rows, func(it *intent) wire.Object { return it.object(withoutMessage) })
	return wire.Object{{"items", items}, {"cursor", cursor}}, c.Check.Err()
}

// getIntents returns the intents in the path that exist. Those beyond the limit are
// ignored.
func (h *Handlers) getIntents(c *wire.Call, id string) (wire.Object, error) {
	var found []*intent
	all, ids := h.intentsOf(id, c.Key.User), c.Segments("intent_ids")
	for _, name := range ids[:min(intentsMost, len(ids))] {
		if at := indexOfIntent(all, name); at >= 0 {
			found = append(found, all[at])
		}
	}
	if len(found) == 0 {
		return nil, wire.NoSuch(codeNoIntent, "intent")
	}
	items := wire.Rows(found, func(it *intent) wire.Object { return it.object(withMessage) })
	return wire.Object{{"items", items}}, c.Check.Err() // the level of detail was checked before, and may be wrong
}

// indexOfIntent returns the index of the intent with an id, -1 if there is none.
func indexOfIntent(all []*intent, id string) int {
	return slices.IndexFunc(all, func(it *intent) bool { return it.id == wire.Plain(id) })
}

// intentOfPath returns the intent in the path, which the caller must have and be
// allowed to change.
func (h *Handlers) intentOfPath(c *wire.Call) (*intent, error) {
	id, err := h.workspaceToWrite(c)
	if err != nil {
		return nil, err
	}
	all := h.intentsOf(id, c.Key.User)
	at := indexOfIntent(all, c.Segment("intent_id"))
	if at < 0 {
		return nil, wire.NoSuch(codeNoIntent, "intent")
	}
	return all[at], nil
}

// fillIntent changes the topic, message or kind of an intent, if the call names its
// version. A call with the version alone extends its life.
func (h *Handlers) fillIntent(c *wire.Call, it *intent) (wire.Object, error) {
	version := -1
	if text, given := c.Field("version"); given {
		version = c.ReadAtLeast("version", text, 0)
	} else {
		c.Check.Missing("version", "The version that was read.")
	}
	topic, hasTopic := c.Field("topic")
	c.Check.InvalidIf(utf8.RuneCountInString(topic) > topicMost || strings.ContainsFunc(topic, unicode.IsControl), "topic",
		"At most 256 characters in one line.")
	message, hasMessage := c.Field("message")
	c.Check.InvalidIf(utf8.RuneCountInString(message) > messageMost, "message", "At most 8192 characters.")
	kind := readIntentKind(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if version != it.version {
		return nil, wire.Refuse(http.StatusConflict, codeIntentVersion, "The intent has another version. Read it again.")
	}
	if hasTopic {
		it.topic = topic
	}
	if hasMessage {
		it.message = message
	}
	if kind != "" {
		it.kind = kind
	}
	if hasTopic || hasMessage || kind != "" {
		it.version++
	}
	it.expires = h.w.Now().Add(intentLife)
	return it.object(withMessage), nil
}

// releaseIntent removes an intent. It fails if a parameter of the call is not valid.
func (h *Handlers) releaseIntent(c *wire.Call, it *intent) (wire.Object, error) {
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	h.intents = slices.DeleteFunc(h.intents, func(other *intent) bool { return other == it })
	return nil, nil
}
