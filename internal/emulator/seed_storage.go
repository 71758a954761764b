package emulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

type seedNode struct {
	ID        string    `json:"id"`
	ProfileID string    `json:"profile_id"`
	ParentID  string    `json:"parent_id"`
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Creator   string    `json:"creator"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Trashed   bool      `json:"trashed"`
	Withheld  string    `json:"withheld"`

	MimeType string        `json:"mime_type"`
	Content  string        `json:"content"`
	Size     int64         `json:"size"`
	Versions []seedVersion `json:"versions"`
	Summary  string        `json:"summary"`
	AIState  string        `json:"ai_state"`
}

type seedVersion struct {
	ID      string    `json:"id"`
	Content string    `json:"content"`
	Size    int64     `json:"size"`
	Creator string    `json:"creator"`
	Created time.Time `json:"created"`
}

type seedField struct {
	WorkspaceID string    `json:"workspace_id"`
	Name        string    `json:"name"`
	Type        string    `json:"declared_type"`
	Origin      string    `json:"origin"`
	MergedInto  string    `json:"merged_into"`
	Created     time.Time `json:"created"`
}

type seedFact struct {
	NodeID     string    `json:"node_id"`
	Field      string    `json:"field"`
	Value      any       `json:"value"`
	Source     string    `json:"source"`
	Confidence string    `json:"confidence"`
	Rationale  string    `json:"rationale"`
	Updated    time.Time `json:"updated"`
}

type seedFileShare struct {
	ID              string      `json:"id"`
	IDAlt           string      `json:"id_alt"`
	WorkspaceID     string      `json:"workspace_id"`
	NodeID          string      `json:"node_id"`
	Owner           string      `json:"owner"`
	Title           string      `json:"title"`
	Access          string      `json:"access"`
	Grants          []seedGrant `json:"grants"`
	CommentsEnabled bool        `json:"comments_enabled"`
	Password        string      `json:"password"`
	Expires         time.Time   `json:"expires"`
	Created         time.Time   `json:"created"`
	Updated         time.Time   `json:"updated"`
}

// seedGrant is a grant. The label of a user alone will do.
type seedGrant struct {
	UserID     string    `json:"user_id"`
	Email      string    `json:"email"`
	Capability string    `json:"capability"`
	Created    time.Time `json:"created"`
	Expires    time.Time `json:"expires"`
}

func (g *seedGrant) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &g.UserID) == nil {
		return nil
	}
	type grant seedGrant
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode((*grant)(g))
}

type seedComment struct {
	ID                    string         `json:"id"`
	ProfileID             string         `json:"profile_id"`
	FileShareID           string         `json:"file_share_id"`
	NodeID                string         `json:"node_id"`
	UserID                string         `json:"user_id"`
	ParentID              string         `json:"parent_id"`
	Body                  string         `json:"body"`
	Reference             map[string]any `json:"reference"`
	Properties            map[string]any `json:"properties"`
	Targets               []string       `json:"targets"`
	Unattributed          bool           `json:"unattributed"`
	LinkedEntityType      string         `json:"linked_entity_type"`
	LinkedEntityID        string         `json:"linked_entity_id"`
	ExternalAuthorEmail   string         `json:"external_author_email"`
	ExternalAuthorName    string         `json:"external_author_name"`
	ExternalAuthorTokenID string         `json:"external_author_token_id"`
	Created               time.Time      `json:"created"`
	Edited                time.Time      `json:"edited"`
	Deleted               time.Time      `json:"deleted"`
}

// givenObject is the id to create an object with: its own, or "" for one that has a label.
func (l *loader) givenObject(id string) string {
	if isOpaque(plain(id)) {
		return id
	}
	return ""
}

// object resolves a reference to an object or a profile.
func (l *loader) object(label string) string {
	id, found := l.labels[label]
	switch {
	case found:
		return id
	case label != "" && !isProfile(label) && !isOpaque(plain(label)) && l.err == nil:
		l.err = fmt.Errorf("emulator: the seed file names %q before it is defined", label)
	}
	return label
}

func (l *loader) storage(f *seedFile) {
	for _, n := range f.Nodes {
		var versions []Version
		for _, v := range n.Versions {
			versions = append(versions, Version{ID: v.ID, Content: v.Content, Size: v.Size, Creator: l.ref(v.Creator), Created: v.Created})
		}
		l.name(n.ID, l.s.AddNode(Node{
			ID: l.givenObject(n.ID), ProfileID: l.ref(n.ProfileID), ParentID: l.object(n.ParentID), Kind: n.Kind, Name: n.Name,
			Creator: l.ref(n.Creator), Created: n.Created, Updated: n.Updated, Trashed: n.Trashed, Withheld: n.Withheld,
			MimeType: n.MimeType, Content: n.Content, Size: n.Size, Versions: versions, Summary: n.Summary, AIState: n.AIState,
		}).ID)
	}
	for i, h := range f.Shares {
		l.s.showFolder(l.shares[i], l.object(h.FolderID), l.object(h.LinkID))
	}
	for _, h := range f.FileShares {
		var grants []Grant
		for _, g := range h.Grants {
			grants = append(grants, Grant{UserID: l.ref(g.UserID), Email: g.Email, Capability: g.Capability, Created: g.Created, Expires: g.Expires})
		}
		l.name(h.ID, l.s.AddFileShare(FileShare{
			ID: l.given(h.ID), IDAlt: h.IDAlt, WorkspaceID: l.ref(h.WorkspaceID), NodeID: l.object(h.NodeID),
			Owner: l.ref(h.Owner), Title: h.Title, Access: h.Access, Grants: grants,
			CommentsEnabled: h.CommentsEnabled, Password: h.Password, Expires: h.Expires, Created: h.Created, Updated: h.Updated,
		}).ID)
	}
}

func (l *loader) comments(f *seedFile) {
	for _, m := range f.Comments {
		var targets []string
		for _, target := range m.Targets {
			targets = append(targets, l.object(target))
		}
		l.name(m.ID, l.s.AddComment(Comment{
			ID: l.givenObject(m.ID), ProfileID: l.ref(m.ProfileID), FileShareID: l.ref(m.FileShareID),
			NodeID: l.object(m.NodeID), UserID: l.ref(m.UserID), ParentID: l.object(m.ParentID), Body: m.Body,
			Reference: m.Reference, Properties: m.Properties, Targets: targets, Unattributed: m.Unattributed,
			LinkedEntityType: m.LinkedEntityType, LinkedEntityID: m.LinkedEntityID,
			ExternalAuthorEmail: m.ExternalAuthorEmail, ExternalAuthorName: m.ExternalAuthorName,
			ExternalAuthorTokenID: m.ExternalAuthorTokenID,
			Created:               m.Created, Edited: m.Edited, Deleted: m.Deleted,
		}).ID)
	}
}

func (l *loader) metadata(f *seedFile) {
	for _, d := range f.Fields {
		l.s.AddField(Field{
			WorkspaceID: l.ref(d.WorkspaceID), Name: d.Name, Type: d.Type, Origin: d.Origin, MergedInto: d.MergedInto, Created: d.Created,
		})
	}
	for _, d := range f.Facts {
		err := l.s.AddFact(Fact{
			NodeID: l.object(d.NodeID), Field: d.Field, Value: d.Value, Source: d.Source,
			Confidence: d.Confidence, Rationale: d.Rationale, Updated: d.Updated,
		})
		if err != nil && l.err == nil {
			l.err = err
		}
	}
}
