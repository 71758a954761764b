// Package activity reports which fields of a user, organization, workspace or
// share changed, and when, but not the change itself.
//
//	for report, err := range client.Activity.Watch(ctx, workspace, nil) {
//		if err != nil {
//			return err
//		}
//		save(report.Cursor) // a later watch continues here
//		for field := range report.Activity {
//			refresh(activity.Field(field))
//		}
//	}
//
// A field keeps only the time of its latest change, so one poll reports all
// changes since a moment.
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
	"github.com/fastio-go/fastio/internal/input"
)

// Service polls activity. It is the Activity field of a fastio.Client, and safe
// for concurrent use.
type Service struct {
	c api.Client

	Dashboard *Dashboard // cards of a workspace
	Intents   *Intents   // what agents work on in a workspace
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	return &Service{c: c, Dashboard: &Dashboard{c}, Intents: &Intents{c}}
}

// PollOptions selects what to report. Nil means everything, without a wait.
type PollOptions struct {
	Cursor  Cursor        // of the previous report; "" means the time of the call
	Wait    time.Duration // how long the server may wait for a change: whole seconds, at most 95
	Slack   time.Duration // time of an attempt beyond Wait; default: 25 s
	Updated bool          // omits fields without a change since Cursor
	Fields  []Field       // only these fields, at most 30: a name, or a name and an ID; nil means all
}

// Report is the result of a poll.
type Report struct {
	Results    int               `json:"results"`      // number of fields in Activity
	Activity   api.Map[api.Time] `json:"activity"`     // when each [Field] last changed, to the microsecond
	Cursor     Cursor            `json:"lastactivity"` // where the next poll starts
	ServerDate string            `json:"server_date"`  // the server's clock, as received; "" if not in the response
}

const (
	maxWait   = 95 * time.Second
	maxFields = 30
	slack     = 25 * time.Second
)

// Poll reports changes of the signed-in user, such as the progress of uploads.
// A wait ends with the first change, or with an empty report. Each attempt may
// take Wait and Slack, whatever the timeout of the client.
//
// Errors: [api.ErrInvalid] for more than 30 fields or names the server rejects.
//
// It calls GET /current/activity/poll/.
func (s *Service) Poll(ctx context.Context, o *PollOptions, opts ...api.CallOption) (*Report, error) {
	return s.poll(ctx, endpoint.ActivityPoll(nil), o, opts)
}

// PollProfile reports changes of an organization, workspace, share or user, or
// of a File Share if the caller is a member of its workspace.
//
// It works like [Service.Poll]. A share must allow its members to collaborate.
// Errors: [api.ErrInvalid] if the profile does not exist, or without access to it.
//
// It calls GET /current/activity/poll/{profile_id}/.
func (s *Service) PollProfile(
	ctx context.Context, profile api.Profile, o *PollOptions, opts ...api.CallOption,
) (*Report, error) {
	if err := profile.OneOf("activity.PollProfile", "profile"); err != nil {
		return nil, err
	}
	return s.poll(ctx, endpoint.ActivityPollProfile(profile.ID, nil), o, opts)
}

// poll calls r with the query of o; nil means no options. The limit of an attempt, in place
// of the default one, is how long the server may wait for a change, plus the slack of o.
func (s *Service) poll(ctx context.Context, r *api.Request, o *PollOptions, opts []api.CallOption) (*Report, error) {
	if o == nil {
		o = new(PollOptions)
	}
	q, err := o.query(r.Op)
	if err != nil {
		return nil, err
	}
	r.Query, r.Attempt = q, o.Wait+cmp.Or(o.Slack, slack)
	return call.Payload[Report](ctx, s.c, r, opts)
}

