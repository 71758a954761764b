// Command pages keeps the documentation in docs current: it fills the code blocks that name
// a source, and writes the pages of the reference.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../..

func main() {
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate writes the pages of the repository in root: those of the reference, and then the
// code blocks in all pages.
func generate(root string) error {
	for name, page := range reference {
		text, err := page(root)
		if err != nil {
			return err
		}
		if err := update(filepath.Join(root, "docs/reference", name+".md"), []byte(text)); err != nil {
			return err
		}
	}
	var pages []string
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		old, err := os.ReadFile(page) //nolint:gosec // of the repository
		if err != nil {
			return err
		}
		filled, err := fill(root, string(old))
		if err != nil {
			return err
		}
		if err := update(page, []byte(filled)); err != nil {
			return err
		}
	}
	return nil
}

// update writes a file unless it has that content already.
func update(name string, content []byte) error {
	old, err := os.ReadFile(name) //nolint:gosec // of the repository
	if err == nil && bytes.Equal(old, content) {
		return nil
	}
	return os.WriteFile(name, content, 0o644) //nolint:gosec // a page that everybody may read
}
