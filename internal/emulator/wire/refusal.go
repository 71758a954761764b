package wire

import (
	"errors"
	"net/http"
	"time"
)

// Refusal is the error of a handler: a call that is answered with a failure.
type Refusal struct { //nolint:errname // the word for it everywhere here
	Status int
	Code   int64
	Text   string
	Params any           // []object on validation, object on reasoned refusals, nil
	Retry  time.Duration // until the refusing window has room
	Header http.Header   // more headers of the answer

	Reply *Reply // goes out instead of the envelope
}

func (r *Refusal) Error() string { return "emulator: " + r.Text }

// RefusalOf is the refusal that an error stands for.
func RefusalOf(err error) *Refusal {
	if r, found := errors.AsType[*Refusal](err); found {
		return r
	}
	return Refuse(http.StatusInternalServerError, codeInternal, err.Error())
}

// Refuse is a refusal with a status, a code and a text.
func Refuse(status int, code int64, text string) *Refusal {
	return &Refusal{Status: status, Code: code, Text: text}
}

// Because is a refusal that carries a reason to branch on.
func Because(status int, code int64, reason, text string, more ...Member) *Refusal {
	r := Refuse(status, code, text)
	r.Params = append(Object{{"reason", reason}}, more...)
	return r
}

// Denied refuses a caller who may not do this here.
func Denied(text string) error {
	return Refuse(http.StatusUnauthorized, codeDenied, "Access Denied: "+text)
}

// NoSuch refuses a path that names nothing.
func NoSuch(code int64, what string) error {
	return Refuse(http.StatusNotFound, code, "There is no such "+what+".")
}

// NotMember refuses a caller who does not belong to a profile.
func NotMember() error {
	return Refuse(http.StatusUnauthorized, CodeEntity, "You are not a member of this profile.")
}

// NoProfile refuses a path that names no profile.
func NoProfile() error {
	return Refuse(http.StatusNotFound, CodeNotFound, "There is no such profile.")
}

// UnknownRoute refuses a path or a method that no route has.
func UnknownRoute() error {
	return Refuse(http.StatusNotFound, codeRoute, "There is no such endpoint.")
}
