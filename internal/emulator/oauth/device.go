package oauth

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// DevicePath is the page on which a user enters a user code.
const DevicePath = ConnectPath + "/device"

// device is an authorization of the device flow (RFC 8628). The platform is not known
// to have it: all of this follows the RFC.
type device struct {
	request  *authorization
	userCode string
	interval time.Duration
	polled   time.Time
	denied   bool
	approval *code // nil until the user has approved
}

const (
	grantDevice    = "urn:ietf:params:oauth:grant-type:device_code"
	deviceInterval = 5 * time.Second
)

// deviceRoutes returns the endpoints of the device flow, none without the option.
func (h *Handlers) deviceRoutes() []*wire.Route {
	if !h.w.Options.OAuth.DeviceFlow {
		return nil
	}
	return []*wire.Route{
		wire.Post(wire.PageArea+".StartDevice", "/current/oauth/device_authorization/", h.startDevice, wire.NoCredential,
			wire.SlashOptional,
			wire.TakesLock, wire.Fields("client_id scope access_mode account_settings agent_name resource")),
		wire.Get(wire.PageArea+".Device", DevicePath+"/", h.devicePage, wire.NoCredential, wire.SlashOptional,
			wire.Query("user_code")),
	}
}

// startDevice starts an authorization for a device. It returns a secret code for the
// device, and one that its user types on a page.
func (h *Handlers) startDevice(c *wire.Call) (wire.Object, error) {
	if err := c.ReadForm(); err != nil {
		return nil, badRequest(invalidRequest, "The body must be a form.")
	}
	q := &authorization{clientID: c.Form.Get("client_id")}
	q.readAccess(c, c.Form.Get)
	if c.Check.Err() != nil {
		return nil, badRequest(invalidRequest, "A parameter is not valid.")
	}
	client, err := h.findClient(c.Request.Context(), q.clientID)
	switch {
	case err != nil:
		return nil, wire.RFCError(http.StatusUnauthorized, invalidClient, err.Error())
	case !client.mayUse(grantDevice):
		return nil, badRequest("unauthorized_client", "The client is not registered for the device flow.")
	}
	q.clientName, q.issuer = client.Name, wire.Issuer(c.Request)
	h.w.Lock()
	defer h.w.Unlock()
	q.id, q.expires = h.w.Secret(), h.w.Now().Add(requestLife)
	q.device = &device{request: q, userCode: userCode(h.w.Secret()), interval: deviceInterval}
	secret := h.w.Secret()
	h.oauth.requests[q.id], h.oauth.devices[secret] = q, q.device
	page := q.issuer + DevicePath
	return c.PlainJSON(http.StatusOK, wire.Object{
		{"device_code", secret},
		{"user_code", q.device.userCode},
		{"verification_uri", page},
		{"verification_uri_complete", page + "?user_code=" + q.device.userCode},
		{"expires_in", int64(requestLife / time.Second)},
		{"interval", int64(deviceInterval / time.Second)},
	})
}

// userCode returns a code of eight letters that is easy to type, from a secret, which is
// random and hexadecimal.
func userCode(secret string) string {
	const letters = "BCDFGHJKLMNPQRSTVWXZ"
	random, _ := hex.DecodeString(secret[:16])
	for i, b := range random {
		random[i] = letters[int(b)%len(letters)]
	}
	return string(random[:4]) + "-" + string(random[4:])
}

// deviceOf returns the authorization request of a user code, nil if there is none or it
// is decided already.
func (h *Handlers) deviceOf(userCode string) *authorization {
	for _, d := range h.oauth.devices {
		q, err := h.pendingRequest(d.request.id)
		if err == nil && strings.EqualFold(d.userCode, strings.TrimSpace(userCode)) {
			return q
		}
	}
	return nil
}

// devicePage shows a page on which a user types the code of a device. If the call has a
// valid code, it redirects to the sign-in page of the request that the device has made.
func (h *Handlers) devicePage(c *wire.Call) (wire.Object, error) {
	text := c.Value("user_code")
	if q := h.deviceOf(text); q != nil {
		return c.Send(redirectTo(http.StatusFound, q.loginURL()))
	}
	p := page{Body: "device", Title: "Connect a device", Code: text}
	if text != "" {
		p.Problem = "The code is unknown, or it has expired."
	}
	return c.Send(h.renderPage(http.StatusOK, p, formStaysHere))
}

// pollDevice answers the token request of a device, which repeats it until the user has
// decided. A request that comes too early makes the required interval longer.
func (h *Handlers) pollDevice(c *wire.Call, form url.Values) (wire.Object, error) {
	if err := requireFields(form, "device_code", "client_id"); err != nil {
		return nil, err
	}
	d, now := h.oauth.devices[form.Get("device_code")], h.w.Now()
	if d == nil || d.request.clientID != form.Get("client_id") {
		return nil, badRequest(invalidGrant, "The device code is unknown, or another client's.")
	}
	early := now.Sub(d.polled) < d.interval
	d.polled = now
	switch {
	case d.denied:
		return nil, badRequest("access_denied", "The user denied access.")
	case d.approval != nil && d.approval.used:
		return nil, badRequest(invalidGrant, "The device code was used before.")
	case d.approval == nil && wire.Past(d.request.expires, now):
		return nil, badRequest("expired_token", "The device code has expired.")
	case early:
		d.interval += deviceInterval
		return nil, badRequest("slow_down", "Wait longer between requests.")
	case d.approval == nil:
		return nil, badRequest("authorization_pending", "The user has not answered.")
	}
	if err := checkResource(form, d.request.resource); err != nil {
		return nil, err
	}
	sess := h.openSession(form, d.approval)
	return h.issueTokens(c, sess, h.newRefreshToken(sess)), nil
}
