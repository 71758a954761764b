// Package activity reports what about a user, organization, workspace or share
// changed and when, but not how.
//
//	for report, err := range client.Activity.Watch(ctx, api.Workspace(id), nil) {
//		if err != nil {
//			return err
//		}
//		for field := range report.Activity {
//			refresh(activity.Field(field))
//		}
//	}
//
// A field keeps the time of its latest change only, so that one poll reports
// everything that changed since a moment.
//
// The rate limit is 200 polls a minute and 1000 an hour. Calls wait for it.
package activity

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Service polls activity. Get one from the Activity field of a fastio.Client. It
// is safe for concurrent use.
type Service struct {
	c api.Client

	Dashboard *Dashboard // cards about a workspace
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service { return &Service{c: c, Dashboard: &Dashboard{c}} }

// PollOptions says what to report. Nil asks for everything, at once.
type PollOptions struct {
	Cursor  Cursor        // of the report before; "" starts at the moment of the call
	Wait    time.Duration // how long the server may wait for a change: whole seconds, 95 at most
	Slack   time.Duration // how long an attempt may take beyond Wait; default 25 s
	Updated bool          // leaves out what has not changed since Cursor
	Fields  []Field       // the only ones to report, 30 at most: a name, or a name and an ID; none reports all
}

// Report is what a poll found.
type Report struct {
	Results    int               `json:"results"`      // fields in Activity
	Activity   api.Map[api.Time] `json:"activity"`     // when each [Field] changed last, to the microsecond
	Cursor     Cursor            `json:"lastactivity"` // where the next poll goes on
	ServerDate string            `json:"server_date"`  // the server's clock, as it wrote it; "" unless it did
}

const (
	maxWait   = 95 * time.Second
	maxFields = 30
	slack     = 25 * time.Second
)

// Poll reports what changed about the signed-in user, such as the progress of
// uploads. A wait ends with the first change, or with an empty report. Each attempt
// may take Wait and Slack, whatever the timeout of the client.
//
// Errors: [api.ErrInvalid] for more than 30 fields or names the server rejects.
//
// It calls GET /current/activity/poll/.
func (s *Service) Poll(ctx context.Context, o *PollOptions, opts ...api.CallOption) (*Report, error) {
	return s.poll(ctx, endpoint.ActivityPoll(nil), o, opts)
}

// PollProfile reports what changed about an organization, workspace, share or
// user, or about a File Share if the caller is a member of its workspace.
//
// A profile out of reach is [api.ErrInvalid], as is one that does not exist; a
// share must let its members work together. It works like [Service.Poll].
//
// It calls GET /current/activity/poll/{profile_id}/.
func (s *Service) PollProfile(
	ctx context.Context, profile api.Profile, o *PollOptions, opts ...api.CallOption,
) (*Report, error) {
	if err := profile.OneOf("activity.PollProfile", "profile_id"); err != nil {
		return nil, err
	}
	return s.poll(ctx, endpoint.ActivityPollProfile(profile.ID, nil), o, opts)
}

func (s *Service) poll(ctx context.Context, r *api.Request, o *PollOptions, opts []api.CallOption) (*Report, error) {
	if o == nil {
		o = new(PollOptions)
	}
	q, err := o.query(r.Op)
	if err != nil {
		return nil, err
	}
	r.Query, r.Attempt = q, o.Wait+cmp.Or(o.Slack, slack)
	return call.One[Report](ctx, s.c, r, "", opts)
}

func (o *PollOptions) query(op string) (url.Values, error) {
	if o.Slack < 0 {
		return nil, &api.InputError{Op: op, Field: "slack", Rule: "must not be negative", Got: o.Slack.String()}
	}
	if o.Wait < 0 || o.Wait > maxWait || o.Wait%time.Second != 0 {
		return nil, &api.InputError{Op: op, Field: "wait", Rule: "must be 0 to 95 whole seconds", Got: o.Wait.String()}
	}
	fields, err := joinFields(op, o.Fields)
	if err != nil {
		return nil, err
	}
	q := url.Values{}
	for name, value := range map[string]string{"lastactivity": string(o.Cursor), "fields": fields} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if o.Wait > 0 {
		q.Set("wait", strconv.Itoa(int(o.Wait/time.Second)))
	}
	if o.Updated {
		q.Set("updated", "1")
	}
	return q, nil
}

func joinFields(op string, fields []Field) (string, error) {
	if len(fields) > maxFields {
		return "", &api.InputError{Op: op, Field: "fields", Rule: "must be at most 30", Got: strconv.Itoa(len(fields))}
	}
	words := make([]string, len(fields))
	for i, f := range fields {
		if strings.TrimSpace(string(f.Name())) == "" || strings.Contains(string(f), ",") {
			const rule = "must each have a name and no comma"
			return "", &api.InputError{Op: op, Field: "fields", Rule: rule, Got: strconv.Quote(string(f))}
		}
		words[i] = string(f)
	}
	return strings.Join(words, ","), nil
}

// Field is something about a profile that changes: a name, such as "members", or
// a name and an ID, such as "storage:2abc". Unknown ones pass through.
type Field string

// Name says what kind of thing a [Field] is about.
type Name string

// Names of fields. Most stand before the ID of what changed; some stand alone.
const (
	NameStorage   Name = "storage"   // of a file or folder: added, updated or removed
	NamePreview   Name = "preview"   // of a file: a preview is ready
	NameAIState   Name = "ai_state"  // of a file: the state of its indexing
	NameAIChat    Name = "ai_chat"   // of a chat: a message was added or updated
	NameComments  Name = "comments"  // of a file or folder: a comment was added or updated
	NameMember    Name = "member"    // of a user: the membership changed
	NameMembers   Name = "members"   // alone
	NameSettings  Name = "settings"  // alone
	NameUpload    Name = "upload"    // of an upload, on the channel of its user
	NameCloudSync Name = "cloudsync" // alone
)

// FieldOf returns the field of a name and an ID; "" for a name that stands alone.
func FieldOf(name Name, id string) Field {
	if id == "" {
		return Field(name)
	}
	return Field(string(name) + ":" + id)
}

// Name returns what stands before the first colon.
func (f Field) Name() Name {
	name, _, _ := strings.Cut(string(f), ":")
	return Name(name)
}

// ID returns what stands behind the first colon: an [api.OpaqueID], for
// [NameMember] an [api.ID]. It is "" for a name that stands alone.
func (f Field) ID() string {
	_, id, _ := strings.Cut(string(f), ":")
	return id
}

// Plain returns the field in one spelling, to compare it by: an ID may be written
// with hyphens or without. Fields with an unknown name stay as they are.
func (f Field) Plain() Field {
	switch name := f.Name(); name {
	case NameStorage, NamePreview, NameAIState, NameAIChat, NameComments, NameMember, NameUpload:
		return FieldOf(name, api.OpaqueID(f.ID()).Plain())
	default:
		return f
	}
}

// Cursor is a moment of a profile's activity, as the server wrote it.
type Cursor string

// Time returns the moment; the zero time if it cannot be read.
func (c Cursor) Time() time.Time {
	t, err := api.ParseTime(string(c))
	if err != nil {
		return time.Time{}
	}
	return t.Time
}

// Back returns a cursor that is d earlier, to find what became visible late; c
// itself if its moment cannot be read.
func (c Cursor) Back(d time.Duration) Cursor {
	t := c.Time()
	if t.IsZero() {
		return c
	}
	return cursorAt(t.Add(-d))
}

// Until returns the earlier of c and the cursor of a moment. A poll that goes on
// from a cursor in the future reports nothing until then.
func (c Cursor) Until(latest time.Time) Cursor {
	if !c.Time().After(latest) {
		return c
	}
	return cursorAt(latest)
}

// Later returns the later of two cursors: c if next is missing, or unreadable
// where c is not, and next if only c is.
func (c Cursor) Later(next Cursor) Cursor {
	at, to := c.Time(), next.Time()
	if next == "" || !at.IsZero() && (to.IsZero() || at.After(to)) {
		return c
	}
	return next
}

// cursorAt writes a moment as the platform does: with all six digits.
func cursorAt(t time.Time) Cursor {
	return Cursor(t.UTC().Format("2006-01-02 15:04:05.000000 UTC"))
}
