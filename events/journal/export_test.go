package journal

// File is a file of a Journal.
type File = file

// Wrap replaces both files of a Journal.
func (j *Journal) Wrap(wrap func(File) File) { j.file, j.index = wrap(j.file), wrap(j.index) }
