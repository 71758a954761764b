// Package world is what the areas of the platform share: profiles and who may do what with them, nodes, invitations,
// the log of events, activity, ids, secrets, the clock, and the one lock on all of it and on what the areas keep.
package world

import (
	"sync"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Core is what everything rests on: the options, the clock with what is due, the lock on all state, secrets, and what
// changed last.
type Core struct {
	sync.RWMutex // guards the state of the world and of every area

	Options  Options
	Clock    func() time.Time
	Activity Activity
	Serials  uint64 // things made so far
	Cursors  uint64 // raised to refuse the cursors handed out

	// OnChange is called with every change of activity and the event behind it, if there is one.
	OnChange func(profileID string, fields []string, row *uint32)

	due []timer // by time
}

// Directory holds the profiles and who may do what with them. Lists keep the order of creation, which list endpoints
// answer in.
type Directory struct {
	Core

	Users         map[string]*Record[User]
	Orgs          map[string]*Record[Org]
	Workspaces    map[string]*Record[Workspace]
	Shares        map[string]*Record[Share]
	FileShares    map[string]*FileShare
	OrgList       []string
	WorkspaceList []string
	ShareList     []string
	FileShareList []string

	Members     map[string]map[string]*Membership // by profile and user
	Credentials map[string]*wire.Credential       // by token
	Credits     map[string]int                    // spent, by billed profile
}

// World is what the areas of the platform share.
type World struct {
	Directory

	Nodes       map[string]*Node
	NodeList    []string
	Invitations []*Invitation // by creation
	Outbox      []Mail
	Log         Log

	// OnUser is called with every user that is added.
	OnUser func(User)

	versions uint64 // of nodes, so far
}

// New returns a world without anybody in it.
func New(o Options) *World {
	return &World{
		Directory: Directory{
			Core: Core{
				Options:  o,
				Clock:    o.Clock,
				Activity: newActivity(),
				OnChange: func(string, []string, *uint32) {},
			},
			Users:       map[string]*Record[User]{},
			Orgs:        map[string]*Record[Org]{},
			Workspaces:  map[string]*Record[Workspace]{},
			Shares:      map[string]*Record[Share]{},
			FileShares:  map[string]*FileShare{},
			Members:     map[string]map[string]*Membership{},
			Credentials: map[string]*wire.Credential{},
			Credits:     map[string]int{},
		},
		Nodes:  map[string]*Node{},
		Log:    newLog(o.Seed, o.Events.Order),
		OnUser: func(User) {},
	}
}
