package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/zalando/go-keyring"

	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

func Example() {
	platform, owner, stop := kit.Studio()
	defer stop()
	defer terminal(platform, owner)()
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for _, home := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} { // the tokens are below it
		if err := os.Setenv(home, dir); err != nil {
			panic(err)
		}
	}
	keyring.MockInit()
	for _, arguments := range [][]string{{"-headless"}, {"-headless"}, {"-logout"}} {
		os.Args = append([]string{"signin"}, arguments...)
		flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.PanicOnError)
		main()
	}
	// Output:
	// Signed in as Olive Hartwell
	//   Studio
	//   Vellinor Seeds
	// Signed in as Olive Hartwell
	//   Studio
	//   Vellinor Seeds
}

// terminal is a terminal whose user opens the address that is shown, agrees, and types the code.
func terminal(platform *fastiotest.Server, user seed.User) (restore func()) {
	stdin, stderr := os.Stdin, os.Stderr
	keys, keyboard := pipe()
	shown, screen := pipe()
	os.Stdin, os.Stderr = keys, screen
	go func() {
		defer keyboard.Close()
		for lines := bufio.NewScanner(shown); lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), "Open "); ok {
				answer, err := platform.SignIns.Approve(url, seed.Decision{User: user.ID})
				if err != nil {
					panic(err)
				}
				fmt.Fprintln(keyboard, answer.Code)
			}
		}
	}()
	return func() {
		screen.Close()
		os.Stdin, os.Stderr = stdin, stderr
	}
}

func pipe() (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	return r, w
}
