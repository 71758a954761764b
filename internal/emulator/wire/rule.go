package wire

import (
	"fmt"
	"net/http"
	"strings"
)

// Names of rules that refuse calls. A refusal with a machine-readable reason has that
// reason as its rule.
const (
	RuleFault      = "fault"
	RuleUndeclared = "undeclared" // a parameter or body field that the endpoint does not have

	ruleCredential = "credential" // missing, malformed, unknown, revoked or expired
	ruleEndpoint   = "endpoint"   // no such path
	ruleFailure    = "failure"    // the service is not available
	ruleLimit      = "limit"
	ruleLock       = "lock"
	ruleMember     = "member" // the caller is not a member of the profile
	ruleMethod     = "method"
	ruleMissing    = "missing" // the object does not exist
	ruleParameter  = "parameter"
	rulePermission = "permission" // the role of the caller is too low
	rulePlan       = "plan"       // the plan does not include it, or it is used up
	rulePolicy     = "policy"
	ruleRequest    = "request" // the body or the header cannot be read
	ruleScope      = "scope"   // the scopes of the credential are too narrow
	ruleState      = "state"   // what the object is in does not allow it
)

// ruleOfCode are the rules of codes whose status does not say enough.
var ruleOfCode = map[int64]string{ //nolint:gochecknoglobals // a constant
	codeRoute: ruleEndpoint, CodeMethod: ruleMethod,
	CodeCredential: ruleCredential, CodeMalformed: ruleCredential,
	CodeScope: ruleScope, CodeScopeAdmin: ruleScope, codeScopeWrite: ruleScope,
	CodePolicy: rulePolicy, CodeGeo: rulePolicy,
}

// RuleOfStatus returns the name of the rule, such as "permission", that has refused a call,
// by the status of its response alone. It is "" for the status of a success.
func RuleOfStatus(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return rulePermission
	case http.StatusPaymentRequired:
		return rulePlan
	case http.StatusNotFound, http.StatusGone:
		return ruleMissing
	case http.StatusMethodNotAllowed:
		return ruleMethod
	case http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		return ruleParameter
	case http.StatusConflict:
		return ruleState
	case http.StatusLocked:
		return ruleLock
	case http.StatusTooManyRequests:
		return ruleLimit
	}
	switch {
	case status >= http.StatusInternalServerError:
		return ruleFailure
	case status >= http.StatusBadRequest:
		return ruleRequest
	}
	return ""
}

// RuleName returns the name of the rule that has refused a call. It is the first of these:
// Rule, the reason in Params, the rule of invalid parameters if Params is a list of them,
// the rule of the code, the rule of the status.
func (r *Refusal) RuleName() string {
	object, _ := r.Params.(Object)
	member, _ := object.Get("reason")
	reason, _ := member.(string)
	_, hasInvalidParameters := r.Params.([]Object)
	switch {
	case r.Rule != "":
		return r.Rule
	case reason != "":
		return reason
	case hasInvalidParameters:
		return ruleParameter
	case ruleOfCode[r.Code] != "":
		return ruleOfCode[r.Code]
	case r.Code == CodeEntity && r.Status == http.StatusUnauthorized: // the code has two meanings
		return ruleMember
	case r.Code == CodeEntity:
		return ruleScope
	}
	return RuleOfStatus(r.Status)
}

// Explain returns what is not allowed, with the parameters at fault.
func (r *Refusal) Explain() string {
	failed, isCheck := r.Params.([]Object)
	switch {
	case r.Detail != "":
		return r.Detail
	case !isCheck:
		return r.Text
	}
	lines := make([]string, 0, len(failed))
	for _, row := range failed {
		name, _ := row.Get("name")
		message, _ := row.Get("message")
		lines = append(lines, fmt.Sprintf("%v: %v", name, message))
	}
	return strings.Join(lines, " ")
}
