package transport

import "net/http"

// Own returns the transport that a Client without [Config.HTTPClient] makes.
func Own() *http.Transport { return newNetwork() }
