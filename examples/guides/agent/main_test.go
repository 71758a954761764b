package main

import "github.com/fastio-go/fastio/examples/internal/kit"

func Example() {
	_, _, stop := kit.Studio()
	defer stop()
	main()
	// Output:
	// Studio
	// Vellinor Seeds
	// found: Print specification.pdf
	// From the files of Vellinor Seeds:
	//
	// Material:   board, 300 grams, matt [1]
}
