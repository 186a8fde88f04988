import { scopeFault } from '../../auth/user-scopes.js';
import type { Resource } from '../../collection/resource.js';
import type { Config } from '../../config/config.js';
import { ConfigError } from '../../config/config.js';
import { typesIn } from '../../errors/catalogue.js';
import { type Feature, withPackage } from '../../feature.js';
import type { Log } from '../../telemetry/log.js';
import type { AccountServices } from './account-requests.js';
import { ACCOUNTS_SETTINGS, hasMail, linkOrigin } from './settings.js';

/** Users of other issuers, and passwords that people have forgotten. */
export default {
  errors: async () => typesIn(await import('./errors.js')),
  documentation: { tags: { invitations: 'Invitations of people by mail.' } },
  endpoints: async (config, resources) => {
    const settings = ACCOUNTS_SETTINGS.of(config);
    if (!hasMail(settings)) return [];
    const { endpointsOf } = await import('./endpoints.js');
    return endpointsOf(
      settings.signUp !== undefined,
      resources.filter(({ invited }) => invited !== undefined),
    );
  },
  openUsersOfTokens: async ({ config, db, log }, users) => {
    const settings = ACCOUNTS_SETTINGS.of(config);
    if (settings.usersFromIssuer === undefined) return undefined;
    const { IssuerUsers } = await import('./issuer-users.js');
    const found = new IssuerUsers(db, log, settings, users);
    return (...token) => found.identify(...token);
  },
  open: async ({ config, db, log, collections, scopes, auth, description, limitAddresses }) => {
    const settings = ACCOUNTS_SETTINGS.of(config);
    if (settings.upstreams.length > 0 && auth.own === undefined)
      throw new ConfigError(['UPSTREAM_<NAME>_ISSUER needs AUTH_SERVER=on, which has the sign-in page']);
    const users = collections.find(({ resource }) => resource.hasPasswords)!;
    const { properties } = users.resource.schema;
    const unknown = [...(settings.userClaims?.keys() ?? [])].filter(
      (field) => !Object.hasOwn(properties, field),
    );
    if (unknown.length > 0)
      throw new ConfigError([`USER_CLAIMS names fields that users do not declare: ${unknown.join(', ')}`]);
    if (!hasMail(settings)) return {};
    const faults = settings.signUpScopes.flatMap((scope) => scopeFault(scope, scopes) ?? []);
    if (faults.length > 0) throw new ConfigError(faults.map((fault) => `SIGN_UP_SCOPES: ${fault}`));
    const { Outbox } = await import('./mail-outbox.js');
    const { ACCOUNTS_PRUNES } = await import('./accounts-statements.js');
    const origin = linkOrigin(config)!;
    const outbox = new Outbox(db, log, await transportOf(config, log), settings, origin);
    const limit = limitAddresses('mail', { requests: settings.requestsPerAddress, seconds: 600 });
    const signInPage = auth.own && '/account';
    auth.accounts.addressPage = signInPage;
    const requirementOf = ({ name }: Resource) =>
      description.endpoints.find(({ method, path }) => method === 'POST' && path === `/${name}`)!.requires;
    const { session } = auth;
    const hasSignIn = session !== undefined || config.auth.includes('basic');
    const inviting = { collections, requirementOf };
    const own = { session, hasSignIn, inviting, origin };
    const services: AccountServices = { db, settings, users, outbox, signInPage, limit, ...own };
    return {
      services: () => services,
      metrics: { mail: outbox.metrics.mail },
      prunes: ACCOUNTS_PRUNES,
      stop: () => outbox.stop(),
    };
  },
} satisfies Feature<AccountServices>;

async function transportOf(config: Config, log: Log) {
  const settings = ACCOUNTS_SETTINGS.of(config);
  const { logTransport, smtpTransport, webhookTransport } = await import('./mail-transport.js');
  if (settings.mailWebhook !== undefined)
    return webhookTransport(settings, await import('../webhooks/sign.js'));
  if (settings.smtpUrl === undefined) return logTransport(log);
  return smtpTransport(settings, await withPackage(import('nodemailer'), 'SMTP_URL', 'nodemailer'));
}
