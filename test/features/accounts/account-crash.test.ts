import { declare } from '../../support/collections.js';
import { byPassword, PASSWORD } from '../../support/credentials.js';
import { mailServer } from '../../support/mail-server.js';
import { declarationsUnder } from '../../support/page-commands.js';
import { replacing, startProcess, WITH_CONSTANTS } from '../../support/process.js';
import { type ServiceResponse, send, undeclaredDatabase } from '../../support/service.js';
import { openSql } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { some } from '../../support/thorough.js';
import { until } from '../../support/until.js';
import { ANN, CODE, codeIn, mailBy } from './mailing.js';

t.jobs = 2;

const RECIPES = 'docs/recipes.md';
const FILES = { ...declarationsUnder(RECIPES, 'Begin'), ...declarationsUnder(RECIPES, 'Teams with roles') };
/** The steps of a transaction in which continuous integration kills the process; the set `all` does in each. */
const STEPS = 3;
const NEXT = 'another long passphrase of mine';

/** A service in a process of its own, which can be killed in the statement that first waits for a table. */
async function crashing(t: Test) {
  const mail = await mailServer(t);
  const databaseUrl = await undeclaredDatabase(t);
  const sql = openSql(databaseUrl, { max: 4 });
  t.teardown(() => sql.end());
  const env = {
    COLLECTIONS: declare(t, FILES),
    DATABASE_URL: databaseUrl,
    ...{ AUTH: 'basic', INSECURE: 'basic', SIGN_UP: 'open', SIGN_UP_SCOPES: 'memberships:read' },
    ...mailBy(mail),
    ...replacing({ mailPollMs: 50, mailRetrySeconds: 3600 }),
  };
  const start = async () => {
    const started = startProcess(t, env, WITH_CONSTANTS);
    return { ...started, url: await started.ready() };
  };
  let running = await start();
  const kill = async () => {
    process.kill(running.child.pid!, 'SIGKILL');
    t.equal(await running.ended, 'SIGKILL');
    // The server ends the statements of a process that is gone, at the latest when they write to it.
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'`;
  };
  /** Whether a statement with this text waits for a lock. */
  const blocked = async (text: string) =>
    (
      await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and strpos(query, ${text}) > 0`
    ).length > 0;
  /** Kills the process in its first statement that writes to a table, and starts another one. */
  const killedAt = async (table: string, begin: () => Promise<unknown>, text = '') => {
    await sql.begin(async (own) => {
      await own.unsafe(`lock table ${table} in share mode`);
      const done = begin().catch(() => undefined);
      await until(`a statement waits for ${table}`, () => blocked(text));
      await kill();
      await done;
    });
    running = await start();
  };
  const call = (method: string, path: string, body?: object, password?: string, email = ANN) =>
    send(running.url, method, path, {
      ...(body && { body }),
      headers: password ? byPassword(email, password) : {},
    });
  const messagesTo = (address: string) => mail.received.filter(({ to }) => to === address);
  /** The code of the last message of a request to an address. */
  const codeTo = async (address: string, request: () => Promise<ServiceResponse>) => {
    const before = messagesTo(address).length;
    const { status } = await request();
    t.ok(status === 202 || status === 201, `${status}`);
    // The note of the change before may arrive meanwhile.
    const isCode = ({ text }: { text: string }) => CODE.test(text);
    const message = () => messagesTo(address).slice(before).find(isCode);
    return codeIn((await until('the message arrives', message)).text);
  };
  const sendAgain = () => sql`update plinth_mail set next_at = now()`;
  const restart = async () => (running = await start());
  return { sql, call, killedAt, kill, blocked, codeTo, messagesTo, sendAgain, restart };
}

type Crashing = Awaited<ReturnType<typeof crashing>>;

const count = async ({ sql }: Crashing, table: string) =>
  Number((await sql.unsafe(`select count(*) from ${table}`))[0]!.count);

async function signUp({ call, codeTo }: Crashing, email: string): Promise<string> {
  const code = await codeTo(email, () => call('POST', '/sign-up', { email }));
  const { json } = await call('POST', '/sign-up', { code, name: email.split('@')[0], password: PASSWORD });
  return json.id as string;
}

t.test('a sign-up that is killed in any step makes no account, and then one', async (t) => {
  const world = await crashing(t);
  const { call, codeTo, killedAt } = world;
  const tables = ['plinth_mail_codes', 'users', 'passwords', 'user_scopes', 'events'];
  for (const [at, table] of some(tables, STEPS).entries()) {
    const email = `zoe.${at}@example.org`;
    const code = await codeTo(email, () => call('POST', '/sign-up', { email }));
    const confirm = () => call('POST', '/sign-up', { code, name: 'Zoe', password: PASSWORD });
    await killedAt(table, confirm);
    t.equal(await count(world, 'users'), at, `no account: ${table}`);
    t.equal((await call('GET', '/whoami', undefined, PASSWORD, email)).status, 401);
    t.equal((await confirm()).status, 201, 'the code is valid as before');
    t.equal((await confirm()).status, 403);
    t.equal(await count(world, 'users'), at + 1);
    t.equal((await call('GET', '/whoami', undefined, PASSWORD, email)).status, 200);
  }
});

t.test('a reset that is killed in any step sets no password, and then one', async (t) => {
  const world = await crashing(t);
  const { call, codeTo, killedAt } = world;
  const enter = async (password: string) => (await call('GET', '/whoami', undefined, password)).status;
  await signUp(world, ANN);
  let password = PASSWORD;
  const tables = ['plinth_mail_codes', 'users', 'passwords', 'plinth_account_log', 'events'];
  for (const table of some(tables, STEPS)) {
    const code = await codeTo(ANN, () => call('POST', '/forgotten-password', { email: ANN }));
    const next = `${NEXT} ${table}`;
    const reset = () => call('POST', '/reset-password', { code, password: next });
    await killedAt(table, reset);
    t.same([await enter(password), await enter(next)], [200, 401], table);
    t.equal((await reset()).status, 204);
    t.equal((await reset()).status, 403);
    t.equal(await enter(next), 200);
    password = next;
  }
});

t.test('an acceptance that is killed in any step leaves nothing, and then happens once', async (t) => {
  const world = await crashing(t);
  const { call, codeTo, killedAt } = world;
  const ann = await signUp(world, ANN);
  const team = (await call('POST', '/teams', { name: 'Roof' }, PASSWORD)).json.id as string;
  await call('POST', '/memberships', { teamId: team, userId: ann, role: 'owner' }, PASSWORD);
  const create = { memberships: { teamId: team, role: 'member' } };
  const tables = ['plinth_mail_codes', 'plinth_invitations', 'users', 'passwords', 'memberships', 'events'];
  for (const [at, table] of some(tables, STEPS).entries()) {
    const email = `zoe.${at}@example.org`;
    const code = await codeTo(email, () => call('POST', '/invitations', { email, create }, PASSWORD));
    const accept = () =>
      call('POST', '/invitations/accept', { code, user: { name: 'Zoe', password: PASSWORD } });
    await killedAt(table, accept);
    const found = async () => [await count(world, 'users'), await count(world, 'memberships')];
    t.same(await found(), [at + 1, at + 1], `no half acceptance: ${table}`);
    t.equal((await accept()).status, 200);
    t.equal((await accept()).status, 403);
    t.same(await found(), [at + 2, at + 2]);
  }
});

t.test('a message and a note arrive after a kill in any step', async (t) => {
  const world = await crashing(t);
  const { sql, call, killedAt, messagesTo, sendAgain, kill, blocked, restart } = world;
  const id = await signUp(world, ANN);
  const ask = () => call('POST', '/forgotten-password', { email: ANN });
  const before = messagesTo(ANN).length;
  await killedAt('plinth_mail', ask, 'counted');
  t.equal(await count(world, 'plinth_mail'), 0, 'a request that is not stored has no response');
  await killedAt('plinth_mail_codes', ask, 'insert into plinth_mail_codes');
  t.equal(messagesTo(ANN).length, before, 'killed before the message is sent');
  await sendAgain();
  await until('the message arrives', () => messagesTo(ANN)[before]);
  await until('nothing waits', () => count(world, 'plinth_mail'), 0);

  // Killed after the server has the message, before its row is removed.
  await sql.begin(async (row) => {
    await sql.begin(async (own) => {
      await own`lock table plinth_mail_codes in share mode`;
      t.equal((await ask()).status, 202);
      await until('the message has been claimed', () => blocked('insert into plinth_mail_codes'));
      await row`select from plinth_mail for update`;
    });
    await until('the server has the message', () => messagesTo(ANN)[before + 1]);
    await until('the row waits', () => blocked('delete from plinth_mail where id ='));
    await kill();
  });
  await restart();
  await sendAgain();
  await until('the message is sent again', () => messagesTo(ANN)[before + 2]);
  const [first, second] = messagesTo(ANN)
    .slice(before + 1)
    .map(({ raw }) => /^Message-ID: .*$/im.exec(raw)![0]);
  t.equal(first, second, 'by one id');
  await until('nothing waits', () => count(world, 'plinth_mail'), 0);

  const change = { email: 'ann.new@example.org', current_password: PASSWORD };
  await sql.begin(async (own) => {
    await own`lock table plinth_mail in share mode`;
    const { status } = await call('PATCH', `/users/${id}`, change, PASSWORD);
    t.equal(status, 200);
    await until('the note is written', () => blocked('plinth_account_log'));
    await kill();
  });
  await restart();
  await until('the note arrives', () => messagesTo(ANN).some(({ text }) => /has another address/.test(text)));
});
