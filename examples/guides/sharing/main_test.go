package main

import "github.com/fastio-go/fastio/examples/internal/kit"

func Example() {
	_, _, stop := kit.Studio()
	defer stop()
	main()
	// Output:
	// Studio: member, invitation
	// Q4 pack: member, invitation
	// removed from Q4 pack: true
	// removed from Studio: true
}
