package events_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// recorded is a network that gives every request the same answer.
type recorded string

func (r recorded) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(r)),
		Body: io.NopCloser(strings.NewReader(string(r))),
	}, nil
}

// answering returns a service that gets answer to every call.
func answering(t *testing.T, answer string) *events.Service {
	t.Helper()
	c, err := fastio.New(fastio.WithToken("t"), fastio.WithHTTPClient(&http.Client{Transport: recorded(answer)}))
	if err != nil {
		t.Fatal(err)
	}
	return c.Events
}

func TestEventDecoded(t *testing.T) {
	t.Parallel()
	created := api.Time{Time: time.Date(2026, 3, 2, 9, 59, 30, 0, time.UTC)}
	tests := []struct {
		name, row string
		want      *events.Event
	}{
		{
			"a full row", `{"event_id":"e1abc-defgh","event":"workspace_storage_file_added","category":"workspace",
			"object_id":"2abcd-efghi","created":"2026-03-02 09:59:30 UTC","sub_category":"storage","calling_user":1012345678901234567,
			"actor":{"user_id":"1012345678901234567","kind":"human","agent_name":null,"name_source":null,"credential_type":"session","verified":false},
			"org_id":"3012345678901234567","workspace_id":"4012345678901234567","share_id":null,"user_id":"1012345678901234568",
			"acknowledged":true,"template":{"description":"{{actor}} added {{object}}","params":["Ada","plan.pdf"]},"severity":"info",
			"visibility":"external","notification":"none","permission":"member","description":"Ada added plan.pdf","required_params":["actor","object"],
			"event_profile":"4012345678901234567","node_type":"file","operation_type":"create","requires_parent_node":true,"agent_delegation":"Scout"}`,
			&events.Event{
				ID: "e1abc-defgh", Name: events.NameWorkspaceStorageFileAdded, Category: events.CategoryWorkspace,
				ObjectID: "2abcd-efghi", Created: created, SubCategory: events.SubCategoryStorage, CallingUser: "1012345678901234567",
				Actor: &api.Actor{UserID: "1012345678901234567", Kind: api.ActorKindHuman, CredentialType: "session"},
				OrgID: "3012345678901234567", WorkspaceID: "4012345678901234567", UserID: "1012345678901234568", Acknowledged: true,
				Template: events.Template{Description: "{{actor}} added {{object}}", Params: raw(`"Ada"`, `"plan.pdf"`)},
				Severity: "info", Visibility: events.VisibilityExternal, Notification: "none", Permission: events.PermissionMember,
				Description: "Ada added plan.pdf", RequiredParams: raw(`"actor"`, `"object"`), Profile: "4012345678901234567",
				NodeType: "file", OperationType: "create", RequiresParentNode: true, AgentDelegation: json.RawMessage(`"Scout"`),
			},
		},
		{
			"a terse row", `{"event_id":"e1","event":"user_login","category":"user","object_id":null,"created":"2026-03-02 09:59:30 UTC"}`,
			&events.Event{ID: "e1", Name: events.NameUserLogin, Category: events.CategoryUser, Created: created},
		},
		{
			"an audit row", `{"event_id":"e1","ip":"192.0.2.7","country":"T1"}`,
			&events.Event{ID: "e1", Audit: &events.Audit{IP: "192.0.2.7", Country: "T1"}},
		},
		{
			"a sign-in", `{"event_id":"e1","ip":"192.0.2.7","country":"CH","method":"oauth","mfa":"totp","new_country":"CH","client_id":"c",
			"session_id":"s","token_id":"t","agent_name":"Scout","device_name":"laptop","user_agent":"Go/1.26"}`,
			&events.Event{ID: "e1", Audit: &events.Audit{
				IP: "192.0.2.7", Country: "CH", Method: "oauth", MFA: "totp", NewCountry: "CH", ClientID: "c",
				SessionID: "s", TokenID: "t", AgentName: "Scout", DeviceName: "laptop", UserAgent: "Go/1.26",
			}},
		},
		{
			"promoted fields", `{"event_id":"e1","policy_changes":{"sso":[false,true]},"new_thing":null}`,
			&events.Event{ID: "e1", Extra: map[string]json.RawMessage{
				"policy_changes": json.RawMessage(`{"sso":[false,true]}`), "new_thing": json.RawMessage(`null`),
			}},
		},
		{
			"unknown words", `{"event_id":"e1","event":"teleported","category":"physics","sub_category":"teleport","visibility":"dim","permission":"wizard"}`,
			&events.Event{ID: "e1", Name: "teleported", Category: "physics", SubCategory: "teleport", Visibility: "dim", Permission: "wizard"},
		},
		{
			"an empty list for the template", `{"event_id":"e1","template":[],"required_params":[]}`,
			&events.Event{ID: "e1", RequiredParams: []json.RawMessage{}},
		},
		{
			"nulls", `{"event_id":"e1","template":null,"required_params":null,"actor":null,"created":null,"acknowledged":null,"severity":null}`,
			&events.Event{ID: "e1"},
		},
		{
			"parameters that are not text", `{"event_id":"e1","template":{"description":"","params":[1,{"a":[]},null]},"required_params":[{"name":"actor"},7]}`,
			&events.Event{
				ID: "e1", Template: events.Template{Params: raw(`1`, `{"a":[]}`, `null`)}, RequiredParams: raw(`{"name":"actor"}`, `7`),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, envelope := range []string{
				`{"result":true,"current_api_version":"1.0","events":[` + tt.row + `],"event":` + tt.row + `}`,
				`{"result":"yes","response":{"events":[` + tt.row + `],"event":` + tt.row + `},"current_api_version":"1.0"}`,
			} {
				s := answering(t, envelope)
				p, err := s.Search(t.Context(), events.Query{Profile: api.Workspace(roomID)})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&events.Page{Events: []*events.Event{tt.want}}, p); diff != "" {
					t.Errorf("Search (-want +got):\n%s", diff)
				}
				e, err := s.Get(t.Context(), "e1")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, e); diff != "" {
					t.Errorf("Get (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func raw(values ...string) []json.RawMessage {
	all := make([]json.RawMessage, len(values))
	for i, v := range values {
		all[i] = json.RawMessage(v)
	}
	return all
}

func TestAnswerWithoutEvent(t *testing.T) {
	t.Parallel()
	if e, err := answering(t, `{"result":true}`).Get(t.Context(), "e1"); err == nil {
		t.Errorf("got %v and no error", e)
	}
}

func TestSummaryDecoded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, answer string
		want         *events.Summary
	}{
		{
			"a digest", `{"result":true,"summary":{"text":"@[user:1:Ada] worked.","metrics":{"total_events":3,"unique_actors":1,
			"date_range":{"start":"2026-03-02 12:00:00 UTC","end":"2026-03-02 12:00:00 UTC"},"categories":{"workspace":2,"physics":1}}},"events":[{"event_id":"e1"}]}`,
			&events.Summary{
				Summary: &events.Digest{Text: "@[user:1:Ada] worked.", Metrics: events.Metrics{
					TotalEvents: 3, UniqueActors: 1, DateRange: events.DateRange{Start: api.Time{Time: noon}, End: api.Time{Time: noon}},
					Categories: api.Map[int]{"workspace": 2, "physics": 1},
				}},
				Events: []*events.Event{{ID: "e1"}},
			},
		},
		{
			"a digest of nothing", `{"result":"yes","response":{"summary":{"text":"","metrics":{"total_events":0,"unique_actors":0,
			"date_range":{"start":null,"end":null},"categories":[]}},"events":[]}}`,
			&events.Summary{Summary: &events.Digest{}, Events: []*events.Event{}},
		},
		{
			"a refusal", `{"result":true,"summary":null,"summary_reason":"ai_policy_denied","events":[]}`,
			&events.Summary{Reason: events.SummaryReasonPolicyDenied, Events: []*events.Event{}},
		},
		{"a failure without a reason", `{"result":true,"summary":null}`, &events.Summary{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := answering(t, tt.answer).Summarize(t.Context(), events.Query{Profile: api.Org(roomID)}, "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}
