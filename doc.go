// Package fastio is a client for the Fast.io platform: workspaces in which teams
// of people and software agents keep files, comment, search, chat with a
// built-in AI and watch everything through an event log.
//
//	client, err := fastio.New(fastio.WithToken(os.Getenv("FASTIO_API_KEY")))
//	if err != nil {
//		return err
//	}
//	workspace, err := client.Account.Workspaces.Get(ctx, "marketing")
//	if err != nil {
//		return err
//	}
//	for event, err := range client.Events.All(ctx, events.Query{Profile: api.Workspace(workspace.ID)}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(event.Created, event.Description)
//	}
//
// # Errors
//
// A refused call returns an [*api.Error] with the server's words, a call that
// was refused before it left an [*api.InputError]. [errors.Is] tells the kinds
// apart, such as [api.ErrNotFound]. Any other failure keeps its own type and
// gains the name of the call.
//
// # Retries and limits
//
// A failed call is sent again only where a repeat cannot do anything twice:
// reads, and writes that the platform keeps apart by a key. Any other write is
// repeated only when it provably was not carried out: the connection was never
// made, or the answer was 429. There are at most three attempts, with random
// pauses, and a budget keeps an outage from multiplying the load.
//
// Calls wait for room in the platform's rate windows before they leave, so that
// a program on its own meets no 429 on the endpoints whose limits are published.
// Such a wait ends only with the context. A wait that the server orders is
// honoured up to [WithMaxWait].
//
// Everything that waits returns when its context ends.
package fastio
