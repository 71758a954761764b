package input_test

import (
	"errors"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/input"
)

type link struct {
	Expires string
	Place   string `json:"where,omitzero"`
}

type window struct {
	Limit int
}

type request struct {
	window

	Title   string
	Join    string `wire:"perm_join,perm_enter"`
	Links   []*link
	Only    bool
	OnEvent func()
}

func refused(t *testing.T, err error) *api.InputError {
	t.Helper()
	e, ok := errors.AsType[*api.InputError](err)
	if !ok {
		t.Fatalf("got %v, want an InputError", err)
	}
	return e
}

func TestErrorsHaveTheGoPathAndTheNameOnTheWire(t *testing.T) {
	t.Parallel()
	fields, element := input.Fields[request]("things.Make"), input.Element[link]("things.Make", "links", 2)
	named := input.Parameters("things.Make", "chat_id", "thread")
	for _, tc := range []struct {
		args              input.Args
		name, field, wire string
		text              string
	}{
		{fields, "title", "request.Title", "title", "request.Title must be given, got x"},
		{fields, "perm_join", "request.Join", "perm_join", "request.Join (perm_join) must be given, got x"},
		{fields, "perm_enter", "request.Join", "perm_enter", "request.Join (perm_enter) must be given, got x"},
		{fields, "join", "request.Join", "perm_join", "request.Join (perm_join) must be given, got x"},
		{
			fields, "links[2].expires", "request.Links[2].Expires", "links.expires",
			"request.Links[2].Expires must be given, got x",
		},
		{fields, "Links[0].where", "request.Links[0].Place", "where", "request.Links[0].Place (where) must be given, got x"},
		{fields, "limit", "request.Limit", "limit", "request.Limit must be given, got x"},
		{fields, "OnEvent", "request.OnEvent", "", "request.OnEvent must be given, got x"},
		{fields, "on-event", "request.OnEvent", "on-event", "request.OnEvent must be given, got x"},
		{fields, "", "request", "", "request must be given, got x"},
		{fields, "other", "request.other", "other", "request.other must be given, got x"},
		{fields, "title.other", "request.Title.other", "title.other", "request.Title.other must be given, got x"},
		{element, "expires", "links[2].Expires", "expires", "links[2].Expires must be given, got x"},
		{named, "chat_id", "thread", "chat_id", "thread (chat_id) must be given, got x"},
		{named, "email_address", "emailAddress", "email_address", "emailAddress must be given, got x"},
		{named, "node_id", "node", "node_id", "node (node_id) must be given, got x"},
		{named, input.At("node_ids", 1), "nodes[1]", "node_ids", "nodes[1] (node_ids) must be given, got x"},
	} {
		e := refused(t, tc.args.Refuse(tc.name, "must be given", "x"))
		want := api.InputError{Op: "things.Make", Field: tc.field, Wire: tc.wire, Rule: "must be given", Got: "x"}
		if *e != want || e.Error() != "fastio: things.Make: "+tc.text {
			t.Errorf("%q: got %+v, %q", tc.name, *e, e)
		}
	}
}

func TestChecksNameTheArgument(t *testing.T) {
	t.Parallel()
	args := input.Parameters("things.Make")
	_, blank := args.PlainIDs("node_ids", []api.OpaqueID{"a", "-"})
	for want, err := range map[string]error{
		`nodes[1] (node_ids) must not be blank, got "-"`:                         blank,
		`user (user_id) must be an ID of 19 digits, not a custom name, got "bo"`: args.NumericID("user_id", "bo"),
		`person must be an ID of 19 digits, me or an e-mail address, got "bo"`:   args.Person("person", "bo"),
		"key must not be blank or consist of dots":                               args.Key("key", api.NewSecret("..")),
		"room (room_id) must be a workspace, got org": args.OneOf(
			"room_id", api.Org("1"), api.ProfileKindWorkspace,
		),
		"room (room_id) must have an ID, got workspace without one": args.OneOf("room_id", api.Workspace("")),
	} {
		if e := refused(t, err); e.Error() != "fastio: things.Make: "+want {
			t.Errorf("got %v, want %s", e, want)
		}
	}
	const id = "1234567890123456789"
	plain, err := args.PlainIDs("node_ids", []api.OpaqueID{"a-b"})
	if err != nil || len(plain) != 1 || plain[0] != "ab" {
		t.Errorf("got %q, %v", plain, err)
	}
	for _, err := range []error{
		args.NumericID("user_id", id), args.Person("person", id), args.Person("person", "me"),
		args.Person("person", "a@example.test"),
		args.Key("key", api.NewSecret("k")), args.OneOf("room_id", api.Workspace(id)),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}
