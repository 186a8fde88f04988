import type { JsonObject } from '../../../src/json.js';
import { callsWith, declaredService } from '../../support/callers.js';
import { makeKey } from '../../support/credentials.js';
import { withoutRequestId } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { deliveriesOf, LOOPBACK, testTarget } from './target.js';

const INDEX = { type: 'string', 'x-index': true };

/** Files of one owner, of which the operator sees those that are shared. */
const FILES: JsonObject = {
  type: 'object',
  properties: { title: INDEX, owner: INDEX, isShared: { type: 'boolean', 'x-index': true } },
  'x-collection': {
    access: [
      { can: 'all', where: { owner: '$caller' } },
      { can: 'read', where: { isShared: true }, scope: 'admin' },
    ],
  },
};

/** The text of an error without the id of its request and the path of the resource. */
const shown = (text: string, path: string): string =>
  withoutRequestId(text)
    .replaceAll(path, '<path>')
    .replace(/request [\w-]+</g, '');

t.test('deliveries, their bodies and redeliveries are for operators alone', async (t) => {
  const target = await testTarget(t);
  const service = await declaredService(
    t,
    { 'files.json': FILES },
    { ...LOOPBACK, AUTH: 'api-key', AUTH_FAILURES: '0', MCP: 'on' },
  );
  const as = async (subject: string, ...scopes: string[]) => {
    const { id, key } = await makeKey(service.db, { subject, scopes });
    const call = callsWith(service, { 'x-api-key': key });
    return { id, call };
  };
  const first = await as('root', 'admin');
  const second = await as('deputy', 'admin');
  const ann = await as('ann', 'self', 'files:write', 'events:read');
  const eve = await as('eve', 'self', 'files:write', 'events:read');
  const made = await first.call('POST', '/webhooks', { url: target.url, types: ['files.*'] });
  t.equal(made.status, 201, made.text);
  const hook = `/webhooks/${made.json.id}`;
  const other = await first.call('POST', '/webhooks', { url: target.url, types: ['users.*'] });

  const file = (await ann.call('POST', '/files', { title: 'zebra', owner: 'ann', isShared: true })).json.id;
  await until('the event arrives', () => target.received.length, 1);
  t.match(target.received[0]!.body, /zebra/);
  const [delivery] = await deliveriesOf({ send: second.call }, made.json.id, 1);

  // The operators may read the record no longer.
  t.equal((await ann.call('PATCH', `/files/${file}`, { isShared: false })).status, 200);
  await until('the change arrives', () => target.received.length, 2);
  t.equal((await second.call('GET', `/files/${file}`)).status, 404);

  const one = `${hook}/deliveries/${delivery.id}`;
  const absent = `${hook}/deliveries/999999`;
  const requests: readonly (readonly [string, (path: string) => string, unknown?])[] = [
    ['GET', (path) => path],
    ['HEAD', (path) => path],
    ['POST', (path) => `${path}/redeliver`],
  ];
  for (const { call } of [ann, eve]) {
    for (const [method, pathOf, given] of requests)
      for (const accept of ['application/json', 'text/html']) {
        const [found, none] = [
          await call(method, pathOf(one), given, { accept }),
          await call(method, pathOf(absent), given, { accept }),
        ];
        t.equal(found.status, 403, `${method} ${accept}`);
        t.equal(shown(found.text, one), shown(none.text, absent), `${method} ${accept}`);
        t.notMatch(found.text, /zebra/);
      }
    const operations = [{ method: 'POST', path: `${one}/redeliver` }];
    t.ok((await call('POST', '/batch', operations)).status >= 400, 'batches have no such requests');
  }
  t.equal(target.received.length, 2, 'nothing was delivered again');

  // A delivery belongs to one webhook.
  const foreign = `/webhooks/${other.json.id}/deliveries/${delivery.id}`;
  t.equal((await second.call('GET', foreign)).status, 404);
  t.equal((await second.call('POST', `${foreign}/redeliver`)).status, 404);

  // The operator who made the webhook leaves: what it delivers is that of the operators.
  t.equal((await second.call('DELETE', `/keys/${first.id}`)).status, 204);
  for (const [method, path] of [
    ['GET', one],
    ['GET', `${hook}/deliveries`],
    ['POST', `${one}/redeliver`],
    ['POST', `${hook}/test`],
  ] as const)
    t.equal((await first.call(method, path)).status, 401, `${method} ${path}`);
  t.equal((await second.call('POST', `${one}/redeliver`)).status, 202);
  await until('it arrives again', () => target.received.length, 3);
  t.equal(target.received[2]!.body, target.received[0]!.body, 'the event is as it was');
  t.equal((await second.call('POST', `${hook}/test`)).status, 202);
  await until('the test arrives', () => target.received.length, 4);
  t.notMatch(target.received[3]!.body, /zebra/, 'a test has no record');
});
