package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/oauth"
)

const secondKey = "FASTIO_SECOND_KEY" // the variable with the API key of the second person

// signIn sets the credential: the one of the environment or of a sign-in with the
// browser, whose tokens are kept in memory. It returns a function that ends the sign-in.
func (p *program) signIn(ctx context.Context) (signOut func() error, err error) {
	key := cmp.Or(p.getenv("FASTIO_TOKEN"), p.getenv("FASTIO_API_KEY"))
	switch {
	case p.second && p.getenv(secondKey) == "":
		return nil, errors.New("-second-key needs an API key of another person in " + secondKey)
	case !p.login && key == "":
		return nil, errors.New("set FASTIO_API_KEY to an API key, or use -login; -n shows what it is used for")
	case !p.login:
		p.signed = fastio.WithToken(key)
		return func() error { return nil }, nil
	}
	config := oauth.Config{
		BaseURL: p.address, HTTPClient: &http.Client{Transport: p.network}, Store: new(oauth.MemoryStore),
		ClientName: "fastio-check", DeviceName: "fastio-check", AccessMode: oauth.AccessModeRead, OpenBrowser: p.openBrowser,
		ShowURL: func(_ context.Context, url string) {
			_, _ = fmt.Fprintf(p.progress, "Sign in with the browser. If none opens, visit\n  %s\n", url)
		},
	}
	if p.write || p.clean {
		config.AccessMode = oauth.AccessModeAdmin // to delete a workspace
	}
	source, _, err := oauth.LoginIfNeeded(ctx, config)
	if err != nil {
		return nil, err
	}
	p.signed = fastio.WithTokenSource(source)
	return func() error {
		const most = 30 * time.Second
		// An interrupt has ended ctx, and the tokens are revoked all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
		defer cancel()
		return oauth.SignOut(ctx, config)
	}, nil
}

// runWithWrites asks, and then runs in a workspace of its own.
func (p *program) runWithWrites(ctx context.Context) (int, error) {
	text := "fastio-check of fastio " + fastio.Version + ` reads a sample of what this account can see, and then works in
a workspace of its own: it creates one in organization ` + p.org + `, with files, notes, comments and links,
changes and deletes these, invites an address that does not exist, and deletes the workspace at the end.
Nothing outside of that workspace is created, changed or deleted. It makes about a thousand calls, which
may take some minutes. Ctrl-C ends it, and deletes the workspace too.
`
	if p.ai {
		text += "It also calls what costs credits, such as the agent of the platform: about 20 times.\n"
	}
	if p.second {
		text += "The person of the second key becomes a member of the workspace, and its owner for a moment.\n"
	}
	if !p.ask(ctx, text+"Continue?") {
		return unfinished, errors.New("nothing was called")
	}
	journal, err := check.NewJournal(p.dir, p.address, api.ID(p.org))
	if err != nil {
		return unfinished, err
	}
	defer func() { _ = journal.Close() }() // what was written is durable
	const created = "The workspace is %s. If it is left behind, fastio-check -clean -o %s deletes it.\n\n"
	_, _ = fmt.Fprintf(p.out, created, journal.Marker, p.dir)
	return p.run(ctx, &check.Changes{Journal: journal, Org: api.ID(p.org), AI: p.ai})
}

// ask asks a question, and reports whether the answer is yes. If ctx is done first, it returns false.
func (p *program) ask(ctx context.Context, question string) bool {
	_, _ = fmt.Fprintf(p.out, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := p.in.ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		return line == "y" || line == "yes"
	case <-ctx.Done():
		return false
	}
}

// cleanUp deletes what runs have left. It may delete only what the journal of a run has.
func (p *program) cleanUp(ctx context.Context) error {
	return check.Clean(ctx, check.CleanOptions{
		Dir: p.dir, Platform: p.address,
		Connect: func(j *check.Journal) (first, second api.Client, err error) {
			allowed := check.Allowed{Reads: check.Reads(), Writes: check.Deletions(), Journal: j}
			first, err = p.connect(allowed, p.signed)
			if p.second {
				var other error
				second, other = p.connect(allowed, fastio.WithToken(p.getenv(secondKey)))
				err = errors.Join(err, other)
			}
			return first, second, err
		},
		Ask: func(question string) bool { return p.ask(ctx, question) },
		Say: func(line string) { _, _ = fmt.Fprintln(p.out, line) },
	})
}
