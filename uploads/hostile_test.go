package uploads_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/crc"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// Responses that no server should send neither lose the call nor mislead it.
func TestOddResponses(t *testing.T) {
	t.Parallel()
	type row struct {
		limits, start, state string
		chunks               int // that are sent; 0 if the call fails before
		err                  string
	}
	const (
		limits = `{"size":1000000000,"chunk_size":100000000,"chunks":550}`
		start  = `{"id":"5a"}`
		stored = `{"session":{"status":"stored","new_file_id":"2n"}}`
	)
	table.Bubbles(t, map[string]row{
		"none":                   {limits, start, stored, 2, ""},
		"no limits":              {`{}`, start, stored, 2, ""},
		"limits of zero or less": {`{"size":0,"chunk_size":-1,"chunks":-5}`, start, stored, 2, ""},
		"limits near the largest number": {
			`{"size":9223372036854775807,"chunks":9223372036854775807}`,
			start,
			stored,
			2,
			"",
		},
		"more chunks than fit a number": {`{"chunks":2199023255553}`, start, stored, 2, ""},
		"chunks of a byte":              {`{"chunk_size":1}`, start, stored, 9, ""},
		"a single chunk":                {`{"chunks":1}`, start, stored, 1, ""},
		"a single chunk that is too small": {
			`{"chunks":1,"chunk_size":1048576}`,
			start,
			stored,
			0,
			"must be at most 1048576",
		},
		"no room for the file":   {`{"size":5}`, start, stored, 0, "must be at most 5"},
		"limits of another type": {`{"size":"big","chunks":[]}`, start, stored, 2, ""},
		"no upload":              {limits, `{}`, stored, 0, "no upload"},
		"an upload with a slash": {limits, `{"id":"5a/../../user"}`, stored, 2, ""},
		"an upload of dots":      {limits, `{"id":".."}`, stored, 0, "Send: upload (upload_id) must"},
		"another upload": {
			limits,
			start,
			`{"session":{"id":"5other","status":"stored","new_file_id":"2n"}}`,
			2,
			"",
		},
		"no file":             {limits, start, `{"session":{"status":"stored"}}`, 2, ""},
		"a state at the root": {limits, start, `{"status":"stored","new_file_id":"2n"}`, 2, ""},
		"chunks as a list": {
			limits,
			start,
			`{"session":{"status":"stored","chunks":[],"new_file_id":"2n"}}`,
			2,
			"",
		},
		"a state without an end": {limits, start, `{"session":{"status":"polishing"}}`, 2, "polishing"},
		"never stored":           {limits, start, `{"session":{"status":"complete"}}`, 2, "complete"},
	}, func(t *testing.T, test row) {
		var mu sync.Mutex
		sent := map[string]int{}
		network := stub.Network(func(r *http.Request) (*http.Response, error) {
			_, path, _ := strings.Cut(r.URL.Path, "/current")
			_, err := io.Copy(io.Discard, r.Body)
			mu.Lock()
			defer mu.Unlock()
			body, kind := `{"result":true}`, ""
			switch {
			case path == "/upload/limits/":
				body = test.limits
			case path == "/upload/":
				body, kind = test.start, "start"
			case strings.HasSuffix(path, "/chunk/"):
				kind = "chunk"
			case strings.HasSuffix(path, "/complete/"):
				kind = "complete"
			case strings.HasPrefix(path, "/upload/") && r.Method == http.MethodDelete:
				kind = "delete"
			case strings.HasPrefix(path, "/upload/"):
				body = test.state
			case strings.HasPrefix(path, "/activity/"):
				return nil, errors.New("no route")
			}
			sent[kind]++
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
			}, err
		})
		client, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: network}), fastio.WithToken("token"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		target := uploads.Target{Profile: api.Workspace("4219876543210987654")}
		const size = 9 << 20
		_, err = client.Uploads.ReaderAt(ctx, target, "a.bin", seed.Version{Size: size}.Open(), size, nil)
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("got %v, want %q", err, test.err)
		}
		if n := sent["chunk"]; n != test.chunks || sent["complete"] > 1 {
			t.Errorf("sent %v, want %d chunks", sent, test.chunks)
		}
		failed, _ := errors.AsType[*uploads.Error](err)
		if unended := test.err == "polishing" || test.err == "complete"; unended != (sent["delete"] == 0 && test.chunks > 0) {
			t.Errorf("deleted %d times after %v", sent["delete"], err)
		} else if unended && (failed == nil || !errors.Is(err, context.DeadlineExceeded) || failed.Upload.ID != "5a") {
			t.Errorf("got %v", err)
		}
	})
}

