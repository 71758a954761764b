package orgs_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/orgs"
)

func Example() {
	s := fastiotest.New() // a fake of the platform
	s.AddOrg(seed.Org{Domain: "engines", Name: "Engines", Owner: s.User().ID, Plan: "growth"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for org, err := range client.Orgs.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(org.Name, org.Plan)
	}
	// Output:
	// Analytical Engines business
	// Engines growth
}

func ExampleBilling_ChangePlan() {
	s := fastiotest.New() // a fake of the platform
	s.AddOrg(seed.Org{Domain: "engines", Owner: s.User().ID, Unsubscribed: true})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, billing := context.Background(), client.Orgs.Billing
	plans, err := billing.Plans(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, plan := range plans {
		if plan.Name != string(orgs.PlanGrowth) {
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
