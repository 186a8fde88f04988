import { byKey, byPassword, makeKey, PASSWORD } from '../../support/credentials.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { serverWithMail } from '../issuer/authorization-server.js';
import type { Page } from '../issuer/visitor.js';
import { codeIn, QUICK_MAIL } from './mailing.js';

t.jobs = 3;

const NEXT = 'ann.new@example.org';
const WRONG = { current: 'wrong', action: 'change-address', email: NEXT };

/** A service that sends messages, and a person on its account page. */
async function start(t: Test) {
  const { mail, server } = await serverWithMail(t, {}, QUICK_MAIL);
  const { visitor, page } = await server.enter();
  const messagesTo = (address: string) => mail.received.filter(({ to }) => to === address);
  /** The path of the link in the first message to an address. */
  const linkTo = async (address: string, path: string): Promise<string> =>
    until('the message arrives', () =>
      messagesTo(address)
        .map(({ text }) => new RegExp(`${path}\\?code=[0-9A-Z-]+`).exec(text)?.[0])
        .find((link) => link !== undefined),
    );
  const confirm = async (link: string) =>
    visitor.submit(await visitor.open(link), { code: link.slice(link.indexOf('=') + 1) });
  const requested = (fields: Record<string, string>): Promise<Page> =>
    visitor.submit(page, { current: PASSWORD, ...fields });
  const emailOf = async () => {
    const own = 'select email from plinth_users where id = $1';
    return (await server.service.db.run(own, [server.user.id]))[0]?.email;
  };
  const changed = (email: string) => requested({ action: 'change-address', email });
  return { ...server, mail, visitor, page, messagesTo, linkTo, confirm, requested, changed, emailOf };
}

t.test('another address is confirmed by both', async (t) => {
  for (const order of [
    ['ann@example.org', NEXT],
    [NEXT, 'ann@example.org'],
  ]) {
    const { page, requested, changed, linkTo, confirm, emailOf, messagesTo, visitor } = await start(t);
    t.match(page.text, />Send messages to change the address<[\s\S]*>Send a message to delete the account</);
    t.match(await requested(WRONG), { status: 422, text: /The current password is wrong/ });
    t.match(await changed('none'), { status: 422, text: /The new address/ });
    t.match(await changed('Ann@Example.org'), { status: 422 });
    t.match(await changed(' Ann.New@Example.org '), { status: 200, text: /A message with a link is on its/ });
    const links = [];
    for (const address of order) links.push(await linkTo(address, '/confirm-address'));
    t.match((await visitor.open(links[0]!)).text, NEXT, 'the page names the new address');
    t.equal(await emailOf(), 'ann@example.org', 'a link alone changes nothing');
    t.match(await confirm(links[0]!), { status: 200, text: /the other address/ });
    t.equal(await emailOf(), 'ann@example.org');
    t.match(await confirm(links[0]!), { status: 422, text: /expired or was used/ }, 'once');
    t.match(await confirm(links[1]!), { status: 200, text: /has changed/ });
    t.equal(await emailOf(), NEXT);
    await until('the former address gets a note', () =>
      messagesTo('ann@example.org').some(({ text }) => /has another address/.test(text)),
    );
    t.match((await visitor.open('/account')).text, /The address was changed/);
    await visitor.submit(await visitor.open('/account'), { action: 'sign-out' });
    const again = await visitor.enter(await visitor.open('/account'), { email: NEXT });
    t.match(again, { status: 200, text: `Signed in as <strong>${NEXT}` });
  }
});

t.test('the way back follows the second of two codes', async (t) => {
  const { changed, linkTo, visitor, issuer } = await start(t);
  await changed(NEXT);
  const way = encodeURIComponent(`${issuer}/orders`);
  for (const [address, href, label] of [
    ['ann@example.org', `/confirm-address?code=&return=${way}`, 'Enter the code from the message'],
    [NEXT, `${issuer}/orders`, 'Continue'],
  ] as const) {
    const link = await linkTo(address, '/confirm-address');
    const form = await visitor.open(`${link}&return=/orders`);
    const { text } = await visitor.submit(form, { code: link.slice(link.indexOf('=') + 1) });
    const links = [...text.matchAll(/<a href="([^"]*)">([^<]*)</g)];
    t.same(
      links.map(([, to, shown]) => [to!.replaceAll('&#38;', '&'), shown]),
      [[href, label]],
    );
  }
});

