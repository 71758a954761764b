package check

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A field is a query parameter of a request or a member of its body. The name of a nested
// member leads to it with dots: "from.upload.id". An element of a list in JSON has the name
// of the list, and one of a list in the text of a form field ends with a dot: "files.".
type field struct{ name, value string }

const maxBody = 1 << 20 // bytes of a request that the guard reads; the program sends less

// readFields returns the fields of a request and, because it reads the body, a request with the
// same content that can still be sent. It returns an error for whatever could be read in two
// ways: a name that is given twice, a body that does not fit its type, encoded content.
func readFields(r *http.Request) ([]field, *http.Request, error) {
	var body []byte
	if r.Body != nil {
		b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
		if err != nil {
			return nil, nil, err
		}
		if len(b) > maxBody || r.ContentLength > 0 && int64(len(b)) != r.ContentLength {
			return nil, nil, errors.New("its body is too long, or of another length than announced")
		}
		body = b
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, nil, errors.New("its body is encoded")
	}
	fields, err := formFields(r.URL.RawQuery)
	if err != nil {
		return nil, nil, err
	}
	more, err := bodyFields(r.Header.Get("Content-Type"), body)
	if err != nil {
		return nil, nil, err
	}
	inQuery := map[string]bool{}
	for _, f := range fields {
		inQuery[f.root()] = true
	}
	for _, f := range more {
		if inQuery[f.root()] {
			return nil, nil, errTwice
		}
	}
	if len(body) > 0 {
		r = r.WithContext(r.Context()) // a copy
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return append(fields, more...), r, nil
}

var errTwice = errors.New("it has a field twice")

// root returns the name of f, or of the top member that f is nested in.
func (f field) root() string {
	name, _, _ := strings.Cut(f.name, ".")
	return name
}

// bodyFields returns the fields of the body of a request by its content type. Binary
// content has none; a body of an unknown type is an error.
func bodyFields(contentType string, body []byte) ([]field, error) {
	if len(body) == 0 {
		return nil, nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return nil, errors.New("its body has no type")
	case media == "application/x-www-form-urlencoded":
		return formFields(string(body))
	case media == "application/json":
		return jsonFields("", body)
	case media == "multipart/form-data":
		return partFields(multipart.NewReader(bytes.NewReader(body), params["boundary"]))
	case media == "application/octet-stream": // the content of a file
		return nil, nil
	}
	return nil, errors.New("its body has an unknown type")
}

// formFields returns the fields of a form or query.
func formFields(form string) ([]field, error) {
	values, err := url.ParseQuery(form)
	if err != nil {
		return nil, errors.New("its form is malformed")
	}
	var all []field
	for name, v := range values {
		if len(v) != 1 {
			return nil, errTwice
		}
		all = append(all, fieldsInText(name, v[0])...)
	}
	return all, nil
}

// fieldsInText returns the field of a form, or the fields in it if its value is the text of
// a JSON object or list. A field in an object is called "name.field", one in an object of
// a list "name..field".
func fieldsInText(name, value string) []field {
	if text := strings.TrimSpace(value); text != "" && (text[0] == '{' || text[0] == '[') {
		prefix := name
		if text[0] == '[' {
			prefix += "."
		}
		if all, err := jsonFields(prefix, []byte(text)); err == nil {
			return all
		}
	}
	return []field{{name, value}}
}

// partFields returns the fields of a multipart form. A part that is a file is a field
// without a value: its content is not checked.
func partFields(parts *multipart.Reader) ([]field, error) {
	var all []field
	seen := map[string]bool{}
	for {
		part, err := parts.NextRawPart() // as it is sent: NextPart may decode it
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, errors.New("its parts are malformed")
		}
		name := part.FormName()
		if seen[name] {
			return nil, errTwice
		}
		seen[name] = true
		if part.FileName() != "" {
			all = append(all, field{name, ""})
			continue
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, errors.New("its parts are malformed")
		}
		all = append(all, fieldsInText(name, string(value))...)
	}
}

// jsonFields returns the fields of a JSON value, also of those nested in it. The name of a
// field is the prefix and the names of all members around it, joined by dots; elements of a
// list have the name of the list. Names that are given twice are an error.
func jsonFields(prefix string, text []byte) ([]field, error) {
	var v jsontext.Value
	if jsonv2.Unmarshal(text, &v) != nil { // this refuses names that are given twice, too
		return nil, errors.New("its JSON is malformed")
	}
	switch v.Kind() { //nolint:exhaustive // the others have no values in them
	case '{':
		var object map[string]jsontext.Value
		if jsonv2.Unmarshal(v, &object) != nil { // never, because v is a valid object
			return nil, errTwice
		}
		var all []field
		for name, value := range object {
			more, err := jsonFields(strings.TrimPrefix(prefix+"."+name, "."), value)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return orEmptyField(prefix, all), nil
	case '[':
		var list []jsontext.Value
		_ = jsonv2.Unmarshal(v, &list) // v is a valid list
		var all []field
		for _, value := range list {
			more, err := jsonFields(prefix, value)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return orEmptyField(prefix, all), nil
	case '"':
		var s string
		_ = jsonv2.Unmarshal(v, &s) // v is a valid string
		return []field{{prefix, s}}, nil
	}
	return []field{{prefix, v.String()}}, nil
}

// orEmptyField returns the fields of an object or list. For an empty one it returns a field
// without a value, so that its name is checked too.
func orEmptyField(prefix string, all []field) []field {
	if len(all) == 0 && prefix != "" {
		return []field{{prefix, ""}}
	}
	return all
}
