package wire

// Codes that every area has. The platform publishes those below 190000; where it publishes none, the emulator has its
// own: 199001 to 199999, six digits as the codes of the platform and none of those it is known to use.
const (
	CodeInput      = 1605
	codeRoute      = 9992
	CodeMalformed  = 10001
	CodeMethod     = 10003
	CodeCredential = 10011
	codeMissing    = 10021
	CodeInvalid    = 10022
	codeType       = 10023
	CodeThrottled  = 10368
	CodeEntity     = 10545 // 401: not a member; 403: outside the credential
	CodeScope      = 10754
	CodeScopeAdmin = 10767
	codeScopeWrite = 10770

	codeInternal = 199001
	CodeNotFound = 199002
	CodeGeo      = 199005
	CodePolicy   = 199007
	codeNoForm   = 199101
	codeDenied   = 199311
	codeNotJSON  = 199313
)
