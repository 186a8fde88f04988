import { makeKey } from '../../support/credentials.js';
import { openWithMail } from '../../support/mail-server.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { authorizationServer, PASSWORD } from '../issuer/authorization-server.js';
import { type Page, Visitor } from '../issuer/visitor.js';

t.jobs = 3;

const NEXT = 'ann.new@example.org';
const WRONG = { current: 'wrong', action: 'change-address', email: NEXT };

/** A service that sends messages, and a person on its account page. */
async function start(t: Test) {
  const { mail, opened: server } = await openWithMail(
    t,
    (env) => authorizationServer(t, env, { mailPollMs: 50, mailRetrySeconds: 0, requestsPerAddress: 1000 }),
    ({ service }) => service,
  );
  const visitor = new Visitor(server.issuer);
  const enter = async (email: string) => {
    const page = await visitor.open('/account');
    return visitor.submit(page, { email, password: PASSWORD, action: 'sign-in' });
  };
  const page = await enter(server.user.email);
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
    const [row] = await server.service.db.run('select email from plinth_users where id = $1', [
      server.user.id,
    ]);
    return row?.email;
  };
  return { ...server, mail, visitor, page, enter, messagesTo, linkTo, confirm, requested, emailOf };
}

t.test('another address is confirmed by both', async (t) => {
  for (const order of [
    ['ann@example.org', NEXT],
    [NEXT, 'ann@example.org'],
  ]) {
    const { requested, linkTo, confirm, emailOf, messagesTo, visitor, enter } = await start(t);
    t.match(await requested(WRONG), { status: 422, text: /The current password is wrong/ });
    t.match(await requested({ action: 'change-address', email: 'none' }), {
      status: 422,
      text: /The new address/,
    });
    t.match(await requested({ action: 'change-address', email: 'Ann@Example.org' }), { status: 422 });
    t.match(await requested({ action: 'change-address', email: ' Ann.New@Example.org ' }), {
      status: 200,
      text: /A message with a link is on its way/,
    });
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
    t.match(await enter(NEXT), { status: 200, text: `Signed in as <strong>${NEXT}` });
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

t.test('a person gets a note of a new password', async (t) => {
  const { requested, messagesTo } = await start(t);
  const next = 'another long passphrase of mine';
  t.match(await requested({ action: 'change-password', password: next }), {
    status: 200,
    text: /was changed/,
  });
  await until('the note arrives', () =>
    messagesTo('ann@example.org').some(({ text }) => /Your password for .* was changed/.test(text)),
  );
});

t.test('codes of an address that changes no account', async (t) => {
  const { requested, linkTo, confirm, emailOf, addUser, service } = await start(t);
  await requested({ action: 'change-address', email: 'bob@example.org' });
  const first = await linkTo('ann@example.org', '/confirm-address');
  await addUser('bob@example.org', 'Bob');
  await confirm(first);
  const second = await linkTo('bob@example.org', '/confirm-address');
  t.match(
    await confirm(second),
    { status: 422, text: /Another record has this email/ },
    'the address of another user',
  );
  t.equal(await emailOf(), 'ann@example.org');
  t.match(await service.send('POST', '/confirm-address', { body: { code: 'NONE' } }), {
    status: 403,
    json: { error: { code: 'CODE_ENDED' } },
  });
  await requested({ action: 'change-address', email: NEXT });
  const next = await linkTo(NEXT, '/confirm-address');
  t.match(await confirm(next), { status: 200, text: /the other address/ });
  await requested({ action: 'change-address', email: 'ann.third@example.org' });
  const third = await linkTo('ann.third@example.org', '/confirm-address');
  t.match(await confirm(third), { text: /the other address/ }, 'a request replaces the former one');
  t.equal(await emailOf(), 'ann@example.org');
});

t.test('a new password, and the end of the account for an administrator, end the codes', async (t) => {
  for (const end of [
    'update passwords set version = version + 1 where user_id = $1 returning true',
    'insert into plinth_disabled_users (user_id) values ($1) returning true',
  ]) {
    const { requested, linkTo, confirm, emailOf, service, user } = await start(t);
    await requested({ action: 'change-address', email: NEXT });
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
    const headers = { 'sec-fetch-site': site };
    const type = 'application/x-www-form-urlencoded';
    const found = await service.send('POST', '/forgotten-password', {
      body: 'email=a@example.org',
      type,
      headers,
    });
    t.equal(found.status, status, site);
  }
});

t.test('a person deletes the account', async (t) => {
  const { requested, linkTo, emailOf, service, user } = await start(t);
  t.match(await requested({ ...WRONG, action: 'delete-account' }), { status: 422 });
  t.match(await requested({ action: 'delete-account' }), { status: 200, text: /on its way/ });
  const link = await linkTo('ann@example.org', '/confirm-removal');
  t.equal(await emailOf(), 'ann@example.org');
  const code = link.slice(link.indexOf('=') + 1);
  t.match(await service.send('POST', '/confirm-removal', { body: { code } }), {
    status: 200,
    json: { confirmed: 'all' },
  });
  t.equal(await emailOf(), undefined);
  const rows = await service.db.run('select from plinth_account_log where user_id = $1', [user.id]);
  t.same(rows, [], 'its log ends with it');
});

t.test('a person sees the last changes of the account, and what it contains', async (t) => {
  const { page, visitor, service, user } = await start(t);
  t.match(page.text, /<li>\d{4}-\d\d-\d\d \d\d:\d\d Signed in<\/li>/);
  t.match(page.text, /The password was set/);
  const { headers, text } = await visitor.open('/account?download');
  t.match(headers.get('content-disposition'), /attachment/);
  const data = JSON.parse(text);
  t.match(data, { user: { id: user.id, email: user.email }, applications: [] });
  t.equal(data.changes.length, 2);
  t.notMatch(text, /scrypt|hash/);
  const noted = `insert into plinth_account_log (user_id, change) select $1, 'sign-in' from generate_series(1, 80) returning true`;
  await service.db.run(noted, [user.id]);
  await service.db.run('update passwords set version = version + 1 where user_id = $1 returning true', [
    user.id,
  ]);
  const rows = await service.db.run('select from plinth_account_log where user_id = $1', [user.id]);
  t.equal(rows.length, 50, 'the log is bounded');
});

/** The writes by which users could change their own address. */
const WRITES: Readonly<
  Record<string, (id: string) => readonly [method: string, path: string, body: unknown, type?: string]>
> = {
  PATCH: (id) => ['PATCH', `/users/${id}`, { email: NEXT }],
  'PATCH with the password': (id) => ['PATCH', `/users/${id}`, { email: NEXT, current_password: PASSWORD }],
  'a merge patch': (id) => ['PATCH', `/users/${id}`, { email: NEXT }, 'application/merge-patch+json'],
  'a JSON Patch': (id) => [
    'PATCH',
    `/users/${id}`,
    [{ op: 'replace', path: '/email', value: NEXT }],
    'application/json-patch+json',
  ],
  PUT: (id) => ['PUT', `/users/${id}`, { email: NEXT, name: 'Ann' }],
  'the address of another user': (id) => ['PATCH', `/users/${id}`, { email: 'bob@example.org' }],
  'a batch': (id) => ['POST', '/batch', [{ method: 'PATCH', path: `/users/${id}`, body: { email: NEXT } }]],
};

t.test('messages alone change the address of a user, and writes of operators', async (t) => {
  const more = { AUTH: 'bearer,basic,api-key', INSECURE: 'basic' };
  const { mail, opened } = await openWithMail(
    t,
    (env) => authorizationServer(t, { ...env, ...more }, { mailPollMs: 50 }),
    ({ service }) => service,
  );
  const { service, user, addUser } = opened;
  await addUser('bob@example.org', 'Bob');
  const own = { authorization: `Basic ${Buffer.from(`${user.email}:${PASSWORD}`).toString('base64')}` };
  const key = { 'x-api-key': (await makeKey(service.db, { subject: user.id, scopes: ['self'] })).key };
  for (const [way, write] of Object.entries(WRITES))
    for (const credential of [own, key]) {
      const [method, path, body, type = 'application/json'] = write(user.id);
      const headers = { ...credential, 'content-type': type };
      const { status, json } = await service.send(method, path, { body, headers });
      t.match([status, JSON.stringify(json)], [403, /ADDRESS_UNCONFIRMED/], way);
    }
  const named = { name: 'Ann B', email: user.email };
  t.equal((await service.send('PATCH', `/users/${user.id}`, { body: named, headers: own })).status, 200);
  const ways = (body: object) => service.send('POST', '/account/ways', { body, headers: key });
  const wish = { action: 'change-address', email: 'ann.second@example.org' };
  t.match((await ways(wish)).json.error.code, 'CURRENT_PASSWORD_REQUIRED');
  t.equal((await ways({ ...wish, email: user.email, current_password: PASSWORD })).status, 400);
  t.equal((await ways({ ...wish, current_password: PASSWORD })).status, 200);
  const codeFor = (address: string) =>
    until(
      'the code arrives',
      () =>
        mail.received.flatMap(({ to, text }) =>
          to === address ? (/confirm-address\?code=([0-9A-Z-]+)/.exec(text)?.[1] ?? []) : [],
        )[0],
    );
  for (const address of [wish.email, user.email]) {
    const confirmed = await service.send('POST', '/confirm-address', {
      body: { code: await codeFor(address) },
    });
    t.equal(confirmed.status, 200, address);
  }
  const { json: present } = await service.send('GET', `/users/${user.id}`, { headers: key });
  t.equal(present.email, wish.email, 'an application changes the address by messages');
  t.equal((await ways({ action: 'delete-account', current_password: PASSWORD })).status, 200);
  const operator = { 'x-api-key': (await makeKey(service.db)).key };
  const moved = { body: { email: NEXT }, headers: operator };
  t.equal((await service.send('PATCH', `/users/${user.id}`, moved)).json.email, NEXT);
});
