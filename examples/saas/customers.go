package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// product is what all customers share. A customer is a user of the platform, whose ID is the
// name of the account in the relay.
type product struct {
	listener net.Listener
	home     string         // the address of the page, without a path
	client   *fastio.Client // without a token: it starts sign-ins
	signIn   oauth.Config   // of all customers, without the Account
	accounts relay.Accounts

	sessions sync.Map // of browsers, by the value of their cookie
	mu       sync.Mutex
	latest   map[string][]events.Event // of each customer, newest first; stands for a database
}

// newProduct registers the product with the platform. A real one does that once, and
// configures its address, its client ID and the key that encrypts the sign-ins.
func newProduct(ctx context.Context, platform string, page net.Listener, stream relay.Stream) (*product, error) {
	client, err := fastio.New(fastio.WithBaseURL(platform), fastio.WithLogger(slog.Default()))
	if err != nil {
		return nil, err
	}
	home := "http://" + page.Addr().String()
	r := oauth.RegisterRequest{ClientName: "Loom", RedirectURIs: []string{home + callbackPath}}
	app, err := client.OAuth.Register(ctx, r)
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	accounts := relay.Accounts{Stream: stream, Keys: oauth.StaticKey(key)}
	return &product{
		listener: page, home: home, client: client, accounts: accounts, latest: map[string][]events.Event{},
		signIn: oauth.Config{BaseURL: platform, ClientID: app.ClientID, Store: relay.Tokens(accounts)},
	}, stream.Create(ctx)
}

// run follows the customers and serves the page, until ctx is done or a part fails.
func (p *product) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, part := range []func(ctx context.Context) error{p.followAll, p.consumeAll, p.serve} {
		running.Go(func() { cancel(part(ctx)) })
	}
	running.Wait()
	return context.Cause(ctx)
}

// followAll publishes the events of all customers to the stream. Any number of processes can
// do that: they share the customers.
func (p *product) followAll(ctx context.Context) error {
	follower := &relay.AccountFollower{
		Accounts: p.accounts, SignIn: p.signIn, Follow: events.FollowOptions{Interval: 5 * time.Second},
		Options: []fastio.Option{fastio.WithBaseURL(p.signIn.BaseURL)},
		OnError: func(ctx context.Context, customer string, _ api.Profile, err error) {
			slog.WarnContext(ctx, "a log is not followed", slog.String("customer", customer), slog.Any("error", err))
		},
	}
	return follower.Run(ctx)
}

// consumeAll keeps the latest events of all customers.
func (p *product) consumeAll(ctx context.Context) error {
	o := relay.ConsumeOptions{Stream: p.accounts.Stream, Name: "page", Account: relay.AllAccounts}
	return relay.Consume(ctx, o, p.keep)
}

// keep keeps an event, unless it was kept before, or its customer is gone.
func (p *product) keep(_ context.Context, m relay.Message[events.Event]) error {
	customer, e := m.Account, m.Value
	p.mu.Lock()
	defer p.mu.Unlock()
	kept, connected := p.latest[customer]
	if !connected || slices.ContainsFunc(kept, func(k events.Event) bool { return k.ID == e.ID }) {
		return nil
	}
	kept = append([]events.Event{e}, kept...) // a copy: a page may read the old ones
	slices.SortStableFunc(kept, func(a, b events.Event) int { return b.Created.Compare(a.Created.Time) })
	p.latest[customer] = kept[:min(len(kept), 20)]
	return nil
}

// connect makes the user of a new token a customer, whose events are followed from now on. If
// the user is one already, the token replaces the earlier one, which is revoked.
func (p *product) connect(ctx context.Context, token *oauth.Token) (*account.User, error) {
	bearer := fastio.WithToken(token.AccessToken.Reveal())
	client, err := fastio.New(fastio.WithBaseURL(p.signIn.BaseURL), bearer, fastio.WithLogger(slog.Default()))
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	user, err := client.Account.Me(ctx)
	if err != nil {
		return nil, err
	}
	customer, config := string(user.ID), p.signIn
	config.Account = customer
	if err := errors.Join(oauth.SignOut(ctx, config), oauth.Save(ctx, config, token)); err != nil {
		return nil, err
	}
	p.mu.Lock()
	// A new customer gets an entry, nil: keep drops the events of customers without an entry. An entry that exists
	// stays as it is; Clone is only there because linters reject the assignment of a value to itself.
	p.latest[customer] = slices.Clone(p.latest[customer])
	p.mu.Unlock()
	err = p.accounts.Add(ctx, relay.Account{Name: customer})
	if errors.Is(err, api.ErrConflict) { // connected already: the relay finds the new token
		err = nil
	}
	return user, err
}

// disconnect revokes the token of a customer, and deletes everything that the product has of
// the customer. It revokes the token first, because Delete deletes the stored token.
func (p *product) disconnect(ctx context.Context, customer string) error {
	config := p.signIn
	config.Account = customer
	revoked := oauth.SignOut(ctx, config)
	err := p.accounts.Delete(ctx, customer, &relay.DeleteOptions{Purge: true})
	p.mu.Lock()
	delete(p.latest, customer)
	p.mu.Unlock()
	if err == nil && revoked != nil {
		slog.ErrorContext(ctx, "a token is not revoked", slog.String("customer", customer), slog.Any("error", revoked))
		return refusal("Your data is deleted, but Fast.io did not answer. Please remove Loom in its settings, too.")
	}
	return errors.Join(err, revoked)
}
