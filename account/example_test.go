package account_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

func Example() {
	s := fastiotest.New() // a fake of the platform
	org := s.AddOrg(seed.Org{Domain: "engines", Owner: s.AddUser(seed.User{Email: "bo@example.test"}).ID})
	sales := s.AddWorkspace(seed.Workspace{Org: org.ID, Name: "Sales"})
	s.AddInvitation(seed.Invitation{Profile: sales.ID, Email: "ada@example.test"})

	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	me, err := client.Account.Me(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("signed in as", me.EmailAddress)
	for invitation, err := range client.Account.Invitations.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		err := client.Account.Invitations.Accept(ctx, invitation.To(), invitation.ID)
		fmt.Println("invited to", invitation.EntityName, err)
	}
	if _, err := client.Account.Users.Get(ctx, "nobody@example.test"); errors.Is(err, api.ErrNotFound) {
		fmt.Println("there is no such user")
	}

	// Output:
	// signed in as ada@example.test
	// invited to Sales <nil>
	// there is no such user
}

func ExampleService_SignUp() {
	s := fastiotest.New() // a fake of the platform
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for range 2 {
		made, err := client.Account.SignUp(ctx, account.SignUpRequest{
			EmailAddress: "notator@example.test", Password: api.NewSecret("sketch of the engine"), AgreeToTerms: true,
			Agent: true,
		})
		switch {
		case err != nil:
			fmt.Println(err)
		case made.Token != nil:
			fmt.Println("welcome")
		default:
			fmt.Println("taken: there may have been an account")
		}
	}
	// Output:
	// welcome
	// taken: there may have been an account
}
