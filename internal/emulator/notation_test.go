package emulator_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// The runner notices what does not hold.
func TestScriptsFail(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ada GET /user/me/details/ -> 200 user.first_name=\"Eve\"":   `user.first_name is "Ada", want "Eve"`,
		"ada GET /user/me/details/ -> 200 user.color":                `user.color is absent`,
		"ada GET /user/me/details/ -> 200 !user.first_name":          `user.first_name is "Ada", want absent`,
		"ada GET /user/me/details/ -> 200 user.first_name~\"^E\"":    `user.first_name is "Ada", want ~"^E"`,
		"ada GET /user/me/details/ -> 200 !user.first_name=\"Ada\"":  `user.first_name is "Ada"`,
		"ada GET /user/me/details/ -> 200 !user.color=\"Ada\"":       `user.color is absent`,
		"ada GET /user/me/details/ -> 200 user.color>color":          `user.color is absent`,
		"ada GET /user/me/details/ -> 200 @Allow=\"GET\"":            `@Allow is absent`,
		"ada GET /user/me/details/ -> 201":                           `the status is 200, want 201`,
		"ada GET /user/me/details/ -> 404":                           `the status is 200, want 404`,
		"ada GET /user/me/details/":                                  `a request needs " -> " and a status`,
		"ada GET /user/me/details/ -> ok":                            `"ok" is no status`,
		"ada GET /user/me/details/ -> 200 user=Ada":                  `user=`,
		"ada GET /user/{missing}/details/ -> 200":                    `{missing} is unknown`,
		"zoe GET /user/me/details/ -> 200":                           `"zoe" is unknown`,
		"eve GET /share/{portal}/member/me/details/ -> 401":          `the error is 10545, want none`,
		"eve GET /share/{portal}/member/me/details/ -> 401 10546":    `the error is 10545, want 10546`,
		"eve GET /share/{portal}/member/me/details/ -> 401 10545 x":  `the error is 10545, want 10545 x`,
		"ada GET /shares/all/ -> 200 shares.*.title=[\"Gate\"]":      `shares.*.title is ["Portal"], want ["Gate"]`,
		"ada GET /shares/all/ -> 200 shares.length=2":                `shares.length is 1, want 2`,
		"mails ada@example.test -> length=1":                         `length is 0, want 1`,
		"share {\"name\":\"Gate\"}":                                  `unknown field "name"`,
		"options {\"Share\":{}}":                                     `unknown field "Share"`,
		"portal {}":                                                  `there is no step "portal"`,
		"wait long":                                                  `invalid duration`,
		"fault {\"Op\":\"system.Ping\",\"Status\":500,\"Delay\":0}x": `invalid character`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			before, err := readWorld("world.txt", nil)
			if err != nil {
				t.Fatal(err)
			}
			all, _, err := readScript("a.txt", "a scenario\n\twait 0s\n\t"+text+"\n", before)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				err := all[0].run(t.Context())
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.txt:3: ") {
					t.Errorf("got %v\nwant %s", err, want)
				}
			})
		})
	}
}

func TestScriptsAreCases(t *testing.T) {
	t.Parallel()
	const text = "\tlet who ada\n# A comment.\na\n\tfor x=1 | y=2\n\tfor x=<3|4> | y=\n\twait 0s\n\t\t&z\n\t\tz\n" +
		"\t* b\n\tc\n\t* d\ne\n\tf<g=1|<2*h>\n\t\t|>-j<k|l>\n"
	all, _, err := readScript("a.txt", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		var steps []string
		for _, step := range s.steps {
			steps = append(steps, step.text)
		}
		got = append(got, s.name+": "+strings.Join(steps, ", "))
	}
	want := `a/4 9: let who ada, let x 1, let y 2, wait 0s&z z, b, c
a/5 9: let who ada, let x 3, let y , wait 0s&z z, b, c
a/5 9: let who ada, let x 4, let y , wait 0s&z z, b, c
a/4 11: let who ada, let x 1, let y 2, wait 0s&z z, d
a/5 11: let who ada, let x 3, let y , wait 0s&z z, d
a/5 11: let who ada, let x 4, let y , wait 0s&z z, d
e: let who ada, fg=1-jk, fg=1-jl, fhh-jk, fhh-jl, f-jk, f-jl`
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, text := range []string{"a\n", "a\n\t\tb\n"} {
		if _, _, err := readScript("a.txt", text, nil); err == nil {
			t.Errorf("%q is a script", text)
		}
	}
}

var stepNames = regexp.MustCompile(`(?m)^\tcase ("[a-z]+"(?:, "[a-z]+")*):`)

// The scenarios of the page that explains them hold, and have every step.
func TestScriptsAreExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("scripted_test.go")
	if err != nil {
		t.Fatal(err)
	}
	before, err := readWorld("world.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	var used strings.Builder
	for _, part := range strings.Split(string(page), "```scenario\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		used.WriteString(text)
		all, _, err := readScript("README.md", text, before)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.test(t)
			})
		}
	}
	steps := slices.Collect(maps.Keys(kinds))
	for name := range methods {
		steps = append(steps, "server "+name)
	}
	for _, m := range stepNames.FindAllStringSubmatch(string(source), -1) {
		steps = append(steps, strings.Split(strings.ReplaceAll(m[1], `"`, ""), ", ")...)
	}
	for _, name := range steps {
		if !regexp.MustCompile(`(?m)^\t(\* |later \w+ )?` + name + `( |$)`).MatchString(used.String()) {
			t.Errorf("README.md has no example of %s", name)
		}
	}
}
