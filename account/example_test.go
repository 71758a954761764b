package account_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

func Example() {
	s := fastiotest.New() // stands in for the platform
	s.AddWorkspace(fastiotest.Workspace{Name: "Design", FolderName: "design"})
	s.AddWorkspace(fastiotest.Workspace{Name: "Sales", FolderName: "sales"})

	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	me, err := client.Account.Me(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("signed in as", me.EmailAddress)
	for w, err := range client.Account.Workspaces.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("-", w.Name, "of", w.OrgDomain)
	}
	if _, err := client.Account.Workspaces.Get(ctx, "marketing"); errors.Is(err, api.ErrNotFound) {
		fmt.Println("there is no marketing")
	}

	// Output:
	// signed in as ada@example.test
	// - Design of analytical
	// - Sales of analytical
	// there is no marketing
}
