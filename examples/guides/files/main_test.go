package main

import "github.com/fastio-go/fastio/examples/internal/kit"

func Example() {
	_, _, stop := kit.Studio()
	defer stop()
	main()
	// Output:
	// uploaded: 2
	// downloaded: 2, plan.txt: A mill of iron.
}
