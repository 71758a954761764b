// Package ai talks to the agent of a workspace or share: questions and answers
// with citations, and what the agent makes of files and notes.
//
// A conversation is a thread of turns, each a question and its answer. [Service.Ask]
// takes one step of it:
//
//	turn, err := client.AI.Ask(ctx, api.Workspace(id), ai.Question{Text: "Which lease ends first?"}, nil)
//
// The methods of [Threads] and [Turns] are the calls it is made of.
package ai

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
)

// Client is what a [Service] sends through: a fastio.Client.
type Client interface {
	api.Caller
	api.Opener
}

// Service talks to the agents of workspaces and shares. Get one from the AI field
// of a fastio.Client. It is safe for concurrent use.
type Service struct {
	Threads      *Threads      // conversations
	Turns        *Turns        // their questions and answers
	Notes        *Notes        // what a workspace is to remember, as markdown
	Files        *Files        // files in a form that an AI outside of the platform can read
	Shares       *Shares       // what the platform's AI makes of a share itself
	Transactions *Transactions // what was spent
}

// New returns a Service that sends its requests through c.
func New(c Client) *Service {
	return &Service{
		Threads: &Threads{c}, Turns: &Turns{c, activity.New(c)}, Notes: &Notes{c}, Files: &Files{c}, Shares: &Shares{c}, Transactions: &Transactions{c},
	}
}

// route fills the path of the scope that is given: chats belong to a workspace or
// to a share, and each has paths of its own.
func route(op string, scope api.Profile, workspace, share string, segments ...string) (api.Route, error) {
	if err := scope.OneOf(op, "scope", api.ProfileKindWorkspace, api.ProfileKindShare); err != nil {
		return api.Route{}, err
	}
	template := workspace
	if scope.Kind == api.ProfileKindShare {
		template = share
	}
	return api.Path(template, append([]string{string(scope.ID)}, segments...)...), nil
}

// get is a request that asks for something and changes nothing.
func get(op string, path api.Route) *api.Request {
	return &api.Request{Op: op, Method: http.MethodGet, Path: path, Replay: api.ReplaySafe}
}

// characters refuses a text that is not UTF-8, or not of so many characters. Blanks
// alone are none.
func characters(op, field, text string, least, most int, rule string) error {
	n := utf8.RuneCountInString(text)
	if n <= most && strings.TrimSpace(text) == "" {
		n = 0
	}
	switch {
	case !utf8.ValidString(text):
		return &api.InputError{Op: op, Field: field, Rule: "must be UTF-8"}
	case n < least || n > most:
		return &api.InputError{Op: op, Field: field, Rule: rule, Got: count(n, "character")}
	}
	return nil
}
