package main

import (
	"errors"
	"net/http/httptest"
	"os"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

func Example() {
	platform := fastiotest.New()
	platform.GenerateWorld(seed.World{})
	server := httptest.NewServer(platform)
	defer server.Close()
	defer func() { _ = platform.Close() }()
	err := errors.Join(os.Setenv("FASTIO_BASE_URL", server.URL), os.Setenv("FASTIO_API_KEY", platform.Token()))
	if err != nil {
		panic(err)
	}
	main()
	// Output: 400 events are handled
}
