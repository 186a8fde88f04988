import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { makeKey } from '../support/credentials.js';
import { until } from '../support/process.js';
import { testService } from '../support/service.js';
import { follow } from './follow.js';

const STREAM = { accept: 'text/event-stream' };

t.test('a ticket opens one event stream, as its creator', async (t) => {
  const service = await testService(t, { AUTH: 'api-key' });
  const { key } = await makeKey(service.db, { scopes: ['events:read', 'items:write'] });
  const headers = { 'x-api-key': key };
  const made = await service.send('POST', '/events/tickets', { headers });
  t.match(made, { status: 201, headers: { 'cache-control': 'no-store' }, json: { ticket: /^[\w-]{43}$/ } });
  const life = Date.parse(made.json.expires_at) - Date.now();
  t.ok(life > 20_000 && life <= 31_000);
  const { href } = made.json._links.events;

  const stream = await follow(t, `${service.url}${href}&after=now`);
  await service.send('POST', '/items', { headers, body: { name: 'lamp' } });
  await until('the event arrives', () => stream.messages.length > 0);
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
  const make = async () =>
    (await service.send('POST', '/events/tickets', { headers: { 'x-api-key': key } })).json._links.events
      .href;
  const href = await make();
  const one = () => service.send('HEAD', href, { headers: STREAM });
  const statuses = (await Promise.all([one(), one(), one(), one()])).map(({ status }) => status);
  t.same(statuses.sort(), [200, 403, 403, 403]);
  const late = await make();
  await service.db.run("update event_tickets set expires_at = now() - interval '1 second'", []);
  t.equal((await service.send('HEAD', late, { headers: STREAM })).status, 403);
});

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const noBrowser = CHROMIUM === undefined && 'chromium is not installed';

t.test('the page of the documentation shows events in a browser', { skip: noBrowser }, async (t) => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/clients/live.html', import.meta.url)));
  // The browser returns the page once it has loaded, which this picture delays until there was an event to show.
  const held: ServerResponse[] = [];
  const server = createServer((req, res) => {
    if (req.url === '/held') held.push(res);
    else res.setHeader('Content-Type', 'text/html').end(`${page}<img src="/held" alt="">`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service = await testService(t, { AUTH: 'none', CORS_ORIGINS: origin });
  const url = `${origin}/?start&types=items.*&service=${encodeURIComponent(service.url)}`;
  const options = ['--headless=new', '--no-sandbox', '--disable-gpu', '--dump-dom', url];
  const dumped = new Promise<string>((resolve, reject) =>
    execFile(CHROMIUM!, options, (error, out) => (error ? reject(error) : resolve(out))),
  );
  await until('the page follows the events', () => service.metrics.events.readers.value === 1);
  const { json } = await service.send('POST', '/items', { body: { name: 'lamp' } });
  const { json: other } = await service.send('POST', '/items', { body: { name: 'chair' } });
  // Both are in the stream when a third reader has received them.
  const stream = await follow(t, `${service.url}/events`);
  await until('both are events', () => stream.messages.length === 2);
  stream.leave();
  for (let n = 0; n < 20; n++) await service.send('GET', '/items');
  for (const res of held) res.end();
  const dom = await dumped;
  t.match(dom, /<p id="state" role="status">Connected\.<\/p>/);
  t.match(dom, `<li>items.created /items/${json.id}</li>`);
  t.match(dom, `/items/${other.id}`);
});
