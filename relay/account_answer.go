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
			return // it comes from another program
		}
		if value, err := jsonv2.Marshal(r.answer(request)); err == nil {
			_ = m.Respond(value) // without a response, the request ends after answerTimeout
		}
	})
	if err != nil {
		return nil, fmt.Errorf("fastio: relay: subject %s: %w", subject, err)
	}
	return answers, nil
}

// answer returns the answer to a request: profiles of one account, or summaries of accounts. The
// summaries are taken from a survey of all accounts of the replica. A survey is expensive, so all
// requests in the time surveyAge share one.
func (r *accountReplica) answer(request stateRequest) stateAnswer {
	if request.Account != "" {
		return r.answerProfiles(request)
	}
	latest := r.surveyed.get(r)
	answer := stateAnswer{At: latest.at, Accounts: map[string]accountSummary{}}
	for _, name := range request.Accounts[:min(len(request.Accounts), mostRows)] {
		if summary, ok := latest.accounts[name]; ok {
			answer.Accounts[name] = summary
		}
	}
	return answer
}

// answerProfiles returns a page of the profiles of an account.
func (r *accountReplica) answerProfiles(request stateRequest) stateAnswer {
	r.mu.Lock()
	defer r.mu.Unlock()
	page := stateAnswer{At: time.Now()}
	account := r.accounts[request.Account]
	if account == nil || request.Limit < 1 {
		return page
	}
	keys := account.rows.keys.after(request.After)
	if most := min(request.Limit, mostRows); len(keys) > most {
		keys = keys[:most]
		page.Next = keys[most-1] // After of the next request
	}
	for _, key := range keys {
		row := account.rows.byKey[key]
		reason := row.reason()
		page.Profiles = append(page.Profiles, profileAnswer{
			Profile: row.profile, Followed: row.followed != nil, Age: row.age(page.At).Milliseconds(), Pending: row.pending(),
			Reason: strings.ToValidUTF8(reason[:min(len(reason), maxReason)], ""), // the cut may be inside a character
		})
	}
	return page
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
