package check

// WriteJournal makes an object one of the run.
func WriteJournal(j *Journal, kind, id string) error { return j.write(kind, id) }
