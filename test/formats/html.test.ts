import { createHash } from 'node:crypto';
import t from 'tap';
import { CONTENT_SECURITY_POLICY, listPage, recordPage } from '../../src/formats/html.js';
import type { JsonObject } from '../../src/json.js';

const HOSTILE = `</td><script>alert("1")</script>&amp;'x' onload=`;
const ESCAPED =
  '&#60;/td&#62;&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#38;amp;&#39;x&#39; onload=';

t.test('what a record holds stays text, wherever it stands', async (t) => {
  const record = { id: HOSTILE, [HOSTILE]: HOSTILE, deep: { [HOSTILE]: [HOSTILE] } };
  const links = { [HOSTILE]: `/x?${HOSTILE}` };
  const pages = {
    record: recordPage(HOSTILE, record, links),
    list: listPage(HOSTILE, [record], () => HOSTILE, links),
  };
  for (const [name, page] of Object.entries(pages)) {
    t.notMatch(page, /<script|alert\("/, name);
    t.match(page, `<title>${ESCAPED}</title>`, name);
    t.match(page, `<h1>${ESCAPED}</h1>`, name);
    t.match(page, `<a href="/x?${ESCAPED}">${ESCAPED}</a>`, name);
  }
  t.match(pages.record, `<tr><th scope="row">${ESCAPED}</th><td>${ESCAPED}</td></tr>`);
  t.match(pages.list, `<th scope="col">${ESCAPED}</th>`);
  t.match(pages.list, `<td><a href="${ESCAPED}">${ESCAPED}</a></td>`);
});

t.test('a page is HTML in UTF-8 that names its language', async (t) => {
  for (const page of [recordPage('Zoë', { id: '1' }, {}), listPage('Zoë', [], () => '', {})]) {
    t.match(page, /^<!doctype html>\n<html lang="en"><head><meta charset="utf-8">/);
    t.match(page, /<title>Zoë<\/title>[\s\S]*<h1>Zoë<\/h1>[\s\S]*<\/html>\n$/);
    t.notMatch(page, '<nav>', 'no links, no navigation');
  }
});

t.test('the security policy lets the style of the page apply, and nothing else', async (t) => {
  const [, style = ''] = /<style>([\s\S]*)<\/style>/.exec(recordPage('x', {}, {})) ?? [];
  const hash = createHash('sha256').update(style).digest('base64');
  t.match(CONTENT_SECURITY_POLICY, `style-src 'sha256-${hash}'`);
  for (const directive of [
    "default-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ])
    t.match(CONTENT_SECURITY_POLICY, directive);
  t.notMatch(CONTENT_SECURITY_POLICY, 'unsafe');
});

t.test('each kind of value has its form', async (t) => {
  const rows: [value: JsonObject[string], shown: string][] = [
    ['text', 'text'],
    ['', ''],
    [0, '0'],
    [-1.5, '-1.5'],
    [false, 'false'],
    [null, ''],
    [[], '<pre>[]</pre>'],
    [{ a: 1 }, '<pre>{\n  &#34;a&#34;: 1\n}</pre>'],
  ];
  for (const [value, shown] of rows)
    t.match(
      recordPage('x', { f: value }, {}),
      `<th scope="row">f</th><td>${shown}</td>`,
      JSON.stringify(value),
    );
});

t.test(
  'a list shows each field of any record once, eight at most, and none of the service’s own',
  async (t) => {
    const page = listPage(
      'x',
      [
        { id: '1', a: 1, _version: 1 },
        { id: '2', b: 2 },
      ],
      ({ id }) => `/items/${id}`,
      { next: '/items?page=2' },
    );
    t.match(page, '<tr><th scope="col">id</th><th scope="col">a</th><th scope="col">b</th></tr>');
    t.match(page, '<tr><td><a href="/items/1">1</a></td><td>1</td><td></td></tr>');
    t.match(page, '<tr><td><a href="/items/2">2</a></td><td></td><td>2</td></tr>');
    t.match(page, '<nav><a href="/items?page=2">next</a></nav>');
    const wide = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`f${n}`, n]));
    t.equal(listPage('x', [wide], () => '', {}).match(/scope="col"/g)?.length, 8);
    t.match(
      listPage('x', [], () => '', {}),
      '<p>No records.</p>',
    );
  },
);

t.test('an inherited member is no field', async (t) => {
  const named = JSON.parse('{"id":"1","constructor":"a","toString":"b","__proto__":{"c":1}}') as JsonObject;
  const page = listPage('x', [named, { id: '2' }], () => '/x', {});
  t.match(page, '<td>a</td><td>b</td></tr>');
  t.match(page, '<tr><td><a href="/x">2</a></td><td></td><td></td></tr>');
  t.match(recordPage('x', named, {}), '<th scope="row">__proto__</th>');
});
