package oauth

// HasSources reports whether sign-ins to a profile are counted.
func HasSources(store Store, profile string) bool {
	signIns.mu.Lock()
	defer signIns.mu.Unlock()
	return signIns.counters[signIns.key(store, profile)] != nil
}
