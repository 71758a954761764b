package rclone_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rclone/rclone/fs"
)

func TestPageHasEveryOptionAndCommand(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/rclone.md")
	if err != nil {
		t.Fatal(err)
	}
	info, err := fs.Find("fastio")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, option := range info.Options {
		if option.Name == "description" { // of every backend
			continue
		}
		flag := "| `--fastio-" + strings.ReplaceAll(option.Name, "_", "-") + "` | " + option.Type() + " |"
		if value := option.String(); value != "" && value != "off" {
			flag += " `" + value + "` |"
		}
		want = append(want, flag)
	}
	for _, command := range info.CommandHelp {
		want = append(want, "| `rclone backend "+command.Name+" ")
	}
	for _, line := range want {
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/rclone.md has no %s", line)
		}
	}
}
