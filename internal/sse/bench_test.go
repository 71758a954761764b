package sse_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/internal/sse"
)

// chunk is an event as chats have them.
type chunk struct {
	Thread string `json:"thread_id"`
	Turn   string `json:"turn_id"`
	Status string `json:"status"`
	Delta  string `json:"delta"`
	Seq    int    `json:"seq"`
}

func chunks() []string {
	words := strings.Fields("The lease of Dock 4 ends first, on 31 May, and that of Dock 7 in autumn")
	all := make([]string, 0, 64)
	for i := range cap(all) {
		all = append(all, fmt.Sprintf(
			`{"thread_id":"9iacg-qx2wz-7fm3n-e5tbd-a1kcv-4h6","turn_id":"9qk2t-mz4xw-1rb7c-y5nfp-d3hgs-8j0",`+
				`"status":"running","delta":"%s %d ","seq":%d}`,
			words[i%len(words)], 31*i, 1000+i,
		))
	}
	return all
}

func streamOf(chunks []string) string {
	var b strings.Builder
	for i, data := range chunks {
		fmt.Fprintf(&b, "id: %d\nevent: delta\ndata: %s\n\n", 1000+i, data)
	}
	return b.String()
}

// frame is the reader alone and lines bufio on the same lines; whole is the reader with
// the decoding of each event, floor the same decoding at known offsets, and decode the
// decoding alone.
func BenchmarkEvent(b *testing.B) {
	data := chunks()
	stream := streamOf(data)
	b.Run("frame", func(b *testing.B) {
		s := sse.NewReader(&endless{text: stream}, 0)
		b.SetBytes(int64(len(stream) / len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lines", func(b *testing.B) {
		const lines = 4 // of an event
		r := bufio.NewReaderSize(&endless{text: stream}, 8<<10)
		b.SetBytes(int64(len(stream) / len(data)))
		for b.Loop() {
			for range lines {
				if _, err := r.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		s := sse.NewReader(&endless{text: stream}, 0)
		b.ReportAllocs()
		var c chunk
		for b.Loop() {
			e, err := s.Next()
			if err != nil {
				b.Fatal(err)
			}
			if err := jsonv2.Unmarshal(e.Data, &c); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		const before, after = len("id: 1000\nevent: delta\ndata: "), len("\n\n")
		src := &endless{text: stream}
		buf := make([]byte, 8<<10)
		at, end := 0, 0
		b.ReportAllocs()
		var c chunk
		for i := 0; b.Loop(); i++ {
			size := len(data[i%len(data)])
			if end-at < before+size+after {
				end = copy(buf, buf[at:end])
				n, err := src.Read(buf[end:])
				if err != nil {
					b.Fatal(err)
				}
				at, end = 0, end+n
			}
			if err := jsonv2.Unmarshal(buf[at+before:at+before+size], &c); err != nil {
				b.Fatal(err)
			}
			at += before + size + after
		}
	})
	b.Run("decode", func(b *testing.B) {
		raw := make([][]byte, len(data))
		for i, text := range data {
			raw[i] = []byte(text)
		}
		b.ReportAllocs()
		var c chunk
		for i := 0; b.Loop(); i++ {
			if err := jsonv2.Unmarshal(raw[i%len(raw)], &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Events of a megabyte in reads of a packet each, beside a copy of the same bytes
// in the same reads.
func BenchmarkBigEvents(b *testing.B) {
	const size = 1 << 20
	stream := "data: " + strings.Repeat("x", size) + "\n\n"
	b.Run("frame", func(b *testing.B) {
		b.SetBytes(size)
		s := sse.NewReader(&packets{&endless{text: stream}, 1400}, 0)
		for b.Loop() {
			if _, err := s.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(size)
		r := io.Reader(&packets{&endless{text: stream}, 1400})
		to := make([]byte, size)
		for b.Loop() {
			if _, err := io.ReadFull(r, to); err != nil {
				b.Fatal(err)
			}
		}
	})
}
