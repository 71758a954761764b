package control

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Fault is a rule that changes the responses to calls: the fields of seed.Fault, which
// documents them.
type Fault struct {
	ID          string   `json:"id,omitempty" doc:"for its removal; the next number if empty"`
	Op          seed.Op  `json:"op,omitempty" doc:"such as events.Search; any if empty"`
	Skip        int      `json:"skip,omitempty" doc:"number of first matching calls without the fault"`
	Count       int      `json:"count,omitempty" doc:"number of calls with the fault; 0 means all"`
	Probability float64  `json:"probability,omitempty" doc:"of the fault in each of them; 0 means 1"`
	Seed        uint64   `json:"seed,omitempty" doc:"of the random numbers for probability"`
	Delay       Duration `json:"delay,omitzero" doc:"before anything else"`

	Status      int            `json:"status,omitempty" doc:"of an error, in place of the response"`
	Code        int64          `json:"code,omitempty" doc:"of the error"`
	Text        string         `json:"text,omitempty" doc:"of the error"`
	Params      map[string]any `json:"params,omitempty" doc:"of the error"`
	Header      http.Header    `json:"header,omitempty" doc:"added to the response"`
	Body        string         `json:"body,omitempty" doc:"in place of an error"`
	ContentType string         `json:"content_type,omitempty" doc:"of the body"`
	Processed   bool           `json:"processed,omitempty" doc:"with status or reset: the call takes effect nevertheless"`

	Cut      int64      `json:"cut,omitempty" doc:"reset the connection after that many bytes of the body"`
	Truncate int64      `json:"truncate,omitempty" doc:"end the response after that many bytes of the body"`
	Gzip     bool       `json:"gzip,omitempty" doc:"declare the encoding gzip for a body that is not compressed"`
	Drip     Duration   `json:"drip,omitzero" doc:"pause before every byte of the body"`
	Stall    int64      `json:"stall,omitempty" doc:"send nothing more after that many bytes of the body"`
	Reset    seed.Reset `json:"reset,omitempty" enum:"before|after" doc:"the connection, before or after the header"`

	Stream *StreamStyle `json:"stream,omitempty" doc:"of the stream of a turn, in place of that of the options"`
}

// StreamStyle is the form of the stream of a turn: the fields of seed.StreamStyle, which
// documents them.
type StreamStyle struct {
	Newline    string   `json:"newline,omitempty" doc:"line feed if empty"`
	BOM        bool     `json:"bom,omitempty" doc:"before the first event, a byte order mark"`
	Comments   bool     `json:"comments,omitempty" doc:"before every event"`
	SplitData  bool     `json:"split_data,omitempty" doc:"the data of an event in several lines"`
	Cumulative bool     `json:"cumulative,omitempty" doc:"events have the whole answer so far, in text"`
	Unnamed    bool     `json:"unnamed,omitempty" doc:"events have a type in their data in place of a name"`
	NoIDs      bool     `json:"no_ids,omitempty" doc:"events have no ids, and a resumed stream starts over"`
	Restart    bool     `json:"restart,omitempty" doc:"a resumed stream starts over although its events have ids"`
	Retry      Duration `json:"retry,omitzero" doc:"reconnection delay sent to the client; 0s means none"`
	JSON       bool     `json:"json,omitempty" doc:"the response is the turn as JSON in place of a stream"`
	LateDone   bool     `json:"late_done,omitempty" doc:"the stream of a turn that has ended has the last event only"`
	NoEnd      bool     `json:"no_end,omitempty" doc:"streams end without the last event"`
}

// ActiveFault is a fault and what it has done.
type ActiveFault struct {
	Fault

	Matches int `json:"matches" doc:"calls of its operation so far, those without the fault included"`
	Hits    int `json:"hits" doc:"calls with the fault so far"`
}

// Faults is a list of faults, in the order in which they apply.
type Faults struct {
	Faults []ActiveFault `json:"faults"`
}

