package transport_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
)

// A connection that breaks may have carried the request before, even if what it
// breaks with is not TLS.
func TestPostIsSentOnceOnABrokenConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var handled atomic.Int64
		dial := accept(t, func(c net.Conn) {
			if r, err := http.ReadRequest(bufio.NewReader(tls.Server(c, serverTLS()))); err == nil {
				handled.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(c, "<html>the gateway is lost\r\n")
		})
		network := &http.Transport{DialContext: dial, TLSClientConfig: clientTLS()}
		err := newClient(t, network, base("https://fastio.test")).Call(t.Context(), post(), nil)
		if n := handled.Load(); err == nil || n != 1 {
			t.Errorf("handled %d times: %v", n, err)
		}
	})
}

// A panic during a call must release its slot of the rate limit.
func TestPanicReleasesTheRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots = 5
		left := slots
		client := newClient(t, answers(ok()), tokens(&source{token: func(context.Context) (api.Token, error) {
			if left--; left >= 0 {
				panic("out of tokens")
			}
			return token("fine"), nil
		}}))
		search := func() (err error) {
			defer func() { _ = recover() }()
			return client.Call(t.Context(), of("events.search", api.Timeout(time.Minute)), nil)
		}
		for range slots {
			_ = search()
		}
		if err := search(); err != nil || left >= 0 {
			t.Errorf("%v, %d panics left", err, left)
		}
	})
}

// Rate headers that arrive later do not shorten a Retry-After.
func TestRetryAfterOutlivesLaterHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		full := reply(200, `{"result":true}`, "X-Ve-Limit-Max", "60", "X-Ve-Limit-Avail", "0",
			"X-Ve-Limit-Expires", strconv.FormatInt(time.Now().Unix()+33, 10), "Date", date(time.Now()))
		client := newClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if n++; n == 1 { // arrives after the refusal
				time.Sleep(time.Second)
				return full.response(r)
			}
			return status(429, "Retry-After", "30").response(r)
		}), maxWait(5*time.Second))
		var slow sync.WaitGroup
		slow.Go(func() { _ = client.Call(t.Context(), get(), nil) })
		synctest.Wait()
		_ = client.Call(t.Context(), get(), nil)
		slow.Wait()
		start := time.Now()
		err := client.Call(t.Context(), get(), nil)
		if took := time.Since(start); !errors.Is(err, api.ErrRateLimited) || took > 0 {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
