package transport_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
	"github.com/fastio-go/fastio/oauth"
)

// Types, flags and error codes of HTTP/2 frames, RFC 9113.
const (
	frameData     = 0x0
	frameHeaders  = 0x1
	frameReset    = 0x3
	frameSettings = 0x4
	framePing     = 0x6
	frameGoAway   = 0x7

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4

	codeNo       = 0x0
	codeProtocol = 0x1
	codeInternal = 0x2
	codeRefused  = 0x7
	codeUnknown  = 0xff

	lastStreamID = 1<<31 - 1
)

// frames is one HTTP/2 connection of a server that is written by hand.
type frames struct{ net.Conn }

func (f frames) write(kind, flags byte, stream uint32, payload []byte) {
	head := make([]byte, 9, 9+len(payload))
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8|uint32(kind))
	head[4] = flags
	binary.BigEndian.PutUint32(head[5:], stream)
	_, _ = f.Write(append(head, payload...))
}

func (f frames) read() (kind, flags byte, stream uint32, payload []byte, err error) {
	var head [9]byte
	if _, err = io.ReadFull(f, head[:]); err == nil {
		payload = make([]byte, binary.BigEndian.Uint32(head[:])>>8)
		_, err = io.ReadFull(f, payload)
	}
	return head[3], head[4], binary.BigEndian.Uint32(head[5:]), payload, err
}

func words(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

func (f frames) reset(stream, code uint32) { f.write(frameReset, 0, stream, words(code)) }
func (f frames) goAway(last, code uint32)  { f.write(frameGoAway, 0, 0, words(last, code)) }

// answer sends status 200 and an empty JSON object.
func (f frames) answer(stream uint32) {
	f.write(frameHeaders, flagEndHeaders, stream, []byte{0x88}) // :status 200 of the static table
	f.write(frameData, flagEndStream, stream, []byte("{}"))
}

// h2Server counts the requests that reach it and gives each to fault, early at its
// header, or once it is complete.
type h2Server struct {
	fault    h2Fault
	early    bool
	requests atomic.Int64
	wholes   atomic.Int64
	open     atomic.Int64 // headers without END_STREAM
}

func (s *h2Server) serve(c net.Conn) {
	defer c.Close()
	f := frames{c}
	if _, err := io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	f.write(frameSettings, 0, 0, nil)
	for {
		kind, flags, stream, payload, err := f.read()
		if err != nil {
			return
		}
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			f.write(frameSettings, flagAck, 0, nil)
		case kind == framePing && flags&flagAck == 0:
			f.write(framePing, flagAck, 0, payload)
		case kind == frameHeaders:
			s.requests.Add(1)
			if flags&flagEndStream == 0 {
				s.open.Add(1)
			}
			if s.early {
				s.fault(f, stream)
			}
		}
		if (kind == frameHeaders || kind == frameData) && flags&flagEndStream != 0 {
			s.wholes.Add(1)
			if !s.early {
				s.fault(f, stream)
			}
		}
	}
}

// h2Network is a transport and an address for it.
type h2Network = func(dial dialer) (http.RoundTripper, string)

// h2Networks are the transports a client may have: its own, and those of callers.
func h2Networks() map[string]h2Network {
	const address = "https://fastio.test"
	secure := func(own *http.Transport, dial dialer) *http.Transport {
		own.Proxy, own.DialContext, own.ForceAttemptHTTP2, own.TLSClientConfig = nil, dial, true, clientTLS()
		return own
	}
	return map[string]h2Network{
		"own transport": func(d dialer) (http.RoundTripper, string) { return secure(ownNetwork(), d), address },
		"caller's transport": func(d dialer) (http.RoundTripper, string) {
			return secure(new(http.Transport), d), address
		},
		"caller's transport inside another": func(d dialer) (http.RoundTripper, string) {
			return wrapped{secure(new(http.Transport), d)}, address
		},
		"caller's transport without TLS": func(d dialer) (http.RoundTripper, string) {
			plain := &http.Transport{DialContext: d, Protocols: new(http.Protocols)}
			plain.Protocols.SetUnencryptedHTTP2(true)
			return plain, "http://fastio.test"
		},
	}
}

