package main

import (
	"path/filepath"
	"testing"
	"time"
)

// Processes that are killed while events are published lose none, and store none twice.
func TestKilledProcessesLoseNoEvent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 6)
	c.startNode(t, filepath.Join(c.dir, "store"), "")
	c.connect(t)
	for range 2 {
		c.startReplica(t, addresses(c.ports))
	}
	c.startConsumer(addresses(c.ports))
	for i, victim := range []*process{c.replicas[0], c.nodes[0], c.replicas[1], c.nodes[0], c.replicas[0]} {
		c.burst(t, 200)
		if !victim.kill(time.Second) || i == 2 && !c.consumer.kill(time.Second) {
			t.Errorf("kill %d: %s did not run", i, victim.name)
		}
		killed := time.Now()
		c.add(1, killed)
		const limit = 2*testLease + 15*time.Second
		took, ok := c.drain(t.Context(), killed, limit)
		if !ok {
			t.Fatalf("kill %d, of %s: %d of %d profiles are read after %v",
				i, victim.name, len(took), len(c.profiles), limit)
		}
		t.Logf("kill %d, of %s: %v", i, victim.name, took[len(took)-1])
	}
	c.verify(t)
}
