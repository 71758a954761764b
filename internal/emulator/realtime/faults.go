package realtime

import (
	"cmp"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// overtaking is how long a message waits for another to go first.
const overtaking = time.Second

// deliver sends a message, spoiled as the fault says.
func (k *socket) deliver(f frame, fault *world.SocketFault) {
	k.pause(fault.Delay)
	if kind, junk := junkMessage(fault.Junk); junk != nil {
		k.send(kind, junk)
	}
	if fault.Overtake {
		k.overtake()
	}
	if f.text != nil && !fault.Lose && !fault.Drop {
		for range 1 + fault.Copies {
			k.send(websocket.MessageText, f.text(k.h.Now()))
		}
	}
	switch {
	case fault.HalfOpen:
		k.line.silent.Store(true)
	case fault.Close != 0:
		k.end(closing{code: websocket.StatusCode(fault.Close), reason: "closed on request"})
	case fault.Drop:
		k.end(closing{reason: "dropped on request", reset: true})
	}
}

func (k *socket) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-k.ctx.Done():
	}
}

// overtake sends the next message, whole, if there is one soon.
func (k *socket) overtake() {
	t := time.NewTimer(overtaking)
	defer t.Stop()
	select {
	case next := <-k.queue:
		k.deliver(next, cmp.Or(next.fault, &world.SocketFault{}))
	case <-t.C:
	case <-k.ctx.Done():
	}
}

func junkMessage(j seed.Junk) (websocket.MessageType, []byte) {
	switch j {
	case seed.BrokenJSON:
		return websocket.MessageText, []byte(`{"response":"activity","activity":["stor`)
	case seed.BrokenText:
		return websocket.MessageText, []byte("{\"response\":\"activity\",\"activity\":[\"storage\xff\xfe\"]}")
	case seed.BinaryJunk:
		return websocket.MessageBinary, []byte{0, 1, 2, 0xff}
	case seed.HugeJunk:
		return websocket.MessageText, []byte(`{"response":"activity","activity":["storage:` + strings.Repeat("2", 1<<20) +
			`"]}`)
	case seed.NoJunk:
	}
	return 0, nil
}
