import { facts } from '../../../src/features/pages/list-table.js';
import { thingsPage } from '../../../src/features/pages/service-pages.js';
import { html } from '../../../src/formats/html.js';
import { Query } from '../../../src/http/query-parameters.js';
import type { JsonObject } from '../../../src/json.js';
import t from '../../support/test.js';

const HOSTILE = `</td><script>alert("1")</script>&amp;'x' onload=`;
const ESCAPED =
  '&#60;/td&#62;&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#38;amp;&#39;x&#39; onload=';

/** The page of a list with these entries. */
async function listOf(data: readonly JsonObject[], columns: string[]) {
  const site = { prefix: '', collections: [] };
  const request = { path: '/things', query: new Query('') };
  const shown = { site, request, json: { data }, names: { site }, may: () => false };
  return String((await thingsPage(columns).content!(shown as never)).body);
}

/** A field without a value. */
const NONE = '<span class="dim">–</span>';

t.test('a template escapes what it inserts, except HTML', async (t) => {
  const inner = html`<b title="${HOSTILE}">${HOSTILE}</b>`;
  t.equal(String(inner), `<b title="${ESCAPED}">${ESCAPED}</b>`);
  t.equal(String(html`<p>${inner}${[inner, 'a<b']}</p>`), `<p>${inner}${inner}a&#60;b</p>`);
  t.equal(String(html`${undefined}${false}${0}${''}`), '0');
});

t.test('each kind of value has its form', async (t) => {
  const rows: [value: JsonObject[string], shown: string][] = [
    ['text', 'text'],
    ['', NONE],
    [0, '0'],
    [-1.5, '-1.5'],
    [false, 'No'],
    [null, NONE],
    [[], NONE],
    [['a'], '<span class="tag">a</span>'],
    [
      '2026-11-29T08:00:10.029Z',
      '<time datetime="2026-11-29T08:00:10.029Z" title="2026-11-29T08:00:10.029Z">29 Nov 2026, 08:00 UTC</time>',
    ],
    [[{ a: 1 }], '<pre>[\n  {\n    &#34;a&#34;: 1\n  }\n]</pre>'],
  ];
  for (const [value, shown] of rows)
    t.match(String(facts({ f: value })), `<dt>F</dt><dd>${shown}</dd>`, JSON.stringify(value));
});

t.test('a list shows some members, the first one with a link', async (t) => {
  const entries = [{ id: '1', a: 1, _version: 1 }, { id: '2' }];
  const page = await listOf(entries, ['id', 'a']);
  t.match(page, '<tr><th scope="col">Id</th><th scope="col" class="number">A</th></tr>');
  t.match(
    page,
    '<tr><th scope="row"><a href="/things/1">1</a></th><td class="number" data-label="A">1</td></tr>',
  );
  t.match(
    page,
    '<tr><th scope="row"><a href="/things/2">2</a></th><td class="number" data-label="A"></td></tr>',
  );
  t.match(await listOf([], ['id']), '<p>There are none yet.</p>');
});

t.test('the members of an object stand beside the others, and none of the service’s own', async (t) => {
  const page = String(facts({ id: 1, links: { self: '/x' }, _version: 1 }));
  t.equal(page, '<dl><dt>Id</dt><dd>1</dd>\n<dt>Links: self</dt><dd>/x</dd>\n</dl>');
});

t.test('an inherited member is no field', async (t) => {
  const named = JSON.parse('{"id":"1","constructor":"a","toString":"b"}') as JsonObject;
  const columns = ['id', 'constructor', 'toString'];
  const page = await listOf([named, { id: '2' }], columns);
  t.match(page, /<td [^>]*>a<\/td><td [^>]*>b<\/td><\/tr>/);
  t.match(
    page,
    /<tr><th scope="row"><a href="\/things\/2">2<\/a><\/th><td [^>]*><\/td><td [^>]*><\/td><\/tr>/,
  );
});
