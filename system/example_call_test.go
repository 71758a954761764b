package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Find an endpoint that has no method in the documentation of the platform, ask which
// parameters it takes, and call it.
func Example_endpointWithoutMethod() {
	s := fastiotest.New() // a fake of the platform
	s.Fail(seed.Fault{Skip: 2, Body: `{"result": true, "limits": {"members": 25}}`})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, org := context.Background(), api.ID(s.Org().ID)
	text, err := client.System.DocsTopic(ctx, "orgs")
	fmt.Println("documented:", strings.Contains(text, "/current/org/{org_id}/transfer/token/list/"), err)
	limits := api.Get("/current/org/{org_id}/limits/", org)
	parameters, err := client.System.Introspect(ctx, limits.Path)
	fmt.Println(string(parameters), err)
	var out struct{ Limits json.RawMessage }
	err = client.Call(ctx, limits, &out)
	fmt.Println(string(out.Limits), err)
	// Output:
	// documented: true <nil>
	//  fastio: system.Introspect: There is no such endpoint. (status 404, code 9992)
	// {"members": 25} <nil>
}
