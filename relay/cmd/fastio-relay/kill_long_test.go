//go:build soak && linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// proxy forwards TCP connections. A test can cut, stall and delay them.
type proxy struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	conns   map[net.Conn]bool
	cut     bool
	stalled chan struct{} // closed when the stall ends; nil without one
	delay   time.Duration
}

func newProxy(t *testing.T, port int) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: fmt.Sprintf("127.0.0.1:%d", port), conns: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.forward(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.set(true, false, 0)
		wg.Wait()
	})
	return p
}

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// set cuts, stalls or delays the connections, or restores them.
func (p *proxy) set(cut, stall bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.delay = cut, delay
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
	if stall {
		p.stalled = make(chan struct{})
	}
	if cut {
		for conn := range p.conns {
			conn.Close()
		}
	}
}

// add records a connection, and reports whether it may exist.
func (p *proxy) add(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[conn] = true
	return !p.cut
}

func (p *proxy) forward(from net.Conn) {
	defer p.remove(from)
	if !p.add(from) {
		return
	}
	to, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer p.remove(to)
	if !p.add(to) {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { p.copy(to, from) })
	p.copy(from, to)
	wg.Wait()
}

func (p *proxy) remove(conn net.Conn) {
	conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// copy copies until one of the connections ends, and then closes both.
func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		delay, stalled := p.delay, p.stalled
		p.mu.Unlock()
		if stalled != nil {
			<-stalled
		}
		time.Sleep(delay)
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// skewEnv sets the seconds by which the clock of a process is ahead.
const skewEnv = "FASTIO_RELAY_TEST_SKEW"

// buildSkewed builds this test with a package time whose wall clock can be ahead. The
// monotonic clock is that of the machine.
func buildSkewed(t *testing.T, dir string) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const read = "sec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(string(text), read) {
		t.Fatal("time.Now has changed")
	}
	replace := map[string]string{source: filepath.Join(dir, "time.go")}
	skew := filepath.Join(dir, "skew.go")
	replace[filepath.Join(filepath.Dir(source), "skew.go")] = skew
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		replace[source]: strings.Replace(string(text), read, read+"\tsec += skew\n", 1),
		skew: `package time

import "syscall"

var skew = func() (seconds int64) {
	text, _ := syscall.Getenv("` + skewEnv + `")
	for _, digit := range []byte(text) {
		seconds = 10*seconds + int64(digit-'0')
	}
	return seconds
}()
`,
		filepath.Join(dir, "overlay.json"): string(overlay),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "programs")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", exe)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return exe
}

// long is a cluster of three nodes, with the means to disturb it.
type long struct {
	*cluster
	monitors []int
	routes   map[[2]int]*proxy // between two nodes, by the number of the one that connects first
	links    [][]*proxy        // from each replica to each node
	disk     string            // file system of the last node; "" means that of the others
	counts   map[string]int    // of disturbances
	stats    map[string]status // of replicas, by name and start
	took     map[string][]time.Duration
	late     []string
}

// newLong returns a cluster that is not disturbed yet.
func newLong() *long {
	return &long{
		routes: map[[2]int]*proxy{}, counts: map[string]int{}, stats: map[string]status{},
		took: map[string][]time.Duration{},
	}
}

// startNodes starts three nodes, and creates the stream.
func (c *long) startNodes(t *testing.T) {
	t.Helper()
	var routePorts []int
	for range 3 {
		routePorts = append(routePorts, freePort(t))
		c.monitors = append(c.monitors, freePort(t))
	}
	for i := range 3 {
		routes := slices.Repeat([]string{"nats-route://127.0.0.1:1"}, 2-i) // JetStream counts them
		for j := range i {
			c.routes[[2]int{i, j}] = newProxy(t, routePorts[j])
			routes = append(routes, fmt.Sprintf("nats-route://127.0.0.1:%d", c.routes[[2]int{i, j}].port()))
		}
		store := filepath.Join(c.dir, fmt.Sprintf("store-%d", i+1))
		if i == 2 && c.disk != "" {
			store = filepath.Join(c.disk, "store")
		}
		// What is advertised reaches no server, so that all routes pass the proxies.
		c.startNode(t, store, fmt.Sprintf(
			"http: 127.0.0.1:%d\ncluster {name: test, listen: 127.0.0.1:%d, no_advertise: true, advertise: 127.0.0.1:1, routes: [%s]}",
			c.monitors[i], routePorts[i], strings.Join(routes, ",")), skewOf(i, nodeSkew)...)
	}
	c.connect(t)
}

