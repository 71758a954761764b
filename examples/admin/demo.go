package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

const demoTeam = `email,org,acme-plans,acme-photos
ben@example.com,admin,admin,member
cleo@example.com,,guest,
dora@example.com,member,member,guest
`

// demonstrate runs all commands against an emulator, each first as a preview and then
// with -apply. Between them, two persons act outside of the program: the owner pays,
// and a member accepts invitations.
func (p *program) demonstrate(ctx context.Context) (err error) {
	platform := fastiotest.New()
	owner := platform.AddUser(seed.User{Email: "ada@example.com", FirstName: "Ada"})
	ben := platform.AddUser(seed.User{Email: "ben@example.com", FirstName: "Ben"})
	demo := show.Emulate(p.out, "FASTIO_API_KEY=... go run ./examples/admin -org ID", platform)
	defer demo.Stop()
	p.client, err = demo.Connect(platform.AddKey(seed.Key{User: owner.ID}).Token)
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	dir, err := os.MkdirTemp("", "admin")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p.org, p.name, p.plan, p.file = "acme-design", "Acme Design", "business_v2_monthly", filepath.Join(dir, "team.csv")
	if err := os.WriteFile(p.file, []byte(demoTeam), 0o600); err != nil {
		return err
	}
	pay := func() error {
		org, err := p.client.Orgs.Get(ctx, p.org)
		if err == nil && platform.Pay(string(org.ID)) {
			fmt.Fprintln(p.out, "(Ada pays in the browser.)")
		}
		return err
	}
	accept := func() error {
		fmt.Fprintln(p.out, "(Ben accepts his invitations.)")
		c, err := demo.Connect(platform.AddKey(seed.Key{User: ben.ID}).Token)
		if err != nil {
			return err
		}
		defer c.CloseIdleConnections()
		return c.Account.Invitations.AcceptAll(ctx, api.Secret{})
	}
	for _, step := range []demoStep{
		{args: []string{"setup"}},
		{args: []string{"setup"}, apply: true},              // ends with the address to pay at
		{args: []string{"setup"}, apply: true, before: pay}, // makes the rest of the changes
		{args: []string{"setup"}, apply: true},              // finds nothing left to change
		{args: []string{"audit"}, before: accept},
		{args: []string{"remove", ben.Email}},
		{args: []string{"remove", ben.Email}, apply: true},
		{args: []string{"audit"}},
	} {
		if err := p.demonstrateStep(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// demoStep is a call of the program, after before if that is not nil.
type demoStep struct {
	apply  bool
	args   []string
	before func() error
}

// demonstrateStep lets another person act (step.before), and then prints and runs a command of
// the program. It prints errUnpaid instead of returning it.
func (p *program) demonstrateStep(ctx context.Context, step demoStep) error {
	if step.before != nil {
		if err := step.before(); err != nil {
			return err
		}
	}
	p.apply, p.args = step.apply, step.args
	fmt.Fprintf(p.out, "\nadmin -apply=%t %s\n", p.apply, strings.Join(p.args, " "))
	err := p.run(ctx)
	if errors.Is(err, errUnpaid) {
		fmt.Fprintln(p.out, err)
		return nil
	}
	return err
}
