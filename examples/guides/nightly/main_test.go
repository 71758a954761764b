package main

import "github.com/fastio-go/fastio/examples/internal/kit"

func Example() {
	_, _, stop := kit.Studio()
	defer stop()
	main()
	main() // the next night
	// Output:
	// studio.csv has new rows: true
	// vellinor-seeds.csv has new rows: true
	// studio.csv has new rows: false
	// vellinor-seeds.csv has new rows: false
}
