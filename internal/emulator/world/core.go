// Package world has the state that areas share: profiles and permissions, nodes,
// invitations, the event log, activity, ids, secrets, the clock, and the one lock
// on all state.
package world

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/blob"
	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Core has the options, the clock, the lock on all state, secrets and changes.
type Core struct {
	sync.RWMutex // guards the state of the world and of every area

	Options  Options
	Activity Activity
	Serials  uint64 // things made so far
	Cursors  uint64 // raised to refuse the cursors handed out

	// OnChange is called with every change of activity and its event, if any.
	OnChange func(profileID string, fields []string, row *uint32)

	changes atomic.Uint64 // of the state
	clock   clock
	due     []scheduled // by time
}

// Records holds the profiles and the credentials, in order of creation.
type Records struct {
	Core

	users         map[string]*Record[User]
	orgs          map[string]*Record[Org]
	workspaces    map[string]*Record[Workspace]
	shares        map[string]*Record[Share]
	fileShares    map[string]*FileShare
	userList      []string
	orgList       []string
	workspaceList []string
	shareList     []string
	fileShareList []string

	members     map[string]map[string]*Membership // by profile and user
	credentials map[string]*wire.Credential       // by token
	credits     map[string]int                    // spent, by billed profile
}

// Directory knows the names of profiles, and who may do what.
type Directory struct{ Records }

// Tree holds the nodes of all profiles and their contents.
type Tree struct {
	Directory

	Blobs    *blob.Store // contents of uploads
	assets   map[AssetKey]*Asset
	nodes    map[string]*Node
	nodeList []string
	versions uint64 // of nodes, so far
}

// World is the state that areas share.
type World struct {
	Tree

	Log         Log
	invitations []*Invitation // by creation
	outbox      []Mail

	// OnUser is called with every new user.
	OnUser func(User)
}

// defaultMemory is the default of the bytes of contents in memory.
const defaultMemory = 256 << 20

// New returns an empty world.
func New(o Options) *World {
	return &World{
		Tree: Tree{
			Directory: Directory{newRecords(o)},
			Blobs:     blob.New(max(0, cmp.Or(o.Uploads.Memory, defaultMemory))), // negative: none in memory
			assets:    map[AssetKey]*Asset{},
			nodes:     map[string]*Node{},
		},
		Log:    newLog(o.Seed, o.Events.Order),
		OnUser: func(User) {},
	}
}

// newRecords returns records without any profile, with the clock and the activity of an
// empty world.
func newRecords(o Options) Records {
	return Records{
		Core: Core{
			Options: o,
			clock:   clock{source: o.Clock, sleeps: map[*sleep]bool{}},
			Activity: Activity{
				fields: map[string]map[string]int64{}, changes: map[string]chan struct{}{},
				Cut: make(chan struct{}),
			},
			OnChange: func(string, []string, *uint32) {},
		},
		users:       map[string]*Record[User]{},
		orgs:        map[string]*Record[Org]{},
		workspaces:  map[string]*Record[Workspace]{},
		shares:      map[string]*Record[Share]{},
		fileShares:  map[string]*FileShare{},
		members:     map[string]map[string]*Membership{},
		credentials: map[string]*wire.Credential{},
		credits:     map[string]int{},
	}
}

// Lock locks the state for a change.
func (w *Core) Lock() {
	w.RWMutex.Lock()
	w.CountChange()
}

// LockUncounted locks the state as Lock does, for a caller that changes nothing of what a
// snapshot has. Unlock ends it, too.
func (w *Core) LockUncounted() { w.RWMutex.Lock() }

// CountChange counts a change of the state.
func (w *Core) CountChange() { w.changes.Add(1) }

// Changes returns how often the state may have changed so far.
func (w *Core) Changes() uint64 { return w.changes.Load() }

// Mix is a bijection of 64-bit words without a visible pattern: the last step of the
// random generator SplitMix64. It has an inverse, so that an id is converted back into
// its serial, and no map of ids is needed.
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// unmix is the inverse of [Mix]: its factors are the inverses of those of Mix, modulo
// 2^64. The inverse of x ^ x>>n is the xor of x with its shifts by n, 2n and so on.
func unmix(x uint64) uint64 {
	x ^= x>>31 ^ x>>62
	x *= 0x319642b2d24d8ec3
	x ^= x>>27 ^ x>>54
	x *= 0x96de1b173f119089
	return x ^ x>>30 ^ x>>60
}

// Opaque returns the n-th id of a kind of objects. It consists of the letter or digit
// that the platform has for the kind, two words and two check characters. The first word
// is n, scrambled reversibly (see numberOf); the others depend on it.
func Opaque(kind byte, seed, n uint64) string {
	first := Mix(n ^ Mix(seed+uint64(kind)))
	second := Mix(first + seed)
	b := make([]byte, 0, wire.OpaqueLen)
	b = append(b, kind)
	b = AppendWord(b, first)
	b = AppendWord(b, second)
	sum := Mix(first^second) % (36 * 36)
	return string(append(b, digit(sum/36), digit(sum%36)))
}

// numberOf returns the number n of an id that [Opaque] has made of a kind and n, and
// whether it is such an id.
func numberOf(id string, kind byte, seed uint64) (uint64, bool) {
	if len(id) != wire.OpaqueLen || id[0] != kind {
		return 0, false
	}
	first, err := strconv.ParseUint(id[1:1+wire.WordLen], 36, 64)
	if err != nil {
		return 0, false
	}
	n := unmix(first) ^ Mix(seed+uint64(kind))
	return n, Opaque(kind, seed, n) == id
}

