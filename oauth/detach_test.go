//go:build unix

package oauth_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// ^C in the terminal ends the program that waits for the sign-in, and not the
// browser that it has started.
func TestBrowserSurvivesTheInterruptOfTheTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	end, ended := filepath.Join(dir, "end"), filepath.Join(dir, "ended")
	bin := programs(t, map[string]string{
		"stays": stay(end) + "echo > '" + ended + "'",
	})
	p := startProcess(t, roleOpener, bin, "", "")
	p.says(t, "opened")
	if err := syscall.Kill(-p.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil {
		t.Error("the program was not interrupted")
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait(t, ended)
}
