package control

import (
	"embed"
	"net/http"
	"path"
)

//go:embed page.html page.css page.js page.svg
var pageFiles embed.FS

// pageTypes are the media types of the files of the inspector, by their extension.
var pageTypes = map[string]string{ //nolint:gochecknoglobals // a constant
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// servePage serves the inspector: the page, its style and its script.
func servePage(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	if r.URL.Path == Root {
		name = "page.html"
	}
	text, err := pageFiles.ReadFile(name)
	if err != nil {
		writeProblem(w, err)
		return
	}
	w.Header().Set("Content-Type", pageTypes[path.Ext(name)])
	_, _ = w.Write(text)
}
