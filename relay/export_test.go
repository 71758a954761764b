package relay

// ShortLease allows leases below the minimum.
func (f *Follower) ShortLease() { f.shortLease = true }

// Assign is the division of profiles.
func Assign(replicas map[string][]string) map[string]string { return assign(replicas) }
