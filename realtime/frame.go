package realtime

import (
	stdjson "encoding/json"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/lenient"
)

// Event is what a socket tells of a change beyond its field, where it does: of
// events that every member may see, and not to guests of every kind.
type Event struct {
	Name          events.Name        `json:"event"`
	Category      events.Category    `json:"category"`
	SubCategory   events.SubCategory `json:"subcategory"`
	ObjectID      api.OpaqueID       `json:"object_id"`       // what it happened to; "" when there is no such thing
	CallingUserID api.ProfileID      `json:"calling_user_id"` // who did it; "" when nobody did
	Field         activity.Field     `json:"activity_field"`  // that changed
	Triggered     api.Time           `json:"timestamp"`       // when it happened
	Sent          api.Time           `json:"time"`            // when the server told
	Data          stdjson.RawMessage `json:"data"`            // what else the event has to say, as it arrived

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Kinds of frames.
const (
	frameActivity = "activity"
	frameEvent    = "event"
)

// frame is one message of the socket: fields, an event, or something newer than
// this package.
type frame struct {
	fields api.Map[api.Time] // that changed; the times are mostly zero
	event  *Event
	raw    stdjson.RawMessage
}

// readFrame reads a message of text. It reports false for what is no frame at
// all.
func readFrame(b []byte) (frame, bool) {
	var head struct {
		Response jsontext.Value `json:"response"`
		Activity jsontext.Value `json:"activity"`
	}
	if !utf8.Valid(b) || jsontext.Value(b).Kind() != '{' || json.Unmarshal(b, &head, lenient.Options()) != nil {
		return frame{}, false
	}
	var kind string
	_ = json.Unmarshal(head.Response, &kind) // an object is the envelope of something unknown
	switch kind {
	case frameActivity:
		if fields, ok := readFields(b, head.Activity); ok {
			return frame{fields: fields}, true
		}
	case frameEvent:
		if e, err := call.Decode[Event](b); err == nil && (e.Name != "" || e.Field != "") {
			return frame{event: e}, true
		}
	}
	return frame{raw: b}, true
}

// readFields reads the fields of an activity frame, v: a list, a map with times,
// or a single one.
func readFields(frame []byte, v jsontext.Value) (api.Map[api.Time], bool) {
	var names []string
	switch v.Kind() {
	case '[':
		if json.Unmarshal(v, &names, lenient.Options()) != nil {
			return nil, false
		}
	case '"':
		names = []string{""}
		if json.Unmarshal(v, &names[0], lenient.Options()) != nil {
			return nil, false
		}
	case '{':
		a, err := call.Decode[struct {
			Activity api.Map[api.Time] `json:"activity"`
		}](frame)
		if err != nil {
			return nil, false
		}
		return a.Activity, true
	default:
		return nil, false
	}
	fields := api.Map[api.Time]{}
	for _, name := range names {
		fields[name] = api.Time{}
	}
	return fields, true
}
