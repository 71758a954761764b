package uploads

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Limits are those of the plan that pays for a target. A limit of 0 is unknown.
type Limits struct {
	Size            int64 `json:"size"`              // bytes of a file
	ChunkSize       int64 `json:"chunk_size"`        // bytes of a chunk
	Chunks          int64 `json:"chunks"`            // of an upload
	Sessions        int64 `json:"sessions"`          // uploads at a time
	SessionsSizeMax int64 `json:"sessions_size_max"` // bytes of all uploads at a time

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Limits returns the limits for an upload to a target: for a new file in its folder, or
// for a replaced File. The zero Target asks for those of the caller.
//
// It calls GET /current/upload/limits/.
func (s *Service) Limits(ctx context.Context, t Target, opts ...api.CallOption) (*Limits, error) {
	q := url.Values{}
	if t.Profile.ID != "" {
		q.Set("action", "create")
		q.Set("instance_id", string(t.Profile.ID))
	}
	if t.File != "" {
		q.Set("action", "update")
		q.Set("file_id", t.File.Plain())
	} else if t.Folder != "" {
		q.Set("folder_id", t.Folder.Plain())
	}
	a, err := call.Payload[struct {
		Limits *Limits `json:"limits"`
		Bare   Limits  `json:",embed,inline"`
	}](ctx, s.c, endpoint.UploadsLimits(q), opts)
	if err != nil {
		return nil, err
	}
	if a.Limits != nil {
		return a.Limits, nil
	}
	return &a.Bare, nil
}

// limitsCache has those of targets, each read once a minute.
type limitsCache struct {
	read func(context.Context, Target, ...api.CallOption) (*Limits, error)

	mu  sync.Mutex
	all map[Target]*cachedLimits
}

// cachedLimits are the limits of a target.
type cachedLimits struct {
	free    chan struct{} // its one value gives the right to read or replace the others
	limits  *Limits
	expires time.Time
}

const limitsLife = time.Minute

// get returns the limits of the plan for a folder or file, from the cache if they are fresh.
// Callers at the same time share one call: one takes the value of free, and the others wait.
func (l *limitsCache) get(ctx context.Context, t Target, opts []api.CallOption) (*Limits, error) {
	o := l.cacheEntry(Target{Profile: t.Profile, Folder: t.Folder, File: t.File})
	select {
	case <-o.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { o.free <- struct{}{} }()
	if time.Now().Before(o.expires) {
		return o.limits, nil
	}
	read, err := l.read(ctx, t, opts...)
	if err != nil {
		return nil, err
	}
	o.limits, o.expires = read, time.Now().Add(limitsLife)
	return read, nil
}

// mostTargets is of how many targets the limits are kept.
const mostTargets = 1000

// cacheEntry returns the cache entry for the limits of a target. A new one has expired,
// so that the caller reads the limits. A full cache is cleared first.
func (l *limitsCache) cacheEntry(t Target) *cachedLimits {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.all[t]
	if o == nil {
		o = &cachedLimits{free: make(chan struct{}, 1)}
		o.free <- struct{}{}
		if len(l.all) >= mostTargets {
			clear(l.all)
		}
		l.all[t] = o
	}
	return o
}

// Extensions are the extensions of file names that a plan restricts.
type Extensions struct {
	Restricted []string `json:"restricted_extensions"`
	Archives   []string `json:"archive_extensions"`
	Enforced   bool     `json:"enforcement_enabled"`
	Plan       string   `json:"plan"`
	CacheTTL   int64    `json:"cache_ttl"` // in seconds

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Extensions returns the restricted extensions of a plan, "" for that of the caller.
//
// It calls GET /current/upload/limits/extensions/.
func (s *Service) Extensions(ctx context.Context, plan string, opts ...api.CallOption) (*Extensions, error) {
	q := url.Values{}
	if plan != "" {
		q.Set("plan", plan)
	}
	return call.Payload[Extensions](ctx, s.c, endpoint.UploadsExtensions(q), opts)
}

// Algorithms returns the names of the hashes that uploads may have.
//
// It calls GET /current/upload/algos/.
func (s *Service) Algorithms(ctx context.Context, opts ...api.CallOption) ([]string, error) {
	return call.List[string](ctx, s.c, endpoint.UploadsAlgorithms(), "algos", opts)
}

const (
	minChunk     = 1 << 20 // bytes of every chunk but the last
	defaultChunk = 8 << 20
)

// parallel returns how many files of up to size bytes may be sent in chunks at a time:
// most, or fewer if the plan limits sessions or their bytes in total, but at least one.
func (l *Limits) parallel(most int, size int64) int {
	n := int64(most)
	if l.Sessions > 0 {
		n = min(n, l.Sessions)
	}
	if l.SessionsSizeMax > 0 && size > 0 {
		n = min(n, l.SessionsSizeMax/size)
	}
	return int(max(n, 1))
}

// chunkSize returns the size of the chunks for a file: the wanted one, or the default if
// that is 0, adapted to the limits. It is a multiple of minChunk, or the largest size that
// the plan allows. It returns an error for a file that is too large.
func (l *Limits) chunkSize(args input.Args, size, wanted int64) (int64, error) {
	if wanted == 0 {
		wanted = defaultChunk
	}
	chunk := max(min(wanted, size), minChunk)
	if l.Chunks > 0 {
		chunk = max(chunk, (size-1)/l.Chunks+1) // size / Chunks, rounded up
	}
	chunk = (chunk + minChunk - 1) / minChunk * minChunk // rounded up
	if l.ChunkSize > 0 {
		chunk = min(chunk, max(l.ChunkSize, minChunk))
	}
	neededChunks := (size-1)/chunk + 1 // size / chunk, rounded up
	var most int64                     // bytes that the plan allows
	switch {
	case l.Size > 0 && size > l.Size:
		most = l.Size
	case l.SessionsSizeMax > 0 && size > l.SessionsSizeMax:
		most = l.SessionsSizeMax
	case l.Chunks > 0 && neededChunks > l.Chunks:
		most = chunk * l.Chunks
	default:
		return chunk, nil
	}
	rule := "must be at most " + strconv.FormatInt(most, 10) + " bytes, the limit of the plan"
	return 0, args.Refuse("size", rule, strconv.FormatInt(size, 10))
}
