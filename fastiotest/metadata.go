package fastiotest

import (
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/emulator"
)

// Field is a metadata field of a workspace, to put there without asking the
// rules. [Server.AddField] fills what is empty.
type Field struct {
	Workspace  api.ProfileID
	Name       string
	Type       string // "string", "bool", "int", "float", "json", "url" or "datetime"; "" is string
	Origin     string // "ai" or "user"; "" is ai
	MergedInto string // the field it was merged into; "" for a live one
	Created    time.Time
}

// Fact is a value of a file or note, to put there without asking the rules, such
// as one that the platform's agent found.
type Fact struct {
	Node       api.OpaqueID
	Field      string // one that does not exist yet takes its type from the value
	Value      any    // a string, bool, number, map or list
	Source     string // "ai", "user", "exif", "mediainfo" or "validated_server"; "" is ai
	Confidence string // "low", "medium", "high" or "certain"; "" is none
	Rationale  string
	Updated    time.Time // zero is now
}

// AddField adds a field and returns it with what was empty filled in. A name that
// is taken stays what it is.
func (s *Server) AddField(f Field) Field {
	added := s.platform.AddField(emulator.Field{
		WorkspaceID: string(f.Workspace), Name: f.Name, Type: f.Type, Origin: f.Origin, MergedInto: f.MergedInto, Created: f.Created,
	})
	f.Name, f.Type, f.Origin, f.Created = added.Name, added.Type, added.Origin, added.Created
	return f
}

// AddFact adds a fact to a file or note, or replaces the one under the same
// field. It fails the test when there is no such file or note.
func (s *Server) AddFact(tb testing.TB, f Fact) {
	tb.Helper()
	err := s.platform.AddFact(emulator.Fact{
		NodeID: string(f.Node), Field: f.Field, Value: f.Value, Source: f.Source,
		Confidence: f.Confidence, Rationale: f.Rationale, Updated: f.Updated,
	})
	if err != nil {
		tb.Fatal(err)
	}
}
