package emulator

import (
	"encoding/json"
	"time"
)

type seedShare struct {
	ID          string `json:"id"`
	OrgID       string `json:"org_id"`
	WorkspaceID string `json:"workspace_id"`
	Title       string `json:"title"`
	CustomName  string `json:"custom_name"`
	Description string `json:"description"`
	CustomURL   string `json:"custom_url"`
	Creator     string `json:"creator"`

	Type           string    `json:"share_type"`
	FolderID       string    `json:"folder_id"`
	LinkID         string    `json:"link_id"`
	Access         string    `json:"access"`
	Password       string    `json:"password"`
	Invite         string    `json:"invite"`
	Notify         string    `json:"notify"`
	Expires        time.Time `json:"expires"`
	NoIntelligence bool      `json:"no_intelligence"`

	ExternalInvites  string `json:"external_invites"`
	DownloadSecurity string `json:"download_security"`
	AnonymousUploads bool   `json:"anonymous_uploads"`
	Archived         bool   `json:"archived"`
	Locked           bool   `json:"locked"`
	Suspended        bool   `json:"suspended"`

	DisplayType      string          `json:"display_type"`
	WorkspaceStyle   string          `json:"workspace_style"`
	AccentColor      json.RawMessage `json:"accent_color"`
	BackgroundColor1 json.RawMessage `json:"background_color1"`
	BackgroundColor2 json.RawMessage `json:"background_color2"`
	BackgroundImage  int             `json:"background_image"`
	Link1            json.RawMessage `json:"link_1"`
	Link2            json.RawMessage `json:"link_2"`
	Link3            json.RawMessage `json:"link_3"`
	OwnerDefined     json.RawMessage `json:"owner_defined"`

	NoMultiplayer     bool `json:"no_multiplayer"`
	NoComments        bool `json:"no_comments"`
	HideTeamComments  bool `json:"hide_team_comments"`
	HideGuestComments bool `json:"hide_guest_comments"`
	NoSummaries       bool `json:"no_summaries"`
	NoGuestChat       bool `json:"no_guest_chat"`
	NoGuestDownloads  bool `json:"no_guest_downloads"`
	RestrictGuests    bool `json:"restrict_guests"`
}

// share is what [Server.AddShare] takes; the nodes it stands for come later in the file.
func (h *seedShare) share(l *loader) Share {
	return Share{
		ID: l.given(h.ID), OrgID: l.ref(h.OrgID), WorkspaceID: l.ref(h.WorkspaceID), Title: h.Title,
		CustomName: h.CustomName, Description: h.Description, CustomURL: h.CustomURL, Creator: l.ref(h.Creator),
		Type: h.Type, Access: h.Access, Password: h.Password, Invite: h.Invite,
		Notify: h.Notify, Expires: h.Expires, NoIntelligence: h.NoIntelligence,
		ExternalInvites: h.ExternalInvites, DownloadSecurity: h.DownloadSecurity, AnonymousUploads: h.AnonymousUploads, Archived: h.Archived,
		Locked: h.Locked, Suspended: h.Suspended,
		DisplayType: h.DisplayType, WorkspaceStyle: h.WorkspaceStyle, AccentColor: string(h.AccentColor), BackgroundColor1: string(h.BackgroundColor1),
		BackgroundColor2: string(h.BackgroundColor2), BackgroundImage: h.BackgroundImage, Link1: string(h.Link1), Link2: string(h.Link2),
		Link3: string(h.Link3), OwnerDefined: string(h.OwnerDefined),
		NoMultiplayer: h.NoMultiplayer, NoComments: h.NoComments, HideTeamComments: h.HideTeamComments, HideGuestComments: h.HideGuestComments,
		NoSummaries: h.NoSummaries, NoGuestChat: h.NoGuestChat, NoGuestDownloads: h.NoGuestDownloads, RestrictGuests: h.RestrictGuests,
	}
}

type seedQuickShare struct {
	ID            string    `json:"id"`
	NodeID        string    `json:"node_id"`
	Creator       string    `json:"creator"`
	Created       time.Time `json:"created"`
	Expires       time.Time `json:"expires"`
	Transferred   int64     `json:"transferred"`
	Previewed     int64     `json:"previewed"`
	LimitExceeded bool      `json:"limit_exceeded"`
}

func (l *loader) quickShares(f *seedFile) {
	for _, q := range f.QuickShares {
		l.name(q.ID, l.s.AddQuickShare(QuickShare{
			ID: l.givenObject(q.ID), NodeID: l.object(q.NodeID), Creator: l.ref(q.Creator), Created: q.Created, Expires: q.Expires,
			Transferred: q.Transferred, Previewed: q.Previewed, LimitExceeded: q.LimitExceeded,
		}).ID)
	}
}
