//go:build unix

package oauth

import (
	"os/exec"
	"syscall"
)

// detach keeps the signals of the terminal, such as ^C, from a process.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
