import { valuesOf } from '../../support/callers.js';
import { makeKey } from '../../support/credentials.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { words } from '../../support/words.js';
import { addDeliveries, LOOPBACK, makeWebhook, testTarget } from './target.js';

t.jobs = 4;

const URL_ = 'https://example.org/hook';

t.test('a webhook is made, read, changed and deleted; its secret is shown once', async (t) => {
  const { send } = await testService(t);
  const made = await send('POST', '/api/v1/webhooks', {
    body: { url: ' HTTPS://Example.org/hook#x ', types: ['users.created', 'items.*'] },
  });
  const { secret, ...webhook } = made.json;
  const own = { location: `/webhooks/${webhook.id}`, 'cache-control': 'no-store' };
  t.match(made, { status: 201, headers: own });
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const types = ['users.created', 'items.*'];
  const fresh = { description: '', enabled: true, disabled_reason: null, previous_secret_until: null };
  t.match(webhook, { url: URL_, types, ...fresh });
  const path = `/webhooks/${webhook.id}`;
  t.same((await send('GET', path)).json, webhook);
  const { _links, ...listed } = webhook;
  t.same(_links, { self: { href: path, method: 'GET' } });
  t.same((await send('GET', '/webhooks')).json, {
    data: [listed],
    meta: { limit: 100, count: 1 },
    links: { self: '/webhooks', next: null, first: '/webhooks' },
  });

  const patched = await send('PATCH', path, {
    body: { enabled: false, description: 'mine' },
    type: 'application/merge-patch+json',
  });
  t.match(patched, { status: 200, json: { url: URL_, types, enabled: false, description: 'mine' } });
  const emptied = await send('PATCH', path, { body: { description: null } });
  t.match(emptied.json, { description: '', enabled: false });
  const put = await send('PUT', path, { body: { ...patched.json, types: ['*'], enabled: undefined } });
  t.match(put, { status: 200, json: { types: ['*'], enabled: true, description: 'mine', id: webhook.id } });
  t.match((await send('PUT', path, { body: { url: URL_, types: ['*'] } })).json, { description: '' });

  for (const response of [await send('GET', path), await send('GET', '/webhooks'), patched, put])
    t.notMatch(response.text, /whsec_/);
  t.equal((await send('DELETE', path)).status, 204);
  t.equal((await send('DELETE', path)).status, 204);
  for (const request of words('GET PUT PATCH POST/rotate POST/test GET/deliveries GET/deliveries/1')) {
    const [, method = '', suffix = ''] = /^([A-Z]+)(.*)$/.exec(request) ?? [];
    const body = method.startsWith('P') && suffix === '' ? { body: { url: URL_, types: ['*'] } } : {};
    const missing = await send(method, path + suffix, body);
    t.match(missing, { status: 404, json: { error: 'No such webhook.' } }, request);
  }
  t.equal((await send('POST', `${path}/deliveries/1/redeliver`)).status, 404);
  t.equal((await send('GET', '/webhooks/x')).status, 404);
});

t.test('what cannot be a webhook is 400 with its place', async (t) => {
  const { send } = await testService(t);
  const cases: [body: unknown, path: string][] = [
    [{ types: ['*'] }, '/url'],
    [{ url: URL_ }, '/types'],
    [{ url: URL_, types: [] }, '/types'],
    [{ url: URL_, types: ['users.burnt'] }, '/types/0'],
    [{ url: URL_, types: ['*', 'dogs.*'] }, '/types/1'],
    [{ url: URL_, types: ['webhooks.test'] }, '/types/0'],
    [{ url: URL_, types: ['*', '*'] }, '/types'],
    [{ url: 7, types: ['*'] }, '/url'],
    [{ url: URL_, types: ['*'], enabled: 'yes' }, '/enabled'],
    [{ url: URL_, types: ['*'], description: 'x'.repeat(501) }, '/description'],
    [{ url: URL_, types: ['*'], secret: 'mine' }, '/secret'],
    [{ url: 'http://example.org', types: ['*'] }, '/url'],
    [{ url: 'https://u:hunter22@example.org', types: ['*'] }, '/url'],
    [{ url: 'https://127.1/', types: ['*'] }, '/url'],
    [{ url: 'https://[::ffff:169.254.169.254]/', types: ['*'] }, '/url'],
    [[], ''],
  ];
  for (const [body, path] of cases) {
    const { status, json, text } = await send('POST', '/webhooks', { body });
    t.equal(status, 400, JSON.stringify(body));
    t.equal(json.errors[0].path, path, JSON.stringify(body));
    t.notMatch(text, /hunter22/);
  }
  t.equal((await send('GET', '/webhooks')).json.data.length, 0);
  const { id } = (await send('POST', '/webhooks', { body: { url: URL_, types: ['*'] } })).json;
  t.equal((await send('PATCH', `/webhooks/${id}`, { body: { url: 'https://10.0.0.1' } })).status, 400);
  t.equal((await send('GET', `/webhooks/${id}`)).json.url, URL_, 'nothing is changed');
  t.equal((await send('POST', '/webhooks', { body: 'x', type: 'text/plain' })).status, 415);
  t.match(await send('PUT', '/webhooks', { body: {} }), {
    status: 405,
    headers: { allow: 'GET, HEAD, POST, OPTIONS' },
  });
  for (const query of ['after=x', 'after=1']) t.equal((await send('GET', `/webhooks?${query}`)).status, 400);
  for (const query of ['after=x', 'after=-1', `after=${'9'.repeat(19)}`, 'status=burnt'])
    t.equal((await send('GET', `/webhooks/${id}/deliveries?${query}`)).status, 400, query);
  const batch = [{ method: 'POST', path: '/webhooks', body: { url: URL_, types: ['*'] } }];
  t.equal((await send('POST', '/batch', { body: batch })).status, 400);
});

