import { NO_PRECONDITIONS } from '../../../src/collection/write-preconditions.js';
import type { JsonObject } from '../../../src/json.js';
import { authority, withoutOpenssl } from '../../support/certificates.js';
import { noBrowser, openPage } from '../../support/chromium.js';
import { byKey, byPassword, makeKey, PASSWORD } from '../../support/credentials.js';
import { folderOf } from '../../support/folder.js';
import { mailServer, untilSent } from '../../support/mail-server.js';
import { testService } from '../../support/service.js';
import type { Constants } from '../../support/settings.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { words } from '../../support/words.js';
import { application, signIn } from '../issuer/authorization-server.js';
import { ANN, codeIn, mailBy, mailing, rowsOf } from './mailing.js';

t.jobs = 3;

const NEXT = 'another long passphrase of mine';
const FORM = 'application/x-www-form-urlencoded';
const ENDED = { status: 403, json: { error: { code: 'CODE_ENDED' } } };

async function start(t: Test, env: Record<string, string> = {}, constants: Constants = {}) {
  const world = await mailing(t, env, constants);
  const { send } = world.service;
  const ask = (email = ANN, headers: Record<string, string> = {}) =>
    send('POST', '/forgotten-password', { body: { email }, headers });
  const reset = (code: string, password = NEXT) =>
    send('POST', '/reset-password', { body: { code, password } });
  /** The status of a request with this password. */
  const enter = async (password: string) =>
    (await send('GET', '/whoami', { headers: byPassword(ANN, password) })).status;
  /** Requests a code, which arrives as the first message. */
  const requested = async () => {
    await ask();
    return world.code(0);
  };
  return { ...world, ask, reset, enter, requested };
}

