import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { SignJWT } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import { claimPort } from '../../support/claimed-port.js';
import { json, type SigningKey, signingKey, type TestIssuer, testIssuer } from '../../support/issuer.js';
import type { Constants } from '../../support/settings.js';
import type { Test } from '../../support/test.js';
import { authorizationServer, begin } from '../issuer/authorization-server.js';
import { type Page, Visitor } from '../issuer/visitor.js';

/** Where the application of the service is. */
export const REDIRECT = 'https://app.example.org/callback';

const SECRET = 'a secret with: special characters/';

/** An issuer whose every response a test chooses. */
export interface Upstream extends TestIssuer {
  readonly key: SigningKey;
  /** An ID token for the client of the service. */
  readonly idToken: (nonce: string, more?: Record<string, unknown>, by?: SigningKey) => Promise<string>;
  /** The bodies that the token endpoint received, and their credentials. */
  readonly exchanged: { readonly body: URLSearchParams; readonly authorization: string | undefined }[];
}

export async function upstreamIssuer(t: Test): Promise<Upstream> {
  const key = await signingKey('upstream');
  const issuer = await testIssuer(t, key);
  const { url } = issuer;
  issuer.paths.set(
    '/.well-known/openid-configuration',
    json({
      issuer: url,
      authorization_endpoint: `${url}/authorize?tenant=1`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      jwks_uri: `${url}/jwks`,
      id_token_signing_alg_values_supported: ['ES256'],
      authorization_response_iss_parameter_supported: true,
    }),
  );
  const idToken: Upstream['idToken'] = (nonce, more = {}, by = key) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: url, aud: 'plinth', sub: 'auth0|ann', nonce, iat: now, exp: now + 60, ...more };
    return new SignJWT(claims).setProtectedHeader({ alg: by.alg, kid: key.kid }).sign(by.privateKey);
  };
  return { ...issuer, key, idToken, exchanged: [] };
}

export const settingsFor = (url: string, name = 'WORK_LOGIN') => ({
  [`UPSTREAM_${name}_ISSUER`]: url,
  [`UPSTREAM_${name}_CLIENT_ID`]: 'plinth',
  [`UPSTREAM_${name}_CLIENT_SECRET`]: SECRET,
});

/** A service with a sign-in at an issuer, and a client of it. */
export type World = Awaited<ReturnType<typeof startWorld>>;

export interface Change {
  readonly visitor?: Visitor;
  readonly token?: (idToken: string) => object;
  readonly status?: number;
  readonly key?: SigningKey;
  readonly returned?: Readonly<Record<string, string>>;
}

export async function startWorld(
  t: Test,
  upstream: Upstream,
  env: Record<string, string> = {},
  name?: string,
  constants: Constants = {},
) {
  const settings = { ...settingsFor(upstream.url, name), SIGN_INS_PER_ADDRESS: '0', ...env };
  const server = await authorizationServer(t, settings, { upstreamPerAddress: 1000, ...constants });
  const fields = { scopes: ['self'], redirect_uris: [REDIRECT], first_party: true };
  const { config } = await server.register(fields);
  upstream.exchanged.length = 0;
  const parameters = { scope: 'openid self', prompt: '', redirect_uri: REDIRECT };
  /** Opens the sign-in page of the client in a browser. */
  const open = async (visitor = new Visitor(server.issuer)) => {
    const flow = await begin(server, config, parameters, visitor);
    return { visitor, page: await flow.open() };
  };
  /** Goes to the issuer, which returns with these claims. `change` alters its token response and its redirect. */
  const signIn = async (claims: Record<string, unknown>, change: Change = {}) => {
    const { visitor, page } = await open(change.visitor);
    const away = await visitor.open(hrefIn(page));
    const { searchParams } = new URL(away.url);
    const idToken = await upstream.idToken(searchParams.get('nonce')!, claims, change.key);
    const tokens = { access_token: 'access', token_type: 'bearer', id_token: idToken };
    upstream.paths.set('/token', (req, res) => {
      void text(req).then((sent) => {
        const body = new URLSearchParams(sent);
        upstream.exchanged.push({ body, authorization: req.headers.authorization });
        json(change.token?.(idToken) ?? tokens, change.status)(req, res);
      });
    });
    const returned = { code: 'code', state: searchParams.get('state')!, iss: upstream.url };
    const query = new URLSearchParams({ ...returned, ...change.returned });
    return { ...(await visitor.open(`${searchParams.get('redirect_uri')}?${query}`)), visitor };
  };
  return { server, upstream, open, signIn };
}

/** The address of the button of a sign-in page. */
export const hrefIn = ({ text }: Page): string =>
  /class="button" href="([^"]*)"/.exec(text)![1]!.replaceAll('&#38;', '&');

/** oidc-provider as others configure it, with one person who has signed in already. */
export async function otherProvider(
  t: Test,
  redirect: string,
  person: { readonly sub: string; readonly claims: Record<string, unknown> },
  settings: Configuration = {},
): Promise<string> {
  const port = await claimPort(t);
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'plinth', client_secret: SECRET, redirect_uris: [redirect] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_ctx, id) => ({ accountId: id, claims: async () => ({ sub: id, ...person.claims }) }),
    loadExistingGrant: async (ctx) => {
      const grant = new provider.Grant({ accountId: person.sub, clientId: ctx.oidc.client!.clientId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
    ...settings,
  });
  const handle = provider.callback();
  const listener = createServer((req, res) => {
    if (req.url!.startsWith('/interaction/'))
      provider.interactionFinished(req, res, { login: { accountId: person.sub } });
    else handle(req, res);
  });
  listener.listen(port, '127.0.0.1');
  t.teardown(() => {
    listener.close();
    listener.closeAllConnections();
  });
  return issuer;
}
