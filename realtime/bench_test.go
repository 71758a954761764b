package realtime_test

import (
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/realtime"
)

// BenchmarkComment reports the time from the creation of a comment to the loop
// over changes, by a socket and by polls: the median of each in milliseconds.
// Comments are created every 50 to 250 ms. The default coalescing window of a
// quarter of a second is not included.
func BenchmarkComment(b *testing.B) {
	s := fastiotest.New()
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	server := httptest.NewServer(s)
	defer server.Close()
	defer func() { _ = s.Close() }()
	listeners := map[realtime.Mode]*consumer{}
	for _, mode := range []realtime.Mode{realtime.ModeSocket, realtime.ModePoll} {
		client, err := fastio.New(fastio.WithBaseURL(server.URL), fastio.WithToken(s.Token()))
		if err != nil {
			b.Fatal(err)
		}
		defer client.CloseIdleConnections()
		o := &realtime.SubscribeOptions{PollOnly: mode == realtime.ModePoll, Coalesce: api.NoLimit}
		c := subscribed(b, client.Realtime, api.Workspace(api.ID(w.ID)), o)
		for c.sub.Status().Mode != mode {
			time.Sleep(time.Millisecond)
		}
		listeners[mode] = c
	}
	made := map[string]time.Time{}
	for b.Loop() {
		node := s.AddNode(seed.Node{Profile: w.ID, Name: "Mill.pdf"})
		made["comments:"+api.OpaqueID(node.ID).Plain()] = time.Now()
		s.AddComment(seed.Comment{Profile: w.ID, Node: node.ID, User: s.User().ID, Body: "Brass?"})
		time.Sleep(time.Duration(50+rand.IntN(200)) * time.Millisecond)
	}
	b.ReportMetric(0, "ns/op") // it would be the pauses
	for mode, c := range listeners {
		b.ReportMetric(float64(c.median(made).Microseconds())/1000, string(mode)+"-ms")
	}
}

// median waits until every comment was reported and returns the median delay.
func (c *consumer) median(made map[string]time.Time) time.Duration {
	for {
		var took []time.Duration
		for i, change := range c.all() {
			if at, ours := made[string(change.Field)]; ours {
				took = append(took, c.at[i].Sub(at))
			}
		}
		if len(took) >= len(made) {
			slices.Sort(took)
			return took[len(took)/2]
		}
		time.Sleep(10 * time.Millisecond)
	}
}
