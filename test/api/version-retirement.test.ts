import { setImmediate } from 'node:timers/promises';
import { prune } from '../../src/db/maintenance.js';
import { VERSION_CALL_PRUNES } from '../../src/features/version-calls/version-call-statements.js';
import { VersionCalls } from '../../src/features/version-calls/version-calls.js';
import { createLog } from '../../src/telemetry/log.js';
import { makeKey } from '../support/credentials.js';
import { startProcess } from '../support/process.js';
import { freshService, RETENTION, send, testDatabase } from '../support/service.js';
import { openSql } from '../support/sql.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

t.jobs = 2;

const PAST = '2026-01-01T00:00:00Z';
const FUTURE = '2999-01-01T00:00:00Z';
const V1 = { V1_DEPRECATION: PAST };

interface Caller {
  readonly version: string;
  readonly principal: string;
  readonly last_address: string;
  readonly days: readonly { readonly day: string; readonly calls: number }[];
}

const summary = ({ data }: { data: readonly Caller[] }) =>
  data.map(({ version, principal, days }) => [version, principal, days.map(({ calls }) => calls)]);

t.test('each version retires by itself', async (t) => {
  const paths = { 1: '/items', 2: '/api/v2/items' } as const;
  for (const [version, other] of [
    [1, 2],
    [2, 1],
  ] as const) {
    const retiring = (deprecation: Date | undefined, sunset: Date) =>
      freshService(t, {}, { retirement: { [version]: { deprecation, sunset, successor: '/next' } } });
    const { send } = await retiring(new Date(PAST), new Date(FUTURE));
    const { headers } = await send('GET', paths[version]);
    t.match(headers, { deprecation: '@1767225600', sunset: 'Tue, 01 Jan 2999 00:00:00 GMT' });
    t.match(headers.link, '</next>; rel="successor-version"');
    const unaffected = await send('GET', paths[other]);
    t.same(
      [unaffected.status, unaffected.headers.deprecation, unaffected.headers.sunset],
      [200, undefined, undefined],
    );
    const gone = await retiring(undefined, new Date(PAST));
    const response = await gone.send('GET', paths[version]);
    t.equal(response.status, 410);
    t.match(response.text, 'VERSION_SUNSET');
    t.equal((await gone.send('GET', paths[other])).status, 200);
    t.equal(/problem/.test(response.headers['content-type']!), version === 2);
  }
});

t.test('the successor of version 1 is version 2', async (t) => {
  const { send } = await freshService(t, V1);
  t.equal((await send('GET', '/items')).headers.link, '</api/v2>; rel="successor-version"');
  const { headers } = await send('GET', '/items', { headers: { 'api-version': '2' } });
  t.notMatch(headers.link, 'successor-version');
});

t.test('operators see who calls a version that retires', async (t) => {
  const { send, db } = await freshService(t, { ...V1, AUTH: 'api-key', TRUST_PROXY: '127.0.0.1' });
  const admin = { 'x-api-key': (await makeKey(db)).key };
  const reader = { 'x-api-key': (await makeKey(db, { subject: 'reports', scopes: ['items:read'] })).key };
  for (const address of ['192.0.2.1', '192.0.2.2'])
    await send('GET', '/items', { headers: { ...reader, 'x-forwarded-for': address } });
  await send('GET', '/api/v1/items?limit=1', { headers: { ...reader, 'x-forwarded-for': '192.0.2.3' } });
  // The next requests are not calls of version 1, or not ones that were permitted.
  await send('GET', '/api/v2/items', { headers: reader });
  await send('GET', '/users', { headers: reader });
  await send('GET', '/items');
  await send('GET', '/healthz');
  await send('GET', '/items', { headers: { ...reader, accept: 'text/html' } });
  const { status, json, headers } = await send('GET', '/api/v2/admin/versions', { headers: admin });
  t.equal(status, 200);
  t.equal(headers['cache-control'], 'no-store');
  const today = new Date().toISOString().slice(0, 10);
  t.match(json, {
    data: [
      {
        version: '1',
        principal: 'reports',
        last_address: '192.0.2.3',
        last_called_at: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
        days: [{ day: /^\d{4}-\d\d-\d\d$/, calls: 3 }],
      },
    ],
    meta: { limit: 100 },
    links: { self: '/api/v2/admin/versions', next: null, prev: null, first: '/api/v2/admin/versions' },
  });
  t.ok(json.data[0].days[0].day <= today);
  const first = await send('GET', '/admin/versions', { headers: admin });
  t.match(first.json.meta, { limit: 100, count: 2 });
  t.equal((await send('GET', '/admin/versions', { headers: reader })).status, 403);
  t.equal((await send('GET', '/admin/versions')).status, 401);
  t.match(await send('GET', '/api/v2/admin/versions?after=x', { headers: admin }), {
    status: 400,
    json: { code: 'INVALID_CURSOR' },
  });
  t.match(await send('GET', '/api/v2/admin/versions?page=1', { headers: admin }), {
    status: 400,
    json: { code: 'UNKNOWN_PARAMETER' },
  });
});

