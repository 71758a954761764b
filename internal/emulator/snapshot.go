package emulator

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/ai"
	"github.com/fastio-go/fastio/internal/emulator/blob"
	"github.com/fastio-go/fastio/internal/emulator/fileshares"
	"github.com/fastio-go/fastio/internal/emulator/graph"
	"github.com/fastio-go/fastio/internal/emulator/howto"
	"github.com/fastio-go/fastio/internal/emulator/invent"
	"github.com/fastio-go/fastio/internal/emulator/metadata"
	"github.com/fastio-go/fastio/internal/emulator/orgs"
	"github.com/fastio-go/fastio/internal/emulator/seedfile"
	"github.com/fastio-go/fastio/internal/emulator/uploads"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// roots returns the structs that hold all state, from which a snapshot is written and into
// which it is read: the server, the world and the areas.
func (s *Server) roots() []any {
	return []any{
		s, s.World, s.accountArea, s.activityArea, s.aiArea, s.commentsArea, s.eventsArea, s.filesharesArea, s.metadataArea,
		s.oauthArea, s.orgsArea, s.quicksharesArea, s.realtimeArea, s.signinArea, s.assets, s.howto, s.members, s.search,
		s.shares, s.storage, s.system, s.uploads, s.workspaces,
	}
}

// Reasons why a snapshot leaves out a field.
const (
	isLock   = "it has no state between calls"
	isWiring = "New sets it"
	isLive   = "it belongs to calls under way, which a restored server does not have"
	isRecord = "it is for tests, and no state of the platform"
	isMade   = "it follows from other fields"
)

// codec returns the codec of the state of servers.
var codec = sync.OnceValue(func() *graph.Codec { //nolint:gochecknoglobals // its tables are made once
	held := []any{wire.Object(nil), []wire.Object(nil), invent.Document()}
	for _, source := range world.Sources() {
		held = append(held, source)
	}
	for _, tasks := range [][]world.Task{
		ai.Tasks(), fileshares.Tasks(), howto.Tasks(), metadata.Tasks(), orgs.Tasks(), uploads.Tasks(), world.Tasks(),
	} {
		for _, t := range tasks {
			held = append(held, t)
		}
	}
	return graph.New(held, map[string]string{
		"sync.Mutex": isLock, "sync.RWMutex": isLock,
		"world.Signal": isLive, "world.clock.sleeps": isLive, "world.scheduled.alarm": isLive,
		"world.Activity.changes": isLive, "world.Activity.Cut": isLive, "realtime.Handlers.sockets": isLive,
		"emulator.Server.mux": isWiring, "emulator.Server.routes": isWiring, "world.clock.source": isWiring,
		"seed.Options.Clock": isWiring, "seed.OAuthOptions.Fetch": isWiring, "world.Core.OnChange": isWiring,
		"world.World.OnUser": isWiring, "storage.Handlers.NodeFacts": isWiring, "storage.Handlers.Uploaded": isWiring,
		"system.Handlers.AllRoutes": isWiring, "oauth.Handlers.pages": isWiring, "world.Tree.Blobs": isWiring,
		"realtime.Handlers.messageFaults": isWiring, "realtime.Handlers.closed": isWiring,
		"emulator.Server.record": isRecord, "emulator.Server.refusals": isRecord, "emulator.Server.start": isRecord,
		"world.Core.changes":          isRecord,
		"emulator.disagreement.edits": isMade, "emulator.disagreement.from": isMade, "emulator.disagreement.moved": isMade,
		"world.clock.ahead": isMade,
	}, New(seed.Options{}).roots()...)
})

// version returns the version of the state. The number is raised when a field has another
// meaning and the same type.
func version() string { return "1." + codec().Version() }

// saved is a state: its JSON, and the contents in it by name.
type saved struct {
	state    *blob.Blob
	contents map[string]graph.Content
}

