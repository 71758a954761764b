//go:build unix

package oauth_test

import (
	"bufio"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// ^C in the terminal ends the program that waits for the sign-in, and not the
// browser that it has started.
func TestBrowserSurvivesTheInterruptOfTheTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	end, ended := filepath.Join(dir, "end"), filepath.Join(dir, "ended")
	bin := programs(t, map[string]string{
		"stays": "while [ -d '" + dir + "' ] && [ ! -e '" + end + "' ]; do sleep 0.01; done\necho > '" + ended + "'",
	})
	cmd := command(t, roleOpener, bin, "", "")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal of its own
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the program said %q, %v", line, err)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the program was not interrupted")
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); ; {
		if _, err := os.Stat(ended); err == nil {
			return
		}
		if time.Since(start) > guard {
			t.Fatal("the browser was interrupted")
		}
	}
}
