import { PageVisitor } from '../features/pages/visitor.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

const JSON_PATCH = 'application/json-patch+json';
const MIB = 1_048_000;

/** As many of a text as fit into 1 MiB, as the elements of an array. */
const arrayOf = (element: string) =>
  `{"name":"x","a":[${`${element},`.repeat(Math.floor((MIB - 40) / (element.length + 1)))}${element}]}`;

const membersOf = (count: number, name: (n: number) => string) =>
  `{"name":"x",${Array.from({ length: count }, (_, n) => `"${name(n)}":1`).join(',')}}`;

t.test('the most expensive bodies are stored, or rejected with the reason', async (t) => {
  const { send } = await testService(t);
  const bodies: [name: string, body: string, status: number, keyword?: string][] = [
    ['zeros', arrayOf('0'), 201],
    ['texts', arrayOf('"ab"'), 201],
    ['escapes', arrayOf('"\\u00e9"'), 201],
    ['numbers with exponents', arrayOf('1e5'), 201],
    ['small numbers', arrayOf('1e-300'), 201],
    ['inexact numbers', arrayOf('12345678901234567'), 400, 'number'],
    ['an inexact number at the end', `${arrayOf('1e5').slice(0, -2)},1e400]}`, 400, 'number'],
    ['objects', arrayOf('{}'), 400, 'containers'],
    ['arrays', arrayOf('[]'), 400, 'containers'],
    ['objects with a member', arrayOf('{"a":1}'), 400, 'members'],
    ['10,000 members', membersOf(9999, (n) => `member ${n}`), 201],
    ['one more', membersOf(10_000, (n) => `member ${n}`), 400, 'members'],
    [
      'more in objects of their own',
      `{"name":"x","a":[${membersOf(9000, (n) => `a${n}`)},${membersOf(9000, (n) => `b${n}`)}]}`,
      201,
    ],
    ['names that are integers', membersOf(9990, (n) => String((n * 7919) % 1_000_003)), 201],
    ['brackets in a text', `{"name":"x","t":"${'[{:'.repeat(300_000)}"}`, 201],
    ['a lone surrogate', `{"name":"x","a":["${'a'.repeat(100_000)}",{"b":"\\ud800"}]}`, 400, 'unicode'],
    [
      'deep',
      `{"name":"x","t":"${'a'.repeat(100_000)}","a":${'['.repeat(32)}${']'.repeat(32)}}`,
      400,
      'depth',
    ],
    ['broken', `${arrayOf('0').slice(0, -2)}}`, 400, 'json'],
    ['blanks', `{"name":"x"${' '.repeat(MIB)}}`, 201],
    ['a long name', `{"name":"${'x'.repeat(MIB)}"}`, 400, 'maxLength'],
    ['blanks around a name', `{"name":"${' '.repeat(500_000)}x${' '.repeat(500_000)}"}`, 201],
  ];
  for (const [name, body, status, keyword] of bodies) {
    const response = await send('POST', '/items', { body, type: 'application/json' });
    t.equal(response.status, status, name);
    if (keyword) t.equal(response.json.errors[0].keyword, keyword, name);
  }
});

t.test('a text that stays too long is not normalized', async (t) => {
  const { send } = await testService(t);
  const marks = `a${'\u0301'.repeat(30_000)}${'\u0316'.repeat(30_000)}`;
  const refused = await send('POST', '/users', { body: { email: marks, name: marks } });
  t.equal(refused.status, 400);
  t.same(
    refused.json.errors.map(({ path, keyword }: { path: string; keyword: string }) => `${path} ${keyword}`),
    ['/email unicode'],
    'the first failure of a large body',
  );
  const body = { email: `e\u0301@example.org`, name: 'Zoe\u0308' };
  t.equal((await send('POST', '/users', { body })).status, 400, 'an address in ASCII alone');
});

