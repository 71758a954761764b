// Package fastio is a client for the Fast.io platform: workspaces in which teams
// of people and software agents keep files, comment, search, chat with a
// built-in AI and watch everything through an event log.
//
//	client, err := fastio.FromEnv(fastio.WithLogger(slog.Default())) // FASTIO_API_KEY
//	if err != nil {
//		log.Fatal(err)
//	}
//	ctx := context.Background()
//	yesterday := time.Now().AddDate(0, 0, -1)
//	for workspace, err := range client.Workspaces.All(ctx, nil) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(workspace.Name)
//		query := events.Query{Profile: api.Workspace(workspace.ID), CreatedMin: yesterday}
//		for event, err := range client.Events.All(ctx, query) {
//			if err != nil {
//				log.Fatal(err)
//			}
//			fmt.Println(" ", event.Created, event.Description)
//		}
//	}
//
// Any endpoint, also one without a method, takes one statement, with [Client.Call]:
//
//	err := client.Call(ctx, api.Get("/current/org/{org_id}/details/", id), &details)
//
// # Errors
//
// A request that the server refuses returns an [*api.Error] with the status, the code
// and the text of the server. Invalid arguments are rejected locally, before any request
// is sent, with an [*api.InputError] that names the argument, the rule and the value.
// [errors.Is] reports the kind, such as [api.ErrNotFound]; each kind documents its
// statuses. Any other failure, such as a broken connection, keeps its type and gains
// the name of the call. No error text holds a token, a URL or a body.
//
// # Retries
//
// A failed call is retried if it is idempotent: reads, and writes that the platform
// deduplicates by a key. Any other write is retried only if it certainly was not
// processed: the client could not connect or write, or the response was a 429, or a 401
// after which the token was refreshed. A retry budget per client limits retries to a
// small share of all calls during an outage.
//
// # Rate limits
//
// A call waits for room in the platform's rate windows before it is sent, so that a
// single process using a credential receives no 429 from endpoints whose limits are
// published, such as event search. Other limits are learned from responses. That wait
// ends only with the context. A Retry-After of the server is honoured up to
// [WithMaxWait]; a longer one fails at once with [api.ErrRateLimited], and
// Rate.RetryAfter of the error is its length. Hooks report every wait, and the logger
// at info level those of 2 seconds or more: see [WithLogger]. The page docs/limits.md of
// the repository says what the published limits mean for jobs with many event logs.
//
// Several processes with one credential share its limits: when a 429 or a full window
// shows that another process uses the credential, each takes a part of the window. For
// two processes with 400 searches each, one call in six was refused, for three one in
// four, for eight one in two, and all took at most 2 percent longer than the fastest
// schedule. A call that was refused waits and is sent again, which costs no attempt.
// Jobs that can wait should set [WithMaxWait] to [api.NoLimit].
//
// # Iterators
//
// Methods called All and Pages return iterators over the items and the pages of a list.
// Nothing is requested before the loop begins, and each loop over an iterator starts
// over. An error comes once, last. A loop that is left at its first item costs one
// request: the second page is requested when the loop asks for its second item, and from
// then on one page is requested ahead of the loop. [api.WithoutPrefetch] turns that off.
// A list that does not end is [api.ErrNoProgress].
//
// # Defaults
//
//	attempts                        3                       WithRetry, api.WithAttempts
//	pause before a retry            random, up to 0.5 s,    WithRetry
//	                                doubled to at most 8 s
//	waits that the server requires  1 minute in total       WithMaxWait, api.WithMaxWait
//	whole call                      no limit                WithTimeout, api.WithTimeout, the context
//	attempt                         no limit                http.Client.Timeout of WithHTTPClient
//	  connecting, TLS               30 s, 10 s              transport of WithHTTPClient
//	  first byte of the response    125 s                   transport of WithHTTPClient
//	  rest of a JSON response       2 minutes
//	  download without a byte       1 minute, then resumed
//	response                        32 MiB of JSON, 64 MiB of text
//	rows a page                     List: the server's default; All and Pages: the largest page
//
// The shortest limit that applies ends a call. [WithTimeout] and [api.WithTimeout]
// include retries and waits, and api.WithTimeout replaces WithTimeout for one call.
// The timeout of a [net/http.Client] applies to each attempt on the network, without
// waits, and includes the body of a download. The timeout of an attempt is a failure
// like any other, after which an idempotent call is retried; the timeout of the call
// is final.
//
// Everything that waits returns within 50 ms when its context ends.
package fastio
