// An authorization server that shares no line with ours: node-oidc-provider, with
// what the login is to be tried on. It forgets everything when it ends, and it
// ends with its standard input. The first line it prints is its address.
//
// A person signs in and agrees to everything without being asked; one whose
// browser has the cookie answer=deny refuses.
import { createServer } from "node:http";
import Provider, { errors } from "oidc-provider";

const resource = "https://api.example.test/"; // the only one it knows
const scope = "user";
const tokenLife = 60; // seconds, of an access token

const server = createServer().listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.on("request", authorizationServer(issuer).callback());
  console.log(issuer);
});
process.stdin.on("end", () => process.exit()).resume();

function authorizationServer(issuer) {
  const provider = new Provider(issuer, {
    clientDefaults: {
      application_type: "native", // may be redirected to any port of this machine
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
    },
    cookies: { keys: ["of a test"] },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo: resourceServer, useGrantedResource: () => true },
      revocation: { enabled: true },
    },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
    loadExistingGrant: grantAll,
    pkce: { required: () => true },
    responseTypes: ["code"],
    rotateRefreshToken: true, // and a second use of one ends the family
    scopes: [scope],
    ttl: { AccessToken: tokenLife },
  });
  provider.use(answer(provider));
  return provider;
}

// resourceServer makes a token for the resource a JWT that says so.
function resourceServer(_, indicator) {
  if (indicator !== resource) throw new errors.InvalidTarget();
  return { accessTokenFormat: "jwt", accessTokenTTL: tokenLife, audience: resource, scope };
}

// grantAll grants what was asked for.
async function grantAll({ oidc: { client, provider, session } }) {
  const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId });
  grant.addOIDCScope(scope);
  grant.addResourceScope(resource, scope);
  await grant.save();
  return grant;
}

// answer stands in for the pages of a server: it signs in whoever comes, or says
// no.
function answer(provider) {
  return async (ctx, next) => {
    if (!ctx.path.startsWith("/interaction/")) return next();
    const result = ctx.cookies.get("answer") === "deny"
      ? { error: "access_denied", error_description: "The person said no." }
      : { login: { accountId: "ada" }, consent: {} };
    ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result));
  };
}
