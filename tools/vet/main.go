// Command vet runs the analyzers of go vet, and one more, on packages of the current module. It reads them
// and all that they import as source: to check them for another system with GOOS and GOARCH,
// nothing is compiled for it. With -style it checks the rules of this project in all Go files below the current
// directory instead; see style.go.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"slices"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/modernize"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

// main runs the analyzers of this project on the packages that are the arguments and
// fails if they report anything. With -style it checks the rules for all files instead.
func main() {
	log.SetFlags(0)
	tests := flag.Bool("tests", true, "with the tests of the packages")
	onlyStyle := flag.Bool("style", false, "check the rules of this project in all files")
	flag.Parse()
	if *onlyStyle {
		checkFiles()
		return
	}
	mode := packages.LoadAllSyntax | packages.NeedModule
	found, err := packages.Load(&packages.Config{Mode: mode, Tests: *tests}, flag.Args()...)
	if err != nil {
		log.Fatal(err)
	}
	if packages.PrintErrors(found) > 0 {
		os.Exit(1)
	}
	analyzers := append(slices.Clone(vet.Suite), modernize.FmtAppendfAnalyzer) // of go fix, but not of golangci-lint
	result, err := checker.Analyze(analyzers, found, nil)
	if err != nil {
		log.Fatal(err)
	}
	const onlyMessages = -1 // without lines of the source
	if err := result.PrintText(os.Stdout, onlyMessages); err != nil {
		log.Fatal(err)
	}
	for _, root := range result.Roots {
		if root.Err != nil || len(root.Diagnostics) > 0 {
			os.Exit(1)
		}
	}
}

// checkFiles prints what breaks the rules of this project.
func checkFiles() {
	found, err := style(".")
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}
