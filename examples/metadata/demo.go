package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// demonstrate runs the program against an emulator, with an existing field of another
// spelling.
func (p *program) demonstrate(ctx context.Context) error {
	fmt.Fprintln(p.out, "No FASTIO_API_KEY: running against an emulator")
	fmt.Fprintln(p.out, "With an account of your own: FASTIO_API_KEY=... go run ./examples/metadata -workspace ID")
	platform := fastiotest.New()
	books := platform.AddWorkspace(seed.Workspace{Name: "Books"})
	platform.AddField(seed.Field{Workspace: books.ID, Name: "Amount_Due", Type: "float"})
	earlier := platform.AddNode(seed.Node{Profile: books.ID, Name: "invoice 1.pdf"})
	invoice := platform.AddNode(seed.Node{Profile: books.ID, Name: "invoice 2.pdf"})
	var err error
	p.client, err = fastio.New(append(platform.ClientOptions(), fastio.WithLogger(slog.Default()))...)
	if err != nil {
		return err
	}
	p.workspace, p.node = api.ID(books.ID), api.OpaqueID(earlier.ID)
	fmt.Fprintln(p.out, "\nAbout invoice 1:")
	if err := p.run(ctx, []string{"Due-Date=2026-04-30", "amount_due=99"}); err != nil {
		return err
	}
	p.node = api.OpaqueID(invoice.ID)
	fmt.Fprintln(p.out, "\nAbout invoice 2:")
	if err := p.run(ctx,
		[]string{"due_date=2026-05-31", "paid=false", "invoice_total=1250.5", "invoice amount=1250.50"}); err != nil {
		return err
	}
	p.find = "1250.5"
	fmt.Fprintln(p.out, "\nFiles with the value 1250.5:")
	if err := p.run(ctx, nil); err != nil {
		return err
	}
	p.find, p.merge = "", true
	fmt.Fprintln(p.out, "\nMerging the fields that differ only in spelling:")
	return p.run(ctx, nil)
}
