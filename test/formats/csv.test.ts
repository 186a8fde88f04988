import Papa from 'papaparse';
import { csv } from '../../src/formats/csv.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

t.test('RFC 4180: quotes, commas and line ends', async (t) => {
  const record = {
    a: 'x,y',
    b: 'say "hi"',
    c: 'two\r\nlines',
    d: ' padded ',
    e: '',
    f: null,
    g: true,
    h: -1.5,
  };
  t.equal(csv(record), 'a,b,c,d,e,f,g,h\r\n"x,y","say ""hi""","two\r\nlines"," padded ",,,true,-1.5\r\n');
  t.equal(csv({ 'a,b': [1, { c: 'd' }] }), '"a,b"\r\n"[1,{""c"":""d""}]"\r\n');
});

t.test('a text that a spreadsheet would run is made harmless', async (t) => {
  for (const text of [...words('=1+1 +1 -1 @SUM(A1) |cmd ＝1 ＋1 －1 ＠A1 =1,"2"'), '\t=1', '\r=1', '\n=1']) {
    const cell = csv({ a: text }).split('\r\n').slice(1, -1).join('\r\n');
    t.match(cell, /^"?'/, JSON.stringify(text));
  }
  t.equal(csv({ a: 'x; |cmd' }), "a\r\nx; '|cmd\r\n", 'after another separator');
  t.match(csv({ '=cmd': 1 }), /^'=cmd\r\n/, 'in a name too');
  t.equal(csv({ a: -1 }), 'a\r\n-1\r\n', 'a number is a number');
  for (const text of ['a=1', "'=1", '1-1', 'a@b.c', '1+1'])
    t.equal(csv({ a: text }), `a\r\n${text}\r\n`, text);
});

t.test('every cell is one that a reader of RFC 4180 gets back', async (t) => {
  const texts = ['x"y', 'lone\rreturn', 'lone\nfeed', '"', ',', '\u00a0nbsp', 'tail ', '""', '\r\n,'];
  const record = {
    ...Object.fromEntries(Object.entries(texts)),
    object: { k: 'v,"w"' },
    array: [],
    number: 1e21,
    boolean: false,
  };
  const [names, cells] = Papa.parse<string[]>(csv(record), { newline: '\r\n' }).data;
  t.same(names, Object.keys(record));
  const others = ["'\r\n,", '{"k":"v,\\"w\\""}', '[]', '1e+21', 'false'];
  t.same(cells, [...texts.slice(0, -1), ...others]);
  t.equal(csv(JSON.parse('{"__proto__":"a","constructor":1}')), '__proto__,constructor\r\na,1\r\n');
});

t.test('a formula after a separator within a cell is made harmless', async (t) => {
  const cellOf = (text: string) => csv({ a: text }).slice(3, -2);
  const rows: [text: string, cell: string][] = [
    ['a;=1+1', "a;'=1+1"],
    ['a;=1;+2; -3;@x', "a;'=1;'+2; '-3;'@x"],
    ['a\t=1', "a\t'=1"],
    ['a\n=1', '"a\n\'=1"'],
    ['a\r\n=1', '"a\r\n\'=1"'],
    ['a;"=1"', `"a;""'=1"""`],
    ['a;＝1', "a;'＝1"],
    ['a;b=1', 'a;b=1'],
    ['a=1;b', 'a=1;b'],
    ['a;', 'a;'],
    [' =1', `" '=1"`],
    ['"=1', `"""'=1"`],
  ];
  for (const [text, cell] of rows) t.equal(cellOf(text), cell, JSON.stringify(text));
  t.match(csv({ 'a;=1': 1 }), /^a;'=1\r\n/, 'in a name too');
  const nested = csv({ a: { k: ';=1', l: [';-2'] } }).slice(3, -2);
  t.notMatch(nested, /;/, 'JSON escapes the separator');
  t.same(JSON.parse(nested.slice(1, -1).replaceAll('""', '"')), { k: ';=1', l: [';-2'] });
  t.equal(csv({ a: { k: 'x;y' } }), 'a\r\n"{""k"":""x;y""}"\r\n');
});
