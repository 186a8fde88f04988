import { noBrowser, openPage } from '../support/chromium.js';
import { claimPort } from '../support/claimed-port.js';
import { byPassword, makeKey } from '../support/credentials.js';
import { exampleClients } from '../support/example-clients.js';
import { json, testIssuer } from '../support/issuer.js';
import { type TestService, testService } from '../support/service.js';
import t from '../support/test.js';
import { until, untilAtLeast } from '../support/until.js';
import { follow } from './follow.js';

const STREAM = { accept: 'text/event-stream' };

t.test('a ticket opens one event stream, as its creator', async (t) => {
  const service = await testService(t, { AUTH: 'api-key' });
  const { key } = await makeKey(service.db, { scopes: ['events:read', 'items:write'] });
  const headers = { 'x-api-key': key };
  const before = Date.now();
  const made = await service.send('POST', '/events/tickets', { headers });
  t.match(made, { status: 201, headers: { 'cache-control': 'no-store' }, json: { ticket: /^[\w-]{43}$/ } });
  const expires = Date.parse(made.json.expires_at);
  t.ok(expires > before + 29_000 && expires <= Date.now() + 31_000);
  const { href } = made.json._links.events;

  const stream = await follow(t, `${service.url}${href}&after=now`);
  await service.send('POST', '/items', { headers, body: { name: 'lamp' } });
  await untilAtLeast('the event arrives', () => stream.messages, 1);
  t.equal(stream.messages[0]!.event, 'items.created');
  stream.leave();

  const again = await service.send('GET', href, { headers: STREAM });
  t.match(again, { status: 403, json: { error: { code: 'INVALID_TICKET' } } });
  t.equal((await service.send('GET', '/events?ticket=none', { headers: STREAM })).status, 403);
});

t.test('a ticket is for event streams only, and for callers that may read events', async (t) => {
  const service = await testService(t, { AUTH: 'api-key' });
  const ticket = async (scopes: string[]) => {
    const { key } = await makeKey(service.db, { scopes });
    return service.send('POST', '/events/tickets', { headers: { 'x-api-key': key } });
  };
  t.equal((await ticket(['items:read'])).status, 403);
  t.equal((await service.send('POST', '/events/tickets')).status, 401);
  const { href } = (await ticket(['events:read'])).json._links.events;
  t.match(await service.send('GET', href), { status: 400, json: { error: { code: 'BAD_REQUEST' } } });
  const types = (await ticket(['events:read'])).json._links.events.href;
  t.equal((await service.send('GET', `${types}&types=users.*`, { headers: STREAM })).status, 403);
  const other = (await ticket(['admin'])).json.ticket;
  t.equal((await service.send('GET', `/items?ticket=${other}`)).status, 401, 'not for other resources');
  t.match(await service.send('POST', '/batch', { body: [] }), { status: 401 });
});

t.test('of concurrent requests with one ticket one is accepted; an expired one is not', async (t) => {
  const service = await testService(t, { AUTH: 'api-key' });
  const { key } = await makeKey(service.db);
  const make = () => ticketOf(service, { 'x-api-key': key });
  const href = await make();
  const one = () => service.send('HEAD', href, { headers: STREAM });
  const statuses = (await Promise.all([one(), one(), one(), one()])).map(({ status }) => status);
  t.same(statuses.sort(), [200, 403, 403, 403]);
  const late = await make();
  await service.db.run("update event_tickets set expires_at = now() - interval '1 second'", []);
  t.equal((await service.send('HEAD', late, { headers: STREAM })).status, 403);
});

t.test('a caller has 100 unused tickets; it takes none from others', async (t) => {
  const service = await testService(t, { AUTH: 'api-key' });
  const as = async (subject: string) => {
    const { key } = await makeKey(service.db, { subject });
    return () => service.send('POST', '/events/tickets', { headers: { 'x-api-key': key } });
  };
  const [greedy, again, other] = [await as('greedy'), await as('greedy'), await as('other')];
  const made = await Promise.all(Array.from({ length: 99 }, greedy));
  t.ok(made.every(({ status }) => status === 201));
  t.equal((await greedy()).status, 201, 'the hundredth');
  for (const create of [greedy, again]) {
    const refused = await create();
    t.match(refused, { status: 429, json: { error: { code: 'RATE_LIMITED' } } });
    t.equal(refused.headers['retry-after'], '30');
  }
  t.equal((await other()).status, 201);
  await service.send('HEAD', made[0]!.json._links.events.href, { headers: STREAM });
  t.equal((await greedy()).status, 201, 'a used one makes room');
  await service.db.run("update event_tickets set expires_at = now() - interval '1 second'", []);
  t.equal((await greedy()).status, 201, 'expired ones too');
  await service.db.run(
    `insert into event_tickets (hash, principal, expires_at)
    select sha256(n::text::bytea), '{}', now() + interval '1 hour' from generate_series(1, 10000) as n returning 1`,
    [],
  );
  t.match(await other(), { status: 503, headers: { 'retry-after': '30' } });
});

