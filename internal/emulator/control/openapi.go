package control

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// object is a JSON object.
type object = map[string]any

// document is the OpenAPI document while it is made.
type document struct {
	schemas object // by name
}

// getDocument returns the OpenAPI document of the routes.
func getDocument(c *call, _ none) (object, error) {
	d := document{schemas: object{}}
	paths := object{}
	for _, r := range c.routes {
		path := Root + r.path
		if paths[path] == nil {
			paths[path] = object{}
		}
		item, _ := paths[path].(object)
		item[strings.ToLower(r.method)] = d.operation(r)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Control API of fastio-emulator", "version": "1",
			"description": "The header " + WorldHeader + " names the world of a request; without it, it is the main one.",
		},
		"paths": paths,
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{
				"token": object{"type": "http", "scheme": "bearer", "description": "the token of -control"},
			},
		},
		"security": []object{{}, {"token": []string{}}},
	}, nil
}

// operation describes a route: its responses, parameters and body. The response of a
// stream of events is a text, whose description names the schema of their data.
func (d *document) operation(r *route) object {
	name := strings.ToLower(r.method) + regexp.MustCompile(`[^a-z]+`).ReplaceAllString("-"+r.path, "-")
	success := object{"description": http.StatusText(r.status)}
	problem := d.content("application/json", reflect.TypeFor[Problem]())
	op := object{
		"operationId": strings.Trim(name, "-"),
		"summary":     r.summary,
		"responses": object{
			strconv.Itoa(r.status): success,
			"default":              object{"description": "What is wrong", "content": problem},
		},
	}
	switch {
	case r.writes == events:
		success["content"] = d.content(r.writes, reflect.TypeFor[string]())
		success["description"] = "Events: request, whose data is a Summary, and dropped, with a count"
		d.structSchema(reflect.TypeFor[Summary]()) // adds the schema of the data to the document
	case r.writes != "":
		success["content"] = object{r.writes: object{}}
	case r.out != reflect.TypeFor[none]():
		success["content"] = d.content("application/json", r.out)
	}
	parameters, hasBody := d.parameters(r.in)
	op["parameters"] = parameters
	switch {
	case hasBody:
		op["requestBody"] = object{"content": d.content("application/json", r.in), "required": true}
	case r.takes != "":
		op["requestBody"] = object{"content": object{r.takes: object{}}, "required": true}
	}
	return op
}

// content describes a body of a media type.
func (d *document) content(mediaType string, t reflect.Type) object {
	return object{mediaType: object{"schema": d.schemaOf(t, "")}}
}

// parameters describes the parameters of an input, and reports whether it has a body.
func (d *document) parameters(in reflect.Type) (list []object, hasBody bool) {
	list = []object{{
		"name": WorldHeader, "in": "header", "description": "name of the world; the main one without it",
		"schema": object{"type": "string"},
	}}
	for field := range in.Fields() {
		source, name := sourceOf(field)
		if source == inBody {
			hasBody = true
			continue
		}
		list = append(list, object{
			"name": name, "in": source, "required": source == inPath, "description": field.Tag.Get("doc"),
			"schema": d.schemaOf(field.Type, field.Tag),
		})
	}
	return list, hasBody
}

// schemaOf returns the schema of a Go type. Structs are named schemas.
func (d *document) schemaOf(t reflect.Type, tag reflect.StructTag) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[Duration]():
		return object{"type": "string", "pattern": `^-?([0-9.]+(ns|us|µs|ms|s|m|h))+$`, "examples": []string{"1m30s"}}
	case reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	case reflect.TypeFor[seed.JSON](), reflect.TypeFor[any]():
		return object{}
	}
	switch t.Kind() { //nolint:exhaustive // bodies have no others
	case reflect.Pointer:
		return d.schemaOf(t.Elem(), tag)
	case reflect.Slice:
		return object{"type": "array", "items": d.schemaOf(t.Elem(), "")}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schemaOf(t.Elem(), "")}
	case reflect.Struct:
		return d.structSchema(t)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return textSchema(tag)
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	}
	return object{"type": "integer"}
}

// textSchema returns the schema of a text: any, or one of those in the tag enum. An enum
// without | is the name of a list that is not known here.
func textSchema(tag reflect.StructTag) object {
	schema := object{"type": "string"}
	enum := tag.Get("enum")
	if hasValues := strings.Contains(enum, "|"); hasValues {
		schema["enum"] = strings.Split(enum, "|")
	}
	return schema
}

// structSchema adds the schema of a struct to the document, once, and returns a
// reference to it. The schemas of seed files begin with Seed, because the control API has
// types of the same names.
func (d *document) structSchema(t reflect.Type) object {
	name := t.Name()
	if t.PkgPath() == reflect.TypeFor[seed.User]().PkgPath() {
		name = "Seed" + name
	}
	if d.schemas[name] == nil {
		schema := object{"type": "object", "additionalProperties": false}
		d.schemas[name] = schema // before its fields, which may refer to it
		properties := object{}
		required := d.fields(t, properties)
		schema["properties"] = properties
		if len(required) > 0 {
			schema["required"] = required
		}
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields adds the properties of a struct, and returns the names of those that are always
// there.
func (d *document) fields(t reflect.Type, properties object) (required []string) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			required = append(required, d.fields(field.Type, properties)...)
			continue
		case name == "-":
			continue
		}
		schema := d.schemaOf(field.Type, field.Tag)
		if text := field.Tag.Get("doc"); text != "" {
			schema["description"] = text
		}
		properties[name] = schema
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	return required
}

// Document returns the OpenAPI document of the control API.
func Document() []byte {
	tree, _ := getDocument(&call{Handler: &Handler{routes: table()}}, none{})
	text, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		panic(err) // it holds nothing but texts and numbers
	}
	return append(text, '\n')
}