// newLinks returns the addresses of the nodes for one more replica, through proxies.
func (c *long) newLinks(t *testing.T) string {
	t.Helper()
	var links []*proxy
	var ports []int
	for _, port := range c.ports {
		links = append(links, newProxy(t, port))
		ports = append(ports, links[len(links)-1].port())
	}
	c.links = append(c.links, links)
	return addresses(ports)
}

const (
	nodeSkew    = "30"
	replicaSkew = "3600"
)

// skewOf returns the environment of a node or replica: the clock of the second is ahead.
func skewOf(i int, seconds string) []string {
	if i != 1 {
		return nil
	}
	return []string{skewEnv + "=" + seconds}
}

func (c *long) total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ids := range c.added {
		n += len(ids)
	}
	return n
}

// leader returns the node that leads a stream, or the cluster for "".
func (c *long) leader(t *testing.T, stream string) *process {
	t.Helper()
	name := ""
	for end := time.Now().Add(30 * time.Second); name == "" && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if stream == "" {
			name = c.metaLeader()
		} else if s, err := c.js.Stream(t.Context(), stream); err == nil && s.CachedInfo().Cluster != nil {
			name = s.CachedInfo().Cluster.Leader
		}
	}
	for _, p := range c.nodes {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("%q has no leader", stream)
	return nil
}

func (c *long) metaLeader() string {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, port := range c.monitors {
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/jsz", port))
		if err != nil {
			continue
		}
		var all struct {
			Meta struct {
				Leader string `json:"leader"`
			} `json:"meta_cluster"`
		}
		err = json.NewDecoder(resp.Body).Decode(&all)
		resp.Body.Close()
		if err == nil && all.Meta.Leader != "" {
			return all.Meta.Leader
		}
	}
	return ""
}

// settle waits until all nodes have all copies.
func (c *long) settle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		complete := 0
		for _, name := range []string{"FASTIO", "KV_fastio-relay"} {
			s, err := c.js.Stream(t.Context(), name)
			if err != nil || s.CachedInfo().Cluster == nil {
				continue
			}
			for _, peer := range s.CachedInfo().Cluster.Replicas {
				if peer.Current && !peer.Offline {
					complete++
				}
			}
		}
		if complete == 4 {
			return
		}
		if time.Now().After(end) {
			c.late = append(c.late, "the copies are not complete after two minutes")
			return
		}
	}
}

// sample keeps the latest status of each replica.
func (c *long) sample() {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for i, page := range c.pages {
		p := c.replicas[i]
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/status", page))
		if err != nil {
			continue
		}
		var now status
		if json.NewDecoder(resp.Body).Decode(&now) == nil {
			p.mu.Lock()
			c.stats[fmt.Sprint(p.name, " ", p.starts)] = now
			p.mu.Unlock()
		}
		resp.Body.Close()
	}
}

// disturb disturbs the network for some seconds, and returns what it did.
func (c *long) disturb(kind int) (name string, restore func()) {
	set := func(name string, all []*proxy, cut, stall bool, delay time.Duration) (string, func()) {
		for _, p := range all {
			p.set(cut, stall, delay)
		}
		c.counts[name]++
		return name, func() {
			for _, p := range all {
				p.set(false, false, 0)
			}
		}
	}
	between := func(node int) (all []*proxy) {
		for pair, p := range c.routes {
			if pair[0] == node || pair[1] == node {
				all = append(all, p)
			}
		}
		return all
	}
	victim, links := rand.IntN(len(c.nodes)), c.links[rand.IntN(len(c.links))]
	switch kind {
	case 0:
		return set("replica cut off", links, true, false, 0)
	case 1:
		return set("replica stalled", links, false, true, 0)
	case 2:
		return set("replica delayed", links, false, false, 100*time.Millisecond)
	case 3:
		return set("node cut off", between(victim), true, false, 0)
	case 4:
		return set("node stalled", between(victim), false, true, 0)
	default:
		return set("node delayed", between(victim), false, false, 50*time.Millisecond)
	}
}

