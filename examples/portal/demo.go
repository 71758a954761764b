package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
)

// demonstrate runs the program against an emulator, and prints the mail to the guest.
func (p *program) demonstrate(ctx context.Context) error {
	platform := fastiotest.New()
	p.workspace = platform.AddWorkspace(fastiotest.Workspace{Name: "Books"}).ID
	p.guest = cmp.Or(p.guest, "bo@example.com")
	server := httptest.NewServer(platform)
	defer server.Close()
	fmt.Fprintf(p.out, "No FASTIO_API_KEY: running against an emulator at %s; the link does not lead to it\n\n",
		server.URL)
	var err error
	if p.client, err = fastio.New(fastio.WithBaseURL(server.URL), fastio.WithToken(platform.Token())); err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	err = p.run(ctx)
	for _, mail := range platform.Mails(p.guest) {
		fmt.Fprintf(p.out, "%s was sent an invitation: %q\n", mail.To, mail.Message)
	}
	return err
}
