// Package emulator is the platform in memory: organizations, workspaces, keys, an event log and the rules around them,
// behind an [http.Handler]. It knows nothing of the client; its wire forms come from the published API alone, so a
// client that misreads the API fails against it.
//
//	s := emulator.New(emulator.Options{})
//	ada := s.AddUser(emulator.User{FirstName: "Ada"})
//	org := s.AddOrg(emulator.Org{Domain: "acme", Owner: ada.ID})
//	room := s.AddWorkspace(emulator.Workspace{Org: org.ID, Name: "Design"})
//	key := s.AddKey(emulator.Key{User: ada.ID})
//	s.Generate(emulator.History{Workspace: room.ID, Events: 10_000})
//	client := &http.Client{Transport: s} // send "Authorization: Bearer " + key.Token
package emulator

import (
	"html/template"
	"net/http"
	"sync"
	"sync/atomic"
)

// Server is the emulated platform. It is safe for concurrent use.
type Server struct {
	o      Options
	mux    *http.ServeMux
	routes []*route

	pages func() *template.Template

	mu    sync.RWMutex // guards state
	state state

	limits limits
	faults faults
	record record

	refusals atomic.Int64
}
