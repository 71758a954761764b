package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestPageAnswersToItsOwnNamesOnly(t *testing.T) {
	t.Parallel()
	s := &site{program: &program{config: &config{hosts: "relay-1, Relay.Example"}}}
	handler := s.onlyHosts(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for host, want := range map[string]int{
		"127.0.0.1:8377": http.StatusNoContent, "[::1]:8377": http.StatusNoContent, "::1": http.StatusNoContent,
		"10.0.0.7": http.StatusNoContent, "localhost:8377": http.StatusNoContent, "LOCALHOST": http.StatusNoContent,
		"relay-1:8377": http.StatusNoContent, "relay.example": http.StatusNoContent,
		"attacker.example": http.StatusMisdirectedRequest, "attacker.example:8377": http.StatusMisdirectedRequest,
		"localhost.attacker.example": http.StatusMisdirectedRequest, "127.0.0.1.attacker.example:8377": http.StatusMisdirectedRequest,
		"relay-1.": http.StatusMisdirectedRequest, "": http.StatusMisdirectedRequest,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/status", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %q: status %d, want %d", host, w.Code, want)
		}
	}
}

func TestRateIsThatOfTheLastMinute(t *testing.T) {
	t.Parallel()
	s := &site{program: &program{config: &config{patience: 30 * time.Second}}}
	now := status{condition: condition{Time: time.Now()}, Profiles: make([]profile, 2)}
	stored, all := uint64(0), uint64(1000)
	for i := range 100 {
		now.Time = now.Time.Add(2 * time.Second)
		if i%3 == 0 {
			stored += 20
		}
		s.rates(&now, []count{{here: true, messages: stored}, {messages: all}})
	}
	if rate := now.Profiles[0].Rate; rate < 3 || rate > 3.7 {
		t.Errorf("the rate is %.1f, want 3.3", rate)
	}
	if rate := now.Profiles[1].Rate; rate != 0 {
		t.Errorf("the rate at rest is %.1f", rate)
	}
	s.rates(&now, []count{{messages: 7}, {messages: all}}) // another replica holds it
	if rate := now.Profiles[0].Rate; rate != 0 {
		t.Errorf("without an earlier sample the rate is %.1f", rate)
	}
}
