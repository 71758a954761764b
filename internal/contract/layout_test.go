package contract_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fastio-go/fastio"
)

const module = "github.com/fastio-go/fastio"

// areas returns the directories of the areas: the packages of the fields of a Client.
func areas() []string {
	var dirs []string
	for field := range reflect.TypeFor[fastio.Client]().Fields() {
		if field.IsExported() {
			dirs = append(dirs, strings.TrimPrefix(field.Type.Elem().PkgPath(), module+"/"))
		}
	}
	return dirs
}

// imports returns the packages of the module, without programs, each with those that it
// imports, by their directories.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.Name}} {{.ImportPath}} {{join .Imports " "}}`, "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if words[0] == "main" {
			continue
		}
		var own []string
		for _, imported := range words[1:] {
			if dir, within := strings.CutPrefix(imported+"/", module+"/"); within {
				own = append(own, path.Clean(dir))
			}
		}
		all[own[0]] = own[1:]
	}
	return all
}

// Each area is on one level of .golangci.yml and imports areas of lower levels only, and
// each package of internal has a rule there. With -v the test prints all packages by the
// length of their longest chain of imports.
func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	rules := readFile(t, root+"/.golangci.yml")
	imported := imports(t)
	levels := areaLevels(t, rules)
	for _, area := range areas() {
		if levels[area] == 0 {
			t.Errorf("%s is on no level: add it to a rule areas-N of .golangci.yml", area)
		}
		for _, other := range imported[area] {
			if levels[other] >= levels[area] {
				t.Errorf("%s, of level %d, imports %s, of level %d", area, levels[area], other, levels[other])
			}
		}
	}
	for dir := range imported {
		tests := dir == "internal/contract"
		if strings.HasPrefix(dir, "internal/") && !tests && !strings.Contains(rules, `"**/`+dir+`/*.go"`) {
			t.Errorf("no rule of .golangci.yml says what %s imports", dir)
		}
	}
	for length, dirs := range chains(imported) {
		t.Logf("%d: %s", length, strings.Join(dirs, " "))
	}
}

// areaLevels returns the levels of the areas in the rules of depguard, from 1.
func areaLevels(t *testing.T, rules string) map[string]int {
	t.Helper()
	levels := map[string]int{}
	for _, rule := range regexp.MustCompile(`(?s) areas-(\d+):.*?deny:`).FindAllStringSubmatch(rules, -1) {
		level, err := strconv.Atoi(rule[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range regexp.MustCompile(`"\*\*/(\w+)/\*\.go"`).FindAllStringSubmatch(rule[0], -1) {
			if levels[file[1]] != 0 {
				t.Errorf("%s is on the levels %d and %d", file[1], levels[file[1]], level)
			}
			levels[file[1]] = level
		}
	}
	return levels
}

// chains returns the packages by the length of their longest chain of imports.
func chains(imported map[string][]string) [][]string {
	lengths := map[string]int{}
	var lengthOf func(dir string) int
	lengthOf = func(dir string) int {
		if _, known := lengths[dir]; !known {
			longest := -1
			for _, other := range imported[dir] {
				longest = max(longest, lengthOf(other))
			}
			lengths[dir] = longest + 1
		}
		return lengths[dir]
	}
	var byLength [][]string
	for dir := range imported {
		n := lengthOf(dir)
		byLength = append(byLength, make([][]string, max(0, n+1-len(byLength)))...)
		byLength[n] = append(byLength[n], dir)
	}
	for _, dirs := range byLength {
		slices.Sort(dirs)
	}
	return byLength
}

// Every directory with Go files is in the table of CONTRIBUTING.md, and every row is of
// a directory. There AREA stands for any area, and a path that ends with ... for a tree.
func TestLayoutTable(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readFile(t, root+"/CONTRIBUTING.md"), "## Package layout\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := map[string]bool{} // whether a directory uses it
	for _, cell := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(table, -1) {
		for name := range strings.SplitSeq(strings.Trim(cell[1], "`"), "` `") {
			rows[name] = false
		}
	}
	for _, file := range sources(t) {
		dir := strings.TrimPrefix(path.Dir(file), root+"/")
		if dir == root || path.Ext(file) != ".go" {
			continue
		}
		candidates := []string{dir + "/"}
		if slices.Contains(areas(), path.Base(dir)) {
			candidates = append(candidates, path.Join(path.Dir(dir), "AREA")+"/")
		}
		for parent := dir; parent != "."; parent = path.Dir(parent) {
			candidates = append(candidates, parent+"/...")
		}
		listed := func(row string) bool { _, found := rows[row]; return found }
		i := slices.IndexFunc(candidates, listed)
		if i < 0 {
			t.Errorf("%s/ is not in the table", dir)
			continue
		}
		rows[candidates[i]] = true
	}
	for name, used := range rows {
		_, err := os.Stat(filepath.Join(root, name))
		if !used && err != nil {
			t.Errorf("the table has %s: %v", name, err)
		}
	}
}
