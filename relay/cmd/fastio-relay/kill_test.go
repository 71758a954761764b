package main

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// Killed replicas and a killed NATS server lose no event, and store none twice.
func TestKilledProcessesLoseNoEvent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 6)
	c.add(300, time.Now().Add(-time.Hour))
	c.startNode(t, filepath.Join(c.dir, "store"), "")
	c.connect(t)
	for range 2 {
		c.startReplica(t, addresses(c.ports))
	}
	c.startConsumer(addresses(c.ports))
	if _, ok := c.drain(t.Context(), time.Now(), 30*time.Second); !ok {
		t.Fatal("the events before the first kill are not stored")
	}
	for i, victim := range []*process{c.replicas[0], c.nodes[0], c.replicas[1], c.nodes[0], c.consumer, c.replicas[0]} {
		c.add(30, time.Now())
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		if !victim.kill(time.Second) {
			t.Errorf("kill %d: %s did not run", i, victim.name)
		}
		killed := time.Now()
		c.add(1, killed)
		const limit = 2*testLease + 15*time.Second
		took, ok := c.drain(t.Context(), killed, limit)
		if !ok {
			t.Fatalf("kill %d, of %s: only %d of %d profiles are followed after %v", i, victim.name, len(took), len(c.profiles), limit)
		}
		t.Logf("kill %d, of %s: %v", i, victim.name, took[len(took)-1])
	}
	c.verify(t)
}
