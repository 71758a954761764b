package emulator_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/internal/table"
)

// A permission is a line of testdata/permissions.txt:
//
//	ROLE ROLE: METHOD PATH BODY if STEP; STEP
//
// The request and the steps are those of scripts. The line above the permissions names who has which role.
type permission struct {
	allowed []string
	request string
	steps   []step
}

// permissions returns the steps of the world, and the permissions by the line that names the roles.
func permissions(t *testing.T) (world []step, byRoles map[string][]permission) {
	t.Helper()
	const file = "testdata/permissions.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "\n\n")
	all, err := readScript(file, blocks[0], worldSteps(t))
	if err != nil {
		t.Fatal(err)
	}
	byRoles = map[string][]permission{}
	for _, block := range blocks[1:] {
		block = regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(block, "")
		block = regexp.MustCompile(`\n\t\t(if )?`).ReplaceAllStringFunc(block, func(s string) string {
			return strings.TrimPrefix(strings.ReplaceAll(s, "\n\t\tif", " if"), "\n\t\t")
		})
		lines := strings.Split(strings.TrimSpace(block), "\n")
		for _, line := range lines[1:] {
			roles, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok {
				t.Fatalf("no permission: %s", line)
			}
			request, before, _ := strings.Cut(rest, " if ")
			p := permission{allowed: strings.Fields(roles), request: request}
			for s := range strings.SplitSeq(before, "; ") {
				if s != "" {
					p.steps = append(p.steps, step{file, s})
				}
			}
			byRoles[lines[0]] = append(byRoles[lines[0]], p)
		}
	}
	return all[0].steps, byRoles
}

// Every call is allowed to the roles that the platform's documents name, and refused to all others.
func TestPermissions(t *testing.T) {
	t.Parallel()
	world, byRoles := permissions(t)
	if len(byRoles) != 3 {
		t.Fatalf("%d tables were found", len(byRoles))
	}
	for heading, all := range byRoles {
		of := strings.Fields(heading)
		for _, p := range all[:table.Rounds(len(all), len(all))] {
			for _, named := range of[1:] {
				role, who, _ := strings.Cut(named, "=")
				t.Run(of[0]+"/"+p.request+"/"+role, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						if err := p.check(t, world, who, slices.Contains(p.allowed, role)); err != nil {
							t.Error(err)
						}
					})
				})
			}
		}
	}
}

// check makes the call on a platform of its own.
func (p *permission) check(t *testing.T, world []step, who string, allowed bool) error {
	t.Helper()
	steps := append(slices.Clip(world), p.steps...)
	s, err := newScripted(t.Context(), steps)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if err := s.do(step.text); err != nil {
			return fmt.Errorf("%s: %w", step.text, err)
		}
	}
	asked, err := s.parse(who + " " + p.request)
	if err != nil {
		return err
	}
	got, err := s.send(asked)
	refused := got.status == http.StatusUnauthorized || got.status == http.StatusForbidden
	if err != nil || allowed && got.status >= http.StatusMultipleChoices || !allowed && !refused {
		return fmt.Errorf("allowed: %t, the status is %d: %.200s, %w", allowed, got.status, got.body, err)
	}
	return nil
}