t.test(
  'without triggers of users, as on Citus, the change of an address is noted and ends invitations',
  async (t) => {
    const { requested, linkTo, confirm, messagesTo, service, user, visitor } = await start(t);
    const { db } = service;
    for (const name of ['plinth_log_addresses', 'plinth_moved_users'])
      await db.run(`drop trigger ${name} on ${await tableOf(db)}`, []);
    const invitation = `insert into plinth_invitations (id, email, inviter_id, records, collections, targets, expires_at)
    values ($1, 'ann@example.org', $1, '{}', '{}', '{}', now() + interval '1 day')`;
    await db.run(invitation, [user.id]);
    await requested({ action: 'change-address', email: NEXT });
    for (const address of ['ann@example.org', NEXT]) await confirm(await linkTo(address, '/confirm-address'));
    await until('the former address gets a note', () =>
      messagesTo('ann@example.org').some(({ text }) => /has another address/.test(text)),
    );
    t.match((await visitor.open('/account')).text, /The address was changed/);
    t.match(await db.run('select outcome from plinth_invitations', []), [{ outcome: 'withdrawn' }]);
  },
);

/** The table of users. */
async function tableOf({ run }: { run: (text: string, args: never[]) => Promise<readonly object[]> }) {
  const [row] = await run(
    "select tgrelid::regclass::text as name from pg_trigger where tgname = 'plinth_moved_users' or tgname = 'plinth_deleted_users'",
    [],
  );
  return (row as { name: string }).name;
}

t.test('codes of an address that changes no account', async (t) => {
  const { changed, linkTo, confirm, emailOf, addUser, service } = await start(t);
  await changed('bob@example.org');
  const first = await linkTo('ann@example.org', '/confirm-address');
  await addUser('bob@example.org', 'Bob');
  await confirm(first);
  const second = await linkTo('bob@example.org', '/confirm-address');
  t.match(await confirm(second), { status: 422, text: /Another record has this email/ });
  t.equal(await emailOf(), 'ann@example.org');
  const none = await service.send('POST', '/confirm-address', { body: { code: 'NONE' } });
  t.match(none, { status: 403, json: { error: { code: 'CODE_ENDED' } } });
  await changed(NEXT);
  const next = await linkTo(NEXT, '/confirm-address');
  t.match(await confirm(next), { status: 200, text: /the other address/ });
  await changed('ann.third@example.org');
  const third = await linkTo('ann.third@example.org', '/confirm-address');
  t.match(await confirm(third), { text: /the other address/ }, 'a request replaces the former one');
  t.equal(await emailOf(), 'ann@example.org');
});

t.test('a new password, and the end of the account for an administrator, end the codes', async (t) => {
  for (const end of [
    'update passwords set version = version + 1 where user_id = $1 returning true',
    'insert into plinth_disabled_users (user_id) values ($1) returning true',
  ]) {
    const { requested, changed, linkTo, confirm, emailOf, service, user } = await start(t);
    await changed(NEXT);
    await requested({ action: 'delete-account' });
    const links = [
      await linkTo('ann@example.org', '/confirm-removal'),
      await linkTo('ann@example.org', '/confirm-address'),
      await linkTo(NEXT, '/confirm-address'),
    ];
    await service.db.run(end, [user.id]);
    for (const link of links) t.match(await confirm(link), { status: 422, text: /expired or was used/ }, end);
    t.equal(await emailOf(), 'ann@example.org');
  }
});

t.test('a page of another site submits no form', async (t) => {
  const { service } = await start(t);
  for (const [site, status] of [
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 200],
  ] as const) {
    const form = { body: 'email=a@example.org', type: 'application/x-www-form-urlencoded' };
    const headers = { 'sec-fetch-site': site };
    t.equal((await service.send('POST', '/forgotten-password', { ...form, headers })).status, status, site);
  }
});

