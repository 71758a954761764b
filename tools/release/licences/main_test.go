package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLicenceMustBeKnownAndAllowed(t *testing.T) {
	t.Parallel()
	gpl := t.TempDir()
	notice := "SPDX-License-Identifier: GPL-3.0\n\nThe GNU General Public License v3.0, in short.\n"
	if err := os.WriteFile(filepath.Join(gpl, "COPYING"), []byte(notice), 0o600); err != nil {
		t.Fatal(err)
	}
	for modules, want := range map[string]string{
		"example.com/ours " + filepath.Join("..", "..", ".."): "",
		"example.com/none " + t.TempDir():                     "example.com/none: no licence",
		"example.com/gpl " + gpl:                              "example.com/gpl: ",
	} {
		var out strings.Builder
		err := checkLicences(strings.NewReader(modules), &out)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", modules, err, want)
		}
		if want == "" && out.String() != "    1 Apache-2.0\n" {
			t.Errorf("%s: printed %q", modules, out.String())
		}
	}
}