// copyFields sets the fields of the struct *to to those of the struct from that have the
// same names, with a conversion of their types. Other fields stay as they are.
func copyFields(to, from any) {
	source, target := reflect.ValueOf(from), reflect.ValueOf(to).Elem()
	for field := range target.Type().Fields() {
		switch value := source.FieldByName(field.Name); {
		case !value.IsValid():
		case value.Kind() != reflect.Pointer:
			target.FieldByIndex(field.Index).Set(value.Convert(field.Type))
		case !value.IsNil():
			inner := reflect.New(field.Type.Elem())
			copyFields(inner.Interface(), value.Elem().Interface())
			target.FieldByIndex(field.Index).Set(inner)
		}
	}
}

// listFaults returns the faults with the numbers of requests that they have matched and
// changed.
func listFaults(c *call, _ none) (Faults, error) {
	list := []ActiveFault{}
	for _, f := range c.server.Faults() {
		active := ActiveFault{Matches: f.Matches, Hits: f.Hits}
		copyFields(&active.Fault, f.Fault)
		list = append(list, active)
	}
	return Faults{list}, nil
}

// addFault adds a fault, or replaces the one with its ID. It refuses values that a fault
// cannot have.
func addFault(c *call, in Fault) (ActiveFault, error) {
	if in.Reset != seed.NoReset && in.Reset != seed.BeforeHeader && in.Reset != seed.AfterHeader {
		return ActiveFault{}, problemf(http.StatusBadRequest, `reset: must be "before" or "after", got %q`, in.Reset)
	}
	if err := checkNumbers(in); err != nil {
		return ActiveFault{}, err
	}
	var f seed.Fault
	copyFields(&f, in)
	id, err := c.server.AddFault(f)
	if err != nil {
		return ActiveFault{}, problemf(http.StatusBadRequest, "%v", err)
	}
	in.ID = id
	return ActiveFault{Fault: in}, nil
}

// checkNumbers returns an error for a number of a fault, which is a struct, that is below
// 0, and for a float above 1, because the only floats are probabilities.
func checkNumbers(fault any) error {
	for field, value := range reflect.ValueOf(fault).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case value.CanInt() && value.Int() < 0, value.CanFloat() && value.Float() < 0:
			return problemf(http.StatusBadRequest, "%s: must be 0 or more, got %v", name, value)
		case value.CanFloat() && value.Float() > 1:
			return problemf(http.StatusBadRequest, "%s: must be 0 to 1, got %v", name, value)
		}
	}
	return nil
}

func clearFaults(c *call, _ none) (none, error) {
	c.server.Heal()
	return none{}, nil
}

type idInput struct {
	ID string `path:"id"`
}

// removeFault removes the fault, socket fault or disagreement with an ID.
func removeFault(c *call, in idInput) (none, error) {
	if !c.server.RemoveFault(in.ID) {
		return none{}, problemf(http.StatusNotFound, "there is no fault %q", in.ID)
	}
	return none{}, nil
}

// SocketFault is a rule that changes the messages of WebSockets or, with age, open
// sockets: the fields of seed.SocketFault, which documents them.
type SocketFault struct {
	ID          string   `json:"id,omitempty" doc:"for its removal; the next number if empty"`
	Profile     string   `json:"profile,omitempty" doc:"of the socket; any if empty"`
	Age         Duration `json:"age,omitzero" doc:"for sockets that have been open that long; 0s means for messages"`
	Skip        int      `json:"skip,omitempty" doc:"number of first messages, or sockets, without the fault"`
	Count       int      `json:"count,omitempty" doc:"number of messages, or sockets, with the fault; 0 means all"`
	Probability float64  `json:"probability,omitempty" doc:"of the fault in each of them; 0 means 1"`
	Seed        uint64   `json:"seed,omitempty" doc:"of the random numbers for probability"`

	Delay    Duration  `json:"delay,omitzero" doc:"before the message and all later ones"`
	Junk     seed.Junk `json:"junk,omitempty" enum:"json|text|binary|huge" doc:"sent before the message"`
	Overtake bool      `json:"overtake,omitempty" doc:"the next message is sent first"`
	Lose     bool      `json:"lose,omitempty" doc:"the message is not sent"`
	Copies   int       `json:"copies,omitempty" doc:"number of additional copies of the message"`
	HalfOpen bool      `json:"half_open,omitempty" doc:"nothing more is sent or read, and the connection stays open"`
	Close    int       `json:"close,omitempty" doc:"code of a close frame; 4001 is an expired token"`
	Drop     bool      `json:"drop,omitempty" doc:"reset the connection, without a close frame"`
}

