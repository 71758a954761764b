package seed_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

func Example() {
	file := seed.File{
		Orgs:       []seed.Org{{ID: "acme", Domain: "acme", Name: "Acme"}},
		Workspaces: []seed.Workspace{{ID: "design", Org: "acme", Name: "Design"}},
	}
	text, err := json.Marshal(file)
	if err != nil {
		log.Fatal(err)
	}
	err = fastiotest.New().Load(bytes.NewReader(text))
	fmt.Println(err)
	// Output: <nil>
}
