// Package facts has what the SDK knows of the platform as data: the endpoints, and the
// names that are assumed.
package facts

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed endpoints.tsv
var endpoints string

//go:embed assumed-names.txt
var assumed string

// An Endpoint is a row of endpoints.tsv.
type Endpoint struct {
	Area, Op, Method, Path string

	Source string // S: the documents show it; W: other evidence does; A: assumed
	Note   string
}

// Endpoints returns the rows of endpoints.tsv.
func Endpoints() []Endpoint { return slices.Clone(table()) }

var table = sync.OnceValue(func() []Endpoint { //nolint:gochecknoglobals // parsed once
	lines := strings.Split(strings.TrimSpace(endpoints), "\n")
	all := make([]Endpoint, 0, len(lines))
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		all = append(all, Endpoint{Area: f[0], Op: f[1], Method: f[2], Path: f[3], Source: f[8], Note: f[9]})
	}
	return all
})

// MethodName returns the name of the method that calls the endpoint. It is the operation,
// unless the note has another one ("method = comments.List"), because one method may call
// several endpoints.
func (e Endpoint) MethodName() string {
	if _, name, has := strings.Cut(e.Note, "method = "); has {
		name, _, _ = strings.Cut(name, ";")
		return strings.TrimSpace(name)
	}
	return e.Op
}

// Assumed returns the assumed names that an operation sends and decodes: those of parameters
// and members that no document of the platform shows.
func Assumed(method string) (request, response []string) {
	for line := range strings.Lines(assumed) {
		of, names, _ := strings.Cut(line, ":")
		switch of {
		case method + " request":
			request = strings.Fields(names)
		case method + " response":
			response = strings.Fields(names)
		}
	}
	return request, response
}