// query checks the options and returns those that are sent, as query parameters. Slack
// only limits the time of an attempt.
func (o *PollOptions) query(op string) (url.Values, error) {
	args := input.Fields[PollOptions](op)
	if o.Slack < 0 {
		return nil, args.Refuse("Slack", "must not be negative", o.Slack.String())
	}
	if o.Wait < 0 || o.Wait > maxWait || o.Wait%time.Second != 0 {
		return nil, args.Refuse("wait", "must be 0 to 95 whole seconds", o.Wait.String())
	}
	fields, err := joinFields(args, o.Fields)
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

// joinFields checks the fields and returns them separated by commas.
func joinFields(args input.Args, fields []Field) (string, error) {
	if len(fields) > maxFields {
		return "", args.Refuse("fields", "must be at most 30", strconv.Itoa(len(fields)))
	}
	words := make([]string, len(fields))
	for i, f := range fields {
		if strings.TrimSpace(string(f.Name())) == "" || strings.Contains(string(f), ",") {
			const rule = "must each have a name and no comma"
			return "", args.Refuse("fields", rule, strconv.Quote(string(f)))
		}
		words[i] = string(f)
	}
	return strings.Join(words, ","), nil
}

// Field is a part of a profile that changes: a name, such as "members", or a
// name and an ID, such as "storage:2abc". Unknown values are kept.
type Field string

// Name is the kind of a [Field].
type Name string

// Names of fields. Most are followed by the ID of the changed object.
const (
	NameStorage   Name = "storage"   // of a file or folder: added, updated or removed
	NamePreview   Name = "preview"   // of a file: a preview is ready
	NameAIState   Name = "ai_state"  // of a file: the state of its indexing
	NameAIThread  Name = "ai_chat"   // of a thread of the agent: a turn was added or updated
	NameComments  Name = "comments"  // of a file or folder: a comment was added or updated
	NameMember    Name = "member"    // of a user: the membership changed
	NameMembers   Name = "members"   // without an ID
	NameSettings  Name = "settings"  // without an ID
	NameUpload    Name = "upload"    // of an upload; reported for its user
	NameCloudSync Name = "cloudsync" // without an ID
)

// FieldOf returns the field of a name and an ID; "" means without an ID.
func FieldOf(name Name, id string) Field {
	if id == "" {
		return Field(name)
	}
	return Field(string(name) + ":" + id)
}

// Name returns the part before the first colon.
func (f Field) Name() Name {
	name, _, _ := strings.Cut(string(f), ":")
	return Name(name)
}

// ID returns the part after the first colon: an [api.OpaqueID], for
// [NameMember] an [api.ID]. It is "" for a field without an ID.
func (f Field) ID() string {
	_, id, _ := strings.Cut(string(f), ":")
	return id
}

// Plain returns the field with the hyphens of its ID removed, for comparisons.
// Fields with an unknown name are unchanged.
func (f Field) Plain() Field {
	switch name := f.Name(); name {
	case NameStorage, NamePreview, NameAIState, NameAIThread, NameComments, NameMember, NameUpload:
		return FieldOf(name, api.OpaqueID(f.ID()).Plain())
	default:
		return f
	}
}

// Cursor is a time in a profile's activity, as the server wrote it.
type Cursor string

// Time returns the time of the cursor, zero if it cannot be parsed.
func (c Cursor) Time() time.Time {
	t, err := api.ParseTime(string(c))
	if err != nil {
		return time.Time{}
	}
	return t.Time
}

// Back returns a cursor that is d earlier, to find changes that became visible
// late. It returns c if its time cannot be parsed.
func (c Cursor) Back(d time.Duration) Cursor {
	t := c.Time()
	if t.IsZero() {
		return c
	}
	return CursorAt(t.Add(-d))
}

// Until returns the earlier of c and the cursor of latest. It limits a cursor that may be in
// the future: a poll from such a cursor reports no change before that time has come.
func (c Cursor) Until(latest time.Time) Cursor {
	if !c.Time().After(latest) {
		return c
	}
	return CursorAt(latest)
}

// Later returns the later of two cursors. A cursor that cannot be parsed is the
// earlier one.
func (c Cursor) Later(next Cursor) Cursor {
	if next == "" || next.Time().Before(c.Time()) { // the zero time of an unreadable cursor is before any other
		return c
	}
	return next
}

// CursorAt returns the cursor of a time by the server's clock.
func CursorAt(t time.Time) Cursor {
	return Cursor(t.UTC().Format("2006-01-02 15:04:05.000000 UTC"))
}
