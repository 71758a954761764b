package search

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/filters"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/metadata"
)

// Target is the set of data to search.
type Target string

// Targets of a search.
const (
	TargetBoth     Target = "both"
	TargetFilename Target = "filename" // names only: no semantic search, and Query.Within is ignored
	TargetContent  Target = "content"  // the AI summary and the semantic index, not the bytes of files
)

// NameMatch is the method of matching names.
type NameMatch string

// Ways to match a name. All but NameMatchAuto examine at most 1,000 files, so a broad
// pattern may miss some; a server that does not support them yet finds nothing.
const (
	NameMatchAuto     NameMatch = "auto"
	NameMatchExact    NameMatch = "exact" // with or without the extension
	NameMatchPrefix   NameMatch = "prefix"
	NameMatchContains NameMatch = "contains"
	NameMatchGlob     NameMatch = "glob" // * matches any characters, ? one
)

// Query is the query of [Service.Files]. Only Text is required.
type Query struct {
	Text          string    // not blank; at most 256 characters unless NameMatch is NameMatchAuto
	Target        Target    // default: TargetBoth
	NameMatch     NameMatch // default: NameMatchAuto; not used with TargetContent
	CaseSensitive bool      // of names, unless NameMatch is NameMatchAuto

	// Within narrows the semantic hits to at most 100 files and folders; nil means
	// all. If they hold no files there are no semantic hits. It narrows neither
	// keyword hits nor a search with TargetFilename.
	Within []Scope

	Filters  []metadata.Filter // at most 5, all must match; workspaces only
	Category metadata.Category // workspaces only; "" means all

	Details bool // fills Hit.Node
	Limit   int  // hits a page, 1 to 500; default: 100, or 10 with Details
	Offset  int  // hits to skip
}

// Scope is a file or folder that narrows a search. [InFile] and [InFolder]
// create one.
type Scope struct {
	node, version string
	depth         int
	folder        bool
}

// InFile returns the scope of one version of a file or note. [storage.Node].Version
// is the current one.
func InFile(file, version api.OpaqueID) Scope {
	return Scope{node: file.Plain(), version: version.Plain()}
}

// InFolder returns the scope of a folder, down to a depth of 1 to 10 levels.
// [api.Root] and [api.Trash] are rejected.
func InFolder(folder api.OpaqueID, depth int) Scope {
	return Scope{node: folder.Plain(), depth: depth, folder: true}
}

const (
	detailedLimit = 100 // hits a page of an iteration with Details
	maxScopes     = 100
	maxDepth      = 10
	maxPattern    = 256
	maxText       = 1024 // of searches other than Storage
)

func (q *Query) filtered() bool { return len(q.Filters) > 0 || q.Category != "" }

// values checks q and returns its parameters. It always sends the target,
// without which the response has no report of the parts that were not searched.
func (q *Query) values(op string, in api.Profile) (url.Values, error) {
	if err := in.OneOf(op, "scope", api.ProfileKindWorkspace, api.ProfileKindShare); err != nil {
		return nil, err
	}
	window, err := page.Window(op, q.Limit, q.Offset)
	if err != nil {
		return nil, err
	}
	v, err := textValues(op, q.Text, q.Target, q.NameMatch, q.CaseSensitive)
	if err != nil {
		return nil, err
	}
	if err := setScopes(op, q.Within, v); err != nil {
		return nil, err
	}
	if err := q.setFilters(op, in, v); err != nil {
		return nil, err
	}
	if q.Details {
		v.Set("details", "true")
	}
	maps.Copy(v, window)
	return v, nil
}

// textValues are the parameters that Storage and Unified share.
func textValues(op, text string, target Target, match NameMatch, caseSensitive bool) (url.Values, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &api.InputError{Op: op, Field: "search", Rule: "must not be blank"}
	}
	if target == "" {
		target = TargetBoth
	}
	if match != "" && match != NameMatchAuto && target != TargetContent {
		if err := checkPattern(op, text, match); err != nil {
			return nil, err
		}
	}
	v := url.Values{"search": {text}, "search_in": {string(target)}}
	if match != "" {
		v.Set("name_match", string(match))
	}
	if caseSensitive {
		v.Set("case_sensitive", "true")
	}
	return v, nil
}

func checkPattern(op, pattern string, match NameMatch) error {
	if n := utf8.RuneCountInString(pattern); n > maxPattern {
		return &api.InputError{
			Op: op, Field: "search", Rule: "must be at most 256 characters to match names by " + string(match),
			Got: strconv.Itoa(n) + " characters",
		}
	}
	if match == NameMatchGlob && strings.Trim(pattern, "*?") == "" {
		return &api.InputError{Op: op, Field: "search", Rule: "must not consist of * and ?", Got: strconv.Quote(pattern)}
	}
	return nil
}

// setScopes checks the scopes and adds them to v.
func setScopes(op string, scopes []Scope, v url.Values) error {
	if len(scopes) > maxScopes {
		return &api.InputError{
			Op: op, Field: "files_scope", Rule: "must hold at most 100 files and folders", Got: strconv.Itoa(len(scopes)),
		}
	}
	var files, folders []string
	for _, s := range scopes {
		if s.folder {
			switch {
			case s.node == "" || s.node == string(api.Root) || s.node == string(api.Trash):
				return &api.InputError{
					Op: op, Field: "folders_scope", Rule: "must name folders, neither root nor trash", Got: strconv.Quote(s.node),
				}
			case s.depth < 1 || s.depth > maxDepth:
				return &api.InputError{
					Op: op, Field: "folders_scope", Rule: "must have depths of 1 to 10", Got: strconv.Itoa(s.depth),
				}
			}
			folders = append(folders, s.node+":"+strconv.Itoa(s.depth))
			continue
		}
		if s.node == "" || s.version == "" {
			return &api.InputError{
				Op: op, Field: "files_scope", Rule: "must have files with their versions",
				Got: strconv.Quote(s.node + ":" + s.version),
			}
		}
		files = append(files, s.node+":"+s.version)
	}
	if files != nil {
		v.Set("files_scope", strings.Join(files, ","))
	}
	if folders != nil {
		v.Set("folders_scope", strings.Join(folders, ","))
	}
	return nil
}

// setFilters checks the filters, which only workspaces have, and adds them to v.
func (q *Query) setFilters(op string, in api.Profile, v url.Values) error {
	if !q.filtered() {
		return nil
	}
	if in.Kind != api.ProfileKindWorkspace {
		field := "category"
		if len(q.Filters) > 0 {
			field = "filters"
		}
		return &api.InputError{Op: op, Field: field, Rule: "must be left out for a share", Got: string(in.Kind)}
	}
	if len(q.Filters) > 0 {
		text, err := filtersText(op, q.Filters)
		if err != nil {
			return err
		}
		v.Set("filters", text)
	}
	if q.Category != "" {
		v.Set("category", string(q.Category))
	}
	return nil
}

// filtersText returns 1 to 5 filters as JSON.
func filtersText(op string, all []metadata.Filter) (string, error) {
	const most = 5
	if len(all) == 0 || len(all) > most {
		return "", &api.InputError{Op: op, Field: "filters", Rule: "must be 1 to 5", Got: strconv.Itoa(len(all))}
	}
	err := filters.Check(op, "filters", all, func(f metadata.Filter) filters.Condition {
		return filters.Condition{Field: f.Field, Operator: string(f.Operator), Value: f.Value}
	})
	if err != nil {
		return "", err
	}
	b, err := jsonv2.Marshal(all, jsonv2.Deterministic(true))
	return string(b), err
}
