import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createPlinth, type PlinthOptions } from '../../src/create-plinth.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { send, testDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until, untilAtLeast } from '../support/until.js';

t.jobs = 3;

/** A service that ends with the test. */
async function started(t: Test, options: PlinthOptions = {}) {
  const plinth = createPlinth({ databaseUrl: await testDatabase(t), port: 0, ...options });
  t.teardown(() => plinth.stop());
  return { plinth, ...(await plinth.start()) };
}

/** A server of this program with its own listener. */
async function serverOf(t: Test, listener: RequestListener): Promise<string> {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('a service starts, responds, stops and starts again', async (t) => {
  const { plinth, url } = await started(t);
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  t.match(await send(url!, 'POST', '/items', { body: { name: 'Lamp' } }), { status: 201 });
  t.same(await plinth.start(), { url }, 'a second start is the same');
  await plinth.stop();
  await t.rejects(send(url!, 'GET', '/items'), { code: 'ECONNREFUSED' });
  await plinth.stop();
  const again = await plinth.start();
  t.match((await send(again.url!, 'GET', '/items')).json.data, [{ name: 'Lamp' }]);
});

t.test('two services of one program have their own settings', async (t) => {
  const collections = declare(t, { 'notes.json': declared({ text: { type: 'string' } }) });
  const databaseUrl = await testDatabase(t, true);
  const one = await started(t, { env: { TOMBSTONES: 'on', BODY_LIMIT: 2000 } });
  const other = await started(t, { databaseUrl, collections, auth: ['api-key'], migrate: 'auto' });
  t.equal((await send(one.url!, 'GET', '/items')).status, 200);
  t.equal((await send(one.url!, 'GET', '/notes')).status, 404);
  t.equal((await send(other.url!, 'GET', '/notes')).status, 401);
  const body = { name: 'x'.repeat(3000) };
  t.equal((await send(one.url!, 'POST', '/items', { body })).status, 413);
  await one.plinth.stop();
  t.equal((await send(other.url!, 'GET', '/notes')).status, 401, 'the other one goes on');
});

t.test('a handler of node:http serves it below a path, and links follow', async (t) => {
  const { plinth, url } = await started(t, { mountPath: '/data' });
  t.equal(url, undefined);
  const address = await serverOf(t, (req, res) => plinth.handler(req, res, () => res.end('mine')));
  const body = { name: 'Ann', email: 'ann@example.org' };
  const created = await send(address, 'POST', '/data/users', { body });
  const { id, _links: links } = created.json;
  t.match(created, { status: 201, headers: { location: `/data/users/${id}` } });
  t.match(links.self, { href: `/data/users/${id}` });
  t.equal((await send(address, 'GET', `${created.headers.location}`)).json.name, 'Ann');
  t.match((await send(address, 'GET', '/data/items?page=1')).json.links, { self: /^\/data\/items\?/ });
  t.match((await send(address, 'GET', '/data')).json, { name: /./ });
  t.equal((await send(address, 'GET', '/data/openapi.json')).json.servers[0].url, '/data');
  t.match(await send(address, 'PUT', `/data/users/${id}`, { body: { name: 7 } }), { status: 400 });
  const page = await send(address, 'GET', '/data/users', { headers: { accept: 'text/html' } });
  t.match(page.text, `href="/data/users/${id}"`);
  for (const path of ['/', '/database', '/users', '/dat'])
    t.match(await send(address, 'GET', path), { status: 200, text: 'mine' }, path);
});

t.test('without a next handler, other paths are 404; / serves all', async (t) => {
  const { plinth } = await started(t, { mountPath: '/data' });
  const address = await serverOf(t, plinth.handler);
  t.match(await send(address, 'GET', '/other'), { status: 404, json: { error: { code: 'NOT_FOUND' } } });
  const root = await started(t, { mountPath: '/' });
  const whole = await serverOf(t, root.plinth.handler);
  const { headers } = await send(whole, 'POST', '/items', { body: { name: 'Lamp' } });
  t.match(headers.location, /^\/items\//);
});

t.test('Express mounts it, with fields and handlers of its own', async (t) => {
  const { plinth } = await started(t, { mountPath: '/api/data' });
  const app = express();
  app.use((_req, res, next) => {
    res.setHeader('X-Mine', 'yes');
    next();
  });
  const router = express.Router();
  router.use('/data', plinth.handler);
  router.get('/own', (_req, res) => void res.send('own'));
  app.use('/api', router);
  const address = await serverOf(t, app);
  const created = await send(address, 'POST', '/api/data/items', { body: { name: 'Lamp' } });
  const sent = { location: /^\/api\/data\/items\/./, 'x-mine': 'yes', etag: '"1"' };
  t.match(created, { status: 201, headers: sent });
  const headers = { 'if-none-match': '"1"' };
  const read = await send(address, 'GET', `${created.headers.location}`, { headers });
  t.match(read, { status: 304, headers: { 'x-mine': 'yes' } });
  t.match(await send(address, 'GET', '/api/own'), { status: 200, text: 'own' });
  t.match(await send(address, 'GET', '/api/data/nothing'), { status: 404, headers: { 'x-mine': 'yes' } });
});

t.test('requests in flight are finished when it stops, later ones are 503', async (t) => {
  const { plinth } = await started(t, { mountPath: '/data' });
  const address = await serverOf(t, plinth.handler);
  const { hostname, port } = new URL(address);
  const headers = { 'content-type': 'application/json', 'content-length': 15 };
  const slow = http.request({ hostname, port, path: '/data/items', method: 'POST', headers });
  const response = once(slow, 'response') as Promise<[http.IncomingMessage]>;
  slow.write('{"name"');
  const other = async () => (await send(address, 'GET', '/data/healthz')).status;
  await until('another request is served', other, 200);
  const stopped = plinth.stop();
  slow.end(':"Lamp"}');
  const [{ statusCode, headers: received }] = await response;
  t.match({ statusCode, received }, { statusCode: 201, received: { connection: 'close' } });
  await stopped;
  const error = { code: 'SERVICE_UNAVAILABLE', message: 'The service does not run.' };
  t.match(await send(address, 'GET', '/data/items'), { status: 503, json: { error } });
});

t.test('invalid options are one error with all faults, and the environment has no influence', async (t) => {
  const env = { PROT: 1, BODY_LIMIT: 'much', WORKERS: 2 };
  const thrown = () => createPlinth({ port: 70_000, env, mountPath: 'data' });
  t.throws(thrown, { code: 'CONFIGURATION' });
  try {
    thrown();
  } catch (error) {
    t.match((error as Error).message.split('\n').sort(), [
      /^BODY_LIMIT must be /,
      /^PORT must be an integer from 0 to 65535/,
      'PROT is not a setting',
      'mountPath must be / or a path without a slash at the end: /data',
    ]);
  }
  t.throws(() => createPlinth({ env: { WORKERS: 2 } }), /WORKERS is for the command plinth/);
  const both = () => createPlinth({ env: { AUTH: 'bearer', AUTH_SERVER: 'on' }, mountPath: '/data' });
  t.throws(both, /AUTH_SERVER=on and mountPath exclude each other/);
  process.env.PORT = 'x';
  t.teardown(() => delete process.env.PORT);
  t.doesNotThrow(() => createPlinth());
});

t.test('a start that fails can be repeated', async (t) => {
  const away = createPlinth({ databaseUrl: 'postgres://127.0.0.1:1/none', port: 0 });
  await t.rejects(away.start(), { code: 'UNAVAILABLE', message: /the database cannot be reached/ });
  await t.rejects(away.start(), { code: 'UNAVAILABLE' });
  await away.stop();
  const taken = await started(t);
  const port = Number(new URL(taken.url!).port);
  const second = createPlinth({ databaseUrl: await testDatabase(t), port });
  await t.rejects(second.start(), { code: 'FAILED', message: /already in use/ });
});

t.test('it logs where it is configured to', async (t) => {
  const lines: string[] = [];
  const log = { write: (line: string) => lines.push(line) };
  const { url } = await started(t, { log, env: { ACCESS_LOG: 'on' } });
  await send(url!, 'GET', '/items');
  await untilAtLeast('the request is logged', () => lines, 1);
  t.match(JSON.parse(lines[0]!), { method: 'GET' });
});
