import { connect } from '../features/mcp/session.js';
import { LOOPBACK, testTarget } from '../features/webhooks/target.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { type SendOptions, testService, undeclaredDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { until } from '../support/until.js';
import { words } from '../support/words.js';

const SECRET = 'hunter2';

const schema = (hidden: object) => ({
  title: 'Note',
  type: 'object',
  properties: {
    name: { type: 'string', 'x-index': true, 'x-search': true },
    pin: { type: 'string', ...hidden },
    'a"b': { type: 'string', ...hidden },
    // Not declared before: a value that was stored as it is.
    ...('writeOnly' in hidden ? { extra: { writeOnly: true } } : {}),
    boxId: { type: 'string', 'x-references': 'boxes', 'x-on-delete': 'null' },
  },
});
const BOX = {
  title: 'Box',
  type: 'object',
  properties: { name: { type: 'string' }, pin: { type: 'string' } },
};

t.test('the values of a field that becomes write-only are shown nowhere', async (t) => {
  const target = await testTarget(t, () => 500);
  const declared = (hidden: object) => declare(t, { 'notes.json': schema(hidden), 'boxes.json': BOX });
  const env = { ...LOOPBACK, DATABASE_URL: await undeclaredDatabase(t), MCP: 'on', MIGRATE: 'auto' };
  const before = await testService(t, { ...env, COLLECTIONS: declared({}) });
  await before.send('POST', '/webhooks', { body: { url: target.url, types: ['*'] } });
  const box = (await before.send('POST', '/boxes', { body: { name: 'Box', pin: 'shown' } })).json.id;
  const body = { name: 'Note', pin: SECRET, 'a"b': SECRET, extra: { deep: SECRET }, boxId: box };
  const repeated: [method: string, path: string, options: SendOptions][] = [];
  const send = async (method: string, path: string, options: SendOptions) => {
    const keyed = { ...options, headers: { 'idempotency-key': `key-${repeated.length}` } };
    repeated.push([method, path, keyed]);
    return before.send(method, path, keyed);
  };
  const { id } = (await send('POST', '/notes', { body })).json;
  t.match((await send('PATCH', `/notes/${id}`, { body: { name: 'Note 2' } })).text, SECRET);
  t.match((await send('POST', '/batch', { body: [{ method: 'POST', path: '/notes', body }] })).text, SECRET);
  await until('a delivery with the value has failed', () =>
    target.received.some(({ body }) => body.includes(SECRET)),
  );
  await before.stop();
  const sql = sqlOf(t, env.DATABASE_URL);
  // As of a collection with a history, after its events have expired.
  await sql`insert into plinth_history (collection, record, seq, time, version, kind, data, previous)
    select split_part(type, '.', 1), record, seq, time, version, split_part(type, '.', 2), data, data from events`;
  // More than are changed at once, and one without a body, which stays as it is.
  await sql`insert into idempotency_keys (caller, key, fingerprint, status, headers, body, parts)
    select caller, key || '-' || n, fingerprint, status, headers, body, parts
    from idempotency_keys, generate_series(1, 250) as n`;
  await sql`insert into idempotency_keys (caller, key, fingerprint, status, headers, parts)
    values ('a', 'b', 'c', 200, '[]', '{"record":["notes","d",1]}')`;
  const rowOfNone = () => sql`select ctid::text from idempotency_keys where caller = 'a'`;
  const untouched = await rowOfNone();

  const folder = declared({ writeOnly: true });
  const after = await testService(t, { ...env, COLLECTIONS: folder });
  const { call } = await connect(t, after.url);
  const rows: [says: string, () => Promise<{ status?: number; text: string }>][] = [
    ...[
      ...words(`
    /notes /notes?page=1 /notes?sort=name /notes?search=note /api/v2/notes /api/v2/notes?sort=name
    /events /webhooks
  `),
      `/notes/${id}`,
      ...['json', 'html', 'csv'].map((format) => `/notes/${id}?_format=${format}`),
      `/api/v2/notes/${id}`,
      `/notes/${id}?include=box`,
    ].map((path): [string, () => Promise<{ status: number; text: string }>] => [
      path,
      () => after.send('GET', path),
    ]),
    ...['text/html', 'text/csv', 'application/x-ndjson'].map(
      (accept): [string, () => Promise<{ status: number; text: string }>] => [
        `/notes as ${accept}`,
        () => after.send('GET', '/notes', { headers: { accept } }),
      ],
    ),
    ['QUERY', () => after.send('QUERY', '/notes', { body: { sort: ['-name'] } })],
    ['a batch', () => after.send('POST', '/batch', { body: [{ method: 'GET', path: `/notes/${id}` }] })],
    [
      'the current record of a 412',
      () => after.send('PATCH', `/notes/${id}`, { body: { name: 'x' }, headers: { 'if-match': '"0"' } }),
    ],
    ['a patch', () => after.send('PATCH', `/notes/${id}`, { body: { name: 'Note 3' } })],
    ['MCP', async () => ({ text: JSON.stringify((await call('notes_get', { id })).value) })],
    ['MCP, a list', async () => ({ text: JSON.stringify((await call('notes_list')).value) })],
    [
      'an export',
      async () => {
        const { code, out } = await plinth(t, ['export', 'notes'], {
          DATABASE_URL: env.DATABASE_URL,
          COLLECTIONS: folder,
        });
        t.equal(code, 0);
        return { text: out };
      },
    ],
    ...repeated.map(([method, path, options]): [string, () => Promise<{ status: number; text: string }>] => [
      `${method} ${path} once more`,
      () => after.send(method, path, options),
    ]),
  ];
  for (const [says, read] of rows) {
    const { status = 200, text } = await read();
    t.ok(status < 400 || status === 412 || status === 406, `${says}: ${status}`);
    t.equal(text.includes(SECRET), false, says);
  }
  const delivered = target.received.length;
  const { json: hooks } = await after.send('GET', '/webhooks');
  const list = await after.send('GET', `/webhooks/${hooks.data[0].id}/deliveries`);
  for (const delivery of list.json.data.slice(0, 3))
    await after.send('POST', `/webhooks/${hooks.data[0].id}/deliveries/${delivery.id}/redeliver`);
  await until('it is delivered again', () => target.received.length > delivered);
  t.equal(
    target.received.slice(delivered).some((message) => message.body.includes(SECRET)),
    false,
  );

  for (const [table, column] of [
    ['notes$2', 'doc'],
    ['events', 'data'],
    ['plinth_history', 'data'],
    ['plinth_history', 'previous'],
    ['delivery_bodies', 'body'],
    ['deliveries', 'body'],
    ['idempotency_keys', 'body'],
    ['idempotency_keys', 'parts'],
  ]) {
    const found = await sql.unsafe(`select 1 from ${table} where strpos(${column}, '${SECRET}') > 0`);
    t.equal(found.length, 0, `${table}.${column}`);
  }
  t.strictSame(await rowOfNone(), untouched, 'a response without a body');
  const [stored] = await sql`select write_only from notes$2 where id = ${id}`;
  t.strictSame(
    stored?.write_only,
    { pin: SECRET, 'a"b': SECRET, extra: { deep: SECRET } },
    'they are stored',
  );
  t.equal((await after.send('GET', `/boxes/${box}`)).json.pin, 'shown', 'the field of another collection');
});
