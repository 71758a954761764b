package fastio_test

import (
	"net/http"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

func searchRefusals() []refusal {
	const (
		search  = " GET /current/workspace/" + coverWorkspace + "/storage/search/?search=mill"
		unified = " GET /current/workspace/" + coverWorkspace + "/search/?search=mill"
		portal  = " GET /current/share/" + coverShare + "/storage/search/?search=loom"
		version = "3v3rs10n0fn0th1ngb3ta123456789"
	)
	many := strings.Repeat(coverNode+":"+version+",", 100) + coverNode + ":" + version
	return []refusal{
		{"search.Storage", "nothing to search for", "ada" + search + "&search=", "406 code 10021 search:missing", nil},
		{"search.Storage", "more than 100 files", "ada" + search + "&files_scope=" + many, "406 code 10022 files_scope:invalid", nil},
		{"search.Storage", "malformed file", "ada" + search + "&files_scope=mill", "406 code 10022 files_scope:invalid", nil},
		{"search.Storage", "bare 0", "ada" + search + "&files_scope=0", "406 code 10022 files_scope:invalid", nil},
		{"search.Storage", "folder among the files", "ada" + search + "&files_scope=" + refusalsFolder + ":" + version, "406 code 10022 files_scope:invalid", nil},
		{"search.Storage", "version of another file", "ada" + search + "&files_scope=" + coverNode + ":" + version, "406 code 10022 files_scope:invalid", nil},
		{"search.Storage", "malformed folder", "ada" + search + "&folders_scope=drawings", "406 code 10022 folders_scope:invalid", nil},
		{"search.Storage", "bare 0 among the folders", "ada" + search + "&folders_scope=0", "406 code 10022 folders_scope:invalid", nil},
		{"search.Storage", "root as a folder", "ada" + search + "&folders_scope=root:1", "406 code 10022 folders_scope:invalid", nil},
		{"search.Storage", "trash as a folder", "ada" + search + "&folders_scope=trash:1", "406 code 10022 folders_scope:invalid", nil},
		{"search.Storage", "file among the folders", "ada" + search + "&folders_scope=" + coverNode + ":1", "406 code 10022 folders_scope:invalid", nil},
		{"search.Storage", "search_in unknown", "ada" + search + "&search_in=summary", "406 code 10022 search_in:invalid", nil},
		{"search.Storage", "name_match unknown", "ada" + search + "&name_match=regex", "406 code 10022 name_match:invalid", nil},
		{"search.Storage", "share of a workspace's folder", "ada" + portal, "404 code 139420", folderShare},
		{"search.Storage", "filter that cannot be evaluated", "ada" + search + "&category=Legal", "503", broken("search.Storage", http.StatusServiceUnavailable, 0)},
		{"search.Storage", "no view permission", "eve" + search, "401 code 10545", nil},
		{"search.Storage", "no view permission on the share", "eve" + portal, "401 code 10545", nil},
		{"search.Storage", "no token", "nobody" + search, "401 code 10011", nil},
		{"search.Unified", "nothing to search for", "ada" + unified + "&search=", "406 code 10021 search:missing", nil},
		{"search.Unified", "temporarily unavailable", "ada" + unified, "503", broken("search.Unified", http.StatusServiceUnavailable, 0)},
	}
}

// folderShare is a share that shows a folder of its workspace.
func folderShare(w *refusing) { portal(func(s *fastiotest.Share) { s.Folder = refusalsFolder })(w) }

func fieldRefusals() []refusal {
	const (
		fields  = " /current/workspace/" + coverWorkspace + "/metadata/fields/"
		declare = " POST" + fields + " "
		merge   = " POST" + fields + "merge/ "
		field   = "name=Vendor&declared_type=string"
		pair    = `{"source":"Seller","target":"Vendor"`
		form    = "source=Seller&target=Vendor"
	)
	long := strings.Repeat("x", 65)
	full := under(func(o *fastiotest.Options) { o.Metadata.FieldLimit = 2 })
	return []refusal{
		{"metadata.Fields.List", "page size out of range", "ada GET" + fields + "?page_size=251", "406 code 10022 page_size:invalid", nil},
		{"metadata.Fields.List", "foreign cursor", "ada GET" + fields + "?cursor=x", "406 code 10022 cursor:invalid", nil},
		{"metadata.Fields.List", "not a member", "eve GET" + fields, "401 code 10545", nil},
		{"metadata.Fields.List", "plan without metadata", "ada GET" + fields, "402", lacking("metadata")},
		{"metadata.Fields.Declare", "name missing", "ada" + declare + "declared_type=string", "406 code 10021 name:missing", nil},
		{"metadata.Fields.Declare", "name blank", "ada" + declare + "name=+&declared_type=string", "406 code 10021 name:missing", nil},
		{"metadata.Fields.Declare", "name over 64 characters", "ada" + declare + "declared_type=string&name=" + long, "406 code 10022 name:invalid", nil},
		{"metadata.Fields.Declare", "name against the policy", "ada" + declare + "declared_type=string&name=<b>", "406 code 10022 name:invalid", nil},
		{"metadata.Fields.Declare", "type missing", "ada" + declare + "name=Vendor", "406 code 10021 declared_type:missing", nil},
		{"metadata.Fields.Declare", "type unknown", "ada" + declare + "name=Vendor&declared_type=money", "406 code 10022 declared_type:invalid", nil},
		{"metadata.Fields.Declare", "constraints sent", "ada" + declare + field + "&constraints={}", "406 code 10022 constraints:invalid", nil},
		{"metadata.Fields.Declare", "field limit of the workspace", "ada" + declare + field, "413", full},
		{"metadata.Fields.Declare", "write did not complete", "ada" + declare + field, "500", broken("metadata.Fields.Declare", http.StatusInternalServerError, 0)},
		{"metadata.Fields.Declare", "rate limited", "ada" + declare + field, "429 code 10368", spent("metadata.Fields.Declare", declare+field)},
		{"metadata.Fields.Declare", "not an admin", "ben" + declare + field, "401 code 10545", nil},
		{"metadata.Fields.Declare", "token that is not admin-capable", "reader" + declare + field, "403 code 10767 scope_admin_required", nil},
		{"metadata.Fields.Merge", "source missing", "ada" + merge + `{"target":"Vendor"}`, "406 code 10021 source:missing", twoFields},
		{"metadata.Fields.Merge", "source over 64 characters", "ada" + merge + `{"source":"` + long + `","target":"Vendor"}`, "406 code 10022 source:invalid", twoFields},
		{"metadata.Fields.Merge", "source that is no text", "ada" + merge + `{"source":1,"target":"Vendor"}`, "406 code 10023 source:type_mismatch", twoFields},
		{"metadata.Fields.Merge", "target missing", "ada" + merge + `{"source":"Seller"}`, "406 code 10021 target:missing", twoFields},
		{"metadata.Fields.Merge", "target over 64 characters", "ada" + merge + `{"source":"Seller","target":"` + long + `"}`, "406 code 10022 target:invalid", twoFields},
		{"metadata.Fields.Merge", "confirm as text", "ada" + merge + pair + `,"confirm":"true"}`, "406 code 10023 confirm:type_mismatch", twoFields},
		{"metadata.Fields.Merge", "confirm null", "ada" + merge + pair + `,"confirm":null}`, "406 code 10023 confirm:type_mismatch", twoFields},
		{"metadata.Fields.Merge", "confirm of a form empty", "ada" + merge + form + "&confirm=", "406 code 10023 confirm:type_mismatch", twoFields},
		{"metadata.Fields.Merge", "confirm of a form unknown", "ada" + merge + form + "&confirm=maybe", "406 code 10023 confirm:type_mismatch", twoFields},
		{"metadata.Fields.Merge", "permanent without a reason", "ada" + merge + `{"source":"Vendor","target":"Vendor"}`, "406", twoFields},
		{"metadata.Fields.Merge", "vocabulary busy", "ada" + merge + pair + "}", "503", under(func(o *fastiotest.Options) { o.Metadata.VocabularyBusy = 1 })},
		{"metadata.Fields.Merge", "counts unreadable", "ada" + merge + pair + "}", "503", under(func(o *fastiotest.Options) { o.Metadata.CountsUnreadable = true })},
		{"metadata.Fields.Merge", "rate limited", "ada" + merge + pair + "}", "429 code 10368", spent("metadata.Fields.Merge", merge+pair+"}")},
		{"metadata.Fields.Merge", "not an admin", "ben" + merge + pair + "}", "401 code 10545", nil},
		{"metadata.Fields.MergeCandidates", "not an admin", "ben GET" + fields + "merge-candidates/", "401 code 10545", nil},
	}
}

func twoFields(w *refusing) {
	for _, name := range []string{"Vendor", "Seller"} {
		w.AddField(fastiotest.Field{Workspace: api.ProfileID(coverWorkspace), Name: name})
	}
}