// AppendWord appends a number in base 36, padded to wire.WordLen digits.
func AppendWord(b []byte, word uint64) []byte {
	var digits [wire.WordLen]byte
	for i := wire.WordLen - 1; i >= 0; i-- {
		digits[i] = digit(word % 36)
		word /= 36
	}
	return append(b, digits[:]...)
}

func digit(n uint64) byte { return "0123456789abcdefghijklmnopqrstuvwxyz"[n%36] }

// profile returns the n-th profile id: 19 digits that fit int64 but not a float.
func profile(seed, n uint64) string {
	const span = 5_000_000_000_000_000_000
	return strconv.FormatUint(4_000_000_000_000_000_000+Mix(n^Mix(seed))%span, 10)
}

// A cursor is a position and a MAC over it and its search, 25 bytes in all: in
// base64 it has the characters that must be escaped.
const (
	positionLen = 8 + 4
	sealLen     = 13
)

// Cursor returns the opaque form of a position, bound to a search.
func (w *Core) Cursor(p Position, binding string) string {
	return w.Seal(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, p.Key), p.Tie), binding)
}

// OpenCursor returns the position in a cursor of the platform, and false for another
// text or a cursor that was made for another search. The binding is what identifies the
// search.
func (w *Core) OpenCursor(text, binding string) (Position, bool) {
	b, sealed := w.Unseal(text, binding)
	if !sealed || len(b) != positionLen {
		return Position{}, false
	}
	return Position{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])}, true
}

// Seal returns b with a MAC, bound to a purpose.
func (w *Core) Seal(b []byte, binding string) string {
	return base64.StdEncoding.EncodeToString(append(b, w.proof(b, binding)...))
}

// proof returns a hash of b, its purpose (binding) and the seed of the world. Unseal compares
// it to detect changed bytes, and bytes that were sealed for another purpose.
func (w *Core) proof(b []byte, binding string) []byte {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, w.Options.Seed))
	h.Write(b)
	h.Write([]byte(binding))
	return h.Sum(nil)[:sealLen]
}

// Unseal returns the bytes that [Core.Seal] has sealed, and false for another text or
// if they were sealed for another purpose (binding).
func (w *Core) Unseal(text, binding string) ([]byte, bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) < sealLen {
		return nil, false
	}
	b, seal := b[:len(b)-sealLen], b[len(b)-sealLen:]
	return b, bytes.Equal(seal, w.proof(b, binding))
}

// Secret returns 64 unpredictable hex digits. The caller holds the lock.
func (w *Core) Secret() string {
	return hex.EncodeToString(w.Sign(fmt.Sprintf("secret %d", w.NextSerial())))
}

// NextSerial returns the next serial number. The caller holds the lock.
func (w *Core) NextSerial() uint64 {
	w.Serials++
	return w.Serials
}

// Sign returns a MAC of a text with the key of this server.
func (w *Core) Sign(text string) []byte {
	mac := hmac.New(sha256.New, fmt.Appendf(nil, "emulator %d", w.Options.Seed))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// JWT returns a signed token (RFC 7519) with claims, in the compact form.
func (w *Core) JWT(claims wire.Object) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(wire.Encode(claims))
	return text + "." + encode(w.Sign(text))
}

// NoteScope is the scope of realtime tokens for a note.
const NoteScope = "realtime-note"

// Claims are the claims of a realtime token. Tokens are signed and not stored.
type Claims struct {
	Scope   string `json:"scope"`
	User    string `json:"sub"`
	Profile string `json:"profile"`
	Node    string `json:"node"`
	Perm    string `json:"perm"`
	Expires int64  `json:"exp"` // Unix seconds
}

// Token is the readable part of a token.
type Token struct {
	Claims
	Shaped   bool // three parts in base64url
	Readable bool // the middle one holds claims
	Genuine  bool // signed here and not expired
}

// SignClaims returns a signed token with a lifetime. It expires at a whole second, not
// before the promised time. The caller holds the lock.
func (w *Core) SignClaims(c Claims, life time.Duration) string {
	now := w.Now()
	ends := now.Add(life + time.Second - 1)
	payload := wire.Object{{"scope", c.Scope}, {"sub", c.User}, {"profile", c.Profile}}
	if c.Node != "" { // a token for one node, such as a note
		payload = append(payload, wire.Member{"node", c.Node}, wire.Member{"perm", c.Perm})
	}
	return w.JWT(append(payload, wire.Member{"iat", now.Unix()}, wire.Member{"exp", ends.Unix()},
		wire.Member{"jti", strconv.FormatUint(w.NextSerial(), 36)}))
}

// OpenToken reads a signed token. The result says whether the text has the form of a token
// (Shaped), whether its claims can be read (Readable), and whether it is signed by the
// platform and not expired (Genuine).
func (w *Core) OpenToken(token string) (t Token) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return t
	}
	var raw [3][]byte
	for i, p := range parts {
		b, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil || len(b) == 0 {
			return t
		}
		raw[i] = b
	}
	t.Shaped = true
	t.Readable = json.Unmarshal(raw[1], &t.Claims) == nil
	isSigned := hmac.Equal(raw[2], w.Sign(parts[0]+"."+parts[1]))
	t.Genuine = t.Readable && isSigned && w.Now().Before(t.Ends())
	return t
}

// Ends returns the expiry of a token.
func (c *Claims) Ends() time.Time { return time.Unix(c.Expires, 0) }
