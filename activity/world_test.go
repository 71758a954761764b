package activity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const room = api.ProfileID("4012345678901234567")

// script answers polls, the first being number 0, with the text of an answer or
// an error. It keeps what was asked and when.
type script struct {
	answer answerFunc

	date func() time.Time // of the Date headers; nil for a fixed one

	asked []asked
}

type answerFunc = func(ctx context.Context, n int, q url.Values) (string, error)

type asked struct {
	at time.Time
	r  *api.Request
}

func (s *script) Call(ctx context.Context, r *api.Request, out any) error {
	n := len(s.asked)
	s.asked = append(s.asked, asked{time.Now(), r})
	answer, err := s.answer(ctx, n, r.Query)
	if raw := r.Options.Response; raw != nil {
		date := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
		if s.date != nil {
			date = s.date().UTC()
		}
		*raw = api.Response{Header: http.Header{"Date": {date.Format(http.TimeFormat)}}}
	}
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(answer), out)
}

// queries are those of all polls, encoded.
func (s *script) queries() (all []string) {
	for _, a := range s.asked {
		all = append(all, a.r.Query.Encode())
	}
	return all
}

// waits are those that polls asked for.
func (s *script) waits() (all []string) {
	for _, a := range s.asked {
		all = append(all, a.r.Query.Get("wait"))
	}
	return all
}

// since returns when each poll was sent, seen from the first.
func (s *script) since() (all []time.Duration) {
	for _, a := range s.asked {
		all = append(all, a.at.Sub(s.asked[0].at))
	}
	return all
}

// held waits for as long as a poll asks, or less.
func held(ctx context.Context, q url.Values, most time.Duration) error {
	wait, _ := time.ParseDuration(q.Get("wait") + "s")
	select {
	case <-time.After(min(wait, most)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// quiet is the answer of a poll that found nothing.
func quiet(cursor string) string {
	return fmt.Sprintf(`{"result":true,"results":0,"activity":[],"lastactivity":%q}`, cursor)
}

// told is the answer of a poll that found one field.
func told(field, at string) string {
	return fmt.Sprintf(`{"result":true,"results":1,"activity":{%q:%q},"lastactivity":%q}`, field, at, at)
}

const stampLayout = "2006-01-02 15:04:05.000000 UTC"

// second is a time of the platform's.
func second(n int) string {
	return time.Date(2026, 3, 2, 9, 30, 0, 1000, time.UTC).Add(time.Duration(n) * time.Second).Format(stampLayout)
}

// watched takes n reports.
func watched(t *testing.T, s *script, o *activity.WatchOptions, n int) []*activity.Report {
	t.Helper()
	reports, err := watchedUntil(t, s, o, n)
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

// watchedUntil takes up to n reports, and the error before that.
func watchedUntil(t *testing.T, s *script, o *activity.WatchOptions, n int) (reports []*activity.Report, err error) {
	t.Helper()
	for r, err := range activity.New(s).Watch(t.Context(), api.Workspace(room), o) {
		if err != nil {
			return reports, err
		}
		if reports = append(reports, r); len(reports) == n {
			break
		}
	}
	return reports, nil
}

var errCut = errors.New("connection reset by peer")
