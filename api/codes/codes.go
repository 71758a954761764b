// Package codes has the codes of the platform's errors that a program can rely on, with
// what to do about them: values of [github.com/fastio-go/fastio/api.Error].Code.
//
//	e, ok := errors.AsType[*api.Error](err)
//	if ok && errors.Is(err, api.ErrRateLimited) && e.Code == codes.AccountLocked {
//		fmt.Println("locked: try again in", e.Rate.RetryAfter.Round(time.Minute))
//	}
//
// Decide by the kind of an error first (errors.Is with api.ErrForbidden and the
// others): most errors have no code here. The platform assigns a code to each place
// that refuses a call. Codes of four and five digits are stable. Codes of six digits
// may be reassigned: when a place is removed, another one may get its code. So the
// codes of six digits here are those that a document of the platform prints, and are
// of use only together with the operation and the kind of the error.
//
// The labels of the documents' table of errors (1605, 1680 and others) are classes of
// errors and never codes.
package codes

// Codes of requests.
const (
	NoEndpoint    = 9992  // status 404: the server has no such path. Check the path, or do without the call
	WrongMethod   = 10003 // status 405: a document below /.well-known/ was requested with another method than GET
	InvalidField  = 10566 // a field has a wrong length or character. Only the text of the error names it
	InvalidInput  = 10571 // the input is invalid. See the text and the refused fields of the error
	EdgeRejected  = 90211 // any status: the platform lost the response. Read whether the call had an effect before it is repeated
	Throttled     = 10368 // status 429: the client waits and repeats the call, within api.WithMaxWait
	IntentVersion = 9667  // status 409: the intent has another version by now. Read it again and decide again
)

// Codes of credentials. Only the first two mean that the credential can no longer be
// used: keep it after any other.
const (
	BadToken         = 10001 // status 401: the token is malformed. Sign in again
	DeadToken        = 10011 // status 401: the token is missing, unknown, expired or revoked. Sign in again
	WrongPassword    = 10008 // status 401: the address or the password of a sign-in is wrong. Ask for it again
	AccountLocked    = 10760 // status 429: too many wrong passwords. Wait until Rate.RetryAfter; other accounts are not locked
	SecondFactor     = 10175 // status 403 or 401: the token is valid, but not for this call. Complete the second factor
	EmailUnverified  = 10587 // the account has not confirmed its e-mail address. Confirm it
	NoAccess         = 10545 // status 401: not a member, or a lower role than required; 403: see [OutOfScope]
	ScopeAdmin       = 10767 // status 403: the credential requires the access mode rwa. Issue another one
	ScopeExceeded    = 10768 // status 403: more was requested than the issuing credential has. Request less
	ScopeUserDetails = 10769 // status 403: the credential requires the scope of account settings. Issue another one
	ScopeReadOnly    = 10770 // status 403: the credential is read-only. Issue another one
)

// OutOfScope reports whether a code means that the credential is valid, but not for the
// organization, workspace or share of the call, with status 403 or 401. [NoAccess] with
// status 403 means that too. Use another credential, or issue one that includes it.
func OutOfScope(code int64) bool {
	switch code { // what each of these means is not published
	case 10560, 10574, 10753, 10754, 10757:
		return true
	}
	return false
}

// Codes of uploads, which package uploads handles.
const (
	SizeDiffers     = 10522 // status 406: the chunks have another size in total than was announced. Start over
	FileDiffers     = 10778 // status 406: the file has another checksum than was announced, and is not stored. Start over
	ChecksumChanged = 10779 // status 409: another checksum was announced before. Send that one
)

// QuickShareClosed is the code of the creation or extension of a QuickShare, which the
// platform no longer has: status 403. Create a File Share.
const QuickShareClosed = 10756

// Codes of sign-in requests, with status 406. The platform may reassign them.
const (
	AccountSettings = 117053 // the value of account_settings is invalid
	AccessMode      = 180242 // the value of access_mode is invalid
)

// Codes of shares. The platform may reassign them.
const (
	ShareNotVisible     = 144499 // status 401: the caller may not see the share. Ask its owner for an invitation
	ShareNotPublic      = 183836 // status 401: the share has no public details. Sign in
	ShareStorageFailure = 121168 // status 500: the storage of the share has failed. Try again later
	InvitationRole      = 127022 // status 406: the role of the invitation is above the caller's own. Choose a lower one
)

// Codes of questions on the documentation. The platform may reassign them.
const (
	HowToBusy         = 145858 // status 429: another question of the user is in progress. Ask again after its answer
	HowToMalformed    = 147185 // status 406: the question cannot be read, such as one that is not UTF-8
	HowToUserNotFound = 163750 // status 404: the user of the credential is not known
	HowToNoIndex      = 195614 // status 503: the index of the documentation is not available. Try again
	HowToNoAnswer     = 152339 // status 503: the generation of the answer has failed. Try again
	HowToInternal     = 188243 // status 500: an internal error. Try again later
)
