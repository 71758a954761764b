package fastiotest_test

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/emulator"
)

// Every field of a public type reaches the field of the emulator's that has its
// name, and there is none that no public field reaches.
func TestNoFieldIsForgotten(t *testing.T) {
	t.Parallel()
	thereAndBack(t, fastiotest.Emulated[fastiotest.User], fastiotest.UserOf)
	thereAndBack(t, fastiotest.Emulated[fastiotest.Org], fastiotest.OrgOf)
	thereAndBack(t, fastiotest.Emulated[fastiotest.Workspace], fastiotest.WorkspaceOf)
	thereAndBack(t, fastiotest.Emulated[fastiotest.Share], fastiotest.ShareOf)
	thereAndBack(t, fastiotest.Emulated[fastiotest.Key], fastiotest.KeyOf)
	thereAndBack(t, fastiotest.Emulated[fastiotest.Event], fastiotest.EventOf)
	thereAndBack(t, fastiotest.Emulated[fastiotest.Node], fastiotest.NodeOf)
	thereAndBack(t, fastiotest.Emulated[fastiotest.FileShare], fastiotest.FileShareOf)
	thereAndBack(t, fastiotest.Emulated[fastiotest.QuickShare], fastiotest.QuickShareOf)
	thereAndBack(t, fastiotest.Emulated[fastiotest.Comment], fastiotest.CommentOf)
	there(t, fastiotest.Emulated[fastiotest.Options])
	there(t, fastiotest.Emulated[fastiotest.History])
	there(t, fastiotest.Emulated[fastiotest.Fault])
	there(t, fastiotest.Emulated[fastiotest.SocketFault])
	there(t, fastiotest.RequestOf)
}

// renamed are fields whose names differ by more than an ID at the end.
var renamed = map[string]string{"Event.Name": "Event"}

// unsent are fields that the emulator has no use for.
var unsent = map[string]string{"Actor.Extra": "its actors have no members that are not known"}

func there[From, To any](t *testing.T, convert func(From) To) From {
	t.Helper()
	var from From
	n := 0
	fillIn(reflect.ValueOf(&from).Elem(), &n)
	sameFields(t, reflect.ValueOf(from), reflect.ValueOf(convert(from)))
	return from
}

func thereAndBack[P, E any](t *testing.T, convert func(P) E, back func(E) P) {
	t.Helper()
	full := there(t, convert)
	if diff := cmp.Diff(full, back(convert(full))); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(*new(P), back(convert(*new(P)))); diff != "" {
		t.Errorf("nothing comes back as something (-want +got):\n%s", diff)
	}
}

