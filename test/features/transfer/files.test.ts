import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import t, { type Test } from '../../support/test.js';
import { importing } from './imports.js';

const PRODUCTS = {
  'products.json': {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string' },
      price: { type: 'number' },
      stock: { type: 'integer' },
      since: { type: 'string', format: 'date' },
    },
  },
};

async function shop(t: Test, declarations: Record<string, unknown> = PRODUCTS) {
  const world = await importing(t, declarations);
  const load = async (content: unknown, name = 'products.csv', ...args: string[]) => {
    const outcome = await world.load(['products', world.put(name, content), ...args]);
    const records = (await world.all('/products')) as Record<string, unknown>[];
    for (const { id } of records) await world.send('DELETE', `/products/${id}`);
    const own = records.map(({ id, created_at, updated_at, _version, ...fields }) => fields);
    return { ...outcome, records: own };
  };
  return load;
}

const LAMP = [{ name: 'Lämp', price: 5 }];
const utf16 = (text: string, isBig = false) => {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return isBig ? bytes.swap16() : bytes;
};

t.test('encodings, delimiters and line breaks', async (t) => {
  const load = await shop(t);
  const csv = 'name,price\nLämp,5\n';
  const rows: [what: string, content: string, name?: string][] = [
    ['a byte order mark', `\uFEFF${csv}`],
    ['a byte order mark before a quotation mark', `\uFEFF"name","price"\nLämp,5\n`],
    ['JSON with a byte order mark', '\uFEFF[{"name":"Lämp","price":5}]', 'a.json'],
    ['NDJSON with a byte order mark', '\uFEFF{"name":"Lämp","price":5}\n', 'a.ndjson'],
    ['CR', csv.replaceAll('\n', '\r')],
    ['CR LF', csv.replaceAll('\n', '\r\n')],
    ['no line break at the end', csv.trimEnd()],
    ['a semicolon', csv.replaceAll(',', ';')],
    ['a tab', csv.replaceAll(',', '\t')],
    ['a bar', csv.replaceAll(',', '|')],
    ['a quoted header and semicolons', '"name";"price"\n"Lämp";5\n'],
    ['sep=', `sep=;\r\n${csv.replaceAll(',', ';')}`],
    ['sep= with another character', `sep=~\n${csv.replaceAll(',', '~')}`],
    ['empty columns', 'name,price,,\nLämp,5,,\n'],
    ['empty columns within', ',name,,price\n,Lämp,,5\n'],
    ['blank lines and rows', `\n\n${csv}\n,\n`],
    ['every cell quoted', '"name","price","since"\n"Lämp","5",""\n'],
  ];
  for (const [what, content, name = 'a.csv'] of rows) {
    const { code, err, records } = await load(content, name);
    t.same([code, err, records], [0, '', LAMP], what);
  }
});

t.test('what is wrong is named with its line and its bytes', async (t) => {
  const load = await shop(t);
  const latin1 = (text: string) => Buffer.from(text, 'latin1');
  const rows: [content: string | Buffer, stored: number, err: RegExp, code?: number][] = [
    [
      'name,price\n"Monitor 24,199\nCable,5\n',
      0,
      /^products.csv:2: has a quotation mark that is not closed\n$/,
    ],
    ['name,price\n"Monitor"24",199\nCable,5\n', 1, /^products.csv:2: has text after the quotation mark that/],
    ['name,price\n"a\nb" c,1\nCable,5\n', 1, /^products.csv:2: has text after .* \(line 3\)\n$/],
    ['name,price\nMonitor 24",199\nCable,5\n', 2, /^$/, 0],
    [
      latin1('name,price\nL\xe4mp,5\nCable,5\n'),
      1,
      /:2: is not UTF-8: the bytes E4 6D 70 2C at offset 12\n$/,
    ],
    [
      latin1('n\xe4me,name\na,b\n'),
      0,
      /:1: the header is not UTF-8: the bytes E4 6D 65 2C at offset 1\n$/,
      64,
    ],
    [
      'name,stock\na,9007199254740993\nb,2\n',
      1,
      /:2\/stock: a number that does not fit a double: 90071992547/,
    ],
    ['name,price\na,1,2\nb,2\n', 1, /:2: has 3 cells, the header has 2\n/],
    ['name,,price\na,x,2\nb,,2\n', 1, /:2: has a value in column 2, which has no name\n/],
    ['name,name\na,b\n', 0, /the header has name more than once/, 64],
    ['\n\n', 0, /has no header/, 64],
    ['"name,price\na,b\n', 0, /products.csv:1: the header has a quotation mark that is not closed/, 64],
  ];
  for (const [content, stored, err, code = 1] of rows) {
    const outcome = await load(content);
    t.match(outcome, { code, err, records: { length: stored } }, String(content));
  }
  for (const [text, name] of [
    ['name\na\n', 'products.csv'],
    ['{"name":"a"}\n', 'products.ndjson'],
    ['[{"name":"a"}]', 'products.json'],
  ] as const)
    for (const content of [utf16(text), utf16(text, true), utf16(text).subarray(2)])
      t.match(await load(content, name), { code: 64, err: /it is in UTF-16: save it as UTF-8/, records: [] });
});

t.test('an empty text and no value differ', async (t) => {
  const load = await shop(t);
  const { records } = await load('name,price,since,note,other\n"",1,"","",\n"",,,,""\n');
  t.same(records, [
    { name: '', price: 1, note: '' },
    { name: '', other: '' },
  ]);
});

t.test('a wrong header stops once, with its columns and the fields', async (t) => {
  const load = await shop(t);
  const text = `Product Name,Price\n${'a,1\n'.repeat(20)}`;
  const { code, err, records } = await load(text);
  t.same([code, records], [64, []]);
  t.equal(
    err,
    [
      'plinth: products.csv: every record of products would be refused',
      'plinth:   the header lacks name',
      'plinth:   columns: Product Name, Price',
      'plinth:   fields: name, price, stock, since',
      'plinth:   --rename COLUMN=FIELD gives a column the name of a field',
      '',
    ].join('\n'),
  );
  t.match(await load(text, 'products.csv', '--rename', 'Product Name=name'), { code: 0 });
  const products = { ...PRODUCTS['products.json'], additionalProperties: false };
  const strict = await shop(t, { 'products.json': products });
  t.match(await strict('name,prise\na,1\n'), { code: 64, err: /products has no field prise/ });
});

t.test('a byte order mark in a declaration and in .env is ignored', async (t) => {
  const folder = folderOf(t);
  const check = () => plinth(t, ['collections', 'check'], { COLLECTIONS: folder });
  const unmarked = (text: string) => utf16(text).subarray(2);
  for (const encode of [(text: string) => Buffer.from(`\uFEFF${text}`), utf16, unmarked]) {
    writeFileSync(join(folder, 'things.json'), encode('{"type":"object","properties":{}}'));
    writeFileSync(join(folder, '_shared.json'), encode('{"$defs":{"a":{"type":"string"}}}'));
    t.match(await check(), { code: 0, err: '' });
    writeFileSync(join(folder, '.env'), encode('PORT=nonsense\n'));
    t.match(await plinth(t, ['export'], {}, { cwd: folder }), { code: 78, err: /PORT must be/ });
  }
});
