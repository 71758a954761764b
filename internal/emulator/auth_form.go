package emulator

import "net/url"

// readForm reads a body that is a form, empty or not, and tells whether it is one.
func (c *call) readForm() bool {
	if mediaType(c.r.Header) != formType {
		return false
	}
	var err error
	c.form, err = url.ParseQuery(string(c.body))
	return err == nil
}
