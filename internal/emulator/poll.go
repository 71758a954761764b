package emulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	opPoll        = "activity.Poll"
	opPollProfile = "activity.PollProfile"

	pollWait   = 95 // seconds
	pollFields = 30
)

const (
	codePollAccess = 199302
)

// poll is a poll with every parameter read.
type poll struct {
	profile   string
	wait      time.Duration
	since     int64 // microseconds, 0 is the moment the poll begins
	updated   bool
	fields    []string
	inclusive bool
}

// wants tells whether a field is one of those asked for: by its key, or by the name before the id.
func (q *poll) wants(field string) bool {
	name, _, _ := strings.Cut(field, ":")
	return len(q.fields) == 0 || slices.Contains(q.fields, field) || slices.Contains(q.fields, name)
}

// pollSelf answers with the activity of the caller.
func (s *Server) pollSelf(c *call) answer { return s.poll(c, c.key.User) }

// pollProfile answers with the activity of a profile.
func (s *Server) pollProfile(c *call) answer {
	s.mu.RLock()
	id := s.profileOfPath(c)
	s.mu.RUnlock()
	return s.poll(c, id)
}

func (s *Server) poll(c *call, profileID string) answer {
	q := s.parsePoll(c)
	q.profile = profileID
	if refusal := c.check.refusal(); refusal != nil {
		refusal.failure.status = http.StatusBadRequest
		return *refusal
	}
	return s.hold(c, &q)
}

func (s *Server) parsePoll(c *call) poll {
	q := poll{
		wait:      time.Duration(c.integer("wait", 0, 0, pollWait)) * time.Second,
		updated:   c.value("updated") != "",
		inclusive: s.o.Activity.InclusivePolls,
	}
	if since := c.moment("lastactivity"); !since.IsZero() {
		q.since = since.UnixMicro()
	}
	if names := c.value("fields"); names != "" {
		for name := range strings.SplitSeq(names, ",") {
			if !isField(name) {
				c.check.invalid("fields", "Not the name of a field: name or name:id.")
				break
			}
			name, id, _ := strings.Cut(name, ":")
			q.fields = append(q.fields, strings.TrimSuffix(keyed(name, id), ":"))
		}
	}
	if len(q.fields) > pollFields {
		c.check.invalid("fields", "At most 30.")
	}
	return q
}

// isField tells whether s is name or name:id.
func isField(s string) bool {
	name, id, qualified := strings.Cut(s, ":")
	isName := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == ""
	return isName && (!qualified || isOpaque(plain(id)) || isProfile(id))
}

// hold answers at once when there is something to tell, and otherwise when there is or the wait is over. It never
// waits with the lock in hand.
func (s *Server) hold(c *call, q *poll) answer {
	wait, cut := q.wait, false
	if s.o.Activity.PollCut > 0 && s.o.Activity.PollCut < wait {
		wait, cut = s.o.Activity.PollCut, true
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	for over := q.wait == 0; ; {
		a, change, cutNow := s.pollOnce(c, q, over)
		if change == nil {
			return a
		}
		select {
		case <-change:
		case <-cutNow:
			return s.cutPoll()
		case <-end.C:
			if cut {
				return s.cutPoll()
			}
			over = true
		case <-c.r.Context().Done():
			panic(http.ErrAbortHandler) // nobody is there to answer
		}
	}
}

// pollOnce returns the answer of a poll, or the channels that end its wait when there is nothing to tell yet. The
// caller's rights are looked at every time: they can end while a poll is held.
func (s *Server) pollOnce(c *call, q *poll, over bool) (a answer, change, cut <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	if !st.mayPoll(c.key, q.profile) {
		return refuse(http.StatusBadRequest, codePollAccess, "You may not see the activity of this profile."), nil, nil
	}
	c.now = s.now()
	if q.since == 0 {
		q.since = st.activity.tick(c.now)
	}
	rows, latest := st.activity.changed(q.profile, q)
	if latest == 0 {
		if !over {
			return answer{}, st.activity.next(q.profile), st.activity.cut
		}
		latest = st.activity.tick(c.now)
	}
	return ok(
		member{"results", len(rows)},
		member{"activity", rows},
		member{"lastactivity", microStamp(latest)},
	), nil, nil
}

// CutPolls ends every poll that is held now, as a proxy does that takes its time to be over: see [Options].PollCutReset.
func (s *Server) CutPolls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.state.activity.cut)
	s.state.activity.cut = make(chan struct{})
}

// mayPoll tells whether a credential may see the activity of a profile. Those a File Share was given to have no feed.
func (st *state) mayPoll(k *credential, profileID string) bool {
	role := st.role(profileID, k.User)
	if st.covers(k, profileID) < read {
		return false
	}
	switch st.kind(profileID) {
	case kindShare:
		return role != "" && !st.shares[profileID].it.NoMultiplayer && !st.shutOut(profileID, k.User)
	case kindFileShare:
		return rank(role) >= rank(Member)
	}
	return role != ""
}

// cutPoll is what a proxy makes of a hold that takes too long.
func (s *Server) cutPoll() answer {
	if s.o.Activity.PollCutReset {
		panic(http.ErrAbortHandler)
	}
	page := reply{status: http.StatusGatewayTimeout, header: http.Header{}}
	page.header.Set("Content-Type", "text/html; charset=UTF-8")
	page.body = []byte("<html><head><title>504 Gateway Time-out</title></head></html>\n")
	return answer{raw: &page}
}

func pollParams(path ...string) []parameter {
	var params []parameter
	for _, name := range path {
		params = append(params, parameter{name: name, source: "path", kind: "profile_id", constraint: "organization, workspace, share, own user", required: true})
	}
	return append(params,
		parameter{name: "wait", source: "query", kind: "integer", constraint: "0 to 95 seconds, default 0"},
		parameter{name: "lastactivity", source: "query", kind: "datetime", constraint: "the previous lastactivity, default now"},
		parameter{name: "updated", source: "query", kind: "any", constraint: "any value: only what changed since lastactivity"},
		parameter{name: "fields", source: "query", kind: "string", constraint: "at most 30, name or name:id"},
	)
}
