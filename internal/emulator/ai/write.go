package ai

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// createThread starts a conversation with a question; no conversation may be public. A
// repeated call with the same idempotency key returns the same conversation, but is refused
// in the short time in which the conversation is still being stored. The length of a
// conversation, at first that of the question, is limited by the option ThreadLimit.
func (h *Handlers) createThread(c *wire.Call, profileID string) (wire.Object, error) {
	if t := h.askedBefore(c, profileID); t != nil {
		if err := h.refuseUntilStored(t.thread); err != nil {
			return nil, err
		}
		return h.createdThread(t)
	}
	if err := h.refuseQuestion(profileID); err != nil {
		return nil, err
	}
	th := &thread{profile: profileID, creator: c.Key.User}
	q := readQuestion(c)
	wantsPublic := readThreadFields(c, th)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if wantsPublic {
		return nil, notPublic()
	}
	if err := h.checkFiles(c, profileID, &q); err != nil {
		return nil, err
	}
	if h.w.Options.AI.ThreadLimit > 0 && len(q.text) > h.w.Options.AI.ThreadLimit {
		return nil, h.tooLargeRefusal(profileID, codeTooLargeCreate, codeTooLargeShareCreate)
	}
	h.addThread(th, &q)
	t := h.addTurn(th, &q, askKey{c.Key.User, profileID, q.key})
	h.logThread(th, "ai_chat_created")
	h.planAnswer(t)
	return h.createdThread(t)
}

// createdThread returns the response with a new conversation and its first turn.
func (h *Handlers) createdThread(t *turn) (wire.Object, error) {
	return wire.Object{{"thread", h.threadObject(t.thread)}, {"turn", t.object()}}, nil
}

const generatedName = 60 // characters

// addThread adds a conversation. Without a name it gets the beginning of the
// question.
func (h *Handlers) addThread(th *thread, q *question) {
	th.id = world.Opaque('9', h.w.Options.Seed, h.w.NextSerial()) // 9 begins the ids of AI jobs
	th.created = h.w.Now()
	th.updated = th.created
	if th.name == "" {
		th.name = beginning(strings.Join(strings.Fields(q.text), " "), generatedName)
	}
	chats := &h.chats
	chats.threads[th.id] = th
	chats.list = append(chats.list, th)
}

// addTurn adds a turn with a question to a conversation, under its idempotency key: a
// repeated call with the key gets the same turn. A question without a key gets a random
// one.
func (h *Handlers) addTurn(th *thread, q *question, key askKey) *turn {
	now := h.w.Now()
	t := &turn{ // 9 begins the ids of AI jobs
		thread: th, id: world.Opaque('9', h.w.Options.Seed, h.w.NextSerial()), status: turnPending, seq: len(th.turns) + 1,
		key: q.key, query: q.text, refs: q.refs, created: now, updated: now,
	}
	if !q.keyed {
		t.key = h.w.Secret()[:22] // how long those of the platform are is not documented
		key.key = t.key
	}
	h.chats.keys[key] = t
	th.turns = append(th.turns, t)
	th.updated = now
	return t
}