// ActiveSocketFault is a fault of WebSockets and what it has done.
type ActiveSocketFault struct {
	SocketFault

	Matches int `json:"matches" doc:"messages, or sockets, so far, those without the fault included"`
	Hits    int `json:"hits" doc:"messages, or sockets, with the fault so far"`
}

// SocketFaults is a list of faults of WebSockets, in the order in which they apply.
type SocketFaults struct {
	SocketFaults []ActiveSocketFault `json:"socket_faults"`
}

// listSocketFaults returns the faults of WebSockets with the numbers of messages and
// sockets that they have matched and changed.
func listSocketFaults(c *call, _ none) (SocketFaults, error) {
	list := []ActiveSocketFault{}
	for _, f := range c.server.SocketFaults() {
		active := ActiveSocketFault{Matches: f.Matches, Hits: f.Hits}
		copyFields(&active.SocketFault, f.SocketFault)
		list = append(list, active)
	}
	return SocketFaults{list}, nil
}

// addSocketFault adds a fault of WebSockets, or replaces the one with its ID. It refuses
// values that a fault cannot have.
func addSocketFault(c *call, in SocketFault) (ActiveSocketFault, error) {
	switch in.Junk {
	case seed.NoJunk, seed.BrokenJSON, seed.BrokenText, seed.BinaryJunk, seed.HugeJunk:
	default:
		return ActiveSocketFault{}, problemf(http.StatusBadRequest, `junk: must be "json", "text", "binary" or "huge", got %q`, in.Junk)
	}
	const copiesMost, closeLeast, closeMost = 1000, 1000, 4999
	switch {
	case in.Copies > copiesMost:
		return ActiveSocketFault{}, problemf(http.StatusBadRequest, "copies: must be 0 to %d, got %d", copiesMost, in.Copies)
	case in.Close != 0 && (in.Close < closeLeast || in.Close > closeMost):
		return ActiveSocketFault{}, problemf(http.StatusBadRequest, "close: must be %d to %d, got %d", closeLeast, closeMost, in.Close)
	}
	if err := checkNumbers(in); err != nil {
		return ActiveSocketFault{}, err
	}
	var f seed.SocketFault
	copyFields(&f, in)
	in.ID = c.server.FailSockets(f)
	return ActiveSocketFault{SocketFault: in}, nil
}

// Disagreement is a rule by which the platform differs from its documents: the fields of
// seed.Disagreement, which documents them.
type Disagreement struct {
	ID    string            `json:"id,omitempty" doc:"for its removal; the next number if empty"`
	Op    seed.Op           `json:"op,omitempty" doc:"such as comments.List; every operation if empty"`
	Edits []string          `json:"edits,omitempty" doc:"of responses, such as mv /comments/*/body /comments/*/text"`
	Names map[string]string `json:"names,omitempty" doc:"in requests: other names of parameters and fields"`
	Path  string            `json:"path,omitempty" doc:"of the endpoint, in place of its own"`
}

// Disagreements is a list of disagreements, in the order in which they apply.
type Disagreements struct {
	Disagreements []Disagreement `json:"disagreements"`
}

// listDisagreements returns the rules by which the platform differs from its documents.
func listDisagreements(c *call, _ none) (Disagreements, error) {
	list := []Disagreement{}
	for _, d := range c.server.Disagreements() {
		list = append(list, Disagreement(d))
	}
	return Disagreements{list}, nil
}

// disagree adds a disagreement, or replaces the one with its ID.
func disagree(c *call, in Disagreement) (Disagreement, error) {
	id, err := c.server.Disagree(seed.Disagreement(in))
	if err != nil {
		return in, problemf(http.StatusBadRequest, "%v", err)
	}
	in.ID = id
	return in, nil
}
