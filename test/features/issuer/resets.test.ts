import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { readStatements } from '../../../src/db/statements.js';
import { recordHash } from '../../../src/features/issuer/own-tokens.js';
import { hashPassword } from '../../../src/passwords/password.js';
import { plinth } from '../../support/command.js';
import { byKey, byPassword, byToken, makeKey, PASSWORD } from '../../support/credentials.js';
import { testService } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { Authenticator } from './authenticator.js';
import { authorizationServer, begin, type User } from './authorization-server.js';
import { type Page, Visitor } from './visitor.js';

const NEXT = 'another long passphrase of mine';

const server = await authorizationServer(t, {
  host: 'localhost',
  AUTH: 'bearer, basic, api-key',
  INSECURE: 'basic',
  BASIC_SCOPES: 'self,admin',
  AUTH_FAILURES: '0',
});
const { service } = server;
const { config } = await server.register({ scopes: ['self', 'admin'] });
const SET_PASSWORD = readStatements('passwords.sql').get('set_password')!;

const sql = sqlOf(t, service.databaseUrl, { max: 2 });

/** Sessions that wait for a lock. */
const waiting = () => sql`
  select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

/** Runs `work` once while a transaction is open in which the password was reset, and commits it when `work` waits for it. */
async function duringReset<T>(t: Test, user: User, work: () => Promise<T>): Promise<T> {
  let result: Promise<T> | undefined;
  await sql.begin(async (sql) => {
    await sql.unsafe(SET_PASSWORD, [user.id, await hashPassword(NEXT)]);
    let isSettled = false;
    result = work().finally(() => {
      isSettled = true;
    });
    result.catch(() => undefined);
    await until('it waits for the reset', async () => isSettled || (await waiting()).length > 0);
    t.notOk(isSettled, 'nothing was committed before the reset');
  });
  return await result!;
}

async function signInForm(parameters: Record<string, string> = {}) {
  const flow = await begin(server, config, { scope: 'openid self admin offline_access', ...parameters });
  return { ...flow, form: await flow.open() };
}

/** The page on which a user consents. */
async function consentForm(user: User) {
  const flow = await signInForm();
  return { ...flow, form: await flow.visitor.enter(flow.form, user) };
}

async function codeOf(user: User) {
  const { visitor, form, redeem } = await consentForm(user);
  const { url } = await visitor.submit(form, { action: 'allow' });
  return () => redeem(url);
}

const tokensOf = async (user: User) => (await codeOf(user))();

async function withPasskey(user: User) {
  const { visitor, page } = await server.enter(user);
  const authenticator = new Authenticator(server.issuer);
  await authenticator.add(visitor, page);
  return authenticator;
}

const failed = (work: Promise<unknown>) =>
  work.then(
    () => 'it succeeded',
    (error: Error & { error?: string }) => error.error ?? error.message,
  );

type Prepare = (user: User) => Promise<() => Promise<unknown>>;

/** A request of the API with a credential of the user; its status. */
const sent =
  (
    method: string,
    path: (user: User) => string,
    body: object,
    headersOf: (user: User) => Promise<object>,
  ): Prepare =>
  async (user) => {
    const headers = (await headersOf(user)) as Record<string, string>;
    return async () => (await service.send(method, path(user), { body, headers })).status;
  };

const ofPassword = async (user: User) => byPassword(user.email);
const ofToken = async (user: User) => byToken((await tokensOf(user)).access_token);
const ofKey = async ({ id }: User) =>
  byKey((await makeKey(service.db, { subject: id, scopes: ['self'] })).key);

const KEY = { label: 'late', subject: 'mallory', scopes: ['admin'] };
const CLIENT = {
  name: 'late',
  grant_types: ['authorization_code'],
  redirect_uris: ['https://mallory.example/'],
};
const WEBHOOK = { url: 'https://mallory.example/', types: ['*'] };
const CURRENT = { current_password: PASSWORD };
const own = ({ id }: User) => `/users/${id}`;
const at = (path: string) => () => path;

const statusOf = (work: () => Promise<Page>) => async () => (await work()).status;

/** Each way to sign in, or to turn a sign-in into one that lasts: the step that commits, and its result. */
const STEPS: Readonly<Record<string, [prepare: Prepare, expected: unknown]>> = {
  'a sign-in at /account': [
    async (user) => {
      const visitor = new Visitor(server.issuer);
      const form = await visitor.open('/account');
      return statusOf(() => visitor.enter(form, user));
    },
    403,
  ],
  'a sign-in by password for an application': [
    async (user) => {
      const { visitor, form } = await signInForm();
      return statusOf(() => visitor.enter(form, user));
    },
    400,
  ],
  'a sign-in by passkey for an application': [
    async (user) => {
      const authenticator = await withPasskey(user);
      const { visitor, form } = await signInForm();
      return statusOf(() => authenticator.signIn(visitor, form, 1, user.id));
    },
    422,
  ],
  'the session after a sign-in': [
    async ({ email }) => {
      const { visitor, form } = await signInForm();
      const resume = await visitor.submitOnly(form, { email, password: PASSWORD, action: 'sign-in' });
      return statusOf(() => visitor.open(resume));
    },
    400,
  ],
  'a consent': [
    async (user) => {
      const { visitor, form } = await consentForm(user);
      return statusOf(() => visitor.submit(form, { action: 'allow' }));
    },
    400,
  ],
  'the exchange of a code': [
    async (user) => {
      const redeem = await codeOf(user);
      return () => failed(redeem());
    },
    'invalid_grant',
  ],
  'a refresh': [
    async (user) => {
      const { refresh_token: refresh } = await tokensOf(user);
      return () => failed(client.refreshTokenGrant(config, refresh!));
    },
    'invalid_grant',
  ],
  'a new passkey': [
    async (user) => {
      const { visitor, page } = await server.enter(user);
      return statusOf(() => new Authenticator(server.issuer).add(visitor, page));
    },
    422,
  ],
  'a change of the password at /account': [
    async (user) => {
      const { visitor, page } = await server.enter(user);
      const fields = { current: PASSWORD, password: 'the passphrase of another', action: 'change-password' };
      return statusOf(() => visitor.submit(page, fields));
    },
    403,
  ],
  'a change of the password with the current one': [
    sent('PATCH', own, { password: 'the passphrase of another', ...CURRENT }, ofKey),
    403,
  ],
  'a change of the password with Basic': [
    sent('PATCH', own, { password: 'the passphrase of another' }, ofPassword),
    403,
  ],
  'a change of the email with the current password': [
    sent('PATCH', own, { email: 'mallory@example.org', ...CURRENT }, ofKey),
    403,
  ],
  'an API key with Basic': [sent('POST', at('/keys'), KEY, ofPassword), 403],
  'an API key with a token': [sent('POST', at('/keys'), KEY, ofToken), 403],
  'a client with Basic': [sent('POST', at('/oauth-clients'), CLIENT, ofPassword), 403],
  'a webhook with Basic': [sent('POST', at('/webhooks'), WEBHOOK, ofPassword), 403],
};

const leftOf = ({ id }: User) => sql`
  select model as left from issuer_records where user_id = ${id}
  union all select 'passkey' from passkeys where user_id = ${id}
  union all select label from credentials where subject = 'mallory'
  union all select 'client' from issuer_clients where metadata like '%mallory%'
  union all select 'webhook' from webhooks`;

for (const [name, [prepare, expected]] of Object.entries(STEPS))
  t.test(`while the password is reset, nothing is committed by ${name}`, async (t) => {
    const email = `${name.toLowerCase().replaceAll(/\W+/g, '-')}@example.org`;
    const user = await server.addUser(email);
    await setUserScopes(service.db, user.id, ['admin']);
    const step = await prepare(user);
    t.strictSame(await duringReset(t, user, step), expected);
    t.strictSame([...(await leftOf(user))], []);
    const [{ email: now } = {}] = await sql`select email from users where id = ${user.id}`;
    t.equal(now, email);
    t.match((await server.enter(user)).page.status, 422, 'the old password is wrong');
    const { page } = await server.enter(user, '/account', NEXT);
    t.equal(/Signed in as/.test(page.text), true, 'the new password stays');
  });

t.test('a reset ends the sign-ins that commit while it waits for them', async (t) => {
  const env = { DATABASE_URL: service.databaseUrl };
  const admin = await testService(t, env);
  const resets: Readonly<Record<string, (user: User) => Promise<unknown>>> = {
    'users set-password': ({ email }) =>
      plinth(t, ['users', 'set-password', email], env, { input: `${NEXT}\n` }),
    PATCH: ({ id }) => admin.send('PATCH', `/users/${id}`, { body: { password: NEXT } }),
    PUT: ({ id, email }) =>
      admin.send('PUT', `/users/${id}`, { body: { name: 'Ann', email, password: NEXT } }),
  };
  const issuer = readStatements('features/issuer/issuer.sql');
  for (const [name, reset] of Object.entries(resets)) {
    const user = await server.addUser(`${name.replaceAll(/\W+/g, '-')}@example.org`);
    let done: Promise<unknown> | undefined;
    await sql.begin(async (sql) => {
      const hash = recordHash('Session', name);
      const session = [hash, 'Session', '{}', null, name, null, user.id, null, 600, 1];
      t.equal((await sql.unsafe(issuer.get('upsert_record')!, session)).length, 1);
      const passkey = [name, user.id, '', 0, '[]', 20, 1];
      t.equal((await sql.unsafe(issuer.get('add_passkey')!, passkey)).length, 1);
      done = reset(user);
      await until('the reset waits', waiting, (rows) => rows.length > 0);
    });
    await done;
    t.strictSame([...(await leftOf(user))], [], name);
  }
});

t.test('a hash that is renewed for the same password ends nothing', async (t) => {
  const user = await server.addUser('renewed@example.org');
  const { visitor } = await server.enter(user);
  const [{ hash } = {}] = await sql`select hash from passwords where user_id = ${user.id}`;
  const rehash = readStatements('auth.sql').get('rehash')!;
  await sql.unsafe(rehash, [user.id, hash, await hashPassword(PASSWORD)]);
  t.match((await visitor.open('/account')).text, /Signed in as/);
});
