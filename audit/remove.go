package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/members"
)

// RemoveOptions are the options of [Service.RemovePerson]. Nil means the defaults.
type RemoveOptions struct {
	DryRun bool // yield what would be removed, and remove nothing
}

// Removal is the result of [Service.RemovePerson] for one place.
type Removal struct {
	Access

	Removed bool // the platform has accepted the removal; false in a dry run, and with an Err
}

// ErrOwner is the Err of a [Removal] of an owner, who cannot be removed: transfer the
// ownership first. It is an [api.ErrConflict].
var ErrOwner error = ownerError{}

type ownerError struct{}

func (ownerError) Error() string        { return "the person is the owner: transfer the ownership first" }
func (ownerError) Is(target error) bool { return target == api.ErrConflict }

var (
	errNoInvitation = errors.New("the invitation is shown to administrators only")
	errTwoUsers     = errors.New("several users have this address: name one by the ID")
)

// LeftError is the last error of [Service.RemovePerson] if access is left: the person
// may still have it.
type LeftError struct {
	Left []*Access // the places, and those that could not be read, which have an Err
}

// Error names the first places.
func (e *LeftError) Error() string {
	const most = 3
	var places []string
	for _, a := range e.Left[:min(len(e.Left), most)] {
		places = append(places, fmt.Sprintf("%s %q", a.Place, a.Title))
	}
	text := strings.Join(places, ", ")
	if more := len(e.Left) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "fastio: " + opRemove + ": access may be left to " + text
}

// RemovePerson removes a person, named by an ID or an e-mail address, from an organization
// and from all that [Service.Access] finds in it: memberships, invitations and grants, those
// of files first and that of the organization last. It yields one Removal for each, goes on
// after a failure, which is the Err of its Removal, and is idempotent.
//
// At the end it looks again. If anything is left, or a place could not be read, it ends with
// a [*LeftError]; so an iteration that ends without an error has removed all that the caller
// can see. Links that anyone may open stay open to the person, as do those to any registered
// user. Leaving the loop ends the removal.
//
// An invitation has an address and no ID. If the person is named by an ID, the addresses
// are those that memberships and grants in the organization show for this ID. To remove an
// invitation of another address, call RemovePerson with that address, too.
//
// Errors: [*api.InputError] if the person is the caller, who leaves with Leave of package
// members, or is named by neither an ID nor an address; an error if several users have the
// address. After these errors nothing was removed. Also the errors of [Service.Access].
func (s *Service) RemovePerson(
	ctx context.Context, org api.ID, person api.Person, o *RemoveOptions, opts ...api.CallOption,
) iter.Seq2[*Removal, error] {
	return func(yield func(*Removal, error) bool) {
		err := s.removePerson(ctx, org, person, o != nil && o.DryRun, opts, func(r Removal) bool { return yield(&r, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, call.Failed(opRemove, err))
		}
	}
}

// removePerson removes the access of a person, that to the organization last, and
// yields each removal. Then it reads the access again, and returns a [*LeftError] if
// there is any. With dry nothing is removed, and the rows say what would be.
func (s *Service) removePerson(
	ctx context.Context, org api.ID, person api.Person, dry bool, opts []api.CallOption, yield func(Removal) bool,
) error {
	if err := s.checkPerson(ctx, person, opts); err != nil {
		return err
	}
	found, err := s.accessOf(ctx, org, person, opts)
	if err != nil {
		return err
	}
	for _, a := range slices.Backward(found) {
		r := Removal{Access: *a}
		if r.Err == nil && !dry {
			r.Err = s.remove(ctx, a, opts)
			r.Removed = r.Err == nil
		}
		if !yield(r) {
			return errStopped
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if dry {
		return nil
	}
	left, err := s.accessOf(ctx, org, person, opts)
	if err != nil || len(left) == 0 {
		return err
	}
	return &LeftError{left}
}

// checkPerson returns an error for a person who is the caller, and for what is
// neither an ID nor an address.
func (s *Service) checkPerson(ctx context.Context, person api.Person, opts []api.CallOption) error {
	if err := call.Check(ctx, s.c, opRemove); err != nil {
		return err
	}
	if err := input.Parameters(opRemove).Person("person", person); err != nil {
		return err
	}
	refused := person == api.Person(api.Me)
	if !refused {
		me, err := s.account.Me(ctx, opts...)
		if err != nil {
			return err
		}
		refused = person == api.Person(me.ID) || strings.EqualFold(string(person), me.EmailAddress)
	}
	if refused {
		const rule = "must be another person: the caller leaves with members.Leave"
		return &api.InputError{Op: opRemove, Field: "person", Rule: rule, Got: string(person)}
	}
	return nil
}

// accessOf returns the rows of [Service.Access] that belong to a person, and those of
// places that could not be read, the organization first. A row belongs to the person by
// its user ID, or, if it has no user ID, by an e-mail address of the person.
func (s *Service) accessOf(ctx context.Context, org api.ID, person api.Person, opts []api.CallOption) ([]*Access, error) {
	var all []*Access
	for a, err := range s.Access(ctx, org, opts...) {
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	user, addresses, err := idAndAddresses(all, person)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(a *Access) bool {
		isOfPerson := a.User != "" && a.User == user || a.User == "" && addresses[a.EmailAddress]
		return a.Err == nil && !isOfPerson
	}), nil
}

// idAndAddresses returns the user ID of a person, named by an ID or an address, and all
// addresses that the rows of access show for that ID. For an address it takes the ID from
// the rows with this address: "" if none of them has one. If they have several IDs, it
// returns errTwoUsers.
func idAndAddresses(all []*Access, person api.Person) (user api.ID, addresses map[string]bool, err error) {
	addresses = map[string]bool{}
	address := strings.ToLower(string(person))
	if !strings.Contains(address, "@") {
		user = api.ID(person)
	} else {
		addresses[address] = true
		for _, a := range all {
			if a.User == "" || a.EmailAddress != address {
				continue
			}
			if user != "" && user != a.User {
				return "", nil, errTwoUsers
			}
			user = a.User
		}
	}
	for _, a := range all {
		if a.User != "" && a.User == user && a.EmailAddress != "" {
			addresses[a.EmailAddress] = true
		}
	}
	return user, addresses, nil
}

// remove removes one access: an invitation, a grant or a membership. It returns nil if the
// platform, and not a proxy, says that this is gone already.
func (s *Service) remove(ctx context.Context, a *Access, opts []api.CallOption) error {
	who := api.Person(a.User)
	if a.User == "" {
		who = api.Person(a.EmailAddress)
	}
	var err error
	switch {
	case a.Role == string(members.RoleOwner):
		return ErrOwner
	case a.Place.Kind == api.ProfileKindFileShare: // a grant, pending or not
		err = s.fileShares.Grants.Revoke(ctx, a.Place.ID, who, opts...)
	case a.Via == ViaInvitation && a.invitation == "": // the platform has not shown its ID
		return errNoInvitation
	case a.Via == ViaInvitation:
		err = s.members.Invitations.Delete(ctx, a.Place, a.invitation, opts...)
	default:
		err = s.members.Remove(ctx, a.Place, who, opts...)
	}
	if call.NotFound(err) {
		return nil
	}
	return err
}
