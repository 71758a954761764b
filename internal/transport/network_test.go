package transport_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/transport"
)

// An HTTP/2 connection that is lost while a long poll is held on it ends after 30
// seconds, and the next request has a new one.
func TestOwnNetworkDetectsALostConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listener, dial := fastiotest.New().Listen()
		var protocol atomic.Int32
		server := &http.Server{
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				protocol.Store(int32(r.ProtoMajor))
				if r.URL.Path == "/held" {
					<-r.Context().Done()
				}
			}),
			TLSConfig: serverTLS(),
		}
		served := make(chan error, 1)
		go func() { served <- server.ServeTLS(listener, "", "") }()

		_, client := transport.New(transport.Defaults()).Network()
		network := client.Transport.(*http.Transport)
		network.TLSClientConfig = clientTLS()
		var lost atomic.Bool
		network.DialContext = func(ctx context.Context, kind, address string) (net.Conn, error) {
			conn, err := dial(ctx, kind, address)
			return &losing{conn, &lost}, err
		}
		get := func(path string) error {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://fastio.test"+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			return err
		}
		if err := get("/"); err != nil || protocol.Load() != 2 {
			t.Fatalf("HTTP/%d, %v", protocol.Load(), err)
		}
		time.AfterFunc(10*time.Second, func() { lost.Store(true) })
		start := time.Now()
		if err := get("/held"); err == nil || time.Since(start) > 40*time.Second {
			t.Errorf("the poll ended after %s: %v", time.Since(start), err)
		}
		lost.Store(false)
		if err := get("/"); err != nil {
			t.Error(err)
		}
		network.CloseIdleConnections()
		_ = server.Close()
		<-served
	})
}

// losing loses what is written while lost.
type losing struct {
	net.Conn
	lost *atomic.Bool
}

func (c *losing) Write(b []byte) (int, error) {
	if c.lost.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}