// measure adds an event to each log and records how long it takes until it is stored.
func (c *long) measure(t *testing.T, kind string, since time.Time, limit time.Duration) {
	t.Helper()
	c.add(1, time.Now())
	c.await(t, kind, since, limit)
}

// await records how long it takes until all events are stored.
func (c *long) await(t *testing.T, kind string, since time.Time, limit time.Duration) {
	t.Helper()
	took, ok := c.drain(t.Context(), since, 4*time.Minute)
	if !ok {
		t.Fatalf("%s: only %d of %d profiles are followed after %v", kind, len(took), len(c.profiles), 4*time.Minute)
	}
	c.took[kind] = append(c.took[kind], took...)
	t.Logf("%s: %v", kind, slices.Max(took).Round(time.Millisecond))
	if worst := slices.Max(took); worst > limit {
		c.late = append(c.late, fmt.Sprintf("%s: %v, want %v", kind, worst.Round(time.Millisecond), limit))
	}
}

const (
	allowance      = 5 * time.Second // for a machine that is busy
	limitOfReplica = 2*testLease + allowance
	limitOfNode    = limitOfReplica + 15*time.Second
)

// kill kills a process of a kind, which is started again some seconds later.
func (c *long) kill(t *testing.T, kind string) {
	t.Helper()
	victim := c.replicas[rand.IntN(len(c.replicas))]
	switch kind {
	case "stream leader":
		victim = c.leader(t, "FASTIO")
	case "bucket leader":
		victim = c.leader(t, "KV_fastio-relay")
	case "meta leader":
		victim = c.leader(t, "")
	case "node":
		victim = c.nodes[rand.IntN(len(c.nodes))]
	case "consumer":
		victim = c.consumer
	}
	for !victim.kill(time.Duration(1000+rand.IntN(7000)) * time.Millisecond) {
		time.Sleep(100 * time.Millisecond) // until it runs again
	}
	c.counts["kills of "+kind]++
}

// killOne kills a process of a kind and measures.
func (c *long) killOne(t *testing.T, round int) {
	t.Helper()
	kinds := []string{"replica", "stream leader", "replica", "bucket leader", "replica", "meta leader", "node"}
	kind := kinds[round%len(kinds)]
	limit := limitOfReplica
	if kind != "replica" {
		limit = limitOfNode
	}
	c.kill(t, kind)
	killed := time.Now()
	if round%4 == 3 { // unmeasured: the disturbance is another one
		name, restore := c.disturb(round / 4 % 6)
		time.Sleep(time.Duration(3+rand.IntN(12)) * time.Second)
		restore()
		c.measure(t, "kill and "+name, time.Now(), limitOfNode)
		return
	}
	c.measure(t, kind, killed, limit)
}

// killAll kills all processes of a kind at once.
func (c *long) killAll(t *testing.T, kind string, all []*process) {
	t.Helper()
	c.burst(t, 40)
	for _, p := range all {
		if p.kill(2 * time.Second) {
			c.counts["kills of "+kind]++
		}
	}
	c.measure(t, kind, time.Now(), limitOfNode)
}

// stop stops the process until the returned function is called, which is nil if the process
// does not run.
func (p *process) stop() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	victim := p.running
	if victim == nil || victim.Signal(syscall.SIGSTOP) != nil {
		return nil
	}
	return func() { _ = victim.Signal(syscall.SIGCONT) }
}

// pause stops a replica for three leases and continues it.
func (c *long) pause(t *testing.T) {
	t.Helper()
	stopped, resume := time.Now(), c.replicas[rand.IntN(len(c.replicas))].stop()
	if resume == nil {
		return
	}
	c.counts["pauses of a replica"]++
	c.add(20, time.Now())
	c.measure(t, "paused replica", stopped, limitOfReplica)
	time.Sleep(time.Until(stopped.Add(3 * testLease)))
	resume()
	c.measure(t, "continued replica", time.Now(), limitOfReplica)
}