// ownNetwork returns the transport of a client that is given none.
func ownNetwork() *http.Transport {
	_, client := transport.New(transport.Defaults()).Network()
	return client.Transport.(*http.Transport)
}

// wrapped is a transport whose kind cannot be seen.
type wrapped struct{ http.RoundTripper }

// identity is a certificate for fastio.test that lasts a century.
var identity = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"fastio.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
	}
	b, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{b}, PrivateKey: key}
})

func serverTLS() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{identity()}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
	}
}

// clientTLS trusts identity. Its curve is the fastest under the race detector.
func clientTLS() *tls.Config {
	c, err := x509.ParseCertificate(identity().Certificate[0])
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, CurvePreferences: []tls.CurveID{tls.CurveP256}}
}

// overHTTP2 returns a client whose network ends at s.
func overHTTP2(t *testing.T, s *h2Server, network h2Network, change ...func(*config)) *transport.Client {
	t.Helper()
	secure := false
	rt, address := network(accept(t, func(c net.Conn) {
		if secure {
			c = tls.Server(c, serverTLS())
		}
		s.serve(c)
	}))
	secure = strings.HasPrefix(address, "https")
	return newClient(t, rt, append([]func(*config){base(address)}, change...)...)
}

type h2Fault = func(f frames, stream uint32)

// h2Faults are the ways a server ends a request.
func h2Faults() map[string]h2Fault {
	faults := map[string]h2Fault{
		"close": func(f frames, _ uint32) { f.Close() },
		"noise": func(f frames, _ uint32) { f.Write(bytes.Repeat([]byte("x"), 100)); f.Close() },
		"header and reset": func(f frames, stream uint32) {
			f.write(frameHeaders, flagEndHeaders, stream, []byte{0x88})
			f.reset(stream, codeRefused)
		},
		"RST_STREAM of an unknown code": func(f frames, s uint32) { f.reset(s, codeUnknown) },
	}
	for code := uint32(codeNo); code <= 0xd; code++ {
		faults[fmt.Sprintf("RST_STREAM %d", code)] = func(f frames, s uint32) { f.reset(s, code) }
	}
	for _, code := range []uint32{codeNo, codeProtocol, codeInternal, codeUnknown} {
		faults[fmt.Sprintf("GOAWAY %d after 0", code)] = func(f frames, _ uint32) { f.goAway(0, code) }
		faults[fmt.Sprintf("GOAWAY %d after the one before", code)] = func(f frames, s uint32) { f.goAway(s-1, code) }
		faults[fmt.Sprintf("GOAWAY %d after the request", code)] = func(f frames, s uint32) {
			f.goAway(s, code)
			f.Close()
		}
		faults[fmt.Sprintf("GOAWAY %d after any", code)] = func(f frames, _ uint32) {
			f.goAway(lastStreamID, code)
			f.Close()
		}
	}
	return faults
}

// Below the retry loop net/http repeats requests of its own accord when an HTTP/2
// server resets a stream or goes away. A call that must be sent once is sent once,
// and every send of any other call is an attempt.
func TestHTTP2FaultsAreNotRepeatedByTheTransport(t *testing.T) {
	t.Parallel()
	table.Each(t, h2Networks(), func(t *testing.T, network h2Network) {
		methods := []string{"GET", "POST"} // which net/http repeats, and does not
		if strings.HasSuffix(t.Name(), "/own_transport") {
			methods = append(methods, "OPTIONS", "DELETE") // more would use up the budget
		}
		table.Each(t, h2Faults(), func(t *testing.T, fault h2Fault) {
			for _, early := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) { meetHTTP2(t, &h2Server{fault: fault, early: early}, network, methods) })
			}
		})
	})
}

