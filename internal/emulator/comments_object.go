package emulator

import (
	"time"
)

// view is how a caller meets comments: what an answer of one kind shows to one user.
type view struct {
	st         *state
	user       string
	nulls      bool // members without value are sent as null
	count      bool // with the number of attachments
	whole      bool // with the attachments themselves, and when it was deleted
	properties bool
}

func (s *Server) view(c *call) view {
	return view{st: &s.state, user: c.key.User, properties: s.o.Comments.Properties}
}

// put adds a member, or leaves it out when it has no value and nulls are not sent.
func (v view) put(o *object, key string, value any) {
	if value != nil || v.nulls {
		*o = append(*o, member{key, value})
	}
}

// comment renders a comment; inside tells whether it is met where it was written.
func (v view) comment(cm *comment, inside bool) object {
	o := object{
		{"id", hyphenated(cm.ID)},
		{"entity", cm.entity()},
		{"user_id", profileID(cm.User)},
		{"actor", actorObject(*cm.Actor)},
	}
	v.put(&o, "parent_id", optional(hyphenated(cm.Parent)))
	o = append(o, member{"body", cm.Body})
	v.place(&o, cm)
	v.put(&o, "linked_entity_type", optional(cm.LinkedEntityType))
	v.put(&o, "linked_entity_id", optional(cm.LinkedEntity))
	v.put(&o, "external_author_email", optional(cm.ExternalAuthorEmail))
	v.put(&o, "external_author_name", optional(cm.ExternalAuthorName))
	v.put(&o, "external_author_token_id", optional(cm.ExternalAuthorTokenID))
	v.put(&o, "reference", orNull(cm.Reference))
	v.responses(&o, cm)
	v.put(&o, "version_hash", optional(cm.hash()))
	o = append(o, member{"version", cm.version})
	if v.count {
		o = append(o, member{"attachment_count", len(cm.Targets)})
	}
	if v.whole {
		o = append(o, member{"attachments", v.attachments(cm)})
	}
	if v.properties {
		o = append(o, member{"properties", fromMap(cm.Properties)})
	}
	v.put(&o, "edited_at", when(cm.Edited))
	v.rights(&o, cm, inside)
	o = append(o, member{"created", stamp(cm.Created.Unix())}, member{"updated", stamp(cm.updated.Unix())})
	if v.whole {
		v.put(&o, "deleted", when(cm.Deleted))
	}
	return o
}

// entity is the id of what a comment is on.
func (cm *comment) entity() any {
	if cm.Node != "" {
		return hyphenated(cm.Node)
	}
	return profileID(cm.Profile)
}

// place tells where a comment belongs. The workspace behind a File Share is nothing for its recipients to know.
func (v view) place(o *object, cm *comment) {
	var kind, profile any
	if cm.FileShare == "" || rank(v.st.role(cm.Profile, v.user)) >= rank(Member) {
		kind, profile = optional(v.st.kind(cm.Profile)), optionalProfile(cm.Profile)
	}
	v.put(o, "profile_type", kind)
	v.put(o, "profile_id", profile)
	v.put(o, "scope_id", optionalProfile(cm.FileShare))
}

// responses are the mentions and the reactions.
func (v view) responses(o *object, cm *comment) {
	mentions := []any{}
	for _, user := range cm.mentions {
		mentions = append(mentions, profileID(user))
	}
	*o = append(*o, member{"mentions", mentions}, member{"reactions", cm.tally()})
	v.put(o, "user_reaction", optional(cm.reactions[v.user]))
}

// tally counts the reactions by emoji.
func (cm *comment) tally() object {
	counts := map[string]any{}
	for _, emoji := range cm.reactions {
		n, _ := counts[emoji].(int)
		counts[emoji] = n + 1
	}
	return fromMap(counts)
}

func (v view) rights(o *object, cm *comment, inside bool) {
	alive := inside && !cm.deleted()
	*o = append(
		*o,
		member{"can_edit", alive && cm.User == v.user && v.st.posts(v.user, cm.venue())},
		member{"can_delete", alive && v.st.mayDelete(v.user, cm)},
		member{"can_reply", alive && cm.Parent == "" && v.st.posts(v.user, cm.venue())},
	)
}

// attachments are what a comment refers to. Of what the caller may not see there is no name.
func (v view) attachments(cm *comment) []object {
	rows := make([]object, 0, len(cm.Targets))
	for _, id := range cm.Targets {
		t := v.st.target(id, v.user)
		row := object{{"target_id", t.id}, {"type", t.kind}, {"available", t.available}}
		if t.available {
			row = append(row, member{"name", t.name})
		}
		rows = append(rows, row)
	}
	return rows
}

// target is something a comment can refer to.
type target struct {
	id        any
	kind      string
	name      string
	available bool // to the user in question
}

// target finds what an id refers to; what is gone keeps the kind its id tells.
func (st *state) target(id, userID string) target {
	if !isProfile(id) {
		t := target{id: hyphenated(id), kind: "node"}
		if n := st.nodes[id]; n != nil {
			t.name = n.Name
			t.available = !n.Trashed && st.role(n.Profile, userID) != ""
		}
		return t
	}
	t := target{id: profileID(id), kind: st.kind(id), name: st.profileName(id)}
	t.available = st.role(id, userID) != ""
	if f := st.fileShares[id]; f != nil {
		t.available = st.admits(f, userID)
	}
	return t
}

func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return stamp(t.Unix())
}

func orNull(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}
