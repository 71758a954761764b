package emulator_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// connect returns both ends of a connection.
func connect(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l := emulator.New(seed.Options{}).Listen()
	client, err := l.DialContext(t.Context(), "tcp", "anywhere:443")
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return client, server
}

func TestConnIsBuffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t)
		if n, err := client.Write([]byte("no reader so far")); n != 16 || err != nil {
			t.Fatal(n, err)
		}
		client.Close()
		got, err := io.ReadAll(server)
		if string(got) != "no reader so far" || err != nil {
			t.Errorf("%q %v", got, err)
		}
		if _, err := server.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("writing to a closed peer: %v", err)
		}
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reading from a closed end: %v", err)
		}
		if _, err := client.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writing to a closed end: %v", err)
		}
	})
}

func TestConnHoldsBackAFastWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t)
		done := make(chan int)
		go func() {
			n, _ := client.Write(make([]byte, 1<<20))
			done <- n
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("a megabyte fits into the buffer")
		default:
		}
		if n, err := io.ReadFull(server, make([]byte, 1<<20)); n != 1<<20 || err != nil {
			t.Error(n, err)
		}
		if n := <-done; n != 1<<20 {
			t.Errorf("%d written", n)
		}
	})
}

func TestConnDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t)
		begin := time.Now()
		client.SetReadDeadline(begin.Add(time.Minute))
		_, err := client.Read(make([]byte, 1))
		var timeout net.Error
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() ||
			time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		client.SetReadDeadline(time.Time{})
		server.Write([]byte("x"))
		if n, err := client.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("after the deadline was lifted: %d %v", n, err)
		}
		server.SetDeadline(time.Now().Add(time.Second))
		if n, err := server.Write(make([]byte, 1<<20)); n == 1<<20 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d %v", n, err)
		}
		// A waiting read learns of a deadline set meanwhile.
		failed := make(chan error)
		idle, _ := connect(t)
		go func() {
			_, err := idle.Read(make([]byte, 1))
			failed <- err
		}()
		synctest.Wait()
		idle.SetReadDeadline(time.Now().Add(-time.Second))
		if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestListenerCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := emulator.New(seed.Options{}).Listen()
		waiting, err := l.DialContext(t.Context(), "tcp", "x")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		if _, err := l.DialContext(t.Context(), "tcp", "x"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial: %v", err)
		}
		if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("a connection that was not accepted: %v", err)
		}
	})
}

// A response that is not read must not block its handler.
func TestRoundTripBodyMayBeClosedUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "")
		p.must(t, `history {"workspace_id":"{room}","events":300}`)
		got, err := p.RoundTrip(p.raw(t.Context(), t, "ada GET /events/search/?workspace_id={room}"))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		synctest.Wait()
		if n, err := got.Body.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("read %d %v after close", n, err)
		}
	})
}

// A caller that gives up and forgets the body must not keep the handler either.
func TestRoundTripContextFreesTheHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "")
		ctx, cancel := context.WithCancel(t.Context())
		got, err := p.RoundTrip(p.raw(ctx, t, "ada GET /llms/full/"))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait() // the bubble cannot end while the handler waits for a reader
		if _, err := io.ReadAll(got.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("reading on: %v", err)
		}
		got.Body.Close()
	})
}
