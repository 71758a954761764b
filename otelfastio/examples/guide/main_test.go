package main

import (
	"errors"
	"net/http/httptest"
	"os"

	"github.com/fastio-go/fastio/fastiotest"
)

func Example() {
	platform := fastiotest.New()
	server := httptest.NewServer(platform)
	defer server.Close()
	defer func() { _ = platform.Close() }()
	err := errors.Join(os.Setenv("FASTIO_BASE_URL", server.URL), os.Setenv("FASTIO_API_KEY", platform.Token()))
	if err != nil {
		panic(err)
	}
	main()
	// Output:
	// client GET /api/current/workspaces/all/
	// internal workspaces.List
	// http.client.request.duration s
	// fastio.client.call.duration s
}