t.test('a person who has forgotten the password chooses another', async (t) => {
  const { mail, ask, reset, enter, service, id, message } = await start(t);
  t.match(await ask(' Ann@Example.org '), { status: 202, text: '{}' });
  const { to, text, raw } = await message(0);
  t.equal(to, ANN);
  const code = codeIn(text);
  t.match(text, `https://api.example.org/reset-password?code=${code}`);
  t.match(raw, /^From: Plinth <service@example\.org>/m);
  t.match(raw, /^Subject: A new password for api\.example\.org/m);
  t.match(raw, /Content-Type: text\/html/);
  await untilSent(service);
  t.equal(await rowsOf(service, 'plinth_mail_codes'), 1);
  t.equal(await enter(PASSWORD), 200, 'the password is as before');
  const refused = { status: 400, json: { error: { code: 'VALIDATION_ERROR' } } };
  for (const password of ['short', 'password1', 'x'.repeat(257)])
    t.match(await reset(code, password), refused, password);
  const linked = `insert into plinth_user_links values ('https://login.example.org', 'a', $1, '') returning true`;
  await service.db.run(linked, [id]);
  t.equal((await reset(code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o'))).status, 204);
  t.same([await enter(PASSWORD), await enter(NEXT)], [401, 200]);
  t.equal(await rowsOf(service, 'plinth_user_links'), 0, 'no other issuer enters the account');
  t.match(await reset(code), ENDED, 'once');
  await until('a note arrives', () =>
    mail.received.some(({ text }) => /Your password .* was changed/.test(text)),
  );
  t.equal((await service.db.run('select from plinth_mail_codes where user_id = $1', [id])).length, 0);
});

t.test('all codes of a user end with the first that is used', async (t) => {
  const { ask, reset, code, requested } = await start(t);
  const first = await requested();
  await ask();
  t.equal((await reset(await code(1))).status, 204);
  t.equal((await reset(first)).status, 403);
});

t.test('of ten requests with one code, one sets the password', async (t) => {
  const { reset, service, requested } = await start(t);
  const code = await requested();
  const responses = await Promise.all(Array.from({ length: 10 }, (_, at) => reset(code, `${NEXT} ${at}`)));
  t.same(responses.map(({ status }) => status).sort(), [204, ...Array(9).fill(403)]);
  const [row] = await service.db.run('select version from passwords', []);
  t.equal(row!.version, 2);
});

/** Changes after which a code is no longer valid. */
const ENDS: Readonly<Record<string, (world: Awaited<ReturnType<typeof start>>) => Promise<unknown>>> = {
  'its time': ({ service }) =>
    service.db.run("update plinth_mail_codes set expires_at = now() - interval '1 second'", []),
  'another address of the user': (world) => replaced(world, { email: 'ann@new.example' }),
  'a password that is set in another way': async (world) => {
    await world.service.db.run("update passwords set hash = hash || ''", []);
    t.equal(await rowsOf(world.service, 'plinth_mail_codes'), 1, 'a new hash of it');
    await replaced(world, { password: 'a third passphrase of mine' });
  },
};

const replaced = ({ service, id }: Awaited<ReturnType<typeof start>>, change: JsonObject) => {
  const users = service.collections.find(({ resource }) => resource.hasPasswords)!.whole;
  return users.replace(id, users.check({ email: ANN, name: 'Ann', ...change }), NO_PRECONDITIONS);
};

for (const [says, end] of Object.entries(ENDS))
  t.test(`a code ends with ${says}`, async (t) => {
    const world = await start(t);
    const code = await world.requested();
    await end(world);
    t.match(await world.reset(code), ENDED);
    t.equal(await world.enter(NEXT), 401);
  });

t.test('nothing tells whether an address is known', async (t) => {
  const { mail, ask, service, message } = await start(t);
  const shown = new Set<string>();
  for (const email of [ANN, 'nothing@example.org']) {
    const body = String(new URLSearchParams({ email }));
    const page = await service.send('POST', '/forgotten-password', { body, type: FORM });
    for (const { status, text, headers } of [await ask(email), page])
      shown.add(JSON.stringify([status, text, Object.keys(headers).sort()]));
  }
  t.equal(shown.size, 2, 'one response to programs, one page');
  for (const email of ['', `${'x'.repeat(5000)}@example.org`, 'a\0b@example.org'])
    t.match(await ask(email), { status: 400, json: { error: { details: [{ path: '/email' }] } } }, email);
  await message(1);
  t.same([...new Set(mail.received.map(({ to }) => to))], [ANN]);
});

t.test('an address gets three messages while their codes are valid, known or not', async (t) => {
  const { mail, ask, service } = await start(t);
  for (const email of [ANN, 'nothing@example.org'])
    for (const status of [202, 202, 202, 429]) {
      const { status: got, headers } = await ask(email);
      t.equal(got, status);
      if (status === 429) t.match(headers['retry-after'], /^1[78]\d\d$/);
      await untilSent(service);
    }
  t.equal(mail.received.length, 3);
});

t.test('codes of many unknown addresses refuse no request, and end no code of a user', async (t) => {
  const { ask, reset, service, code } = await start(t, {}, { codesMax: 6 });
  const askAll = async (addresses: readonly string[]) => {
    const statuses: number[] = [];
    for (const email of addresses) statuses.push((await ask(email)).status);
    await untilSent(service);
    return statuses;
  };
  const pair = [ANN, 'nothing@example.org'];
  t.same(await askAll([...pair, ...pair, ...pair]), Array(6).fill(202));
  t.same(await askAll(pair), [429, 429]);
  const others = Array.from({ length: 12 }, (_, at) => `${at}@example.org`);
  t.same(await askAll(others), Array(12).fill(202), 'no request is refused');
  await until('older codes end', () => rowsOf(service, 'plinth_mail_codes'), 9);
  t.equal(await rowsOf(service, 'plinth_mail_codes where user_id is not null'), 3);
  t.same(await askAll(pair), [202, 202], 'the limit of an address does not show whether it is known');
  t.equal((await reset(await code(0))).status, 204, 'the first code of the user is valid');
});

t.test('of ten requests at once, an address gets three messages', async (t) => {
  const { mail, ask, service } = await start(t);
  const responses = await Promise.all(Array.from({ length: 10 }, () => ask()));
  t.equal(responses.filter(({ status }) => status === 202).length, 3);
  await untilSent(service);
  t.equal(mail.received.length, 3);
});

t.test('codes end when an administrator disables the user, and stay ended', async (t) => {
  const { mail, ask, reset, service, id, enter, requested } = await start(t, { AUTH: 'basic,api-key' });
  const headers = byKey((await makeKey(service.db)).key);
  const disabled = async (disabled: boolean) =>
    (await service.send('PATCH', `/user-accounts/${id}`, { headers, body: { disabled } })).status;
  const first = await requested();
  t.equal(await disabled(true), 200);
  t.equal((await reset(first)).status, 403);
  t.equal(await disabled(false), 200);
  t.match(await reset(first), ENDED);
  t.equal(await enter(PASSWORD), 200);
  const next = mail.received.length;
  await ask();
  const isNext = () => mail.received.slice(next).find(({ text }) => /reset-password\?code=/.test(text));
  t.equal((await reset(codeIn((await until('another message', isNext))!.text))).status, 204);
});

t.test('a code that is stored while the user is being disabled ends when the user is enabled', async (t) => {
  const { requested, reset, service, id } = await start(t);
  const code = await requested();
  const session = `insert into issuer_records (hash, model, payload, user_id, expires_at)
    values ('x', 'Session', '{}', $1, now() + interval '1 day')`;
  await service.db.transaction(async (run) => {
    // The trigger sees nothing that another transaction stores meanwhile.
    await run('set local session_replication_role = replica', []);
    await run('insert into plinth_disabled_users (user_id) values ($1)', [id]);
    await run(session, [id]);
  });
  t.match(await reset(code), ENDED);
  await service.db.run('delete from plinth_disabled_users where user_id = $1', [id]);
  t.match(await reset(code), ENDED, 'also later');
  t.equal(await rowsOf(service, 'issuer_records where user_id is not null'), 0);
});

t.test('an address of a network makes so many requests', async (t) => {
  const { ask } = await start(t, {}, { requestsPerAddress: 30 });
  const statuses: number[] = [];
  for (let count = 0; count < 32; count++) statuses.push((await ask(`${count}@example.org`)).status);
  t.same([...new Set(statuses)], [202, 429]);
  t.equal(statuses.indexOf(429), 30);
});

t.test('a server that refuses, is away or slow gets the message later', async (t) => {
  const { mail, ask, service, message } = await start(t);
  mail.code = 451;
  await ask();
  await until('several attempts', () => mail.attempts.length > 2);
  t.equal(mail.received.length, 0);
  mail.code = 250;
  await message(0);
  mail.code = 550;
  await ask();
  await untilSent(service);
  t.equal(mail.received.length, 1);
  t.match(service.logged.join('\n'), /a message is refused/);
});

t.test('another process sends what an ended one has not', async (t) => {
  const { mail, ask, service, message } = await start(t, {}, { mailRetrySeconds: 3600 });
  mail.code = 451;
  await ask();
  await until('an attempt', () => mail.attempts.length > 0);
  mail.code = 250;
  await service.db.run('update plinth_mail set next_at = now()', []);
  const env = { AUTH: 'basic', INSECURE: 'basic', ...mailBy(mail), DATABASE_URL: service.databaseUrl };
  await testService(t, env, { mailPollMs: 50 });
  await message(0);
});

t.test('by TLS from the start, and by STARTTLS', { skip: withoutOpenssl }, async (t) => {
  const { cert, key } = authority(t).sign('mail');
  for (const secure of [true, false]) {
    const tls = await mailServer(t, { secure, cert, key });
    // The certificate is of an authority that Node does not know.
    const { ask, service } = await start(t, { SMTP_URL: tls.url });
    await ask();
    await until('an attempt fails', () => /certificate/.test(service.logged.join('\n')));
    await service.db.run('delete from plinth_mail', []);
    t.equal(tls.received.length, 0, 'no message to a server with an unknown certificate');
  }
});

t.test('a message in German, and with texts of the operator', async (t) => {
  const folder = folderOf(t, { 'reset.en.txt': 'Hello from {{site}}\nCode {{code}}, {{unknown}}\n' });
  const { ask, message } = await start(t, { MAIL_TEMPLATES: folder });
  await ask(ANN, { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' });
  t.match((await message(0)).text, /Oder geben Sie diesen Code ein/);
  await ask();
  const own = await message(1);
  t.match(own.raw, /^Subject: Hello from api\.example\.org/m);
  t.match(own.text, /Code [0-9A-Z-]{19}, \{\{unknown\}\}/);
});

t.test('a user of another issuer has no password to forget', async (t) => {
  const { mail, ask, service, id } = await start(t);
  await service.db.run('delete from passwords', []);
  const linked = "insert into plinth_user_links values ('https://login.example.org', 'ann', $1, '')";
  await service.db.run(linked, [id]);
  await ask();
  await ask('nothing@example.org');
  await untilSent(service);
  t.equal(mail.attempts.length, 0);
});

t.test('what the settings do not offer is 404', async (t) => {
  const mailed = { MAIL: 'log', PUBLIC_URL: 'https://api.example.org' };
  const rows: [says: string, env: Record<string, string>, paths: string][] = [
    ['without mail', {}, '/forgotten-password /reset-password'],
    ['without SIGN_UP', mailed, '/sign-up'],
    ['without a collection for it', mailed, '/invitations /accept-invitation /invitations/accept'],
  ];
  for (const [says, env, paths] of rows) {
    const { send } = await testService(t, { AUTH: 'basic', INSECURE: 'basic', ...env });
    for (const path of words(paths))
      for (const method of ['GET', 'POST'])
        t.equal((await send(method, path)).status, 404, `${says} ${path}`);
  }
});

t.test('sessions and tokens end with the former password', async (t) => {
  const { server, config } = await application(t, {}, { MAIL: 'log' }, { mailPollMs: 50 });
  const { access_token: token } = await signIn(server, config);
  t.equal(await server.statusOf(token), 200);
  const { send, logged } = server.service;
  await send('POST', '/forgotten-password', { body: { email: server.user.email } });
  const line = await until('the message is in the log', () =>
    logged.find((each) => /new password for/.test(each)),
  );
  const code = codeIn((JSON.parse(line) as { text: string }).text);
  t.equal((await send('POST', '/reset-password', { body: { code, password: NEXT } })).status, 204);
  await server.ends(token);
  const account = await send('GET', '/account', { headers: { accept: 'text/html' } });
  t.match(account.text, 'href="/forgotten-password?return=%2Faccount"');
});

for (const javaScriptEnabled of [true, false])
  t.test(`in a browser, ${javaScriptEnabled ? 'with' : 'without'} script`, { skip: noBrowser }, async (t) => {
    const { service, enter, code: codeAt } = await start(t);
    const page = await openPage(t, service.url, { width: javaScriptEnabled ? 1280 : 390, javaScriptEnabled });
    await page.goto('/forgotten-password');
    await page.getByLabel('Email').fill('ann@example.org');
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
    const code = await codeAt(0);
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
