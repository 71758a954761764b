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
	s.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	s.AddWorkspace(seed.Workspace{Name: "Sales", FolderName: "sales"})

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
	for workspace, err := range client.Account.Workspaces.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("-", workspace.Name, "of", workspace.OrgDomain)
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

func ExampleWorkspaces_Update() {
	s := fastiotest.New() // a fake of the platform
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, workspaces := context.Background(), client.Account.Workspaces
	room, err := workspaces.Create(ctx, "analytical", account.CreateRequest{
		FolderName: "engine-room", Name: "Engine Room", Description: "Where it is hot",
	})
	if err != nil {
		log.Fatal(err)
	}
	err = workspaces.Update(ctx, room.ID, account.UpdateRequest{ // the folder name is kept
		Name:        api.Set("Boiler Room"),
		Description: api.Null[string](),
	})
	if err != nil {
		log.Fatal(err)
	}
	room, err = workspaces.Get(ctx, "engine-room")
	if err == nil {
		fmt.Printf("%s: %q\n", room.Name, room.Description)
	}
	// Output:
	// Boiler Room: ""
}

func ExampleWorkspaceMembers_Add() {
	s := fastiotest.New() // a fake of the platform
	room := api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
	luigi := api.ID(s.AddUser(seed.User{Email: "luigi@example.test"}).ID)
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, workspaces := context.Background(), client.Account.Workspaces
	for _, who := range []account.Invitee{{User: luigi}, {Email: "new@example.test"}} {
		added, err := workspaces.Members.Add(ctx, room, who, account.AddMemberRequest{Role: account.RoleGuest})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(added.State)
	}
	pending, err := workspaces.Invitations.List(ctx, room, account.InvitationStatePending)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(pending), "invitation to", pending[0].InviteeEmail)
	// Output:
	// accepted
	// invited
	// 1 invitation to new@example.test
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

func ExampleBilling_ChangePlan() {
	s := fastiotest.New() // a fake of the platform
	s.AddOrg(seed.Org{Domain: "engines", Owner: s.User().ID, Unsubscribed: true})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, billing := context.Background(), client.Account.Billing
	plans, err := billing.Plans(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, plan := range plans {
		if plan.Name != string(account.PlanGrowth) {
			continue
		}
		subscription, err := billing.ChangePlan(ctx, "engines", plan.ID)
		if err != nil {
			log.Fatal(err)
		}
		if subscription.NeedsPayment() {
			fmt.Println("pay at", subscription.PaymentURL())
		}
		break
	}
	// Output:
	// pay at https://go.fast.io/onboarding
}
