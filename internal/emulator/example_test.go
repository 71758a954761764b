package emulator_test

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func Example() {
	s := emulator.New(seed.Options{Clock: func() time.Time { return time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC) }})
	ada := s.AddUser(world.User{FirstName: "Ada"})
	org := s.AddOrg(world.Org{Domain: "acme", Owner: ada.ID})
	room := s.AddWorkspace(world.Workspace{Org: org.ID, Name: "Design"})
	key := s.AddKey(world.Key{User: ada.ID})
	s.AddEvent(world.Event{Name: "workspace_created", Workspace: room.ID, CallingUser: ada.ID})

	address := "http://emulator.test/api/current/events/search/?output=terse&event=workspace_deleted&org_id=" + org.ID
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+key.Token)
	p, err := (&http.Client{Transport: s}).Do(r)
	if err != nil {
		panic(err)
	}
	defer p.Body.Close()
	body, err := io.ReadAll(p.Body)
	fmt.Println(p.Status, err)
	fmt.Printf("%.68s ...\n", body)
	// Output:
	// 200 OK <nil>
	// {"result":true,"status":"ok","current_api_version":"1.0","events":[] ...
}
