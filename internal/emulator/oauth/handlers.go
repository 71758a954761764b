// Package oauth is the authorization server: clients, consent, tokens, sessions, and the pages a browser sees.
package oauth

import (
	"html/template"
	"sync"

	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	signin *signin.Handlers

	oauth oauthState
	pages func() *template.Template
}

// New returns the area of a world.
func New(w *world.World, signin *signin.Handlers) *Handlers {
	return &Handlers{World: w, signin: signin, oauth: newOAuthState(w.Options), pages: sync.OnceValue(parsePages)}
}
