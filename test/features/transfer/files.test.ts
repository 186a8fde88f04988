import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../../support/collections.js';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';

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
  const COLLECTIONS = declare(t, declarations as never);
  const service = await testService(t, { COLLECTIONS, MIGRATE: 'auto' });
  const folder = folderOf(t);
  const env = { COLLECTIONS, DATABASE_URL: service.databaseUrl };
  const load = async (content: string | Buffer, name = 'products.csv', ...args: string[]) => {
    writeFileSync(join(folder, name), content);
    const outcome = await plinth(t, ['import', 'products', name, ...args], env, { cwd: folder });
    const records = (await service.send('GET', '/products')).json as Record<string, unknown>[];
    for (const { id } of records) await service.send('DELETE', `/products/${id}`);
    return {
      ...outcome,
      records: records.map(({ id, created_at, updated_at, _version, ...fields }) => fields),
    };
  };
  return { ...service, env, folder, load };
}

const LAMP = [{ name: 'Lämp', price: 5 }];
const utf16 = (text: string, isBig = false) => {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return isBig ? bytes.swap16() : bytes;
};

t.test('encodings, delimiters and line breaks', async (t) => {
  const { load } = await shop(t);
  const csv = 'name,price\nLämp,5\n';
  const rows: [what: string, content: string, name: string][] = [
    ['a byte order mark', `\uFEFF${csv}`, 'a.csv'],
    ['a byte order mark before a quotation mark', `\uFEFF"name","price"\nLämp,5\n`, 'a.csv'],
    ['JSON with a byte order mark', '\uFEFF[{"name":"Lämp","price":5}]', 'a.json'],
    ['NDJSON with a byte order mark', '\uFEFF{"name":"Lämp","price":5}\n', 'a.ndjson'],
    ['CR', csv.replaceAll('\n', '\r'), 'a.csv'],
    ['CR LF', csv.replaceAll('\n', '\r\n'), 'a.csv'],
    ['no line break at the end', csv.trimEnd(), 'a.csv'],
    ['a semicolon', csv.replaceAll(',', ';'), 'a.csv'],
    ['a tab', csv.replaceAll(',', '\t'), 'a.csv'],
    ['a bar', csv.replaceAll(',', '|'), 'a.csv'],
    ['a quoted header and semicolons', '"name";"price"\n"Lämp";5\n', 'a.csv'],
    ['sep=', `sep=;\r\n${csv.replaceAll(',', ';')}`, 'a.csv'],
    ['sep= with another character', `sep=~\n${csv.replaceAll(',', '~')}`, 'a.csv'],
    ['empty columns', 'name,price,,\nLämp,5,,\n', 'a.csv'],
    ['empty columns within', ',name,,price\n,Lämp,,5\n', 'a.csv'],
    ['blank lines and rows', `\n\n${csv}\n,\n`, 'a.csv'],
    ['every cell quoted', '"name","price","since"\n"Lämp","5",""\n', 'a.csv'],
  ];
  for (const [what, content, name] of rows) {
    const { code, err, records } = await load(content, name);
    t.same([code, err, records], [0, '', LAMP], what);
  }
});

t.test('what is wrong is named with its line and its bytes', async (t) => {
  const { load } = await shop(t);
  const rows: [content: string | Buffer, code: number, err: RegExp, stored: number][] = [
    [
      'name,price\n"Monitor 24,199\nCable,5\n',
      1,
      /^products.csv:2: has a quotation mark that is not closed\n$/,
      0,
    ],
    [
      'name,price\n"Monitor"24",199\nCable,5\n',
      1,
      /^products.csv:2: has text after the quotation mark that closes/,
      1,
    ],
    ['name,price\n"a\nb" c,1\nCable,5\n', 1, /^products.csv:2: has text after .* \(line 3\)\n$/, 1],
    ['name,price\nMonitor 24",199\nCable,5\n', 0, /^$/, 2],
    [
      Buffer.from('name,price\nL\xe4mp,5\nCable,5\n', 'latin1'),
      1,
      /:2: is not UTF-8: the bytes E4 6D 70 2C at offset 12\n$/,
      1,
    ],
    [
      Buffer.from('n\xe4me,name\na,b\n', 'latin1'),
      64,
      /products.csv:1: the header is not UTF-8: the bytes E4 6D 65 2C at offset 1\n$/,
      0,
    ],
    [
      'name,stock\na,9007199254740993\nb,2\n',
      1,
      /:2\/stock: a number that does not fit a double: 9007199254740993/,
      1,
    ],
    ['name,price\na,1,2\nb,2\n', 1, /:2: has 3 cells, the header has 2\n/, 1],
    ['name,,price\na,x,2\nb,,2\n', 1, /:2: has a value in column 2, which has no name\n/, 1],
    ['name,name\na,b\n', 64, /the header has name more than once/, 0],
    ['\n\n', 64, /has no header/, 0],
    ['"name,price\na,b\n', 64, /products.csv:1: the header has a quotation mark that is not closed/, 0],
  ];
  for (const [content, code, err, stored] of rows) {
    const outcome = await load(content);
    t.equal(outcome.code, code, String(content));
    t.match(outcome.err, err);
    t.equal(outcome.records.length, stored, String(content));
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
  const { load } = await shop(t);
  const { records } = await load('name,price,since,note,other\n"",1,"","",\n"",,,,""\n');
  t.same(records, [
    { name: '', price: 1, note: '' },
    { name: '', other: '' },
  ]);
});

t.test('a wrong header stops once, with its columns and the fields', async (t) => {
  const { load } = await shop(t);
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
  const strict = await shop(t, {
    'products.json': { ...PRODUCTS['products.json'], additionalProperties: false },
  });
  t.match(await strict.load('name,prise\na,1\n'), {
    code: 64,
    err: /products has no field prise/,
  });
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
