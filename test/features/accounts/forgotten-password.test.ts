import { NO_PRECONDITIONS } from '../../../src/collection/write-preconditions.js';
import { authority, withoutOpenssl } from '../../support/certificates.js';
import { noBrowser, openPage } from '../../support/chromium.js';
import { makeKey } from '../../support/credentials.js';
import { folderOf } from '../../support/folder.js';
import { type MailServer, mailServer, openWithMail } from '../../support/mail-server.js';
import { type TestService, testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { authorizationServer, signIn } from '../issuer/authorization-server.js';

t.jobs = 3;

const PASSWORD = 'correct horse battery staple';
const NEXT = 'another long passphrase of mine';
const FORM = 'application/x-www-form-urlencoded';
const basic = (password: string) => `Basic ${Buffer.from(`ann@example.org:${password}`).toString('base64')}`;

const SETTINGS = {
  AUTH: 'basic',
  INSECURE: 'basic',
  AUTH_FAILURES: '0',
  PUBLIC_URL: 'https://api.example.org',
};

interface World {
  readonly service: TestService;
  readonly mail: MailServer;
  readonly id: string;
  readonly ask: (email: string, more?: Record<string, string>) => ReturnType<TestService['send']>;
  readonly reset: (code: string, password?: string) => ReturnType<TestService['send']>;
  /** The status of a request with this password. */
  readonly enter: (password: string) => Promise<number>;
}

async function start(t: Test, env: Record<string, string> = {}, constants = {}): Promise<World> {
  const { mail, opened: service } = await openWithMail(
    t,
    (settings) =>
      testService(
        t,
        { ...SETTINGS, ...settings, ...env },
        { mailPollMs: 50, mailRetrySeconds: 0, requestsPerAddress: 1000, ...constants },
      ),
    (service) => service,
  );
  const users = service.collections.find(({ resource }) => resource.hasPasswords)!;
  const { id } = await users.create(
    users.check({ email: 'ann@example.org', name: 'Ann', password: PASSWORD }),
  );
  const ask: World['ask'] = (email, more = {}) =>
    service.send('POST', '/forgotten-password', { body: { email }, headers: more });
  const reset: World['reset'] = (code, password = NEXT) =>
    service.send('POST', '/reset-password', { body: { code, password } });
  const enter = async (password: string) =>
    (await service.send('GET', '/whoami', { headers: { authorization: basic(password) } })).status;
  return { service, mail, id, ask, reset, enter };
}

const messageAt = (mail: MailServer, at: number) => until('the message arrives', () => mail.received[at]);

const waitingIn = async ({ db }: TestService) => (await db.run('select from plinth_mail', [])).length;

const codeIn = (text: string) => /[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}/.exec(text)![0];

t.test('a person who has forgotten the password chooses another', async (t) => {
  const { mail, ask, reset, enter, service, id } = await start(t);
  t.match(await ask(' Ann@Example.org '), { status: 202, text: '{}' });
  const { to, text, raw } = await messageAt(mail, 0);
  t.equal(to, 'ann@example.org');
  const code = codeIn(text);
  t.match(text, `https://api.example.org/reset-password?code=${code}`);
  t.match(raw, /^From: Plinth <service@example\.org>/m);
  t.match(raw, /^Subject: A new password for api\.example\.org/m);
  t.match(raw, /Content-Type: text\/html/);
  await until('a message that was sent is removed', () => waitingIn(service), 0);
  t.equal((await service.db.run('select hash from plinth_mail_codes', [])).length, 1);
  t.equal(await enter(PASSWORD), 200, 'the password is as before');
  const linked = `insert into plinth_user_links values ('https://login.example.org', 'a', $1, '') returning true`;
  await service.db.run(linked, [id]);
  t.equal((await reset(code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o'))).status, 204);
  t.same([await enter(PASSWORD), await enter(NEXT)], [401, 200]);
  t.same(await service.db.run('select from plinth_user_links', []), [], 'no other issuer enters the account');
  t.match(await reset(code), { status: 403, json: { error: { code: 'CODE_ENDED' } } }, 'once');
  await until('a note arrives', () =>
    mail.received.some(({ text }) => /Your password .* was changed/.test(text)),
  );
  t.equal((await service.db.run('select from plinth_mail_codes where user_id = $1', [id])).length, 0);
});

t.test('all codes of a user end with the first that is used', async (t) => {
  const { mail, ask, reset } = await start(t);
  await ask('ann@example.org');
  await messageAt(mail, 0);
  await ask('ann@example.org');
  await messageAt(mail, 1);
  const [first, second] = mail.received.map(({ text }) => codeIn(text)) as [string, string];
  t.equal((await reset(second)).status, 204);
  t.equal((await reset(first)).status, 403);
});

const REFUSED: readonly [says: string, password: string, keyword: string][] = [
  ['too short', 'short', 'minLength'],
  ['common', 'password1', 'common'],
  ['too long', 'x'.repeat(257), 'maxLength'],
];

t.test('a password that the rules refuse does not use the code', async (t) => {
  const { mail, ask, reset, enter } = await start(t);
  await ask('ann@example.org');
  const code = codeIn((await messageAt(mail, 0)).text);
  for (const [says, password] of REFUSED)
    t.match(
      await reset(code, password),
      { status: 400, json: { error: { code: 'VALIDATION_ERROR' } } },
      says,
    );
  t.equal(await enter(PASSWORD), 200);
  t.equal((await reset(code)).status, 204);
});

t.test('of ten requests with one code, one sets the password', async (t) => {
  const { mail, ask, reset, service } = await start(t);
  await ask('ann@example.org');
  const code = codeIn((await messageAt(mail, 0)).text);
  const responses = await Promise.all(Array.from({ length: 10 }, (_, at) => reset(code, `${NEXT} ${at}`)));
  t.same(responses.map(({ status }) => status).sort(), [204, ...Array(9).fill(403)]);
  const [row] = await service.db.run('select version from passwords', []);
  t.equal(row!.version, 2);
});

t.test('a code ends after its time', async (t) => {
  const { mail, ask, reset, service } = await start(t);
  await ask('ann@example.org');
  const code = codeIn((await messageAt(mail, 0)).text);
  await service.db.run("update plinth_mail_codes set expires_at = now() - interval '1 second'", []);
  t.equal((await reset(code)).status, 403);
});

t.test('a code ends when the user has another address', async (t) => {
  const { mail, ask, reset, service, id, enter } = await start(t);
  await ask('ann@example.org');
  const code = codeIn((await messageAt(mail, 0)).text);
  const users = service.collections.find(({ resource }) => resource.hasPasswords)!;
  const next = users.check({ email: 'ann@new.example', name: 'Ann' });
  await users.replace(id, next, NO_PRECONDITIONS);
  t.equal((await reset(code)).status, 403);
  t.equal(await enter(NEXT), 401);
});

t.test('nothing tells whether an address is known', async (t) => {
  const { mail, ask, service } = await start(t);
  const emails = [
    'ann@example.org',
    'nothing@example.org',
    'no address',
    '',
    'x'.repeat(5000),
    'a\0b@example.org',
  ];
  const shown = new Set<string>();
  for (const email of emails) {
    const { status, text, headers } = await ask(email);
    shown.add(JSON.stringify([status, text, Object.keys(headers).sort()]));
    const page = await service.send('POST', '/forgotten-password', {
      body: new URLSearchParams({ email }).toString(),
      type: FORM,
    });
    shown.add(JSON.stringify([page.status, page.text, Object.keys(page.headers).sort()]));
  }
  t.equal(shown.size, 2, 'one response to programs, one page');
  await messageAt(mail, 1);
  t.same([...new Set(mail.received.map(({ to }) => to))], ['ann@example.org']);
});

t.test('an address gets three messages while their codes are valid, known or not', async (t) => {
  const { mail, ask, service } = await start(t);
  for (const email of ['ann@example.org', 'nothing@example.org'])
    for (const status of [202, 202, 202, 429]) {
      const { status: got, headers } = await ask(email);
      t.equal(got, status);
      if (status === 429) t.match(headers['retry-after'], /^1[78]\d\d$/);
      await until('nothing waits', () => waitingIn(service), 0);
    }
  t.equal(mail.received.length, 3);
});

t.test('codes of many unknown addresses refuse no request, and end no code of a user', async (t) => {
  const { mail, ask, reset, service } = await start(t, {}, { codesMax: 6 });
  const askAll = async (addresses: readonly string[]) => {
    const statuses: number[] = [];
    for (const email of addresses) statuses.push((await ask(email)).status);
    await until('nothing waits', () => waitingIn(service), 0);
    return statuses;
  };
  const [known, unknown] = ['ann@example.org', 'nothing@example.org'];
  t.same(await askAll([known, unknown, known, unknown, known, unknown]), Array(6).fill(202));
  t.same(await askAll([known, unknown]), [429, 429]);
  const others = Array.from({ length: 12 }, (_, at) => `${at}@example.org`);
  t.same(await askAll(others), Array(12).fill(202), 'no request is refused');
  const stored = async () =>
    (await service.db.run('select user_id from plinth_mail_codes', [])).map(
      ({ user_id }) => user_id !== null,
    );
  t.same((await until('older codes end', stored, (rows) => rows.length === 9)).filter(Boolean).length, 3);
  t.same(
    await askAll([known, unknown]),
    [202, 202],
    'the limit of an address does not show whether it is known',
  );
  t.equal((await reset(codeIn(mail.received[0]!.text))).status, 204, 'the first code of the user is valid');
});

t.test('of ten requests at once, an address gets three messages', async (t) => {
  const { mail, ask, service } = await start(t);
  const responses = await Promise.all(Array.from({ length: 10 }, () => ask('ann@example.org')));
  t.equal(responses.filter(({ status }) => status === 202).length, 3);
  await until('nothing waits', () => waitingIn(service), 0);
  t.equal(mail.received.length, 3);
});

t.test('codes end when an administrator disables the user, and stay ended', async (t) => {
  const { mail, ask, reset, service, id, enter } = await start(t, { AUTH: 'basic,api-key' });
  const { key } = await makeKey(service.db);
  const disabled = (value: boolean) =>
    service.send('PATCH', `/user-accounts/${id}`, {
      headers: { 'x-api-key': key },
      body: { disabled: value },
    });
  await ask('ann@example.org');
  const first = codeIn((await messageAt(mail, 0)).text);
  t.equal((await disabled(true)).status, 200);
  t.equal((await reset(first)).status, 403);
  t.equal((await disabled(false)).status, 200);
  t.match(await reset(first), { status: 403, json: { error: { code: 'CODE_ENDED' } } });
  t.equal(await enter(PASSWORD), 200);
  const next = mail.received.length;
  await ask('ann@example.org');
  const isNext = () => mail.received.slice(next).find(({ text }) => /reset-password\?code=/.test(text));
  t.equal((await reset(codeIn((await until('another message', isNext))!.text))).status, 204);
});

t.test('a code that is stored while the user is being disabled ends when the user is enabled', async (t) => {
  const { mail, ask, reset, service, id } = await start(t);
  await ask('ann@example.org');
  const code = codeIn((await messageAt(mail, 0)).text);
  const session = `insert into issuer_records (hash, model, payload, user_id, expires_at)
    values ('x', 'Session', '{}', $1, now() + interval '1 day')`;
  await service.db.transaction(async (run) => {
    // The trigger sees nothing that another transaction stores meanwhile.
    await run('set local session_replication_role = replica', []);
    await run('insert into plinth_disabled_users (user_id) values ($1)', [id]);
    await run(session, [id]);
  });
  t.match(await reset(code), { status: 403, json: { error: { code: 'CODE_ENDED' } } });
  await service.db.run('delete from plinth_disabled_users where user_id = $1', [id]);
  t.match(await reset(code), { status: 403, json: { error: { code: 'CODE_ENDED' } } }, 'also later');
  t.same(await service.db.run('select from issuer_records where user_id = $1', [id]), []);
});

t.test('a password that is set by any way ends the codes', async (t) => {
  const { mail, ask, reset, service, id } = await start(t);
  const users = service.collections.find(({ resource }) => resource.hasPasswords)!;
  await ask('ann@example.org');
  const code = codeIn((await messageAt(mail, 0)).text);
  await service.db.run("update passwords set hash = hash || ''", []);
  t.equal((await service.db.run('select from plinth_mail_codes', [])).length, 1, 'a new hash of it');
  const next = users.check({ email: 'ann@example.org', name: 'Ann', password: NEXT });
  await users.replace(id, next, NO_PRECONDITIONS);
  t.equal((await reset(code)).status, 403);
});

t.test('an address of a network makes so many requests', async (t) => {
  const { ask } = await start(t, {}, { requestsPerAddress: 30 });
  const statuses: number[] = [];
  for (let count = 0; count < 32; count++) statuses.push((await ask(`${count}@example.org`)).status);
  t.same([...new Set(statuses)], [202, 429]);
  t.equal(statuses.indexOf(429), 30);
});

t.test('a server that refuses, is away or slow gets the message later', async (t) => {
  const { mail, ask, service } = await start(t);
  mail.code = 451;
  await ask('ann@example.org');
  await until('several attempts', () => mail.attempts.length > 2);
  t.equal(mail.received.length, 0);
  mail.code = 250;
  await messageAt(mail, 0);
  mail.code = 550;
  await ask('ann@example.org');
  await until('a refused message is removed', () => waitingIn(service), 0);
  t.equal(mail.received.length, 1);
  t.match(service.logged.join('\n'), /a message is refused/);
});

t.test('another process sends what an ended one has not', async (t) => {
  const { mail, ask, service } = await start(t, {}, { mailRetrySeconds: 3600 });
  mail.code = 451;
  await ask('ann@example.org');
  await until('an attempt', () => mail.attempts.length > 0);
  mail.code = 250;
  const settings = { ...SETTINGS, SMTP_URL: mail.url, MAIL_FROM: 'a@example.org' };
  await service.db.run('update plinth_mail set next_at = now()', []);
  await testService(t, { ...settings, DATABASE_URL: service.databaseUrl }, { mailPollMs: 50 });
  await messageAt(mail, 0);
});

t.test('by TLS from the start, and by STARTTLS', { skip: withoutOpenssl }, async (t) => {
  const { cert, key } = authority(t).sign('mail');
  for (const secure of [true, false]) {
    const tls = await mailServer(t, { secure, cert, key });
    // The certificate is of an authority that Node does not know.
    const { ask, service } = await start(t, { SMTP_URL: tls.url });
    await ask('ann@example.org');
    await until('an attempt fails', () => /certificate/.test(service.logged.join('\n')));
    await service.db.run('delete from plinth_mail', []);
    t.equal(tls.received.length, 0, 'no message to a server with an unknown certificate');
  }
});

t.test('in German, and with texts of the operator', async (t) => {
  const folder = folderOf(t, { 'reset.en.txt': 'Hello from {{site}}\nCode {{code}}, {{unknown}}\n' });
  const { mail, ask, service } = await start(t, { MAIL_TEMPLATES: folder });
  await ask('ann@example.org', { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' });
  t.match((await messageAt(mail, 0)).text, /Oder geben Sie diesen Code ein/);
  await ask('ann@example.org');
  const page = await service.send('GET', '/reset-password', { headers: { 'accept-language': 'de' } });
  t.match(page.text, '<html lang="de">');
  const own = await messageAt(mail, 1);
  t.match(own.raw, /^Subject: Hello from api\.example\.org/m);
  t.match(own.text, /Code [0-9A-Z-]{19}, \{\{unknown\}\}/);
});

t.test('a user of another issuer has no password to forget', async (t) => {
  const { mail, ask, service, id } = await start(t);
  await service.db.run('delete from passwords', []);
  await service.db.run("insert into plinth_user_links values ('https://login.example.org', 'ann', $1, '')", [
    id,
  ]);
  await service.db.run('delete from passwords', []);
  await ask('ann@example.org');
  await ask('nothing@example.org');
  await until('nothing waits', () => waitingIn(service), 0);
  t.equal(mail.attempts.length, 0);
});

t.test('without mail, the paths are 404', async (t) => {
  const { send } = await testService(t, { AUTH: 'basic', INSECURE: 'basic' });
  for (const path of ['/forgotten-password', '/reset-password'])
    t.equal((await send('GET', path)).status, 404);
});

t.test('sessions and tokens end with the former password', async (t) => {
  const server = await authorizationServer(t, { MAIL: 'log' }, { mailPollMs: 50 });
  const { config } = await server.register();
  const { access_token: token } = await signIn(server, config);
  const whoami = async () =>
    (await server.service.send('GET', '/whoami', { headers: { authorization: `Bearer ${token}` } })).status;
  t.equal(await whoami(), 200);
  const { send, logged } = server.service;
  await send('POST', '/forgotten-password', { body: { email: server.user.email } });
  const line = await until('the message is in the log', () =>
    logged.find((each) => /new password for/.test(each)),
  );
  const code = codeIn((JSON.parse(line) as { text: string }).text);
  t.equal((await send('POST', '/reset-password', { body: { code, password: NEXT } })).status, 204);
  t.equal(await until('the token ends', whoami, 401), 401);
  const account = await send('GET', '/account', { headers: { accept: 'text/html' } });
  t.match(account.text, 'href="/forgotten-password?return=%2Faccount"');
});

for (const javaScriptEnabled of [true, false])
  t.test(`in a browser, ${javaScriptEnabled ? 'with' : 'without'} script`, { skip: noBrowser }, async (t) => {
    const { mail, service, enter } = await start(t);
    const page = await openPage(t, service.url, { width: javaScriptEnabled ? 1280 : 390, javaScriptEnabled });
    await page.goto('/forgotten-password');
    await page.getByLabel('Email').fill('ann@example.org');
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
    const code = codeIn((await messageAt(mail, 0)).text);
    await page.goto(`/reset-password?code=${code}`);
    await page.getByLabel(/^Password/).fill('password1');
    await page.getByRole('button', { name: 'Save the password' }).click();
    await page.getByRole('alert').waitFor();
    t.equal(await page.getByLabel('Code from the message').inputValue(), code);
    await page.getByLabel(/^Password/).fill(NEXT);
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
    t.equal(await enter(NEXT), 200);
  });
