// Package buildinfo says which build of a command runs.
package buildinfo

import "runtime/debug"

// Text returns the version of the main module, the commit if the command was built in a
// clone, and the version of Go.
func Text() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown version"
	}
	commit := ""
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			commit = ", commit " + setting.Value
		}
	}
	return info.Main.Version + commit + ", " + info.GoVersion
}
