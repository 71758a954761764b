module github.com/fastio-go/fastio/examples

go 1.26.0

replace github.com/fastio-go/fastio => ../
