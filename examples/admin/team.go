package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/members"
)

// team is the content of the file.
type team struct {
	workspaces []string // folder names
	people     []person
}

type person struct {
	email string
	org   members.Role
	roles []members.Role // in the workspaces
}

// readTeam reads the file and checks it, so that a wrong file changes nothing.
func readTeam(name string) (*team, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	t, err := parseTeam(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// parseTeam parses lines of an e-mail address, the role in the organization and the
// role in each workspace. The first line names the columns.
func parseTeam(in io.Reader) (*team, error) {
	r := csv.NewReader(in)
	r.TrimLeadingSpace = true
	lines, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || len(lines[0]) < 2 || lines[0][0] != "email" || lines[0][1] != "org" {
		return nil, errors.New("line 1: want email,org and a column for each workspace")
	}
	t, seen := &team{workspaces: lines[0][2:]}, map[string]bool{}
	for i, line := range lines[1:] {
		p := person{email: strings.ToLower(strings.TrimSpace(line[0])), roles: make([]members.Role, len(t.workspaces))}
		if !strings.Contains(p.email, "@") || seen[p.email] {
			return nil, fmt.Errorf("line %d: %q is not an e-mail address, or is there twice", i+2, line[0])
		}
		seen[p.email] = true
		p.org, err = parseRole(line[1], members.RoleAdmin, members.RoleMember)
		if err != nil {
			return nil, fmt.Errorf("line %d, org: %w", i+2, err)
		}
		for n, cell := range line[2:] {
			p.roles[n], err = parseRole(cell, members.RoleAdmin, members.RoleMember, members.RoleGuest)
			if err != nil {
				return nil, fmt.Errorf("line %d, %s: %w", i+2, t.workspaces[n], err)
			}
		}
		t.people = append(t.people, p)
	}
	return t, nil
}

// parseRole reads a role that a person can be given; "" is none.
func parseRole(cell string, known ...members.Role) (members.Role, error) {
	role := members.Role(strings.TrimSpace(cell))
	if role == "" {
		return "", nil
	}
	if slices.Contains(known, role) {
		return role, nil
	}
	return "", fmt.Errorf("got the role %q, want one of %v", role, known)
}