func meetHTTP2(t *testing.T, s *h2Server, network h2Network, methods []string) {
	t.Helper()
	hook := 0
	client := overHTTP2(t, s, network, hooks(api.Hooks{OnRetry: func(context.Context, api.RetryEvent) { hook++ }}))
	meet := func(call string, want int, do func(api.CallOption) error) {
		t.Helper()
		s.requests.Store(0)
		hook = 0
		var raw api.Response
		err := do(api.WithResponse(&raw))
		if n := int(s.requests.Load()); n != want || raw.Attempts != n || hook != n-1 || err == nil {
			t.Errorf("%s, early %t: %d requests, want %d; %d attempts, %d retries; %v", call, s.early, n, want,
				raw.Attempts, hook, err)
		}
	}
	for _, method := range methods {
		for _, body := range []api.Body{nil, api.Form{"a": {"b"}}} {
			for replay, want := range map[api.Replay]int{api.ReplayOnce: 1, api.ReplaySafe: 3} {
				meet(fmt.Sprintf("%s, replay %d, body %v", method, replay, body), want, func(o api.CallOption) error {
					return client.Call(t.Context(), touch(method, replay, body), nil, o)
				})
			}
		}
	}
	meet("OAuth.Refresh", 1, func(o api.CallOption) error {
		r := oauth.RefreshRequest{ClientID: "client-0123456789", RefreshToken: api.NewSecret("refresh-0123456789")}
		_, err := oauth.New(client).Refresh(t.Context(), r, o)
		return err
	})
}

func touch(method string, replay api.Replay, body api.Body) *api.Request {
	r := request(method, replay)
	r.Body = body
	return r
}

// An outage over HTTP/2 does not multiply the load either.
func TestHTTP2FaultsAreWithinTheBudget(t *testing.T) {
	t.Parallel()
	const calls = 1000
	for _, fault := range []string{"close", "RST_STREAM 1", "RST_STREAM 7", "GOAWAY 0 after 0"} {
		synctest.Test(t, func(t *testing.T) {
			s := &h2Server{fault: h2Faults()[fault]}
			client := overHTTP2(t, s, h2Networks()["caller's transport without TLS"])
			for range calls {
				_ = client.Call(t.Context(), get(), nil)
			}
			if n := s.requests.Load(); n <= calls || n > calls*104/100 {
				t.Errorf("%s: %d requests for %d calls", fault, n, calls)
			}
		})
	}
}

// Over HTTP/2 a request without a body ends with its header, as that of net/http
// does, unless it must be sent once; that one is followed by an empty frame. None
// announces a length that it does not have.
func TestHTTP2RequestsWithoutABody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &h2Server{fault: frames.answer}
		client := overHTTP2(t, s, h2Networks()["own transport"])
		var got *http.Request
		handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })
		rt, address := h2Networks()["own transport"](listen(t, &http.Server{Handler: handler, TLSConfig: serverTLS()}))
		handled := newClient(t, rt, base(address))
		for replay, open := range map[api.Replay]int64{api.ReplayOnce: 1, api.ReplaySafe: 0} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				s.open.Store(0)
				succeed(t, client, touch(method, replay, nil))
				if n := s.open.Load(); n != open {
					t.Errorf("%s, replay %d: %d headers were not the end of the request, want %d", method, replay, n, open)
				}
				succeed(t, handled, touch(method, replay, nil))
				length := got.Header.Get("Content-Length")
				if got.ProtoMajor != 2 || len(got.TransferEncoding) > 0 || length != "" && length != "0" {
					t.Errorf("%s, replay %d: %s, %v, length %q", method, replay, got.Proto, got.TransferEncoding, length)
				}
			}
		}
	})
}

// An HTTP/2 connection that is lost while a long poll is held on it ends after 30
// seconds, and the next request has a new one.
func TestOwnNetworkDetectsALostConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var protocol atomic.Int32
		dial := listen(t, &http.Server{
			TLSConfig: serverTLS(),
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				protocol.Store(int32(r.ProtoMajor))
				if r.URL.Path == "/held" {
					<-r.Context().Done()
				}
			}),
		})
		network := ownNetwork()
		client := &http.Client{Transport: network}
		defer network.CloseIdleConnections()
		network.TLSClientConfig = clientTLS()
		var lost atomic.Bool
		network.DialContext = func(ctx context.Context, kind, address string) (net.Conn, error) {
			conn, err := dial(ctx, kind, address)
			return &losing{conn, &lost}, err
		}
		get := func(path string) error {
			resp, err := client.Get("https://fastio.test" + path)
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