t.test('a ticket ends with the key, the password or the user of its creator', async (t) => {
  const env = { AUTH: 'api-key, basic', INSECURE: 'basic', BASIC_SCOPES: 'admin' };
  const service = await testService(t, env);
  const admin = { 'x-api-key': (await makeKey(service.db)).key };
  const password = 'a long enough password 1';
  const user = async (email: string) => {
    const body = { email, name: 'A', password };
    const { id } = (await service.send('POST', '/users', { headers: admin, body })).json;
    return { path: `/users/${id}`, headers: byPassword(email, password) };
  };
  const [ada, eve] = [await user('ada@example.org'), await user('eve@example.org')];
  const key = await makeKey(service.db);
  for (const [name, headers, method, path, body] of [
    ['api-key', { 'x-api-key': key.key }, 'DELETE', `/keys/${key.id}`, undefined],
    ['basic', ada.headers, 'PATCH', ada.path, { password: 'another password 2' }],
    ['basic of a user that is deleted', eve.headers, 'DELETE', eve.path, undefined],
  ] as const) {
    const [first, second] = [await ticketOf(service, headers), await ticketOf(service, headers)];
    const stream = await follow(t, `${service.url}${first}&after=now`);
    t.equal(stream.status, 200, name);
    await service.send(method, path, { headers: admin, ...(body && { body }) });
    await until(`the stream ends: ${name}`, stream.isOver);
    const late = await service.send('GET', second, { headers: STREAM });
    t.match(late, { status: 403, json: { error: { code: 'INVALID_TICKET' } } }, name);
  }
});

t.test('a ticket ends with the introspected token of its creator', async (t) => {
  const issuer = await testIssuer(t);
  const token = 'an-opaque-access-token';
  issuer.paths.set('/introspect', json({ active: true, sub: 'ada', scope: 'admin' }));
  const env = { AUTH: 'bearer', INTROSPECTION: `${issuer.url}/introspect` };
  const service = await testService(t, env);
  const second = await testService(t, { ...env, DATABASE_URL: service.databaseUrl });
  const headers = { authorization: `Bearer ${token}` };
  const hrefs = [await ticketOf(service, headers), await ticketOf(service, headers)];
  const rows = await service.db.run('select principal from event_tickets', []);
  t.equal(rows.length, 2);
  for (const { principal } of rows) t.notMatch(String(principal), token);
  t.equal((await second.send('HEAD', hrefs[0]!, { headers: STREAM })).status, 200, 'in another process');
  const third = await testService(t, { ...env, DATABASE_URL: service.databaseUrl });
  issuer.paths.set('/introspect', json({}, 500));
  t.equal((await third.send('GET', hrefs[1]!, { headers: STREAM })).status, 503, 'no check, no use');
  issuer.paths.set('/introspect', json({ active: false }));
  // Where it is not remembered.
  t.equal((await third.send('GET', hrefs[1]!, { headers: STREAM })).status, 403);
});

/** The address of an event stream with a new ticket. */
async function ticketOf(service: TestService, headers: Record<string, string>): Promise<string> {
  const { status, json: made } = await service.send('POST', '/events/tickets', { headers });
  if (status !== 201) throw new Error(`no ticket: ${status}`);
  return made._links.events.href as string;
}

t.test('the page of the documentation misses no event, also of an outage', { skip: noBrowser }, async (t) => {
  const origin = await exampleClients(t);
  const env = { AUTH: 'none', CORS_ORIGINS: origin, PORT: String(await claimPort(t)) };
  const service = await testService(t, env);
  const page = await openPage(t, origin, { alsoRequests: [service.url] });
  await page.goto(`/live.html?start&types=items.*&service=${encodeURIComponent(service.url)}`);
  const state = page.getByRole('status');
  await state.getByText('Connected.', { exact: true }).waitFor();
  const other = await testService(t, { DATABASE_URL: service.databaseUrl });
  const names: string[] = [];
  const create = async (sender = service) => {
    const { json } = await sender.send('POST', '/items', { body: { name: 'lamp' } });
    names.push(`items.created /items/${json.id}`);
  };
  let failed = 0;
  page.on('requestfailed', () => {
    failed++;
  });
  for (let outage = 0; outage < 2; outage++) {
    await service.stop();
    await create(other);
    await state.getByText('Reconnecting.').waitFor();
    await until('the page has tried several times in vain', () => failed >= 3);
    const again = await testService(t, { ...env, DATABASE_URL: service.databaseUrl });
    service.stop = again.stop;
    await state.getByText('Connected.', { exact: true }).waitFor();
    await create(other);
    await page.locator(`#events li:nth-child(${names.length})`).waitFor();
    t.same(await page.locator('#events li').allTextContents(), names);
    failed = 0;
  }
});
