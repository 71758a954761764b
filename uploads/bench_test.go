//go:build linux

package uploads_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/uploads"
)

// Each transfer runs in a process of its own, and the server in another one, so that the
// CPU time and the memory are those of the client. A benchmark reports the CPU time of the
// client in relation to that of a program for net/http which does the same.

const (
	benchRole  = "FASTIO_BENCH_ROLE"
	benchURL   = "FASTIO_BENCH_URL"
	benchSize  = "FASTIO_BENCH_SIZE"
	benchFile  = "FASTIO_BENCH_FILE"
	benchChunk = 8 << 20
	benchFiles = 1000
	benchNode  = "2bench00000000000000000000000"

	benchUpload = "5bench00000000000000000000000"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(benchRole); role != "" {
		if err := benchRoles()[role](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func benchRoles() map[string]func() error {
	return map[string]func() error{
		"server":             benchServer,
		"nothing":            func() error { return nil },
		"File":               benchUploadFile,
		"File floor":         benchUploadFloor,
		"DownloadTo":         benchDownloadTo,
		"DownloadTo floor":   func() error { return benchDownloadFloor(false) },
		"DownloadFile":       benchDownloadFile,
		"DownloadFile floor": func() error { return benchDownloadFloor(true) },
		"FS from memory":     func() error { return benchTree(memoryFiles()) },
		"Dir from disk":      func() error { return benchTree(os.DirFS(os.Getenv(benchFile))) },
		"calls":              benchCalls,
		"sender":             sender,
	}
}

func size() int64 {
	n, _ := strconv.ParseInt(os.Getenv(benchSize), 10, 64)
	return n
}

// pattern is the content that the server sends.
type pattern struct{ block []byte }

func (p pattern) WriteTo(w io.Writer, n int64) {
	for n > 0 {
		part := p.block[:min(int64(len(p.block)), n)]
		if _, err := w.Write(part); err != nil {
			return
		}
		n -= int64(len(part))
	}
}

// limited is a connection of a number of bytes a second in each direction.
type limited struct {
	net.Conn
	link *link
}

// link is shared by all connections.
type link struct {
	mu   sync.Mutex
	next time.Time
}

const gigabit = 125_000_000 // bytes a second

func (c limited) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.link.mu.Lock()
	now := time.Now()
	if c.link.next.Before(now) {
		c.link.next = now
	}
	c.link.next = c.link.next.Add(time.Duration(n) * time.Second / gigabit)
	pause := c.link.next.Sub(now)
	c.link.mu.Unlock()
	if pause > time.Millisecond {
		time.Sleep(pause)
	}
	return n, err
}

type limitedListener struct {
	net.Listener
	link *link
}

func (l limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return limited{c, l.link}, err
}

// benchServer discards what it receives, until its standard input ends. It listens twice:
// the second listener is limited.
func benchServer() error {
	content := pattern{random(1 << 20)}
	sum := sha256.New()
	content.WriteTo(sum, size())
	node := fmt.Sprintf(
		`{"result":true,"node":{"id":%q,"name":"large.bin","type":"file","size":%d,"version":"3v",`+
			`"hash":%q,"hash_algo":"sha256","origin":{"type":"chunked","upload_session_id":%q}}}`,
		benchNode,
		size(),
		hex.EncodeToString(sum.Sum(nil)),
		benchUpload,
	)
	respond := func(w http.ResponseWriter, r *http.Request, body string) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, at, _ := strings.Cut(r.URL.Path, "/current")
		switch {
		case at == "/upload/batch/":
			results := make([]string, 200)
			for i := range results {
				results[i] = fmt.Sprintf(`{"index":%[1]d,"filename":"f","status":"ok","upload_id":"5u%[1]d","node_id":"2n%[1]d"}`, i)
			}
			respond(w, r, `{"result":true,"batch_id":"b","results":[`+strings.Join(results, ",")+`]}`)
		case at == "/upload/":
			respond(w, r, `{"result":true,"id":"`+benchUpload+`","new_file_id":"`+benchNode+`"}`)
		case at == "/upload/limits/":
			respond(w, r, `{"result":true,"size":107374182400,"chunk_size":104857600,"chunks":10000}`)
		case strings.HasPrefix(at, "/upload/") && r.Method == http.MethodGet:
			respond(
				w,
				r,
				`{"result":true,"session":{"id":"`+benchUpload+`","status":"stored","new_file_id":"`+benchNode+`"}}`,
			)
		case strings.HasSuffix(at, "/list/"):
			respond(w, r, `{"result":true,"nodes":[],"pagination":{"has_more":false,"next_cursor":null}}`)
		case strings.HasSuffix(at, "/requestread/"):
			respond(w, r, `{"result":true,"token":"t"}`)
		case strings.HasSuffix(at, "/details/"):
			respond(w, r, node)
		case strings.HasSuffix(at, "/read/"):
			w.Header().Set("Content-Length", strconv.FormatInt(size(), 10))
			content.WriteTo(w, size())
		case strings.HasPrefix(at, "/activity/"):
			<-r.Context().Done()
		default:
			respond(w, r, `{"result":true}`)
		}
	})
	for i := range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(os.Stdout, "http://"+l.Addr().String())
		if i == 1 {
			l = limitedListener{l, &link{}}
		}
		go func() { _ = http.Serve(l, handler) }()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

func benchClient() *fastio.Client {
	c, err := fastio.New(fastio.WithBaseURL(os.Getenv(benchURL)), fastio.WithToken("t"))
	if err != nil {
		panic(err)
	}
	return c
}

func room() api.Profile { return api.Workspace("1234567890123456789") }

func benchUploadFile() error {
	_, err := benchClient().Uploads.File(
		context.Background(),
		uploads.Target{Profile: room()},
		os.Getenv(benchFile),
		&uploads.FileOptions{ChunkSize: benchChunk},
	)
	return err
}

var floorClient = &http.Client{}

// post sends a request and discards the response.
func post(ctx context.Context, path, kind string, body io.Reader, length int64) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv(benchURL)+"/current"+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer t")
	r.Header.Set("Content-Type", kind)
	r.ContentLength = length
	resp, err := floorClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// benchUploadFloor reads each chunk into memory, computes its checksum and posts it, three
// at a time, the last one alone.
func benchUploadFloor() error {
	ctx := context.Background()
	f, err := os.Open(os.Getenv(benchFile))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	table := crc32.MakeTable(crc32.Castagnoli)
	var whole uint32
	chunk := func(buffer []byte, order int64) error {
		n, err := f.ReadAt(buffer, (order-1)*benchChunk)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		sum := crc32.Checksum(buffer[:n], table)
		var head bytes.Buffer
		m := multipart.NewWriter(&head)
		if _, err := m.CreateFormFile("chunk", "chunk"); err != nil {
			return err
		}
		tail := "\r\n--" + m.Boundary() + "--\r\n"
		length := int64(head.Len() + n + len(tail))
		body := io.MultiReader(&head, bytes.NewReader(buffer[:n]), strings.NewReader(tail))
		path := fmt.Sprintf("/upload/5bench/chunk/?order=%d&size=%d&hash=%08x&file=%08x", order, n, sum, whole)
		return post(ctx, path, m.FormDataContentType(), body, length)
	}
	chunks := (size() + benchChunk - 1) / benchChunk
	orders := make(chan int64)
	var group sync.WaitGroup
	var failed error
	for range 3 {
		group.Go(func() {
			buffer := make([]byte, benchChunk)
			for order := range orders {
				if err := chunk(buffer, order); err != nil {
					failed = err
				}
			}
		})
	}
	for order := int64(1); order < chunks; order++ {
		orders <- order
	}
	close(orders)
	group.Wait()
	return cmp.Or(failed, chunk(make([]byte, benchChunk), chunks), post(ctx, "/upload/5bench/complete/", "", nil, 0))
}

func benchDownloadTo() error {
	f, err := os.Create(os.Getenv(benchFile) + ".got")
	if err != nil {
		return err
	}
	_, err = benchClient().Storage.DownloadTo(context.Background(), room(), benchNode, f, nil)
	return errors.Join(err, f.Close())
}

func benchDownloadFile() error {
	_, err := benchClient().Storage.DownloadFile(context.Background(), room(), benchNode, os.Getenv(benchFile)+".got", nil)
	return err
}

// benchDownloadFloor copies a response to a file, with durable also hashed, flushed and
// renamed.
func benchDownloadFloor(durable bool) error {
	path := os.Getenv(benchFile) + ".got"
	f, err := os.Create(path + ".partial")
	if err != nil {
		return err
	}
	resp, err := floorClient.Get(os.Getenv(benchURL) + "/current/workspace/1/storage/x/read/")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if !durable {
		_, err = io.Copy(f, resp.Body)
		return errors.Join(err, f.Close())
	}
	sum := sha256.New()
	if _, err = io.Copy(f, io.TeeReader(resp.Body, sum)); err == nil && len(sum.Sum(nil)) > 0 {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Rename(path+".partial", path))
}

func memoryFiles() fstest.MapFS {
	files := fstest.MapFS{}
	for i := range benchFiles {
		files[strconv.Itoa(i)] = &fstest.MapFile{Data: random(10 << 10)}
	}
	return files
}

func benchTree(files fs.FS) error {
	result, err := benchClient().Uploads.FS(context.Background(), uploads.Target{Profile: room()}, files, nil)
	if err == nil && result.Done < benchFiles {
		err = fmt.Errorf("sent %d files", result.Done)
	}
	return err
}

// benchCalls sends each file in a call of its own.
func benchCalls() error {
	client, files := benchClient(), memoryFiles()
	for name, f := range files {
		r := uploads.StartRequest{Target: uploads.Target{Profile: room()}, Name: name}
		if _, err := client.Uploads.Put(context.Background(), r, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// usage is what a process has used.
type usage struct {
	cpu, wall time.Duration
	memory    int64 // MiB at most
}

// bench is a server in another process.
type bench struct {
	b         *testing.B
	addresses [2]string
	file      string
	size      int64
}

func newBench(b *testing.B, size int64) *bench {
	b.Helper()
	s := &bench{b: b, file: filepath.Join(b.TempDir(), "large.bin"), size: size}
	f, err := os.Create(s.file)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
	server := s.command("server")
	stdin, _ := server.StdinPipe()
	stdout, _ := server.StdoutPipe()
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = server.Wait()
	})
	if _, err := fmt.Fscanln(stdout, &s.addresses[0]); err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Fscanln(stdout, &s.addresses[1]); err != nil {
		b.Fatal(err)
	}
	return s
}

func (s *bench) command(role string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), benchRole+"="+role, benchFile+"="+s.file, fmt.Sprintf("%s=%d", benchSize, s.size))
	c.Stderr = os.Stderr
	return c
}