// writeState writes the state as JSON, and returns the contents to which it refers, by
// name. The caller holds the lock.
func (s *Server) writeState(w io.Writer) (map[string]graph.Content, error) {
	// A program may have its own type of [io.ReaderAt] as the Source of a content. JSON cannot hold that, so
	// KeepSources reads and stores what it has.
	if err := s.KeepSources(); err != nil {
		return nil, err
	}
	s.SaveClock() // a running clock does not store its time
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.limits.mu.Lock()
	defer s.limits.mu.Unlock()
	if _, err := fmt.Fprintf(w, "{\"version\":%q,\"state\":\n", version()); err != nil {
		return nil, err
	}
	contents, err := codec().Encode(w, s.roots()...)
	if err != nil {
		return nil, fmt.Errorf("the state cannot be saved: %w", err)
	}
	_, err = io.WriteString(w, "}\n")
	return contents, err
}

// readState replaces the state by one that writeState has written, and drops all sockets.
// Open returns a content by its name. If there is an error, the state is unchanged. It
// takes the locks.
func (s *Server) readState(r io.Reader, open func(name string) (*blob.Blob, error)) error {
	freshOptions, commit, err := s.decodeState(r, open)
	if err != nil {
		return err
	}
	const ofAnyProfile = ""
	s.DropSockets(ofAnyProfile) // takes the lock by itself
	s.Lock()
	defer s.Unlock()
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.limits.mu.Lock()
	defer s.limits.mu.Unlock()
	hadDeviceFlow := s.Options.OAuth.DeviceFlow
	avoidWriteOfOptions(freshOptions, &s.Options) // calls read them without a lock: commit must not write equal ones
	s.ReplaceState(commit)
	changesRoutes := s.Options.OAuth.DeviceFlow != hadDeviceFlow
	if changesRoutes {
		s.setRoutes()
	}
	return nil
}

// decodeState decodes a state that writeState has written, and changes nothing of s.
// Commit copies the decoded state to s. Options points to the options in the decoded state,
// which the caller may change before commit.
func (s *Server) decodeState(
	r io.Reader, open func(name string) (*blob.Blob, error),
) (options *seed.Options, commit func(), err error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	head, err := buffered.ReadSlice('\n')
	if err != nil {
		return nil, nil, errors.New("this is not the state of an emulator")
	}
	var theirs string
	if _, err := fmt.Sscanf(string(head), `{"version":%q,"state":`, &theirs); err != nil {
		return nil, nil, errors.New("this is not the state of an emulator")
	}
	if own := version(); theirs != own {
		return nil, nil, fmt.Errorf("the snapshot has the state of version %s, this emulator reads version %s: "+
			"unzip it and load its seed.json instead", theirs, own)
	}
	fresh, commit, err := codec().Decode(buffered, open, s.roots()...)
	if err != nil {
		return nil, nil, fmt.Errorf("the state is damaged: %w", err)
	}
	tail, err := io.ReadAll(io.LimitReader(buffered, 3)) // more than the end has
	if err != nil || string(tail) != "}\n" {
		return nil, nil, errors.New("the state is damaged: its end is missing")
	}
	freshServer, freshWorld := fresh[0].(*Server), fresh[1].(*world.World) //nolint:forcetypeassert // as in roots
	if err := checkRules(s.routes, freshServer.limits.rules); err != nil {
		return nil, nil, fmt.Errorf("the state is damaged: %w", err)
	}
	rules := freshServer.faults.disagreements
	for i, d := range rules { // a rule refers to routes, which must be those of this server
		rules[i], err = newDisagreement(s.routes, d.given)
		if err != nil {
			return nil, nil, err
		}
	}
	return &freshWorld.Options, commit, nil
}

// avoidWriteOfOptions prevents a data race: calls read the options without a lock, so the
// commit of a snapshot must not write options that stay the same. Commit writes what is not
// identical. If the two options are equal, this function replaces fresh by a copy of own,
// which has the same pointers and so is identical.
func avoidWriteOfOptions(fresh, own *seed.Options) {
	asSaved := *own
	asSaved.Clock, asSaved.OAuth.Fetch = nil, nil // a snapshot has neither, and commit leaves both as they are
	if reflect.DeepEqual(*fresh, asSaved) {
		*fresh = asSaved
	}
}

// MarkStart makes the present state the one that [Server.Reset] restores.
func (s *Server) MarkStart() error {
	start, err := s.saveState()
	if err == nil {
		s.setStart(func() error { return s.loadState(start) })
	}
	return err
}

