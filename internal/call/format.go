package call

import "fmt"

// Format prints v, which has no methods of its own, as fmt would have.
//
// An [api.Secret] hides itself wherever fmt comes upon it, but fmt does not look for
// it behind a pointer that a verb does not fit: %s of a *T within a struct or a slice
// prints what T holds as it is. So whatever holds a secret is a [fmt.Formatter] that
// prints itself as a value:
//
//	func (t T) Format(f fmt.State, verb rune) { type plain T; call.Format(f, verb, plain(t)) }
func Format(f fmt.State, verb rune, v any) { _, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), v) }
