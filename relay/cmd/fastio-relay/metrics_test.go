package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// allMetrics returns the metrics of both kinds of replicas, with their help and labels.
func allMetrics(t *testing.T) map[string]string {
	t.Helper()
	now := &figures{ofProfiles: &profileFigures{}, ofAccounts: &accountFigures{}}
	families, err := newMetrics(nil).registry(func() *figures { return now }).Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), namespace+"_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		kind := strings.ToLower(f.GetType().String())
		all[f.GetName()] = fmt.Sprintf("| `%s` | %s | %s | %s |", f.GetName(), kind, strings.Join(labels, ", "), f.GetHelp())
	}
	return all
}

func readModule(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// metrics.md lists every metric, with its help.
func TestGuideListsAllMetrics(t *testing.T) {
	t.Parallel()
	var want []string
	for _, row := range allMetrics(t) {
		want = append(want, row)
	}
	slices.Sort(want)
	got := regexp.MustCompile("(?m)^\\| `.*$").FindAllString(readModule(t, "metrics.md"), -1)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("metrics.md (-has +wants):\n%s\n%s", diff, strings.Join(want, "\n"))
	}
}

// The alerts use metrics that exist, and each has a test in which it fires and one in which it
// does not.
func TestAlertsUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	rules, tests, metrics := readModule(t, "alerts.yml"), readModule(t, "alerts_test.yml"), allMetrics(t)
	for _, text := range []string{rules, tests} {
		names := regexp.MustCompile(namespace+`(_[a-z]+)+`).FindAllString(text, -1)
		if len(names) < 20 {
			t.Errorf("%d metrics are named", len(names))
		}
		for _, name := range names {
			base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
			if metrics[name] == "" && metrics[base] == "" {
				t.Errorf("there is no metric %s", name)
			}
		}
	}
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	if len(alerts) < 15 || strings.Count(rules, " description: ") != len(alerts) {
		t.Errorf("%d alerts", len(alerts))
	}
	for _, alert := range alerts {
		for _, does := range []string{" fires\n", " is silent\n"} {
			if !strings.Contains(tests, "name: "+alert[1]+does) {
				t.Errorf("no test in which %s%s", alert[1], does)
			}
		}
	}
}

// A label of a metric has one of a few values, whatever the platform answers.
func TestLabelsHaveFewValues(t *testing.T) {
	t.Parallel()
	for _, vec := range []interface{ Describe(chan<- *prometheus.Desc) }{newFiguresCollector(nil), newMetrics(nil).responses} {
		out := make(chan *prometheus.Desc, 100)
		vec.Describe(out)
		close(out)
		for d := range out {
			if strings.Contains(d.String(), "profile,") || strings.Contains(d.String(), `"account"`) {
				t.Errorf("%s", d)
			}
		}
	}
	for err, want := range map[error]string{
		api.ErrRateLimited: failedLimit, api.ErrNotFound: failedAccess, api.ErrUnavailable: failedPlatform,
		os.ErrDeadlineExceeded: failedTimeout, fmt.Errorf("x %w", os.ErrClosed): failedOtherwise,
	} {
		if got := reasonOf(err); got != want {
			t.Errorf("%v: the reason is %s, want %s", err, got, want)
		}
	}
}

// newAccountsPlatform returns a platform without rate limits, with a workspace.
func newAccountsPlatform() (s *fastiotest.Server, profile api.Profile) {
	s = fastiotest.New(func(o *seed.Options) {
		o.Limits.Rules = []seed.Limit{}
		o.Limits.NoHeaders = true
	})
	return s, api.Workspace(api.ID(s.AddWorkspace(seed.Workspace{}).ID))
}

// The number of series is the same for 10 and for 1,000 accounts.
func TestNumberOfSeriesDoesNotGrowWithAccounts(t *testing.T) {
	t.Parallel()
	s, profile := newAccountsPlatform()
	ns := startNATS(t)
	js := connectTo(t, ns.Addr().String())
	r := startRelay(t, s, "-nats", ns.Addr().String(), "-accounts-key", writeKey(t), "-name", "first", "-lease", "10s")
	accounts := relay.Accounts{Stream: relay.Stream{JetStream: js}, Keys: oauth.StaticKey(make([]byte, 32))}
	added := 0
	grow := func(n int) (series int) {
		for ; added < n; added++ {
			a := relay.Account{Name: fmt.Sprintf("customer-%d", added), APIKey: api.NewSecret(s.Token()), Profiles: []api.Profile{profile}}
			switch added % 5 {
			case 1:
				a.APIKey = api.NewSecret("unknown")
			case 2:
				a.Paused = true
			}
			if err := accounts.Add(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		want := fmt.Sprintf(`fastio_relay_accounts{state="following"} %d`, n*3/5)
		var text string
		for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
			_, text = get(t, r.url+"/metrics")
			if strings.Contains(text, want) && strings.Contains(text, `{state="needs sign-in"} `+strconv.Itoa(n/5)) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("no %s in\n%s\n%s", want, text, r.log)
			}
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, namespace+"_") {
				series++
			}
		}
		return series
	}
	few, many := grow(10), grow(1000)
	if few != many || few > 150 {
		t.Errorf("%d series for 10 accounts, and %d for 1,000", few, many)
	}
}