// MarkStartOf makes the present state the one that [Server.Reset] restores, like
// [Server.MarkStart], but keeps no copy of it in memory until the first Reset. The first
// Reset calls remake, which must return a server with the same state.
func (s *Server) MarkStartOf(remake func() (*Server, error)) {
	s.setStart(func() error {
		start, err := stateOf(remake)
		if err != nil {
			return err
		}
		// Later resets have the copy, and do not call remake again.
		s.setStart(func() error { return s.loadState(start) })
		return s.loadState(start)
	})
}

// stateOf makes a server and returns its state, which is all that is needed of it: the
// server is closed.
func stateOf(remake func() (*Server, error)) (saved, error) {
	fresh, err := remake()
	if err != nil {
		return saved{}, err
	}
	start, err := fresh.saveState()
	return start, errors.Join(err, fresh.Close())
}

// setStart sets what [Server.Reset] does.
func (s *Server) setStart(restore func() error) {
	s.LockUncounted() // not counted as a change of the state: a snapshot does not have s.start
	defer s.Unlock()
	s.start = restore
}

// Reset restores the state of the latest [Server.MarkStart], [Server.MarkStartOf] or
// [Server.Restore].
func (s *Server) Reset() error {
	s.RLock()
	restore := s.start
	s.RUnlock()
	if restore == nil {
		return errors.New("emulator: no state was marked as the start")
	}
	return restore()
}

// saveState returns the present state, for loadState. It takes the lock.
func (s *Server) saveState() (saved, error) {
	var text bytes.Buffer
	s.LockUncounted() // writeState sets fields of s, but changes nothing that a snapshot has
	defer s.Unlock()
	contents, err := s.writeState(&text)
	if err != nil {
		return saved{}, err
	}
	state, err := s.Blobs.Keep(text.Bytes())
	return saved{state, contents}, err
}

// loadState replaces the state by one of saveState.
func (s *Server) loadState(from saved) error {
	return s.readState(io.NewSectionReader(from.state, 0, from.state.Size()), func(name string) (*blob.Blob, error) {
		c := from.contents[name]
		if b, isBlob := c.(*blob.Blob); isBlob {
			return b, nil
		}
		return s.Blobs.Read(io.NewSectionReader(c, 0, c.Size())) // a long text, of which a new blob is made
	})
}

// Names of the files of a snapshot.
const (
	seedName  = "seed.json"
	stateName = "state.json"
	blobsName = "blobs/"
)

// Snapshot writes the state as a zip file: seed.json, a seed file with the objects, which a
// person can read; state.json, the whole state; and a file for each long content. It holds
// the lock only until the state is in memory, however slow w is.
func (s *Server) Snapshot(w io.Writer) error {
	out := &delayed{}
	z := zip.NewWriter(out)
	compressor, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		return err
	}
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		compressor.Reset(w) // the files are written one after the other
		return compressor, nil
	})
	contents, err := s.writeFiles(z)
	if err != nil {
		return err
	}
	if err := out.writeThrough(w); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		file, err := z.Create(blobsName + name)
		if err != nil {
			return err
		}
		c := contents[name]
		if _, err := io.Copy(file, io.NewSectionReader(c, 0, c.Size())); err != nil {
			return err
		}
	}
	return z.Close()
}

// delayed is a writer that keeps what is written until it is passed on: a slow writer
// must not hold the lock on the state.
type delayed struct {
	kept bytes.Buffer
	to   io.Writer // nil while it keeps
}

// Write keeps b until writeThrough, and then passes it on.
func (d *delayed) Write(b []byte) (int, error) {
	if d.to == nil {
		return d.kept.Write(b)
	}
	return d.to.Write(b)
}

// writeThrough writes the kept bytes to a writer. Write then writes to this writer directly.
func (d *delayed) writeThrough(to io.Writer) error {
	d.to = to
	_, err := d.kept.WriteTo(to)
	return err
}

