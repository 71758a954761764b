package relay

import (
	"context"
	"net/http"

	"github.com/fastio-go/fastio/api"
)

// Operations in an [api.MessageEvent], besides [OpPublish].
const (
	OpSearch = "relay.Search"  // one search of a log, with what it publishes
	OpHandle = "relay.Consume" // one call of a handler
)

// observeSearch calls OnSearch. It returns the context for the search and a function that is
// called with its result.
func observeSearch(ctx context.Context, h *api.MessageHooks, stream string) (context.Context, func(error)) {
	if h.OnSearch == nil {
		return ctx, ignoreResult
	}
	ctx, end := h.OnSearch(ctx, api.MessageEvent{Op: OpSearch, Stream: stream})
	return ctx, orIgnore(end)
}

// observePublish calls OnPublish for a message. The message keeps the headers that the hook may add to
// it, and the function that the hook returns: reportEnd calls it when the message is stored or given up.
func (m *message) observePublish(ctx context.Context, h *api.MessageHooks, stream string) {
	if h.OnPublish == nil {
		return
	}
	m.header = http.Header{}
	m.end = h.OnPublish(ctx, api.MessageEvent{Op: OpPublish, Stream: stream, Headers: []http.Header{m.header}})
}

// observeHandle calls OnHandle for messages with these headers, which it asks for only if there is such a
// hook. It returns the context for the handler and a function that is called with its result.
func observeHandle(ctx context.Context, o *ConsumeOptions, headers func() []http.Header) (context.Context, func(error)) {
	if o.Hooks.OnHandle == nil {
		return ctx, ignoreResult
	}
	e := api.MessageEvent{Op: OpHandle, Stream: o.Stream.Name, Group: o.Name, Headers: headers()}
	ctx, end := o.Hooks.OnHandle(ctx, e)
	return ctx, orIgnore(end)
}

// reportEnd calls the hooks of messages with their result.
func reportEnd(batch []message, err error) {
	for _, m := range batch {
		if m.end != nil {
			m.end(err)
		}
	}
}

func ignoreResult(error) {}

// orIgnore returns a function that a hook has returned, or one that does nothing.
func orIgnore(end func(error)) func(error) {
	if end == nil {
		return ignoreResult
	}
	return end
}
