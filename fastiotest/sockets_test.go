package fastiotest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// listen opens the WebSocket of a profile.
func listen(
	t *testing.T, s *fastiotest.Server, network *http.Client, base string, profile api.ProfileID,
) *websocket.Conn {
	t.Helper()
	target := base + "/api/current/websocket/auth/" + string(profile)
	answer := send(t, network.Transport, http.MethodGet, target, "", "", signed(s)...)
	_, token, _ := strings.Cut(answer, `"auth_token":"`)
	token, _, _ = strings.Cut(token, `"`)
	address := "ws" + strings.TrimPrefix(base, "http") + "/api/websocket/?" + token
	opts := &websocket.DialOptions{HTTPClient: network}
	conn, _, err := websocket.Dial(t.Context(), address, opts) //nolint:bodyclose // it leaves none
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// Sockets are there over every network, break on request and end with the test.
func TestSockets(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, s *fastiotest.Server, network *http.Client, base string) {
		t.Helper()
		s.FailSockets(fastiotest.SocketFault{Count: 1, Junk: fastiotest.BinaryJunk})
		room := s.AddWorkspace(fastiotest.Workspace{})
		conn := listen(t, s, network, base, room.ID)
		s.AddNode(fastiotest.Node{Profile: room.ID})
		var kinds []websocket.MessageType
		for range 2 {
			kind, _, err := conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, kind)
		}
		if kinds[0] != websocket.MessageBinary || kinds[1] != websocket.MessageText {
			t.Errorf("got messages of the kinds %v, want junk ahead of text", kinds)
		}
		if n := s.Sockets(); n != 1 {
			t.Errorf("%d sockets, want 1", n)
		}
		if n := s.DropSockets(room.ID); n != 1 || s.Sockets() != 0 {
			t.Errorf("%d dropped and %d left, want 1 and none", n, s.Sockets())
		}
		if _, _, err := conn.Read(t.Context()); err == nil || websocket.CloseStatus(err) != -1 {
			t.Errorf("got %v, want a reset", err)
		}
		listen(t, s, network, base, room.ID) // left open for the test to end
	}
	t.Run("over a socket", func(t *testing.T) {
		t.Parallel()
		s := fastiotest.New()
		base := s.Start(t)
		network := &http.Transport{}
		t.Cleanup(network.CloseIdleConnections)
		check(t, s, &http.Client{Transport: network}, base)
	})
	t.Run("over connections in memory", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := fastiotest.New()
			check(t, s, s.StartInMemory(t), "http://any.test")
		})
	})
}

func TestCutPollsAndClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		network := s.StartInMemory(t)
		room := s.AddWorkspace(fastiotest.Workspace{})
		conn := listen(t, s, network, "http://any.test", room.ID)
		time.AfterFunc(time.Minute, s.CutPolls)
		time.AfterFunc(2*time.Minute, func() { _ = s.Close() })
		begin := time.Now()
		ended := make(chan error, 1)
		go func() { // which answers pings, too
			_, _, err := conn.Read(context.Background()) //nolint:usetesting // a context that ends would end conn
			ended <- err
		}()
		poll := "http://any.test/api/current/activity/poll/" + string(room.ID) + "/?wait=95"
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, poll, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Token())
		resp, err := network.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if took := time.Since(begin); resp.StatusCode != http.StatusGatewayTimeout || took != time.Minute {
			t.Errorf("a poll was answered with %s after %v, want 504 after a minute", resp.Status, took)
		}
		err = <-ended
		if took := time.Since(begin); websocket.CloseStatus(err) != websocket.StatusGoingAway || took != 2*time.Minute {
			t.Errorf("the socket ended with %v after %v, want 1001 after two minutes", err, took)
		}
	})
}