t.test('webhooks are for the scope admin alone, and their secrets are in no log', async (t) => {
  const target = await testTarget(t);
  const { db, send } = await testService(t, { ...LOOPBACK, AUTH: 'api-key', AUTH_FAILURES: '0' });
  const admin = { 'x-api-key': (await makeKey(db)).key };
  const scopes = ['users:write', 'items:write', 'events:read', 'self'];
  const other = { 'x-api-key': (await makeKey(db, { scopes })).key };
  const body = { url: target.url, types: ['*'] };
  const { id } = (await send('POST', '/webhooks', { headers: admin, body })).json;
  await send('POST', `/webhooks/${id}/rotate`, { headers: admin });
  await send('POST', `/webhooks/${id}/test`, { headers: admin });
  const all: [method: string, suffix: string][] = [
    ['GET', ''],
    ['POST', ''],
    ['GET', `/${id}`],
    ['PUT', `/${id}`],
    ['PATCH', `/${id}`],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/rotate`],
    ['POST', `/${id}/test`],
    ['GET', `/${id}/deliveries`],
    ['GET', `/${id}/deliveries/1`],
    ['POST', `/${id}/deliveries/1/redeliver`],
  ];
  for (const [method, suffix] of all) {
    const given = method === 'GET' ? {} : { body };
    t.equal((await send(method, `/webhooks${suffix}`, { headers: other, ...given })).status, 403, suffix);
    t.equal((await send(method, `/webhooks${suffix}`, given)).status, 401, suffix);
  }
});

t.test('lists are paged, the newest first', async (t) => {
  const service = await testService(t, { ...LOOPBACK, WEBHOOK_DELIVERY: 'off' });
  const ids: string[] = [];
  for (let n = 0; n < 103; n++) ids.unshift((await makeWebhook(service, `https://example.org/${n}`)).id);
  const first = (await service.send('GET', '/webhooks')).json;
  const second = (await service.send('GET', first.links.next)).json;
  t.same(valuesOf([...first.data, ...second.data], 'id'), ids);
  t.equal(second.links.next, null);

  const records = Array.from({ length: 230 }, (_, n) => `items/${n}`);
  const made = await addDeliveries(t, service, ids[0]!, records);
  const path = `/webhooks/${ids[0]}/deliveries`;
  const found: string[] = [];
  let next = `${path}?status=pending`;
  while (next) {
    const { json } = await service.send('GET', next);
    found.push(...json.data.map(({ id }: { id: string }) => id));
    next = json.links.next;
  }
  t.same(found, made.reverse());
  const none = { data: [], meta: { limit: 100, count: 0 }, links: { next: null } };
  t.match((await service.send('GET', `${path}?status=dead`)).json, none);
});

t.test('a webhook has a version, which a change can require', async (t) => {
  const { send } = await testService(t, { PUBLIC_PREFIX: '/api/v1' });
  const made = await send('POST', '/webhooks', { body: { url: URL_, types: ['*'] } });
  const path = made.headers.location!;
  t.match(made, { status: 201, headers: { etag: '"1"' }, json: { _version: 1 } });
  t.match(path, /^\/api\/v1\/webhooks\/[0-9a-f-]{36}$/);
  t.equal(made.json._links.self.href, path);
  const current = { headers: { 'if-none-match': '"1"' } };
  t.equal((await send('GET', path, current)).status, 304);
  const patch = (tag: string) =>
    send('PATCH', path, { headers: { 'if-match': tag }, body: { description: tag } });
  t.match(await patch('"1"'), { status: 200, headers: { etag: '"2"' }, json: { _version: 2 } });
  const error = { code: 'PRECONDITION_FAILED', details: { current: { description: '"1"', _version: 2 } } };
  t.match(await patch('"1"'), { status: 412, headers: { etag: '"2"' }, json: { error } });
  t.match(await send('POST', `${path}/rotate`), { status: 200, headers: { etag: '"3"' } });
  t.equal((await send('DELETE', path, { headers: { 'if-match': '"2"' } })).status, 412);
  const list = await send('GET', '/webhooks');
  t.match(list.json, { links: { self: '/api/v1/webhooks', first: '/api/v1/webhooks' } });
  t.equal((await send('GET', '/webhooks', { headers: { 'if-none-match': list.headers.etag } })).status, 304);
  t.equal((await send('DELETE', path, { headers: { 'if-match': '"3"' } })).status, 204);
  t.equal((await send('DELETE', path, { headers: { 'if-match': '"3"' } })).status, 412);
  t.equal((await send('DELETE', path)).status, 204);
});