t.test('a person deletes the account', async (t) => {
  const { requested, linkTo, emailOf, service, user } = await start(t);
  t.match(await requested({ ...WRONG, action: 'delete-account' }), { status: 422 });
  t.match(await requested({ action: 'delete-account' }), { status: 200, text: /on its way/ });
  const link = await linkTo('ann@example.org', '/confirm-removal');
  t.equal(await emailOf(), 'ann@example.org');
  const code = link.slice(link.indexOf('=') + 1);
  const removed = await service.send('POST', '/confirm-removal', { body: { code } });
  t.match(removed, { status: 200, json: { confirmed: 'all' } });
  t.equal(await emailOf(), undefined);
  const rows = await service.db.run('select from plinth_account_log where user_id = $1', [user.id]);
  t.same(rows, [], 'its log ends with it');
});

t.test('a person sees the last changes of the account, and what it contains', async (t) => {
  const { page, visitor, user } = await start(t);
  t.match(page.text, /<li>\d{4}-\d\d-\d\d \d\d:\d\d Signed in<\/li>/);
  t.match(page.text, /The password was set/);
  const { headers, text } = await visitor.open('/account?download');
  t.match(headers.get('content-disposition'), /attachment/);
  const data = JSON.parse(text);
  t.match(data, { user: { id: user.id, email: user.email }, applications: [] });
  t.equal(data.changes.length, 2);
  t.notMatch(text, /scrypt|hash/);
});

/** Media type and body of the writes by which users could change their own address. */
const WRITES: readonly [method: string, body: unknown, type?: string][] = [
  ['PATCH', { email: NEXT }],
  ['PATCH', { email: NEXT, current_password: PASSWORD }],
  ['PATCH', { email: NEXT }, 'application/merge-patch+json'],
  ['PATCH', [{ op: 'replace', path: '/email', value: NEXT }], 'application/json-patch+json'],
  ['PUT', { email: NEXT, name: 'Ann' }],
  ['PATCH', { email: 'bob@example.org' }],
];

t.test('messages alone change the address of a user, and writes of operators', async (t) => {
  const env = { AUTH: 'bearer,basic,api-key', INSECURE: 'basic' };
  const { mail, server } = await serverWithMail(t, env);
  const { service, user, addUser } = server;
  await addUser('bob@example.org', 'Bob');
  const own = byPassword(user.email);
  const key = byKey((await makeKey(service.db, { subject: user.id, scopes: ['self'] })).key);
  const path = `/users/${user.id}`;
  for (const headers of [own, key]) {
    const batch = { body: [{ method: 'PATCH', path, body: { email: NEXT } }], headers };
    const refused = [await service.send('POST', '/batch', batch)];
    for (const [method, body, type = 'application/json'] of WRITES)
      refused.push(await service.send(method, path, { body: JSON.stringify(body), type, headers }));
    for (const [at, { status, text }] of refused.entries())
      t.match([status, text], [403, /ADDRESS_UNCONFIRMED/], `${at}`);
  }
  const named = { name: 'Ann B', email: user.email };
  t.equal((await service.send('PATCH', `/users/${user.id}`, { body: named, headers: own })).status, 200);
  const ways = (body: object) => service.send('POST', '/account/ways', { body, headers: key });
  const wish = { action: 'change-address', email: 'ann.second@example.org' };
  t.match((await ways(wish)).json.error.code, 'CURRENT_PASSWORD_REQUIRED');
  t.equal((await ways({ ...wish, email: user.email, current_password: PASSWORD })).status, 400);
  t.equal((await ways({ ...wish, current_password: PASSWORD })).status, 200);
  for (const address of [wish.email, user.email]) {
    const sent = () => mail.received.find(({ to, text }) => to === address && /confirm-address/.test(text));
    const code = codeIn((await until('the code arrives', sent)).text);
    t.equal((await service.send('POST', '/confirm-address', { body: { code } })).status, 200, address);
  }
  const { json: present } = await service.send('GET', `/users/${user.id}`, { headers: key });
  t.equal(present.email, wish.email, 'an application changes the address by messages');
  t.equal((await ways({ action: 'delete-account', current_password: PASSWORD })).status, 200);
  const operator = { 'x-api-key': (await makeKey(service.db)).key };
  const moved = { body: { email: NEXT }, headers: operator };
  t.equal((await service.send('PATCH', `/users/${user.id}`, moved)).json.email, NEXT);
});
