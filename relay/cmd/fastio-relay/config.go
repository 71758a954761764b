package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/relay"
)

// config are the settings of a replica.
type config struct {
	profiles []api.Profile
	name     string
	keyFile  string
	plain    bool
	limits   string
	listen   string
	hosts    string
	lease    time.Duration
	since    time.Time
	logJSON  bool
	logDebug bool

	servers        string // "" runs one in the process
	creds, ca      string
	certificate    string
	certificateKey string
	data           string
	natsListen     string

	streamName string
	prefix     string
	bucket     string
	replicas   int
	maxAge     time.Duration
	maxBytes   int64
	discard    bool
	duplicates time.Duration
	given      map[string]bool // names of flags that have a value of the user

	command     []string // after the flags; without one, a replica runs
	accountsKey string
	clientID    string
	sockets     int
	baseURL     string // of the platform; "" means the default
	stdin       io.Reader

	// Of tests, besides parse.
	patience  time.Duration // without a confirmed write or a response, until that is shown
	atStart   time.Duration // of the first connection, while nothing listens
	newClient func(opts ...fastio.Option) (*fastio.Client, error)
}

// flags returns the flags, which set c, and the value of -config, the name of a file with
// more values of flags.
func (c *config) flags(stderr io.Writer) (f *flag.FlagSet, file *string) {
	f = flag.NewFlagSet("fastio-relay", flag.ContinueOnError)
	f.SetOutput(stderr)
	file = f.String("config", "", "JSON `file` with the values of flags")
	f.Func("profiles", "comma-separated `list` of org:ID, workspace:ID and share:ID; default: the accounts, with -accounts-key", c.setProfiles)
	f.StringVar(&c.name, "name", "", "name of the replica; default: the name of the machine, and if -nats is set also the process ID")
	f.StringVar(&c.keyFile, "key-file", "", "`file` with the API key")
	f.BoolVar(&c.plain, "plain-http", false, "send the key unencrypted if FASTIO_BASE_URL is http on another machine")
	f.StringVar(&c.limits, "limits", "default",
		"`name` of the user whose rate limits the replicas share; replicas with keys of another user need another name")
	f.StringVar(&c.listen, "listen", "127.0.0.1:8377", "`address` of the page and the metrics; port 0 picks a free one")
	f.StringVar(&c.hosts, "hosts", "",
		"comma-separated `names` in URLs of the page, besides IP addresses, localhost and the name of the machine")
	f.DurationVar(&c.lease, "lease", 15*time.Second, "time after which others take over from a lost replica, at least 10s")
	f.StringVar(&c.accountsKey, "accounts-key", "", "`file` with the key that encrypts the credentials of accounts, 32 bytes in base64")
	f.StringVar(&c.clientID, "client-id", "", "client `ID` with which accounts without an API key have signed in")
	f.IntVar(&c.sockets, "sockets", 0, "`number` of the busiest profiles of accounts whose changes a socket reports")
	f.Func("since", "`time` of the first event of new profiles, as 2026-01-31T12:00:00Z; default: all events",
		func(text string) (err error) {
			c.since, err = time.Parse(time.RFC3339, text)
			return err
		})
	f.BoolVar(&c.logJSON, "log-json", false, "log as JSON")
	f.BoolVar(&c.logDebug, "log-debug", false, "log each request")
	f.StringVar(&c.servers, "nats", "", "comma-separated `URLs` of NATS servers; default: a server in the process")
	f.StringVar(&c.creds, "nats-creds", "", "`file` with the credentials for NATS")
	f.StringVar(&c.ca, "nats-ca", "", "`file` with the certificates that sign those of the NATS servers")
	f.StringVar(&c.certificate, "nats-cert", "", "`file` with the client certificate for NATS, or that of -nats-listen")
	f.StringVar(&c.certificateKey, "nats-key", "", "`file` with the key of that certificate")
	f.StringVar(&c.data, "data", "fastio-relay-data", "`directory` of the NATS server in the process")
	f.StringVar(&c.natsListen, "nats-listen", "",
		"`address` of that server, as 127.0.0.1:4222; URLs with passwords are in nats.creds and, for\n"+
			"readers, nats-reader.creds of the directory; default: it does not listen")
	f.StringVar(&c.streamName, "stream", "FASTIO", "`name` of the stream")
	f.StringVar(&c.prefix, "prefix", "fastio.events", "beginning of the `subjects` of the stream")
	f.StringVar(&c.bucket, "bucket", "fastio-relay", "`name` of the bucket with checkpoints and accounts")
	f.IntVar(&c.replicas, "replicas", 1, "copies of the stream in the NATS cluster")
	f.DurationVar(&c.maxAge, "max-age", 7*24*time.Hour, "time for which events are kept; negative: without limit")
	f.Int64Var(&c.maxBytes, "max-bytes", 0, "size of the stream in `bytes`; 0: no limit")
	f.BoolVar(&c.discard, "discard-old", false, "delete the oldest events when the stream is full, instead of waiting")
	f.DurationVar(&c.duplicates, "duplicates", 2*time.Minute, "time in which a repeated event is recognized")
	f.Usage = func() {
		_, _ = fmt.Fprint(f.Output(), usage)
		f.PrintDefaults()
	}
	return f, file
}

