package durable

import "errors"

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

func (h Hook) before(step string, do func() error) error {
	if err := h(step); err != nil {
		return err
	}
	return do()
}

type hookedDisk struct {
	disk
	hook Hook
}

func (d hookedDisk) create(dir, pattern string) (out output, err error) {
	err = d.hook.before(StepCreate, func() error {
		out, err = d.disk.create(dir, pattern)
		return err
	})
	return hookedOutput{out, d.hook}, err
}

func (d hookedDisk) rename(from, to string) error {
	return d.hook.before(StepRename, func() error { return d.disk.rename(from, to) })
}

func (d hookedDisk) syncDir(dir string) error {
	return d.hook.before(StepSyncDir, func() error { return d.disk.syncDir(dir) })
}

type hookedOutput struct {
	output
	hook Hook
}

func (o hookedOutput) Write(p []byte) (int, error) {
	n, err := o.output.Write(p[:len(p)/2])
	if err == nil {
		err = o.hook(StepWrite)
	}
	if err != nil {
		return n, err
	}
	m, err := o.output.Write(p[n:])
	return n + m, err
}

func (o hookedOutput) Sync() error { return o.hook.before(StepSync, o.output.Sync) }

func (o hookedOutput) Close() error { return errors.Join(o.hook(StepClose), o.output.Close()) }