// fillIn gives every field a value of its own.
func fillIn(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
		return
	case func() time.Time:
		at := time.Unix(int64(*n), 0)
		v.Set(reflect.ValueOf(func() time.Time { return at }))
		return
	case map[string]any:
		v.Set(reflect.ValueOf(map[string]any{strconv.Itoa(*n): *n}))
		return
	case http.Header:
		v.Set(reflect.ValueOf(http.Header{"N": {strconv.Itoa(*n)}}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for field := range v.Type().Fields() {
			if unsent[v.Type().Name()+"."+field.Name] == "" {
				fillIn(v.FieldByIndex(field.Index), n)
			}
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(http.NewFileTransport(http.Dir(strconv.Itoa(*n)))))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillIn(v.Index(0), n)
	case reflect.String:
		v.SetString(strconv.Itoa(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n))
	default:
		panic("a field of type " + v.Type().String())
	}
}

// sameFields compares the fields of two structs by their names.
func sameFields(t *testing.T, from, to reflect.Value) {
	t.Helper()
	reached := map[string]bool{}
	for field := range from.Type().Fields() {
		path := from.Type().Name() + "." + field.Name
		if unsent[path] != "" {
			continue
		}
		name := field.Name
		for _, candidate := range []string{field.Name + "ID", renamed[path]} {
			if _, found := to.Type().FieldByName(candidate); found {
				name = candidate
			}
		}
		reached[name] = true
		got := to.FieldByName(name)
		if !got.IsValid() {
			t.Errorf("%s has nowhere to go in %s", path, to.Type())
			continue
		}
		sameValue(t, path, from.FieldByIndex(field.Index), got)
	}
	for field := range to.Type().Fields() {
		if !reached[field.Name] {
			t.Errorf("nothing reaches %s of %s", field.Name, to.Type())
		}
	}
}

func sameValue(t *testing.T, path string, from, to reflect.Value) {
	t.Helper()
	switch {
	case to.IsZero():
		t.Errorf("%s is lost on the way to %s", path, to.Type())
	case from.Kind() == reflect.Pointer:
		sameFields(t, from.Elem(), to.Elem())
	case from.Kind() == reflect.Slice && from.Type().Elem().Kind() == reflect.Struct && from.Len() == to.Len():
		for i := range from.Len() {
			sameFields(t, from.Index(i), to.Index(i))
		}
	case from.Kind() == reflect.Func:
		sameValue(t, path, from.Call(nil)[0], to.Call(nil)[0])
	default:
		if want, got := fmt.Sprintf("%+v", from), fmt.Sprintf("%+v", to); want != got {
			t.Errorf("%s arrives as %s, want %s", path, got, want)
		}
	}
}

func TestNoLimitsIsNotTheDefault(t *testing.T) {
	t.Parallel()
	for _, limits := range [][]fastiotest.Limit{nil, {}} {
		got := fastiotest.Emulated(fastiotest.Options{Limits: limits}).Limits
		if (got == nil) != (limits == nil) {
			t.Errorf("%#v arrives as %#v", limits, got)
		}
	}
}

// The constants mean the same on both sides.
func TestConstants(t *testing.T) {
	t.Parallel()
	got := []any{
		fastiotest.OldestFirst, fastiotest.NewestFirst, fastiotest.Unordered,
		fastiotest.FixedFromFirst, fastiotest.FixedToClock, fastiotest.Sliding,
		fastiotest.NoReset, fastiotest.BeforeHeader, fastiotest.AfterHeader,
		fastiotest.NoJunk, fastiotest.BrokenJSON, fastiotest.BrokenText, fastiotest.BinaryJunk, fastiotest.HugeJunk,
		fastiotest.Owner, fastiotest.Admin, fastiotest.Member, fastiotest.Guest,
	}
	want := []any{
		emulator.OldestFirst, emulator.NewestFirst, emulator.Unordered,
		emulator.FixedFromFirst, emulator.FixedToClock, emulator.Sliding,
		emulator.NoReset, emulator.BeforeHeader, emulator.AfterHeader,
		emulator.NoJunk, emulator.BrokenJSON, emulator.BrokenText, emulator.BinaryJunk, emulator.HugeJunk,
		emulator.Owner, emulator.Admin, emulator.Member, emulator.Guest,
	}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a Server fills in is what its clients read.
func TestTheWorldIsWhatClientsRead(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	share := s.AddShare(fastiotest.Share{Workspace: room.ID, Title: "Portal"})
	e := s.AddEvent(fastiotest.Event{Name: "workspace_storage_file_added", Workspace: room.ID, ObjectName: "Mill.pdf"})
	if room.Org != s.Org().ID || share.Org != s.Org().ID {
		t.Errorf("the workspace is in %q and the share in %q, want %q", room.Org, share.Org, s.Org().ID)
	}
	elsewhere := s.AddWorkspace(fastiotest.Workspace{Org: s.AddOrg(fastiotest.Org{}).ID})
	if got := s.AddShare(fastiotest.Share{Workspace: elsewhere.ID}).Org; got != elsewhere.Org {
		t.Errorf("a share is in %q, its workspace in %q", got, elsewhere.Org)
	}
	if got := s.AddShare(fastiotest.Share{}).Org; got != s.Org().ID {
		t.Errorf("a share that stands alone is in %q, want %q", got, s.Org().ID)
	}
	guest := s.AddUser(fastiotest.User{FirstName: "Guest"})
	s.SetMember(room.ID, guest.ID, fastiotest.Member)
	key := s.AddKey(fastiotest.Key{User: guest.ID})

	client := s.Client(t, fastioToken(key.Token))
	me, err := client.Account.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if me.ID != guest.ID || me.FirstName != "Guest" || me.EmailAddress != guest.Email {
		t.Errorf("got %+v, want %+v", me, guest)
	}
	got, err := client.Events.Get(t.Context(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !got.ID.Equal(e.ID) || got.WorkspaceID != room.ID || got.OrgID != e.Org || string(got.Category) != e.Category {
		t.Errorf("got %+v, want %+v", got, e)
	}
	s.SetMember(room.ID, guest.ID, "")
	if _, err := client.Account.Workspaces.Get(t.Context(), room.ID); err == nil {
		t.Error("who was taken out of a workspace can still read it")
	}
	s.Generate(fastiotest.History{Workspace: room.ID, Events: 20})
	n := 0
	for _, err := range s.Client(t).Events.All(t.Context(), inProfile(api.Workspace(room.ID))) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n < 15 { // some are nobody's to read
		t.Errorf("found %d events of 20", n)
	}
}

// What is added for comments and polls is what answers hold.
func TestCommentsAndActivity(t *testing.T) {
	t.Parallel()
	s := fastiotest.New(func(o *fastiotest.Options) { o.CommentLimit = 5 })
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	plan := s.AddNode(fastiotest.Node{Profile: room.ID, Name: "Mill.pdf"})
	link := s.AddFileShare(fastiotest.FileShare{Node: plan.ID, CommentsEnabled: true})
	first := s.AddComment(fastiotest.Comment{Profile: room.ID, Node: plan.ID, User: s.User().ID, Body: "Taller"})
	s.AddComment(fastiotest.Comment{FileShare: link.ID, User: s.User().ID, Body: "Wider"})
	if link.Workspace != room.ID || link.Access != "named_people" || plan.Kind != "file" || first.Created.IsZero() {
		t.Errorf("filled in %+v, %+v, %+v", link, plan, first)
	}
	for path, want := range map[string]string{
		"comments/workspace/" + string(room.ID) + "/" + string(plan.ID):           `"remaining":4`,
		"comments/" + string(first.ID) + "/details":                               `"body":"Taller"`,
		"activity/poll/" + string(room.ID) + "/?lastactivity=2000-01-01+00:00:00": `"comments:` + string(plan.ID) + `":"`,
		"activity/poll/" + string(link.ID) + "/?lastactivity=2000-01-01+00:00:00": `"comments:` + string(plan.ID) + `":"`,
	} {
		target := "http://fastio.test" + "/api/current/" + path
		if !strings.Contains(path, "?") {
			target += "/"
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Token())
		p, err := s.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(p.Body)
		if _ = p.Body.Close(); err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %v, want %s", path, body, err, want)
		}
	}
}
