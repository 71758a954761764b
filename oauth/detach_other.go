//go:build !unix && !windows

package oauth

import "os/exec"

// detach does nothing: this system has no process groups.
func detach(*exec.Cmd) {}
