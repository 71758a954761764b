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
	"github.com/fastio-go/fastio/internal/input"
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
	Text          string    `wire:"search"` // not blank; at most 256 characters unless NameMatch is NameMatchAuto
	Target        Target    // default: TargetBoth
	NameMatch     NameMatch // default: NameMatchAuto; not used with TargetContent
	CaseSensitive bool      // of names, unless NameMatch is NameMatchAuto

	// Within narrows the semantic hits to at most 100 files and folders; nil means
	// all. If they hold no files there are no semantic hits. It narrows neither
	// keyword hits nor a search with TargetFilename.
	Within []Scope `wire:"files_scope,folders_scope"`

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
	if err := in.OneOf(op, "in", api.ProfileKindWorkspace, api.ProfileKindShare); err != nil {
		return nil, err
	}
	args := input.Fields[Query](op)
	window, err := page.Window(args, q.Limit, q.Offset)
	if err != nil {
		return nil, err
	}
	v, err := textValues(args, q.Text, q.Target, q.NameMatch, q.CaseSensitive)
	if err != nil {
		return nil, err
	}
	if err := setScopes(args, q.Within, v); err != nil {
		return nil, err
	}
	if err := q.setFilters(args, in, v); err != nil {
		return nil, err
	}
	if q.Details {
		v.Set("details", "true")
	}
	maps.Copy(v, window)
	return v, nil
}

// textValues returns the parameters of a search for a text in files or in
// everything. Target "" means both, names and content.
func textValues(
	args input.Args, text string, target Target, match NameMatch, caseSensitive bool,
) (url.Values, error) {
	if strings.TrimSpace(text) == "" {
		return nil, args.Refuse("search", "must not be blank", "")
	}
	if target == "" {
		target = TargetBoth
	}
	isPattern, inNames := match != "" && match != NameMatchAuto, target != TargetContent
	if isPattern && inNames {
		if err := checkPattern(args, text, match); err != nil {
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

// checkPattern returns an error for a pattern of names that is too long, or
// matches everything.
func checkPattern(args input.Args, pattern string, match NameMatch) error {
	if n := utf8.RuneCountInString(pattern); n > maxPattern {
		rule := "must be at most 256 characters to match names by " + string(match)
		return args.Refuse("search", rule, strconv.Itoa(n)+" characters")
	}
	if match == NameMatchGlob && strings.Trim(pattern, "*?") == "" {
		return args.Refuse("search", "must not consist of * and ?", strconv.Quote(pattern))
	}
	return nil
}

// setScopes checks the scopes, files and folders to search in, and adds them to
// v.
func setScopes(args input.Args, scopes []Scope, v url.Values) error {
	if len(scopes) > maxScopes {
		return args.Refuse("files_scope", "must hold at most 100 files and folders", strconv.Itoa(len(scopes)))
	}
	var files, folders []string
	for i, s := range scopes {
		if s.folder {
			switch {
			case s.node == "" || s.node == string(api.Root) || s.node == string(api.Trash):
				return args.Refuse(input.At("folders_scope", i), "must name a folder, neither root nor trash", strconv.Quote(s.node))
			case s.depth < 1 || s.depth > maxDepth:
				return args.Refuse(input.At("folders_scope", i), "must have a depth of 1 to 10", strconv.Itoa(s.depth))
			}
			folders = append(folders, s.node+":"+strconv.Itoa(s.depth))
			continue
		}
		if s.node == "" || s.version == "" {
			return args.Refuse(input.At("files_scope", i), "must have a file and its version", strconv.Quote(s.node+":"+s.version))
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
func (q *Query) setFilters(args input.Args, in api.Profile, v url.Values) error {
	if !q.filtered() {
		return nil
	}
	if in.Kind != api.ProfileKindWorkspace {
		field := "category"
		if len(q.Filters) > 0 {
			field = "filters"
		}
		return args.Refuse(field, "must be left out for a share", string(in.Kind))
	}
	if len(q.Filters) > 0 {
		text, err := filtersText(args, q.Filters)
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

// filtersText checks the filters, of which there must be 1 to 5, and returns
// them as JSON.
func filtersText(args input.Args, all []metadata.Filter) (string, error) {
	const most = 5
	if len(all) == 0 || len(all) > most {
		return "", args.Refuse("filters", "must be 1 to 5", strconv.Itoa(len(all)))
	}
	err := filters.Check(args, "filters", all, func(f metadata.Filter) filters.Condition {
		return filters.Condition{Field: f.Field, Operator: string(f.Operator), Value: f.Value}
	})
	if err != nil {
		return "", err
	}
	b, err := jsonv2.Marshal(all, jsonv2.Deterministic(true))
	return string(b), err
}
