package oauth

import (
	"os/exec"
	"syscall"
)

// detach keeps ^C in the console from a process.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
