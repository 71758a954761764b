//go:build !unix && !windows

package oauth

import "os/exec"

// detach does nothing: there are no process groups here.
func detach(*exec.Cmd) {}