t.test(
  'nothing is counted while no version retires; after the sunset all callers are anonymous',
  async (t) => {
    const { send } = await freshService(t);
    await send('GET', '/items');
    t.same((await send('GET', '/api/v2/admin/versions')).json.data, []);
    const gone = await freshService(t, { V1_SUNSET: PAST });
    await gone.send('GET', '/items');
    await gone.send('POST', '/items', { body: { name: 'x' } });
    t.same(summary((await gone.send('GET', '/api/v2/admin/versions')).json), [['1', 'anonymous', [2]]]);
    for (const path of ['/healthz', '/readyz', '/metrics', '/errors'])
      t.equal((await gone.send('GET', path)).status, 200, `${path} responds after the sunset of its version`);
  },
);

t.test('the counts are those of all processes', async (t) => {
  const databaseUrl = await testDatabase(t);
  const one = await freshService(t, { ...V1, DATABASE_URL: databaseUrl });
  const other = startProcess(t, { ...V1, DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' });
  const url = await other.ready();
  await one.send('GET', '/items');
  for (const path of ['/items', '/users']) t.equal((await send(url, 'GET', path)).status, 200);
  const list = async () => summary((await one.send('GET', '/api/v2/admin/versions')).json);
  // The other process saves its counts after a while.
  await until(
    'both are counted',
    async () => JSON.stringify(await list()),
    (seen) => seen === '[["1","anonymous",[3]]]',
  );
  await send(url, 'GET', '/items');
  other.child.kill('SIGTERM');
  await other.ended;
  t.same(await list(), [['1', 'anonymous', [4]]], 'and at once when it stops');
});

t.test(
  'many principals are pages, and those beyond the number that a process remembers are one',
  async (t) => {
    const { db, databaseUrl, send } = await freshService(t);
    let now = Date.parse('2026-11-24T23:59:00Z');
    const calls = new VersionCalls(db, createLog('silent', { write: () => undefined }), () => now);
    for (let at = 0; at < 1005; at++) calls.count('1', `p${String(at).padStart(4, '0')}`, '192.0.2.1');
    calls.count('1', 'p0000', '192.0.2.2');
    calls.count('1', `${'x'.repeat(300)}1`, 'a');
    await calls.save();
    now += 120_000;
    calls.count('1', 'p0000', '192.0.2.3');
    calls.count('2', 'a\0b', '192.0.2.4');
    await calls.save();
    const found: Caller[] = [];
    for (let path: string | null = '/api/v2/admin/versions'; path !== null; ) {
      const { json } = await send('GET', path);
      found.push(...json.data);
      path = json.links.next;
    }
    t.equal(found.length, 1002);
    t.match(found[0], { principal: 'other', days: [{ day: '2026-11-24', calls: 6 }] });
    t.match(found[1], {
      principal: 'p0000',
      last_address: '192.0.2.3',
      days: [
        { day: '2026-11-25', calls: 1 },
        { day: '2026-11-24', calls: 2 },
      ],
    });
    t.match(found.at(-1), { version: '2', principal: 'a\ufffdb' });
    const sql = openSql(databaseUrl, { max: 1, onnotice: () => undefined });
    t.teardown(() => sql.end());
    await sql`update version_calls set day = current_date - 31 where principal <> 'p0000'`;
    await sql`update version_calls set day = current_date - (case calls when 1 then 0 else 29 end) where principal = 'p0000'`;
    await prune(db, { ...RETENTION, prunes: VERSION_CALL_PRUNES });
    t.same((await sql`select count(*)::int as n from version_calls`)[0], { n: 2 });
  },
);

t.test('counts that cannot be saved are saved later', async (t) => {
  const { db } = await freshService(t);
  const logged: string[] = [];
  let isAvailable = false;
  const unstable = {
    ...db,
    run: (...args: Parameters<typeof db.run>) =>
      isAvailable ? db.run(...args) : setImmediate().then(() => Promise.reject(new Error('unavailable'))),
  };
  const calls = new VersionCalls(unstable, createLog('warn', { write: (line) => logged.push(line) }));
  calls.count('1', 'a', '192.0.2.1');
  const saving = t.rejects(calls.save());
  calls.count('1', 'a', '192.0.2.2');
  await saving;
  await calls.close();
  t.match(logged[0], 'calls of versions were not saved');
  isAvailable = true;
  const [caller] = await calls.list(['', ''], 10);
  t.match(caller, { principal: 'a', address: '192.0.2.2', days: [{ calls: 2 }] });
});