// sendTurn asks another question in a conversation. It refuses one while another is
// being answered, or if the conversation would be longer than the option ThreadLimit. A
// repeated call with the same idempotency key returns the same turn.
func (h *Handlers) sendTurn(c *wire.Call, profileID string) (wire.Object, error) {
	th, noThread := h.threadIn(c, profileID, statusNoThread)
	if noThread == nil {
		if t := h.askedBefore(c, th.id); t != nil {
			return t.object(), nil
		}
	}
	// A profile without an agent is refused as such, even if the conversation does not exist.
	if err := cmp.Or(h.refuseQuestion(profileID), noThread); err != nil {
		return nil, err
	}
	q := readQuestion(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if err := h.checkFiles(c, th.profile, &q); err != nil {
		return nil, err
	}
	if err := h.refuseUntilStored(th); err != nil {
		return nil, err
	}
	switch {
	case !th.last().ended():
		return nil, wire.Refuse(http.StatusNotAcceptable, codeChatLocked, "The chat is locked: a message is being answered.")
	case h.w.Options.AI.ThreadLimit > 0 && th.size()+len(q.text) > h.w.Options.AI.ThreadLimit:
		return nil, h.tooLargeRefusal(th.profile, codeTooLargeMessage, codeTooLargeShareMessage)
	}
	t := h.addTurn(th, &q, askKey{c.Key.User, th.id, q.key})
	h.logThread(th, "ai_chat_new_message")
	h.planAnswer(t)
	return t.object(), nil
}

// askedBefore returns the turn that an earlier call of the user with the same idempotency key
// has added, nil if there is none. The key is valid in one place, named by its ID: the profile
// in which the call began a conversation, or the conversation in which it asked. The turn is
// returned even if the question would be refused now, for a lack of credits for example.
func (h *Handlers) askedBefore(c *wire.Call, place string) *turn {
	key, keyed := c.Field("idempotency_key")
	if !keyed {
		return nil
	}
	return h.chats.keys[askKey{c.Key.User, place, key}]
}

// refuseUntilStored returns a refusal while the first turn of a conversation is not
// yet stored: for the time of the option CommitTime after it was sent.
func (h *Handlers) refuseUntilStored(th *thread) error {
	if h.w.Now().Sub(th.created) >= h.w.Options.AI.CommitTime {
		return nil
	}
	return wire.Refuse(http.StatusConflict, codeCommitting, "The chat is still being created. Send the same key again.")
}

// tooLargeRefusal returns the refusal of a conversation that is too large, which has
// one code in a workspace and another, onShare, in a share.
func (h *Handlers) tooLargeRefusal(profileID string, code, onShare int64) error {
	if h.w.KindOf(profileID) == wire.KindShare {
		code = onShare
	}
	return wire.Refuse(http.StatusConflict, code, "The conversation is too large. Start a new chat.")
}

// updateThread renames a conversation.
func (h *Handlers) updateThread(c *wire.Call, th *thread) (wire.Object, error) {
	name, given := c.Field("name")
	if !given {
		c.Check.Missing("name", "Name the chat.")
	} else {
		name = threadName(c, name)
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	th.name, th.updated = name, h.w.Now()
	h.logThread(th, "ai_chat_updated")
	return wire.Object{{"thread", h.threadObject(th)}}, nil
}

// deleteThread deletes a conversation and cancels its running turn.
func (h *Handlers) deleteThread(c *wire.Call, th *thread) (wire.Object, error) {
	h.cancel(th.last())
	th.deleted, th.updated = true, h.w.Now()
	h.logThread(th, "ai_chat_deleted")
	return nil, nil
}

// publishThread refuses to publish a conversation, as the platform does for all.
func publishThread(*wire.Call, *thread) (wire.Object, error) { return nil, notPublic() }

// cancelTurn cancels the running turn of a conversation. It succeeds if none is
// running. By an option, the responses have the form of older servers, and so have errors with
// the status 406.
func (h *Handlers) cancelTurn(c *wire.Call) (wire.Object, error) {
	isLegacy := h.w.Options.AI.LegacyCancel
	th, err := h.threadOfPath(h.chatProfile(wire.Write), statusNoThreadToChange)(c)
	if err == nil && len(c.Body) > 0 {
		err = wire.Refuse(http.StatusNotAcceptable, codeChatBody, "The body must be empty.")
	}
	if err != nil {
		refusal := wire.RefusalOf(err)
		if isLegacy && refusal.Status == http.StatusNotAcceptable {
			return c.PlainJSON(refusal.Status, wire.Object{
				{"result", false}, {"error_message", refusal.Text}, {"error_id", refusal.Code},
			})
		}
		return nil, err
	}
	t := th.last()
	cancelled := h.cancel(t)
	switch {
	case !isLegacy:
		return nil, nil
	case cancelled:
		return c.PlainJSON(http.StatusOK,
			wire.Object{{"success", true}, {"message", wire.Object{{"id", wire.Hyphenated(t.id)}}}})
	}
	return c.PlainJSON(http.StatusOK, wire.Object{{"success", true}, {"no_pending_message", true}})
}

// tokensOf returns the number of tokens in a text: one for four characters, as an
// assumption.
func tokensOf(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }

const (
	questionMost   = 32_000 // characters
	threadNameMost = 100
	askKeyMost     = 64
	attachedFiles  = 20
	attachedBytes  = 2 << 30
	referencesMost = 100
	occurrences    = 200
)

type question struct {
	text, key string
	keyed     bool
	refs      []reference // each once, in the order of the form
	mentions  int         // how often the form names any
}

type reference struct {
	id, version string
	folder      bool
}

const questionFields = "question references subjects content_parts uploads activity view " +
	"role_in_org effort idempotency_key"

// readQuestion reads a question and the files and folders that it refers to. Without the
// field question, its text is that of content_parts. The fields uploads, activity, view
// and effort are only checked: they do not change the answer.
func readQuestion(c *wire.Call) question {
	q := question{}
	q.text, _ = c.Field("question")
	for _, name := range [...]string{"references", "subjects"} {
		for _, item := range listField(c, name) {
			readReference(c, &q, name, item)
		}
	}
	parts := contentParts(c, &q)
	q.text = cmp.Or(q.text, parts)
	switch length := utf8.RuneCountInString(q.text); {
	case strings.TrimSpace(q.text) == "":
		c.Check.Missing("question", "Ask something.")
	case length > questionMost, utf8.RuneCountInString(parts) > questionMost:
		c.Check.Invalid("question", "1 to 32000 characters.")
	}
	listField(c, "uploads")
	listField(c, "activity")
	objectField(c, "view")
	if effort, given := c.Field("effort"); given && effort != "normal" && effort != "high" {
		c.Check.Invalid("effort", "normal or high.")
	}
	q.key, q.keyed = c.Field("idempotency_key")
	if utf8.RuneCountInString(q.key) > askKeyMost {
		c.Check.Invalid("idempotency_key", "At most 64 characters.")
	}
	q.checkReferences(c)
	return q
}

// checkReferences adds an error to c.Check if a question refers to too many files or
// folders, or names them too often.
func (q *question) checkReferences(c *wire.Call) {
	files := 0
	for _, ref := range q.refs {
		if !ref.folder {
			files++
		}
	}
	switch {
	case files > attachedFiles:
		c.Check.Invalid("references", "At most 20 files.")
	case len(q.refs) > referencesMost:
		c.Check.Invalid("references", "At most 100 files and folders.")
	case q.mentions > occurrences:
		c.Check.Invalid("references", "At most 200 occurrences.")
	}
}

// contentParts reads the field content_parts, in which text and references alternate: it
// returns the text of all parts, and adds the references to the question.
func contentParts(c *wire.Call, q *question) string {
	var text strings.Builder
	for _, item := range listField(c, "content_parts") {
		part, _ := item.(map[string]any)
		if part["type"] != "text" {
			readReference(c, q, "content_parts", item)
			continue
		}
		segment, isText := part["text"].(string)
		c.Check.MistypedIf(!isText, "content_parts", "string")
		text.WriteString(segment)
	}
	return text.String()
}

// listField returns a form field that holds a JSON array, nil without one. A field that
// holds something else is an error of the call.
func listField(c *wire.Call, name string) []any {
	list, isList := jsonField(c, name).([]any)
	if text, _ := c.Field(name); text != "" && !isList {
		c.Check.Mistyped(name, "JSON array")
	}
	return list
}

// objectField checks that a form field, if given, holds a JSON object.
func objectField(c *wire.Call, name string) {
	text, _ := c.Field(name)
	if _, isObject := jsonField(c, name).(map[string]any); text != "" && !isObject {
		c.Check.Mistyped(name, "JSON object")
	}
}

// jsonField returns the value of a form field that holds JSON, nil if it is missing or
// not valid.
func jsonField(c *wire.Call, name string) any {
	text, _ := c.Field(name)
	var value any
	if text == "" || wire.Decode([]byte(text), &value) != nil {
		return nil
	}
	return value
}

// readReference adds the file or folder that an item describes to those that a question
// refers to. An invalid item is an error of the field called name.
func readReference(c *wire.Call, q *question, name string, item any) {
	m, _ := item.(map[string]any)
	kind, _ := m["type"].(string)
	id, _ := m["id"].(string)
	details, _ := m[kind+"_details"].(map[string]any)
	node, _ := details["node_id"].(string)
	version, isText := details["version_id"].(string)
	hasVersion := details["version_id"] != nil
	isFile, isFolder := kind == world.KindFile, kind == world.KindFolder
	namesNode := wire.IsOpaque(wire.Plain(id)) && wire.Plain(node) == wire.Plain(id) // both id and node_id name it
	switch {
	case !isFile && !isFolder, !namesNode:
		c.Check.Invalid(name, "A file or a folder with its node_id.")
		return
	case hasVersion && (isFolder || !isText):
		c.Check.Invalid(name, "version_id is the text id of a version of a file.")
		return
	}
	q.mentions++
	ref := reference{id: wire.Plain(id), version: wire.Plain(version), folder: isFolder}
	if !slices.Contains(q.refs, ref) {
		q.refs = append(q.refs, ref)
	}
}

// checkFiles checks the files and folders that a question refers to. If one is not
// valid, the question is refused.
func (h *Handlers) checkFiles(c *wire.Call, profileID string, q *question) error {
	var size int64
	for _, ref := range q.refs {
		n := h.w.Node(profileID, ref.id)
		if n == nil {
			return wire.NoSuch(codeNoReference, "file or folder")
		}
		isSaidKind := n.HasContent()
		if ref.folder {
			isSaidKind = n.Kind == world.KindFolder
		}
		version, hasVersion := n.Version(ref.version)
		switch {
		case !isSaidKind:
			c.Check.Invalid("references", "Not the kind of node it is said to be.")
		case ref.folder && h.guestShare(profileID, c.Key.User).RestrictGuests:
			return wire.Denied("you may not attach folders.")
		case !ref.folder && !hasVersion:
			return wire.NoSuch(codeNoReference, "version of the file")
		case !ref.folder && !n.ReadableByAgent():
			c.Check.Invalid("references", "The file is not ready for the agent.")
		}
		size += version.Size // 0 for a folder
	}
	c.Check.InvalidIf(size > attachedBytes, "references", "At most 2 GB.")
	return c.Check.Err()
}

// readThreadFields sets the fields of a new conversation from the request. It returns true
// if the conversation is to be public.
func readThreadFields(c *wire.Call, th *thread) (public bool) {
	kind, hasKind := c.Field("kind")
	privacy, hasPrivacy := c.Field("privacy")
	th.kind = "user"
	if hasKind {
		th.kind = kind
		c.Check.InvalidIf(kind != "user" && kind != "agent", "kind", "user or agent.")
	}
	c.Check.InvalidIf(hasPrivacy && privacy != "private" && privacy != "public", "privacy", "private or public.")
	if name, given := c.Field("name"); given {
		th.name = threadName(c, name)
	}
	return privacy == "public"
}

// threadName returns the name of a conversation without blanks at its ends.
func threadName(c *wire.Call, name string) string {
	name = strings.TrimSpace(name)
	c.Check.InvalidIf(name == "" || utf8.RuneCountInString(name) > threadNameMost, "name", "1 to 100 characters.")
	return name
}

// notPublic returns the refusal of a public conversation.
func notPublic() error {
	return wire.Refuse(http.StatusForbidden, codePublic, "Publishing chats is disabled on this platform.")
}

const (
	exportedMost  = 25
	exportedLinks = 5 // with more files there are titles only
	exportedBytes = 50 << 20
	exportedTotal = 100 << 20
	exportedFor   = 5 * time.Minute
	exportedReads = 3
)

type export struct {
	profile string
	files   []string
	reads   []int
	expires time.Time
}

// exportFiles returns a Markdown text about files of a workspace or share. For up to 5
// files it has links to their contents, which work 3 times within 5 minutes; more files
// are only named.
func (h *Handlers) exportFiles(c *wire.Call, profileID string) (wire.Object, error) {
	if h.guestShare(profileID, c.Key.User).NoGuestDownloads {
		return nil, wire.Denied("you may not download here.")
	}
	if err := h.refuseDeniedAgent(profileID); err != nil {
		return nil, err
	}
	files, err := h.filesToExport(c, profileID)
	if err != nil {
		return nil, err
	}
	title := h.w.ProfileName(profileID)
	if len(files) > exportedLinks {
		return wire.Object{{"markdown", exportText(title, files, withoutLinks)}}, nil
	}
	token := h.w.Secret()[:40] // how long those of the platform are is not documented
	e := &export{profile: profileID, reads: make([]int, len(files)), expires: h.w.Now().Add(exportedFor)}
	for _, n := range files {
		e.files = append(e.files, n.ID)
	}
	h.chats.exports[token] = e
	if h.w.KindOf(profileID) == wire.KindWorkspace {
		h.w.WriteEvent(world.Event{Name: "workspace_ai_share_created", Workspace: profileID, CallingUser: c.Key.User})
	}
	return wire.Object{{
		"markdown", exportText(title, files, wire.Issuer(c.Request)+h.w.Prefix()+"/current/ai/share/"+token),
	}}, nil
}

// filesToExport returns the files that a call names to be exported. It refuses more than
// 25 files, folders, unknown ids and files that are too large.
func (h *Handlers) filesToExport(c *wire.Call, profileID string) ([]*world.Node, error) {
	ids := listField(c, "files")
	switch text, _ := c.Field("files"); {
	case text == "":
		c.Check.Missing("files", "Name 1 to 25 files.")
	case ids == nil: // not a list, which listField has added to c.Check
	case len(ids) == 0 || len(ids) > exportedMost:
		c.Check.Invalid("files", "1 to 25 files.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	var files []*world.Node
	var total int64
	for _, id := range ids {
		text, _ := id.(string)
		if !wire.IsOpaque(wire.Plain(text)) {
			c.Check.Mistyped("files", "array of opaque_id")
			break
		}
		n := h.w.Node(profileID, wire.Plain(text))
		switch {
		case n == nil:
			return nil, wire.NoSuch(codeNoReference, "file")
		case !n.HasContent():
			c.Check.Invalid("files", "Files and notes only.")
		case n.Size > exportedBytes:
			c.Check.Invalid("files", "At most 50 MB each.")
		}
		files = append(files, n)
		total += n.Size
	}
	c.Check.InvalidIf(total > exportedTotal, "files", "At most 100 MB together.")
	return files, c.Check.Err()
}

const withoutLinks = "" // in exportText

// exportText returns an export as Markdown: with withoutLinks, a list of names, otherwise
// type, size and address of each file. The argument link begins the addresses.
func exportText(title string, files []*world.Node, link string) string {
	var b strings.Builder
	b.WriteString("# Files of " + title + "\n")
	for i, n := range files {
		if link == withoutLinks {
			b.WriteString("\n- " + n.Name)
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n- Type: %s\n- Size: %d bytes\n- Download: %s?file=%d\n",
			n.Name, n.MimeType, n.Size, link, i)
	}
	return b.String()
}

// readExport serves the file of an export that the query names by its index, to any
// caller with the token, until the export has expired or the file was read three times.
func (h *Handlers) readExport(c *wire.Call) (wire.Object, error) {
	e := h.chats.exports[c.Segment("token")]
	i, err := strconv.Atoi(c.Value("file"))
	isListed := e != nil && err == nil && i >= 0 && i < len(e.files)
	if !isListed || wire.Past(e.expires, h.w.Now()) || e.reads[i] == exportedReads {
		return nil, wire.Refuse(http.StatusNotFound, codeExportMissing, "The link is unknown, has ended or was used up.")
	}
	e.reads[i]++
	n := h.w.Node(e.profile, e.files[i])
	if n == nil { // the file was deleted after the export
		return nil, wire.Refuse(http.StatusInternalServerError, world.CodeExport, "The file cannot be read.")
	}
	return world.ServeVersion(c, n, n.Current())
}

// autoTitle gives a share a title, which is the text of the caller, the name of its first
// file or "Files", and a description that lists its files. It costs a credit.
func (h *Handlers) autoTitle(c *wire.Call, id string) (wire.Object, error) {
	if !h.w.AtLeast(id, c.Key.User, world.Admin) {
		return nil, wire.Denied("only admins may rename a share.")
	}
	if err := h.w.RefuseWithout(world.FeatureAutoTitle); err != nil {
		return nil, err
	}
	var names []string
	for _, n := range h.w.NodesOf(id) {
		names = append(names, n.Name)
	}
	share := &h.w.Share(id).Value
	about, _ := c.Field("user_context")
	fallback := "Files"
	if len(names) > 0 {
		fallback = names[0]
	}
	share.Title = beginning(cmp.Or(strings.TrimSpace(about), fallback), world.TitleMost)
	description := "A share with " + strconv.Itoa(len(names)) + " items: " + strings.Join(names, ", ") + "."
	share.Description = beginning(description, world.DescriptionMost)
	h.w.Charge(h.w.PayerOf(id, c.Key.User), 1)
	h.w.WriteEvent(world.Event{Name: "share_updated", Share: id, CallingUser: c.Key.User})
	return wire.Object{{"title", share.Title}, {"description", share.Description}}, nil
}

// beginning returns a text of at most so many characters: one that is longer ends with "…".
func beginning(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// shareImage draws the preview picture of a link to a share. It has the title if the
// share is open to anyone, or the caller is a member and the plan includes this feature.
func (h *Handlers) shareImage(c *wire.Call) (wire.Object, error) {
	id := h.w.ShareNamed(c.Segment("share_id"))
	share := h.w.Share(id)
	if share == nil {
		return nil, wire.NoSuch(wire.CodeNotFound, wire.KindShare)
	}
	const untitled = ""
	isOpen := strings.HasPrefix(share.Value.Access, "Anyone") // two access options begin so
	isMember := c.Key != nil && h.w.AccessMode(c.Key, id) >= wire.Read && h.w.Role(id, c.Key.User) != ""
	if isOpen || isMember && h.w.RefuseWithout(world.FeatureAutoOG) == nil {
		return world.SendPicture(c, share.Value.Title)
	}
	return world.SendPicture(c, untitled)
}
