package oauth

import (
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

// setLabel puts a name into an update, "" for one that is cleared.
func setLabel(op string, form api.Form, field string, label api.Opt[string]) error {
	return checkName(op, field, setText(form, field, label))
}

// setText puts a text into an update, "" for one that is cleared, and returns it.
func setText(form api.Form, field string, text api.Opt[string]) string {
	s, _ := text.Get()
	if !text.IsZero() {
		form[field] = []string{s}
	}
	return s
}

// setScopes puts scopes into a form unless they are nil. An empty list would
// grant nothing, which is never meant.
func setScopes(op string, form api.Form, scopes []GrantedScope) error {
	if scopes == nil {
		return nil
	}
	if len(scopes) == 0 {
		return &api.InputError{Op: op, Field: "scopes", Rule: "must be nil or not empty"}
	}
	for _, g := range scopes {
		if _, err := ParseScope(g.join()); err != nil {
			if refused, ok := errors.AsType[*api.InputError](err); ok {
				refused.Op = op
			}
			return err
		}
	}
	packed, err := json.Marshal(scopes)
	form["scopes"] = []string{string(packed)}
	return err
}

// setCode puts a one-time code into a form unless it is blank.
func setCode(op string, form api.Form, code api.Secret) error {
	if code.IsZero() {
		return nil
	}
	plain, err := plainCode(op, code)
	form["token"] = []string{plain} // (assumed name)
	return err
}

type param struct{ name, value string }

// require puts parameters into a form, and refuses one that is empty.
func require(op string, form map[string][]string, params ...param) error {
	for _, p := range params {
		if p.value == "" {
			return &api.InputError{Op: op, Field: p.name, Rule: "must be given"}
		}
		form[p.name] = []string{p.value}
	}
	return nil
}

// offer puts parameters into a form, but none that is empty.
func offer(form map[string][]string, params ...param) {
	for _, p := range params {
		if p.value != "" {
			form[p.name] = []string{p.value}
		}
	}
}
