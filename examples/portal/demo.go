package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// demonstrate runs the program against an emulator, and prints the mail to the guest.
func (p *program) demonstrate(ctx context.Context) error {
	platform := fastiotest.New()
	p.workspace = api.ID(platform.AddWorkspace(seed.Workspace{Name: "Books"}).ID)
	p.guest = cmp.Or(p.guest, "bo@example.com")
	demo := show.Emulate(p.out, "FASTIO_API_KEY=... go run ./examples/portal -guest NAME@EXAMPLE.COM", platform)
	defer demo.Stop()
	fmt.Fprint(p.out, "The link that it prints is one of the real service, and leads nowhere.\n\n")
	var err error
	p.client, err = demo.Connect(platform.Token())
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	err = p.run(ctx)
	for _, mail := range platform.Mails(p.guest) {
		fmt.Fprintf(p.out, "%s was sent an invitation: %q\n", mail.To, mail.Message)
	}
	return err
}