func (s *bench) run(role, url string) usage {
	s.b.Helper()
	c := s.command(role)
	c.Env = append(c.Env, benchURL+"="+url)
	begun := time.Now()
	if err := c.Run(); err != nil {
		s.b.Fatalf("%s: %v", role, err)
	}
	used := c.ProcessState.SysUsage().(*syscall.Rusage)
	memory := int64(used.Maxrss) >> 10 //nolint:unconvert // 32 bits on some systems
	return usage{c.ProcessState.UserTime() + c.ProcessState.SystemTime(), time.Since(begun), memory}
}

// compare reports the medians of alternating runs.
func (s *bench) compare(role, floor, url string) {
	var cpu, wall, growth []float64
	for s.b.Loop() {
		nothing := s.run("nothing", url)
		base, ours := s.run(floor, url), s.run(role, url)
		cpu = append(cpu, float64(ours.cpu)/float64(base.cpu))
		wall = append(wall, float64(base.wall)/float64(ours.wall))
		growth = append(growth, float64(ours.memory-nothing.memory))
	}
	s.b.ReportMetric(median(cpu), "cpu-ratio")
	s.b.ReportMetric(median(wall), "speed-ratio")
	s.b.ReportMetric(median(growth), "MiB-growth")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// large is the size of the file: a GiB in the long tests.
func large() int64 { return int64(table.Rounds(16, 1024)) << 20 }

func BenchmarkFile(b *testing.B) {
	s := newBench(b, large())
	s.compare("File", "File floor", s.addresses[0])
}

func BenchmarkFileOverGigabit(b *testing.B) {
	s := newBench(b, large())
	s.compare("File", "File floor", s.addresses[1])
}

func BenchmarkDownloadTo(b *testing.B) {
	s := newBench(b, large())
	s.compare("DownloadTo", "DownloadTo floor", s.addresses[0])
}

func BenchmarkDownloadFile(b *testing.B) {
	s := newBench(b, large())
	s.compare("DownloadFile", "DownloadFile floor", s.addresses[0])
}

// BenchmarkSmallFiles compares batches with a call for each of a thousand files.
func BenchmarkSmallFiles(b *testing.B) {
	for _, role := range []string{"FS from memory", "Dir from disk"} {
		b.Run(role, func(b *testing.B) {
			s := newBench(b, 1)
			s.file = filepath.Dir(s.file)
			for name, f := range memoryFiles() {
				if err := os.WriteFile(filepath.Join(s.file, name), f.Data, 0o600); err != nil {
					b.Fatal(err)
				}
			}
			s.compare(role, "calls", s.addresses[0])
		})
	}
}