// fill fills the disk of the last node for some time, and starts the node again.
func (c *long) fill(t *testing.T) {
	t.Helper()
	if c.disk == "" {
		return
	}
	name := filepath.Join(c.disk, "full")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = io.Copy(f, zeros{})
	f.Close()
	if err == nil {
		t.Fatal("the disk is not full")
	}
	c.counts["full disks"]++
	c.add(50, time.Now())
	c.measure(t, "full disk", began, limitOfNode)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	c.nodes[2].kill(time.Second)
	c.measure(t, "restart after a full disk", time.Now(), limitOfNode)
	c.settle(t)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// mount mounts a small file system for the last node.
func (c *long) mount(t *testing.T) {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2g"); err != nil {
		t.Logf("no disk is filled: a file system cannot be mounted: %v", err)
		return
	}
	c.disk = disk
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// Replicas and nodes of a cluster are killed, cut off, stalled, delayed and paused, with
// clocks that differ and a full disk. No event is lost, stored twice, or handled by a
// holder that has lost its lease.
func TestDisturbedClusterLosesNoEvent(t *testing.T) {
	t.Parallel()
	c := newLong()
	c.mount(t) // unmounted when the processes have ended
	c.cluster = newCluster(t, 30)
	c.exe = buildSkewed(t, c.dir)
	kills := 100
	if testing.Short() {
		kills = 24
	}
	for i := range 100 {
		c.add(33, time.Now().Add(time.Duration(i-150)*time.Minute))
	}
	began := time.Now()
	c.startNodes(t)
	for i := range 3 {
		c.startReplica(t, c.newLinks(t), skewOf(i, replicaSkew)...)
	}
	c.startConsumer(addresses(c.ports))
	for i := range 10 { // while the events before are read
		time.Sleep(4 * time.Second)
		c.sample()
		victim := c.nodes[i%3]
		if i%2 == 0 {
			victim = c.replicas[i%3]
		}
		if victim.kill(2 * time.Second) {
			c.counts["kills before the end of the log is reached"]++
		}
	}
	if _, ok := c.drain(t.Context(), began, 10*time.Minute); !ok {
		t.Fatal("the end of the logs is not reached in 10 minutes")
	}
	backlog := time.Since(began)
	t.Logf("%d events in %v: %.0f/s", c.total(), backlog, float64(c.total())/backlog.Seconds())
	for round := 10; round < kills; round++ {
		c.settle(t)
		c.sample()
		c.burst(t, 40)
		c.killOne(t, round)
		switch {
		case round%20 == 19:
			c.pause(t)
		case round%30 == 20:
			c.fill(t)
		case round%25 == 12:
			c.killAll(t, "all nodes", c.nodes)
		case round%25 == 13:
			c.killAll(t, "all replicas", c.replicas)
		case round%10 == 5:
			c.consumer.kill(time.Second)
			c.counts["kills of consumer"]++
		}
	}
	c.report(t, time.Since(began))
	for _, late := range c.late { // a limit of await is the bound that other work on the machine must not break
		t.Log("late: " + late)
	}
	c.verify(t)
}

// report prints the figures.
func (c *long) report(t *testing.T, elapsed time.Duration) {
	t.Helper()
	c.sample()
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		fmt.Fprintf(w, "%s\t%d\n", what, c.counts[what])
	}
	fmt.Fprintf(w, "\nuntil a profile is read again after\tn\tp50\tmax\n")
	for _, kind := range slices.Sorted(maps.Keys(c.took)) {
		all := slices.Sorted(slices.Values(c.took[kind]))
		fmt.Fprintf(w, "%s\t%d\t%v\t%v\n", kind, len(all), all[len(all)/2].Round(10*time.Millisecond),
			all[len(all)-1].Round(10*time.Millisecond))
	}
	var published, duplicates uint64
	for _, s := range c.stats {
		published += s.Published
		duplicates += s.Duplicates
	}
	_ = w.Flush()
	failed := map[string]int{}
	for _, p := range c.all() {
		failed[p.name] = p.failed
	}
	t.Logf("%v, %d events, %d published and %d duplicates dropped at least, ends without a kill: %v\n%s",
		elapsed.Round(time.Second), c.total(), published, duplicates, failed, out.String())
}
