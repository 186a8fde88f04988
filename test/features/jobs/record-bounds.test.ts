import { declare } from '../../support/collections.js';
import { testService } from '../../support/service.js';
import type { Constants } from '../../support/settings.js';
import t, { type Test } from '../../support/test.js';

const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';
const NOTES = {
  'notes.json': {
    type: 'object',
    properties: { title: { type: 'string' }, data: { type: 'object' }, list: { type: 'array' } },
  },
};
const notes = (t: Test, constants: Constants = {}) =>
  testService(t, { COLLECTIONS: declare(t, NOTES), MIGRATE: 'auto' }, constants);

const names = (count: number) => Array.from({ length: count }, (_, at) => `c${at}`);
const membersOf = (count: number) => Object.fromEntries(names(count).map((name) => [name, 1]));
const cell = (value: unknown) => `"${JSON.stringify(value).replaceAll('"', '""')}"`;
const deep = (levels: number) => `{"a":${'['.repeat(levels)}1${']'.repeat(levels)}}`;

/** A record by its members, and the fault that it has in each form. */
const MEMBERS = 'must not have more than 10000 members in one object';
const RECORDS: readonly (readonly [name: string, record: object, fault?: string])[] = [
  ['as many members as a record may have', membersOf(10_000)],
  ['one more', membersOf(10_001), MEMBERS],
  ['12,000 members', membersOf(12_000), MEMBERS],
  ['a member with as many', { data: membersOf(10_000) }],
  ['a member with one more', { data: membersOf(10_001) }, MEMBERS],
  ['more members in all', { list: Array(6).fill(membersOf(9000)) }, 'more than 50000 members in all'],
  ['too many arrays', { list: Array(100_000).fill([]) }, 'must not have more than 100000 objects and arrays'],
  ['too many levels', { data: JSON.parse(deep(31)) }, 'must not be nested deeper than 32 levels'],
];

/** A record as CSV: undeclared members are columns of text, so that only their names count. */
const csvOf = (record: object) =>
  `${Object.keys(record).join(',')}\n${Object.values(record).map(cell).join(',')}\n`;

for (const [name, record, fault] of RECORDS)
  t.test(`${name}: one bound in all forms`, async (t) => {
    const { send } = await notes(t);
    const { json: empty } = await send('POST', '/notes', { body: {} });
    const patch = (type: string, body: object) => send('PATCH', `/notes/${empty.id}`, { type, body });
    const additions = Object.entries(record).map(([key, value]) => ({ op: 'add', path: `/${key}`, value }));
    const operations = [{ method: 'POST', path: '/notes', body: record }];
    for (const [form, response] of [
      ['JSON', await send('POST', '/notes', { body: record })],
      ['NDJSON', await send('POST', '/notes', { type: NDJSON, body: `${JSON.stringify(record)}\n` })],
      ['CSV', await send('POST', '/notes', { type: CSV, body: csvOf(record) })],
      ['a batch', await send('POST', '/batch', { body: operations })],
      ['a JSON Patch', await patch('application/json-patch+json', additions.slice(0, 10_000))],
      ['a merge patch', await patch('application/merge-patch+json', record)],
    ] as const) {
      const text = JSON.stringify(response.json).slice(0, 300);
      // A JSON Patch has no more operations.
      if (fault === undefined || (form === 'a JSON Patch' && additions.length > 10_000))
        t.match(String(response.status), /20[01]/, `${form}: ${text}`);
      else {
        t.match(String(response.status), /400|422/, form);
        t.ok(text.includes(fault), `${form}: ${text}`);
      }
    }
  });

t.test('a patch of a record with as many members as a body may have changes it', async (t) => {
  const { send } = await notes(t);
  const { json } = await send('POST', '/notes', { body: membersOf(10_000) });
  for (const [type, body] of [
    ['application/merge-patch+json', { c1: 2 }],
    ['application/json', { c1: 3 }],
    ['application/json-patch+json', [{ op: 'replace', path: '/c1', value: 4 }]],
  ] as const)
    t.equal((await send('PATCH', `/notes/${json.id}`, { type, body })).status, 200, type);
});

t.test('names of columns that rows repeat are bounded', async (t) => {
  const { send } = await notes(t, { bulkBytes: 100_000 });
  const wide = `title,${'c'.repeat(1000)}\n`;
  t.equal((await send('POST', '/notes', { type: CSV, body: `${wide}${'a,1\n'.repeat(50)}` })).status, 201);
  const many = await send('POST', '/notes', { type: CSV, body: `${wide}${'a,1\n'.repeat(900)}` });
  t.match(many, {
    status: 400,
    json: { errors: [{ keyword: 'header', message: /repeat more than 800000 bytes/ }] },
  });
  t.equal((await send('GET', '/notes?limit=1&page=1')).json.meta.total, 50, 'nothing of it is stored');
});

t.test('a header of 50,000 columns is read, and a repeated one is named', async (t) => {
  const { send } = await notes(t);
  const columns = Array.from({ length: 50_000 }, (_, at) => at.toString(36)).join(',');
  t.equal((await send('POST', '/notes', { type: CSV, body: `${columns}\n1\n` })).status, 201);
  const repeated = await send('POST', '/notes', { type: CSV, body: `${columns},7\n1\n` });
  t.match(repeated, { status: 400, json: { errors: [{ message: /the header has 7 more than once/ }] } });
});
