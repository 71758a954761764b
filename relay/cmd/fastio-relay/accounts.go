package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// administerAccounts runs a command of the directory of accounts: list, import, add, pause,
// resume or remove. Wrong arguments are an error with the usage.
func (c *config) administerAccounts(ctx context.Context, s relay.Stream, stdout io.Writer) error {
	keys, err := c.accountKeys()
	if err != nil {
		return err
	}
	a := relay.Accounts{Stream: s, Keys: keys}
	if len(c.command) < 2 {
		return errAccountsCommand
	}
	command, args := c.command[1], c.command[2:]
	switch command {
	case "list":
		if len(args) == 0 {
			return listAccounts(ctx, a, stdout)
		}
	case "import":
		if len(args) == 0 {
			return importAccounts(ctx, a, c.stdin, stdout)
		}
	case "add":
		if len(args) > 0 {
			return c.addAccount(ctx, a, args[0], args[1:])
		}
	default:
		return changeAccount(ctx, a, command, args)
	}
	return errAccountsCommand
}

var errAccountsCommand = errors.New("a command of accounts is list, add NAME [PROFILES], pause NAME, resume NAME, " +
	"remove NAME [purge] or import")

// changeAccount pauses, resumes or removes an account.
func changeAccount(ctx context.Context, a relay.Accounts, command string, args []string) error {
	purge := len(args) == 2 && args[1] == "purge" && command == "remove"
	if len(args) != 1 && !purge {
		return errAccountsCommand
	}
	switch command {
	case "pause":
		return a.Pause(ctx, args[0])
	case "resume":
		return a.Resume(ctx, args[0])
	case "remove":
		return a.Delete(ctx, args[0], &relay.DeleteOptions{Purge: purge})
	}
	return errAccountsCommand
}

// accountKeys returns the key that encrypts the credentials.
func (c *config) accountKeys() (oauth.KeyStore, error) {
	if c.accountsKey == "" {
		return nil, errors.New("set -accounts-key")
	}
	text, err := os.ReadFile(c.accountsKey)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("%s: the key must be 32 bytes in base64", c.accountsKey)
	}
	return oauth.StaticKey(key), nil
}

// addAccount adds an account with the API key that it reads from standard input. If the input is
// empty, the account is followed with the sign-in of its customer, which another program saves with
// [relay.Tokens]. The account follows the profiles of the lists, or all if there is no list.
func (c *config) addAccount(ctx context.Context, a relay.Accounts, name string, lists []string) error {
	line, err := bufio.NewReader(c.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	account := relay.Account{Name: name, APIKey: api.NewSecret(strings.TrimSpace(line)), Since: c.since}
	if len(lists) > 0 {
		account.Profiles, err = parseProfiles(strings.Join(lists, ","))
		if err != nil {
			return err
		}
	}
	return a.Add(ctx, account)
}

// importedAccount is a line of an import.
type importedAccount struct {
	Name     string    `json:"name"`
	APIKey   string    `json:"api_key"`
	Profiles []string  `json:"profiles"`
	Since    time.Time `json:"since"`
	Paused   *bool     `json:"paused"` // nil leaves an account that exists as it is
}

// importAccounts adds accounts, one JSON object each. Those that exist are updated, so that
// an import that has failed can be repeated. An unknown JSON member is an error: it may be a misspelled api_key.
func importAccounts(ctx context.Context, a relay.Accounts, in io.Reader, stdout io.Writer) error {
	added, updated := 0, 0
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	for {
		isNew, err := importAccount(ctx, a, d)
		switch {
		case errors.Is(err, io.EOF):
			_, err = fmt.Fprintf(stdout, "%d added, %d updated\n", added, updated)
			return err
		case err != nil:
			return fmt.Errorf("the import, after %d accounts: %w", added+updated, err)
		case isNew:
			added++
		default:
			updated++
		}
	}
}

// importAccount reads an account, and adds or updates it. It returns [io.EOF] if there is none.
func importAccount(ctx context.Context, a relay.Accounts, d *json.Decoder) (isNew bool, err error) {
	var line importedAccount
	if err := d.Decode(&line); err != nil {
		return false, err
	}
	account := relay.Account{Name: line.Name, APIKey: api.NewSecret(line.APIKey), Since: line.Since}
	account.Paused = line.Paused != nil && *line.Paused
	if len(line.Profiles) > 0 {
		account.Profiles, err = parseProfiles(strings.Join(line.Profiles, ","))
		if err != nil {
			return false, err
		}
	}
	err = a.Add(ctx, account)
	if !errors.Is(err, api.ErrConflict) {
		return true, err
	}
	err = a.Update(ctx, account)
	switch {
	case err != nil || line.Paused == nil:
	case *line.Paused:
		err = a.Pause(ctx, account.Name)
	default:
		err = a.Resume(ctx, account.Name)
	}
	return false, err
}

// listAccounts writes a table of the accounts whose records and states can be read, and returns the
// errors of the others.
func listAccounts(ctx context.Context, a relay.Accounts, stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ACCOUNT\tSTATE\tSINCE\tPROFILES\tREPLICA\tREASON") // Flush returns the error
	var unreadable error
	for account, err := range a.All(ctx) {
		if err != nil {
			unreadable = errors.Join(unreadable, err)
			continue
		}
		s, err := a.Status(ctx, account.Name)
		if errors.Is(err, api.ErrNotFound) { // it was removed meanwhile
			continue
		}
		if err != nil {
			unreadable = errors.Join(unreadable, err)
			continue
		}
		since := ""
		if !s.Since.IsZero() {
			since = s.Since.UTC().Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", account.Name, s.State, since, s.Profiles, s.Replica, s.Reason)
	}
	return errors.Join(unreadable, table.Flush())
}