t.test('a JSON Patch that costs too much is 422', async (t) => {
  const { send } = await testService(t);
  const created = await send('POST', '/items', { body: { name: 'x', a: new Array(500_000).fill(0) } });
  t.equal(created.status, 201);
  const path = `/items/${created.json.id}`;
  const patch = (operations: object[]) => send('PATCH', path, { body: operations, type: JSON_PATCH });
  const repeat = (count: number, operation: object) => new Array(count).fill(operation);
  for (const [operations, message] of [
    [repeat(10_000, { op: 'add', path: '/a/0', value: 0 }), 'moves array elements more than 50000000 times'],
    [repeat(10_000, { op: 'remove', path: '/a/0' }), 'moves array elements more than 50000000 times'],
    [repeat(10_000, { op: 'move', from: '/a/0', path: '/a/-' }), 'moves array elements'],
    [repeat(10, { op: 'copy', from: '/a', path: '/b' }), 'copies more than 1048576 characters of JSON'],
  ] as const) {
    const { status, json } = await patch(operations);
    t.same([status, json.error.code], [422, 'UNPROCESSABLE_PATCH']);
    t.match(json.error.message, message);
  }
  const same = Object.fromEntries(Array.from({ length: 9000 }, (_, n) => [`k${n}`, 1]));
  const { json: wide } = await send('POST', '/items', { body: { name: 'x', ...same } });
  const compared = await send('PATCH', `/items/${wide.id}`, {
    body: repeat(1, { op: 'test', path: '', value: {} }),
    type: JSON_PATCH,
  });
  t.equal(compared.status, 409, 'a test that fails');
  const copied = await send('PATCH', `/items/${wide.id}`, {
    body: repeat(20, { op: 'copy', from: '', path: '/copy' }),
    type: JSON_PATCH,
  });
  t.match(copied.json.error.message, 'copies more than 1048576 characters');
  const more = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`m${n}`, 1]));
  const grown = await send('PATCH', `/items/${wide.id}`, {
    body: more,
    type: 'application/merge-patch+json',
  });
  t.equal(grown.json.errors[0].keyword, 'members', 'a patch makes no record that a body could not be');

  const usual = [
    ...Array.from({ length: 1000 }, (_, n) => ({ op: 'add', path: '/a/-', value: n })),
    ...Array.from({ length: 1000 }, (_, n) => ({ op: 'replace', path: `/a/${n}`, value: n })),
    ...repeat(50, { op: 'add', path: '/a/0', value: 7 }),
  ];
  const patched = await patch(usual);
  t.equal(patched.status, 200);
  t.equal(patched.json.a.length, 501_050);
});

t.test('long records are equal in all forms', async (t) => {
  const folder = declare(t, {
    'notes.json': {
      type: 'object',
      properties: { text: { type: 'string', maxLength: 500_000 }, list: { type: 'array', maxItems: 50_000 } },
    },
  });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  const list = Array.from({ length: 20_000 }, (_, n) => ({ [`"${n}"`]: `<${n}` }));
  const note = { text: `${'<"é'.repeat(30_000)}>`, list };
  const created = await send('POST', '/notes', { body: note });
  t.equal(created.status, 201);
  t.equal((await send('POST', '/notes', { body: { text: '<b>"', list: [1] } })).status, 201);
  const path = `/notes/${created.json.id}`;
  const as = (accept: string, at = path) => send('GET', at, { headers: { accept } });
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const cells = `${quoted(note.text)},${quoted(JSON.stringify(list))}`;
  t.same((await as('application/json')).json.list, list);
  t.ok((await as('text/csv')).text.includes(cells));
  t.ok((await as('text/csv', `${path}?fields=text,list`)).text.includes(cells));
  for (const query of ['', '?limit=10', '?limit=10&fields=text,list', '?fields=text,list']) {
    const { text } = await as('text/csv', `/api/v2/notes${query}`);
    t.ok(text.includes(cells), query);
    t.match(text, `"<b>""",[1]`, query);
  }
  const page = await as('text/html');
  t.equal(page.status, 200);
  t.match(page.text, '&#60;&#34;é&#60;');
  t.notMatch(
    (await as('text/html', `${path}?_edit`)).text,
    'id="edit-text"',
    'a value that is too long is not in the form',
  );
  t.notMatch((await as('text/html', `${path}?_edit`)).text, 'id="edit-list"');
  t.match((await as('text/html', '/notes?fields=text')).text, /&#60;b&#62;&#34;/);
});

t.test('a page with long values that were entered escapes each character', async (t) => {
  const service = await testService(t);
  const visitor = new PageVisitor(service);
  const name = `${`<>&"'`.repeat(40_000)}é\u{1f600}`;
  const failed = await visitor.submit(t, await visitor.get('/items?_new'), 'Create', { '/name': name });
  t.equal(failed.status, 400);
  t.ok(failed.text.includes(`value="${'&#60;&#62;&#38;&#34;&#39;'.repeat(40_000)}é\u{1f600}"`));
});
