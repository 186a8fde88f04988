import t from 'tap';
import { csv } from '../../src/formats/csv.js';

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
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1']) {
    const cell = csv({ a: text }).split('\r\n').slice(1, -1).join('\r\n');
    t.match(cell, /^"?'/, JSON.stringify(text));
  }
  t.match(csv({ '=cmd': 1 }), /^'=cmd\r\n/, 'in a name too');
  t.equal(csv({ a: -1 }), 'a\r\n-1\r\n', 'a number is a number');
});
