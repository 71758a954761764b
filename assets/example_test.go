package assets_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Set the logo of an organization and read it.
func Example() {
	s := fastiotest.New() // a fake of the platform
	acme := api.ID(s.AddOrg(seed.Org{Domain: "acme", Name: "Acme", Owner: s.User().ID}).ID)
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	logo := new(bytes.Buffer)
	if err := png.Encode(logo, image.NewGray(image.Rect(0, 0, 64, 32))); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	org := api.Org(acme)
	if err := client.Assets.Upload(ctx, org, assets.NameLogo, "logo.png", logo); err != nil {
		log.Fatal(err)
	}
	d, err := client.Assets.Read(ctx, org, assets.NameLogo)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	picture, format, err := image.DecodeConfig(d)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Type, format, picture.Width, picture.Height)
	// Output: image/png png 64 32
}