const usage = `Usage:
  fastio-relay -profiles LIST [flags]    	runs a replica that follows profiles
  fastio-relay -accounts-key FILE [flags]	runs a replica that follows the accounts of the directory
  fastio-relay [flags] groups            	lists the groups of consumers
  fastio-relay [flags] delete-group NAME 	deletes one that is no longer used
  fastio-relay [flags] accounts COMMAND  	changes the directory of accounts: list, add NAME [PROFILES] with the
                                         	API key on the standard input, pause NAME, resume NAME,
                                         	remove NAME [purge], import of JSON objects on the standard input
  fastio-relay -version                  	prints the version and the commit

Environment:
  FASTIO_API_KEY, FASTIO_TOKEN
    	API key or access token, unless -key-file is set
  FASTIO_BASE_URL
    	URL of the platform, for an emulator
  FASTIO_RELAY_...
    	value of a flag: FASTIO_RELAY_MAX_AGE for -max-age

Flags:
`

// parse returns the settings of the flags, the environment and the file of -config: of
// a setting that several of them have, the first one counts.
func parse(args []string, getenv func(string) string, stderr io.Writer) (*config, error) {
	c := &config{patience: 30 * time.Second, atStart: 5 * time.Second, given: map[string]bool{}}
	c.newClient, c.stdin, c.baseURL = c.client, os.Stdin, getenv("FASTIO_BASE_URL")
	f, file := c.flags(stderr)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	c.command = f.Args()
	f.Visit(func(flag *flag.Flag) { c.given[flag.Name] = true })
	var failed []error
	f.VisitAll(func(setting *flag.Flag) {
		name := "FASTIO_RELAY_" + strings.ToUpper(strings.ReplaceAll(setting.Name, "-", "_"))
		if value := getenv(name); value != "" && !c.given[setting.Name] {
			c.given[setting.Name] = true
			if err := f.Set(setting.Name, value); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	if *file != "" {
		failed = append(failed, readFile(*file, f, c.given))
	}
	ofProfiles, ofAccounts := len(c.profiles) > 0, c.accountsKey != ""
	if len(c.command) == 0 && ofProfiles == ofAccounts {
		failed = append(failed, errors.New("set -profiles or -accounts-key, and not both"))
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	if c.name == "" {
		c.name = c.defaultName()
	}
	return c, nil
}

// defaultName returns the name of a replica without -name: that of the machine, and with
// -nats also the process ID, as several replicas may run on a machine.
func (c *config) defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "replica"
	}
	if c.servers == "" {
		return host
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// readFile sets the flags that a JSON file names, except those in set, and adds them to
// set.
func readFile(name string, f *flag.FlagSet, set map[string]bool) error {
	content, err := os.ReadFile(name) //nolint:gosec // named by the user
	if err != nil {
		return err
	}
	var values map[string]any
	if err := json.Unmarshal(content, &values); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for key, value := range values {
		if f.Lookup(key) == nil {
			return fmt.Errorf("%s: there is no setting %q", name, key)
		}
		if set[key] {
			continue
		}
		set[key] = true
		if err := f.Set(key, textOf(value)); err != nil {
			return fmt.Errorf("%s: %s: %w", name, key, err)
		}
	}
	return nil
}

// textOf returns a JSON value as the text that would follow the flag on the command
// line.
func textOf(value any) string {
	switch value := value.(type) {
	case []any:
		parts := make([]string, len(value))
		for i, part := range value {
			parts[i] = textOf(part)
		}
		return strings.Join(parts, ",")
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// setProfiles sets the profiles to those of a comma-separated list.
func (c *config) setProfiles(list string) (err error) {
	c.profiles, err = parseProfiles(list)
	return err
}

// parseProfiles returns the profiles of a comma-separated list.
func parseProfiles(list string) (profiles []api.Profile, err error) {
	for text := range strings.SplitSeq(list, ",") {
		kind, id, _ := strings.Cut(strings.TrimSpace(text), ":")
		p := api.Profile{Kind: api.ProfileKind(kind), ID: api.ID(id)}
		const op, field = "", "" // of an error that is not returned
		err := p.OneOf(op, field, api.ProfileKindOrg, api.ProfileKindWorkspace, api.ProfileKindShare)
		isID := len(id) == 19 && strings.Trim(id, "0123456789") == ""
		if err != nil || !isID {
			return nil, fmt.Errorf("%q is not org:ID, workspace:ID or share:ID with an ID of 19 digits", text)
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// stream returns the stream of the flags. If one of -max-age, -replicas and -duplicates is not given,
// its field stays zero. Then the relay accepts any value of a stream that exists, and gives a new stream
// its default, which is that of the flag.
func (c *config) stream(nc *nats.Conn) (relay.Stream, error) {
	js, err := jetstream.New(nc)
	s := relay.Stream{
		JetStream: js, Name: c.streamName, Prefix: c.prefix, Bucket: c.bucket, MaxBytes: c.maxBytes,
	}
	if c.given["max-age"] {
		const noLimit = -1
		s.MaxAge = cmp.Or(c.maxAge, noLimit) // -max-age=0 means no limit, too; in the field, 0 is the default
	}
	if c.given["replicas"] {
		s.Replicas = c.replicas
	}
	if c.given["duplicates"] {
		s.Duplicates = c.duplicates
	}
	if c.discard {
		s.Full = relay.FullDiscard
	}
	return s, err
}

// logger returns the logger of the settings, which writes to out.
func (c *config) logger(out io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.logDebug {
		o.Level = slog.LevelDebug
	}
	if c.logJSON {
		return slog.New(slog.NewJSONHandler(out, o))
	}
	return slog.New(slog.NewTextHandler(out, o))
}
