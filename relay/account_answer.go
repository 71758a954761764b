package relay

import (
	"context"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"github.com/fastio-go/fastio/api"
)

// Replicas answer requests for what only the replica that follows an account knows: nothing is
// written for it. The subject of a replica is that of its Stream and its name.

const (
	answerTimeout = time.Second
	mostRows      = 200 // of a page
	maxReason     = 512 // bytes of the text of an error in an answer
)

// stateSubject returns the subject of the requests to a replica.
func (s Stream) stateSubject(replica string) string { return s.Prefix + "-state." + token(replica) }

// stateRequest asks for a summary of each of some accounts, or for profiles of one.
type stateRequest struct {
	Accounts []string `json:"accounts,omitempty"`

	Account string `json:"account,omitzero"`
	After   string `json:"after,omitzero"` // key of the profile before
	Limit   int    `json:"limit,omitzero"`
}

// stateAnswer is the answer. Accounts that the replica does not follow are left out.
type stateAnswer struct {
	At       time.Time                 `json:"at"`
	Accounts map[string]accountSummary `json:"accounts,omitempty"`
	Profiles []profileAnswer           `json:"profiles,omitempty"`
	Next     string                    `json:"next,omitzero"`
}

// profileAnswer is the state of a profile.
type profileAnswer struct {
	Profile  api.Profile `json:"profile"`
	Followed bool        `json:"followed"`
	Age      int64       `json:"age"` // in milliseconds
	Pending  int         `json:"pending"`
	Reason   string      `json:"reason,omitzero"`
}

// answerStates answers requests until the subscription ends.
func (r *accountReplica) answerStates() (*nats.Subscription, error) {
	subject := r.stream.stateSubject(r.name)
	answers, err := r.stream.JetStream.Conn().Subscribe(subject, func(m *nats.Msg) {
		var request stateRequest
		if jsonv2.Unmarshal(m.Data, &request) != nil {
			return // of another program
		}
		if value, err := jsonv2.Marshal(r.answer(request)); err == nil {
			_ = m.Respond(value) // who has asked waits no longer than answerTimeout
		}
	})
	if err != nil {
		return nil, fmt.Errorf("fastio: relay: subject %s: %w", subject, err)
	}
	return answers, nil
}

// answer returns the answer to a request. What it costs does not depend on the number of
// accounts, apart from one survey in the time surveyAge.
func (r *accountReplica) answer(q stateRequest) stateAnswer {
	if q.Account != "" {
		return r.answerProfiles(q)
	}
	s := r.surveyed.get(r)
	a := stateAnswer{At: s.at, Accounts: map[string]accountSummary{}}
	for _, name := range q.Accounts[:min(len(q.Accounts), mostRows)] {
		if sum, ok := s.accounts[name]; ok {
			a.Accounts[name] = sum
		}
	}
	return a
}

// answerProfiles returns a page of the profiles of an account.
func (r *accountReplica) answerProfiles(q stateRequest) stateAnswer {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := stateAnswer{At: time.Now()}
	account := r.accounts[q.Account]
	if account == nil || q.Limit < 1 {
		return a
	}
	keys := account.rows.keys.after(q.After)
	if most := min(q.Limit, mostRows); len(keys) > most {
		keys = keys[:most]
		a.Next = keys[most-1]
	}
	for _, key := range keys {
		row := account.rows.byKey[key]
		reason := row.err()
		a.Profiles = append(a.Profiles, profileAnswer{
			Profile: row.profile, Followed: row.f != nil, Age: row.age(a.At).Milliseconds(), Pending: row.pending(),
			Reason: strings.ToValidUTF8(reason[:min(len(reason), maxReason)], ""),
		})
	}
	return a
}

// ask sends a request to a replica, and returns its answer.
func (s Stream) ask(ctx context.Context, replica string, q stateRequest) (a stateAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	value, err := jsonv2.Marshal(q)
	if err != nil {
		return a, err
	}
	reply, err := s.JetStream.Conn().RequestWithContext(ctx, s.stateSubject(replica), value)
	if err == nil {
		err = jsonv2.Unmarshal(reply.Data, &a)
	}
	if err != nil {
		return a, fmt.Errorf("fastio: relay: replica %s does not answer: %w", replica, err)
	}
	return a, nil
}