// A response that says too early that an upload is complete does not make the call wait
// for ever: the upload is completed again, or ends with an error and its session.
func TestUploadThatStaysOpenIsCompletedAgain(t *testing.T) {
	t.Parallel()
	const success, noStatus = `{"result":true}`, `{"result":true,"session":{}}`
	isWrong := func(op seed.Op, body string, count int) seed.Fault {
		return seed.Fault{Op: op, Body: body, ContentType: "application/json", Count: count}
	}
	lost := seed.Fault{Op: op.UploadsComplete, Status: http.StatusServiceUnavailable, Count: 1}
	type row struct {
		faults []seed.Fault
		resume bool
		stays  bool
	}
	table.Bubbles(t, map[string]row{
		"a completion without effect":   {faults: []seed.Fault{isWrong(op.UploadsComplete, success, 1)}},
		"two completions":               {faults: []seed.Fault{isWrong(op.UploadsComplete, success, 2)}},
		"no completion has an effect":   {faults: []seed.Fault{isWrong(op.UploadsComplete, success, 0)}, stays: true},
		"a state without a status":      {faults: []seed.Fault{lost, isWrong(op.UploadsGet, noStatus, 1)}},
		"the same of a resumed upload":  {faults: []seed.Fault{isWrong(op.UploadsGet, noStatus, 1)}, resume: true},
		"the same with a lost response": {faults: []seed.Fault{lost, isWrong(op.UploadsGet, noStatus, 2)}, resume: true},
	}, func(t *testing.T, test row) {
		w := newWorld(t)
		content := random(20 << 20)
		var session uploads.Session
		interrupted, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		o := &uploads.FileOptions{OnSession: func(_ context.Context, s uploads.Session) error {
			session = s
			if test.resume {
				stop(io.ErrClosedPipe)
			}
			return nil
		}}
		send := func(ctx context.Context) (*storage.Node, error) {
			return w.client.Uploads.ReaderAt(ctx, w.to, "plan.bin", bytes.NewReader(content), int64(len(content)), o)
		}
		if test.resume {
			if _, err := send(interrupted); err == nil {
				t.Fatal("the upload was not interrupted")
			}
			send = func(ctx context.Context) (*storage.Node, error) {
				return w.client.Uploads.Resume(ctx, session, bytes.NewReader(content), nil)
			}
		}
		for _, f := range test.faults {
			w.Fail(f)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		n, err := send(ctx)
		failed, _ := errors.AsType[*uploads.Error](err)
		switch {
		case test.stays && (ctx.Err() != nil || failed == nil || failed.Session.ID != session.ID):
			t.Errorf("got %v, want an error with the session, and no wait for the end of ctx", err)
		case !test.stays && err != nil:
			t.Error(err)
		case !test.stays:
			w.holds(t, n, content)
		}
	})
}

// sums are the hashes of the chunks that a server has received, by their order.
type sums struct {
	mu    sync.Mutex
	crc   map[int]uint32
	size  map[int]int64
	tried map[string]bool // orders of chunks
	file  string          // the checksum of the file that the client has sent
}

// Large files need the memory of three chunks, arrive with the right bytes over
// connections that break, and are received with the memory of a buffer.
func TestLargeTransfers(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const most = 64 << 20 // with garbage
	size := table.Rounds[int64](64<<20, 10<<30)
	content := seed.Version{ID: "v3r510n0fth3l4rg3f1l3", Size: size}
	synctest.Test(t, func(t *testing.T) {
		received := &sums{crc: map[int]uint32{}, size: map[int]int64{}, tried: map[string]bool{}}
		dice := rand.New(rand.NewPCG(1, 2))
		network := stub.Network(func(r *http.Request) (*http.Response, error) { return received.serve(r, dice) })
		client, err := fastio.New(
			fastio.WithHTTPClient(&http.Client{Transport: network}), fastio.WithToken("token"))
		if err != nil {
			t.Fatal(err)
		}
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		peak := uint64(0)
		o := &uploads.FileOptions{OnProgress: func(context.Context, api.Progress) {
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapInuse)
		}}
		target := uploads.Target{Profile: api.Workspace("4219876543210987654")}
		if _, err := client.Uploads.ReaderAt(t.Context(), target, "a.bin", content.Open(), size, o); err != nil {
			t.Fatal(err)
		}
		whole := uint32(0)
		for order := 1; order <= len(received.crc); order++ {
			whole = crc.Combine(whole, received.crc[order], received.size[order])
			size -= received.size[order]
		}
		if got := fmt.Sprintf("%08x", whole); size != 0 || got != received.file {
			t.Errorf("%d bytes are missing; the file is %s, announced as %s", size, got, received.file)
		}
		if grown := int64(peak) - int64(before.HeapInuse); grown > most {
			t.Errorf("%d MiB were in use", grown>>20)
		}
	})
}

func (s *sums) serve(r *http.Request, dice *rand.Rand) (*http.Response, error) {
	_, path, _ := strings.Cut(r.URL.Path, "/current")
	body := `{"result":true,"id":"5a","status":"stored","new_file_id":"2n"}`
	if strings.HasSuffix(path, "/chunk/") {
		order := r.URL.Query().Get("order")
		s.mu.Lock()
		cut := int64(-1)
		if !s.tried[order] && dice.IntN(3) == 0 {
			cut = dice.Int64N(8 << 20)
		}
		s.tried[order] = true
		s.mu.Unlock()
		if cut >= 0 {
			_, _ = io.CopyN(io.Discard, r.Body, cut)
			return nil, io.ErrUnexpectedEOF
		}
		if err := s.chunk(r); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// chunk takes a chunk whose checksum is the announced one.
func (s *sums) chunk(r *http.Request) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	part, err := parts.NextPart()
	if err != nil {
		return err
	}
	sum, q := crc32.New(crc32.MakeTable(crc32.Castagnoli)), r.URL.Query()
	n, err := io.Copy(sum, part)
	if err != nil {
		return err
	}
	order, err := strconv.Atoi(q.Get("order"))
	if want := fmt.Sprintf("%08x", sum.Sum32()); err != nil || q.Get("hash") != want {
		return fmt.Errorf("the checksum of chunk %d is %s, announced as %s: %w", order, want, q.Get("hash"), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crc[order], s.size[order] = sum.Sum32(), n
	if file := q.Get("file_crc32c"); file != "" {
		s.file = file
	}
	return nil
}
