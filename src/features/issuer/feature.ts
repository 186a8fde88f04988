import { type Feature, kindCommand, withPackage } from '../../feature.js';
import { hasUpstreams } from '../accounts/settings.js';
import { CLIENT } from './client-kind.js';
import { COMMANDS } from './commands.js';
import type { IssuerServices } from './endpoints.js';

/** The embedded authorization server. */
export default {
  openCredentials: async ({ config, db, log }) => {
    const { browserSessions, OwnTokens } = await import('./own-tokens.js');
    return { tokens: new OwnTokens(config, db, log), session: browserSessions(db, config) };
  },
  endpoints: async (config) => {
    const { ENDPOINTS, UPSTREAM_ENDPOINTS } = await import('./endpoints.js');
    return hasUpstreams(config) ? [...ENDPOINTS, ...UPSTREAM_ENDPOINTS] : ENDPOINTS;
  },
  documentation: {
    tags: {
      clients: 'Clients of the authorization server.',
      authorization: 'The authorization server.',
    },
  },
  open: async (core) => {
    const { openIssuer } = await withPackage(import('./issuer.js'), 'AUTH_SERVER=on', 'oidc-provider');
    const { OwnTokens } = await import('./own-tokens.js');
    const { ISSUER_PRUNES } = await import('./issuer-statements.js');
    const { own } = core.auth;
    if (!(own instanceof OwnTokens))
      throw new TypeError('the tokens are those of another authorization server');
    const users = core.collections.find(({ resource }) => resource.hasPasswords)!.whole;
    const { services, metrics, close } = await openIssuer(core, own, core.scopes, users);
    return { services: () => services, metrics, prunes: ISSUER_PRUNES, close };
  },
  startLines: async (_config, { run }) => (await import('./start-lines.js')).startLines(run),
  commands: {
    clients: kindCommand(
      CLIENT,
      COMMANDS.clients,
      async () => (await import('./client-input.js')).STORED_CLIENTS,
    ),
    issuer: {
      ...COMMANDS.issuer,
      group: 'access',
      run: async (args, io) => (await import('./rotate-keys.js')).issuerCommand(args, io),
    },
    login: {
      ...COMMANDS.login,
      group: 'access',
      run: async (args, io) => {
        const loading = import('./login.js');
        return (await withPackage(loading, 'The command', 'openid-client')).loginCommand(args, io);
      },
    },
  },
} satisfies Feature<IssuerServices>;
