package world

// Codes of what several areas refuse. The platform publishes those below 190000; the others are the emulator's own.
const (
	CodeNotGranted = 115069
	CodeNoView     = 144499

	codeLinkPassword      = 199312
	codePlan              = 199401
	codeAIPolicy          = 199403
	CodeExport            = 199412
	CodeTokenEnded        = 199424
	codeRange             = 199701
	CodeTooLittle         = 199703
	codeWithheld          = 199704
	codeOutsiders         = 199906
	codeOutsidersObject   = 199907
	codeInvitationPast    = 199909
	codeInvitationSettled = 199910
)
