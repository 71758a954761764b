package durable

// The steps of a replacement at which a [Hook] is called.
const (
	StepCreate  = "create the sibling"
	StepWrite   = "half written"
	StepSync    = "flush the sibling"
	StepClose   = "close the sibling"
	StepRename  = "rename"
	StepSyncDir = "flush the directory"
)

// A Hook is called before every step, and may fail it or never return.
type Hook func(step string) error

// Intercept puts h between f and the disk.
func Intercept(f *File, h Hook) { f.disk = hookedDisk{f.disk, h} }

type hookedDisk struct {
	disk
	hook Hook
}

func (d hookedDisk) create(dir, pattern string) (output, error) {
	if err := d.hook(StepCreate); err != nil {
		return nil, err
	}
	out, err := d.disk.create(dir, pattern)
	return hookedOutput{out, d.hook}, err
}

func (d hookedDisk) rename(from, to string) error {
	if err := d.hook(StepRename); err != nil {
		return err
	}
	return d.disk.rename(from, to)
}

func (d hookedDisk) syncDir(dir string) error {
	if err := d.hook(StepSyncDir); err != nil {
		return err
	}
	return d.disk.syncDir(dir)
}

type hookedOutput struct {
	output
	hook Hook
}

func (o hookedOutput) Write(p []byte) (int, error) {
	n, err := o.output.Write(p[:len(p)/2])
	if err != nil {
		return n, err
	}
	if err := o.hook(StepWrite); err != nil {
		return n, err
	}
	m, err := o.output.Write(p[n:])
	return n + m, err
}

func (o hookedOutput) Sync() error {
	if err := o.hook(StepSync); err != nil {
		return err
	}
	return o.output.Sync()
}

func (o hookedOutput) Close() error {
	err := o.hook(StepClose)
	if e := o.output.Close(); err == nil {
		err = e
	}
	return err
}