// writeFiles writes the JSON files of a snapshot under the lock, and returns the contents
// by name.
func (s *Server) writeFiles(z *zip.Writer) (map[string]graph.Content, error) {
	s.LockUncounted() // writeState sets fields of s, but changes nothing that a snapshot has
	defer s.Unlock()
	contents := map[string]graph.Content{}
	f, err := s.export(contents)
	if err != nil {
		return nil, err
	}
	out, err := z.Create(seedName)
	if err == nil {
		err = seedfile.Write(out, f)
	}
	if err == nil {
		out, err = z.Create(stateName)
	}
	if err != nil {
		return nil, err
	}
	more, err := s.writeState(out)
	maps.Copy(contents, more)
	return contents, err
}

// export returns the state as a seed file. Contents that are not short are added to
// contents, and named in the file. The caller holds the lock.
func (s *Server) export(contents map[string]graph.Content) (*seed.File, error) {
	f := new(seed.File)
	var failed error
	s.World.Export(f, func(v *seed.Version) {
		if err := exportContent(v, contents); err != nil {
			failed = fmt.Errorf("the version %s cannot be saved: %w", v.ID, err)
		}
	})
	s.quicksharesArea.Export(f)
	s.oauthArea.Export(f)
	s.commentsArea.Export(f)
	s.metadataArea.Export(f)
	s.aiArea.Export(f)
	writtenByLoad := []string{ // again, when the comments and chats in the file are added
		"comment_created", "comment_mentioned", "comment_replied", "ai_chat_created", "ai_chat_new_message",
	}
	f.Events = slices.DeleteFunc(f.Events, func(e seed.Event) bool { return slices.Contains(writtenByLoad, e.Name) })
	return f, failed
}

// exportContent makes the content of a version a text if it is short and UTF-8, and
// otherwise a file, whose name is the hash of the content. Content that the emulator
// generates from the id of the version is left out.
func exportContent(v *seed.Version, contents map[string]graph.Content) error {
	isGenerated := v.Content == "" && v.Source == nil
	if isGenerated {
		return nil
	}
	var c graph.Content = v.Open()
	if b, isBlob := v.Source.(*blob.Blob); isBlob {
		c = b // the same bytes; a Blob has computed its hash
	}
	v.Content, v.Size = "", 0
	if c.Size() <= graph.TextMost {
		text, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
		if err != nil {
			return err
		}
		if utf8.Valid(text) {
			v.Content = string(text)
			return nil
		}
	}
	name, err := graph.Name(c)
	if err != nil {
		return err
	}
	v.File, contents[name] = blobsName+name, c
	return nil
}

// ratioMost bounds the memory that a file can take: a state that is compressed more was
// made for that.
const ratioMost = 200

// Restore replaces the state by that of a snapshot, with the options except Clock and
// OAuth.Fetch. The clock continues from the time of the snapshot. Sockets are dropped, and
// calls that wait return. If the snapshot has other options than s, no call may be under
// way. If there is an error, the state is unchanged.
func (s *Server) Restore(r io.Reader) error {
	file, err := s.Blobs.Read(r)
	if err == nil {
		err = s.restore(file)
	}
	if err == nil {
		s.setStart(func() error { return s.restore(file) }) // Reset returns to this snapshot
	}
	return err
}

// restore replaces the state by that of a snapshot. It refuses one whose state is so much
// larger than its file that it was made to exhaust the memory.
func (s *Server) restore(file *blob.Blob) error {
	z, err := zip.NewReader(file, file.Size())
	if err != nil {
		return fmt.Errorf("emulator: the snapshot cannot be read: %w", err)
	}
	state, err := z.Open(stateName)
	if err != nil {
		return fmt.Errorf("emulator: this is no snapshot: %w", err)
	}
	defer func() { _ = state.Close() }()
	info, err := state.Stat()
	if err == nil && info.Size() > ratioMost*file.Size() {
		err = errors.New("the state is much larger than its snapshot")
	}
	if err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	err = s.readState(state, func(name string) (*blob.Blob, error) { return readContent(s.Blobs, z, name) })
	if err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	return nil
}

// readContent stores a content of a snapshot, whose name must be its hash.
func readContent(store *blob.Store, z *zip.Reader, name string) (*blob.Blob, error) {
	in, err := z.Open(blobsName + name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	sum := sha256.New()
	b, err := store.Read(io.TeeReader(in, sum))
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != name {
		err = fmt.Errorf("%s has another content", blobsName+name)
	}
	return b, err
}
