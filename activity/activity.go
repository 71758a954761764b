// Package activity tells what about a user, organization, workspace or share
// changed and when, without telling how: the doorbell to everything else.
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
// Activity is a state and no history: a field keeps the time of its latest
// change, so that one poll tells of everything that happened since a moment,
// however much it was.
//
// The platform admits 200 polls a minute and 1000 an hour. Calls wait for room.
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
	c api.Caller

	Dashboard *Dashboard // what of a workspace deserves a look
}

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service { return &Service{c: c, Dashboard: &Dashboard{c}} }

// PollOptions says what to report. Nil asks for everything, at once.
type PollOptions struct {
	Cursor  Cursor        // of the report before; "" starts at the moment of the call
	Wait    time.Duration // how long the server may wait for something to report: whole seconds, 95 at most; 0 answers at once
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
	pollGroup = "activity.poll"
)

// Poll reports what changed about the signed-in user, such as the progress of
// uploads.
//
// More than 30 fields, or names the server does not take, are [api.ErrInvalid].
// A wait ends with the first change, or with an empty report. Each attempt of
// the call may take Wait and Slack, whatever the timeout of the client.
//
// It calls GET /current/activity/poll/.
func (s *Service) Poll(ctx context.Context, o *PollOptions, opts ...api.CallOption) (*Report, error) {
	const op = "activity.Poll"
	q, timeout, err := o.query(op)
	if err != nil {
		return nil, err
	}
	r := endpoint.ActivityPoll(q)
	r.Attempt = timeout
	return call.One[Report](ctx, s.c, r, "", opts)
}

// PollProfile reports what changed about an organization, workspace, share or
// user, or about a File Share if the caller is a member of its workspace.
//
// A profile out of reach is [api.ErrInvalid], as is one that does not exist; a
// share must let its members work together. Otherwise it works like
// [Service.Poll].
//
// It calls GET /current/activity/poll/{profile_id}/.
func (s *Service) PollProfile(ctx context.Context, profile api.Profile, o *PollOptions, opts ...api.CallOption) (*Report, error) {
	const op = "activity.PollProfile"
	if err := profile.OneOf(op, "profile_id"); err != nil {
		return nil, err
	}
	q, timeout, err := o.query(op)
	if err != nil {
		return nil, err
	}
	r := endpoint.ActivityPollProfile(profile.ID, q)
	r.Attempt = timeout
	return call.One[Report](ctx, s.c, r, "", opts)
}

// query checks o and returns it as parameters, with the time an attempt may take.
func (o *PollOptions) query(op string) (url.Values, time.Duration, error) {
	q := url.Values{}
	if o == nil {
		return q, slack, nil
	}
	if o.Slack < 0 {
		return nil, 0, &api.InputError{Op: op, Field: "slack", Rule: "must not be negative", Got: o.Slack.String()}
	}
	if o.Wait < 0 || o.Wait > maxWait || o.Wait%time.Second != 0 {
		return nil, 0, &api.InputError{Op: op, Field: "wait", Rule: "must be 0 to 95 whole seconds", Got: o.Wait.String()}
	}
	fields, err := joinFields(op, o.Fields)
	if err != nil {
		return nil, 0, err
	}
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
	return q, o.Wait + cmp.Or(o.Slack, slack), nil
}

func joinFields(op string, fields []Field) (string, error) {
	if len(fields) > maxFields {
		return "", &api.InputError{Op: op, Field: "fields", Rule: "must be at most 30", Got: strconv.Itoa(len(fields))}
	}
	words := make([]string, len(fields))
	for i, f := range fields {
		if strings.TrimSpace(string(f.Name())) == "" || strings.Contains(string(f), ",") {
			return "", &api.InputError{Op: op, Field: "fields", Rule: "must each have a name and no comma", Got: strconv.Quote(string(f))}
		}
		words[i] = string(f)
	}
	return strings.Join(words, ","), nil
}
