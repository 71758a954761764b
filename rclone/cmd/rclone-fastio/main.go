// Command rclone-fastio is rclone with the backend for Fast.io.
//
//	go install github.com/fastio-go/fastio/rclone/cmd/rclone-fastio@latest
//	rclone-fastio config create work fastio
//	rclone-fastio copy --checksum ~/plans work:WORKSPACE/plans
//
// It has all commands of rclone, and of its backends those for local files, sftp,
// webdav, s3 and memory, and those that wrap others: alias, chunker, combine, crypt,
// hasher and union. With the build tag all it has every backend.
package main

import (
	"runtime/debug"
	"strings"

	_ "github.com/rclone/rclone/backend/alias"
	_ "github.com/rclone/rclone/backend/chunker"
	_ "github.com/rclone/rclone/backend/combine"
	_ "github.com/rclone/rclone/backend/crypt"
	_ "github.com/rclone/rclone/backend/hasher"
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/memory"
	_ "github.com/rclone/rclone/backend/s3"
	_ "github.com/rclone/rclone/backend/sftp"
	_ "github.com/rclone/rclone/backend/union"
	_ "github.com/rclone/rclone/backend/webdav"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/all"
	"github.com/rclone/rclone/fs"

	_ "github.com/fastio-go/fastio/rclone"
)

// main runs rclone. Its version is followed by that of this module.
func main() {
	if info, ok := debug.ReadBuildInfo(); ok {
		fs.Version += "-fastio-" + strings.Trim(info.Main.Version, "()")
	}
	cmd.Main()
}
