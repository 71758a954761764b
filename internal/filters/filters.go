// Package filters checks the conditions of searches and saved filters.
package filters

import (
	"encoding/json"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/internal/input"
)

// A Condition is what a metadata.Filter compares.
type Condition struct {
	Field, Operator string
	Value           json.RawMessage // nil means none
}

// Check returns an [*api.InputError] for an argument unless each filter has a field, an
// operator and the value that this requires.
func Check[F any](args input.Args, field string, all []F, of func(F) Condition) error {
	for i, f := range all {
		c := of(f)
		rule, got := c.brokenRule(), strconv.Quote(c.Field+" "+c.Operator)
		if _, err := jsonv2.Marshal(f); err != nil {
			rule, got = "must have a value that api.JSON can encode", err.Error()
		}
		if rule != "" {
			return args.Refuse(input.At(field, i), rule, got)
		}
	}
	return nil
}

// brokenRule returns the rule that a condition breaks, "" if it has what its
// operator requires. An unknown operator may have a value or none.
func (c Condition) brokenRule() string {
	if strings.TrimSpace(c.Field) == "" || c.Operator == "" {
		return "must have a field and an operator"
	}
	switch c.Operator {
	case "exists", "not_exists":
		if c.Value != nil {
			return "must have no value with exists and not_exists"
		}
	case "=", "!=", "<", "<=", ">", ">=", "in", "confidence_gte":
		if c.Value == nil {
			return "must have a value, except with exists and not_exists"
		}
	}
	return ""
}
