package filters_test

import (
	"errors"
	"math"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/filters"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/search"
)

func checkFilter(f metadata.Filter) error {
	return filters.Check(input.Fields[search.Query]("search.Files"), "filters", []metadata.Filter{metadata.Exists("a"), f},
		func(f metadata.Filter) filters.Condition {
			return filters.Condition{Field: f.Field, Operator: string(f.Operator), Value: f.Value}
		})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, valid := range []metadata.Filter{
		metadata.Exists("a"), metadata.Equals("a", ""), metadata.Where("a", "~", nil), metadata.Where("a", "~", 1),
	} {
		if err := checkFilter(valid); err != nil {
			t.Error(err)
		}
	}
	invalid := map[string]metadata.Filter{
		"without a field":       metadata.Exists(" "),
		"without an operator":   {Field: "a"},
		"with nil as a value":   metadata.Equals("a", nil),
		"with a useless value":  metadata.Where("a", metadata.OperatorNotExists, 1),
		"not encodable as JSON": metadata.Equals("a", math.Inf(1)),
	}
	for _, operator := range []metadata.Operator{
		metadata.OperatorEqual, metadata.OperatorNotEqual, metadata.OperatorLess, metadata.OperatorLessOrEqual,
		metadata.OperatorGreater, metadata.OperatorGreaterOrEqual, metadata.OperatorIn, metadata.OperatorConfidenceAtLeast,
	} {
		invalid["without a value for "+string(operator)] = metadata.Filter{Field: "a", Operator: operator}
	}
	for name, f := range invalid {
		e, ok := errors.AsType[*api.InputError](checkFilter(f))
		if !ok || e.Op != "search.Files" || e.Field != "Query.Filters[1]" || e.Got == "" {
			t.Errorf("%s: %v", name, e)
		}
	}
}
