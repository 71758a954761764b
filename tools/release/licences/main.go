// Command licences checks the licences of modules, one a line of the input: its path and the
// directory of its source. It fails if a module has no licence, or one that is not allowed.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// allowed are the licences, by the names of the classifier, that let a program with another
// licence link the module. X11-Lucent only asks for its notice.
var allowed = []string{
	"Apache-2.0", "BSD-0-Clause", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "X11-Lucent",
}

func main() {
	log.SetFlags(0)
	if err := checkLicences(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// checkLicences prints how many modules have each licence, and returns an error that lists those that
// are not allowed.
func checkLicences(modules io.Reader, out io.Writer) error {
	known, err := assets.DefaultClassifier()
	if err != nil {
		return err
	}
	counts, failed := map[string]int{}, []error{}
	lines := bufio.NewScanner(modules)
	for lines.Scan() {
		path, dir, _ := strings.Cut(lines.Text(), " ")
		names, err := licences(known, dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			counts[name]++
		}
		if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(allowed, name) }) {
			failed = append(failed, fmt.Errorf("%s: %s", path, cmp.Or(strings.Join(names, ", "), "no licence")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		_, _ = fmt.Fprintf(out, "%5d %s\n", counts[name], name)
	}
	return cmp.Or(errors.Join(failed...), lines.Err())
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)`)

// licences returns the SPDX names of the licences in a directory: those in its files whose
// names begin with LICENSE, COPYING or UNLICENSE.
func licences(known *classifier.Classifier, dir string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		if file.IsDir() || !licenceFile.MatchString(file.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, err
		}
		for _, match := range known.Match(text).Matches {
			if match.MatchType == "License" {
				names = append(names, match.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
