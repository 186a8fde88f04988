/** Collections with a field for each operator of filters. */
export const QUERIED: Readonly<Record<string, object>> = {
  'owners.json': {
    type: 'object',
    properties: { name: { type: 'string', 'x-index': true } },
  },
  'things.json': {
    type: 'object',
    properties: {
      title: {
        type: 'string',
        maxLength: 200,
        'x-normalize': ['nfc', 'lower'],
        'x-index': true,
        'x-search': true,
      },
      note: { type: 'string', 'x-search': true },
      price: { type: 'number', 'x-index': true },
      done: { type: 'boolean', 'x-index': true },
      due: { type: 'string', format: 'date-time', 'x-index': true },
      tags: { type: 'array', items: { type: 'string', maxLength: 100 }, maxItems: 20, 'x-index': true },
      ownerId: { type: 'string', format: 'uuid', 'x-references': 'owners' },
    },
    'x-collection': { nested: true, list: 'page' },
  },
};

/** One query: by the address, or by QUERY with a body. */
export interface WorstQuery {
  readonly name: string;
  readonly method: 'GET' | 'QUERY';
  readonly path: string;
  readonly body?: string;
  readonly accept?: string;
}

const ID = '018bcfe5-6800-7000-8000-000000000000';
/** Bytes of a request target, with some to spare for the path. */
const TARGET = 8000;

/** Values of each operator of each type: plain ones and the longest. */
const OPERANDS: Readonly<Record<string, readonly [operators: readonly string[], values: readonly string[]]>> =
  {
    title: [
      ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'prefix', 'contains', 'null'],
      [
        'a',
        'true',
        'a'.repeat(TARGET),
        '%25_%5C'.repeat(1100),
        `a${'%CC%81%CC%96'.repeat(650)}`,
        `a${'%2C'.repeat(99)}`,
      ],
    ],
    note: [['contains'], ['a', 'a'.repeat(TARGET), '%25_%5C'.repeat(1100), 'a%25'.repeat(2000)]],
    price: [
      ['eq', 'ne', 'lt', 'gte', 'in', 'null'],
      ['1', 'true', '1'.repeat(TARGET), '1e308', '-1e999', `1${',1'.repeat(99)}`],
    ],
    done: [
      ['eq', 'ne', 'in', 'null'],
      ['true', `true${',true'.repeat(99)}`, 'x'.repeat(TARGET)],
    ],
    due: [
      ['eq', 'gt', 'in', 'null'],
      ['2026-01-01T00:00:00Z', '9999-12-31T23:59:60Z', `2026-${'0'.repeat(TARGET)}`],
    ],
    tags: [['has'], ['a', 'a'.repeat(TARGET), '%7B%22%5C'.repeat(800)]],
    ownerId: [
      ['eq', 'ne', 'in', 'null'],
      [ID, `${ID}${`,${ID}`.repeat(99)}`, 'f'.repeat(TARGET)],
    ],
  };

const filters = Object.entries(OPERANDS).flatMap(([field, [operators, values]]) =>
  operators.flatMap((operator) => values.map((value) => `filter[${field}][${operator}]=${value}`)),
);

const terms = [
  'a',
  'ab',
  'abc',
  'x'.repeat(TARGET),
  '%25_%5C'.repeat(1100),
  `a${'%CC%81%CC%96'.repeat(650)}`,
  '%F0%9F%98%80'.repeat(600),
  '%C4%B0'.repeat(1300),
];

/** The queries of an address, by parameter. */
const TEXTS: readonly string[] = [
  ...filters,
  Array.from(
    { length: 20 },
    (_, n) => `filter[${n % 2 ? 'note' : 'title'}][contains]=${'ab'.repeat(20 + n)}&`,
  ).join(''),
  [...new Set(filters.map((filter) => filter.split('=')[0]!))].map((name) => `${name}=1`).join('&'),
  'filter[x]=1&'.repeat(600),
  `filter${'[x]'.repeat(2500)}=1`,
  `filter[${'x'.repeat(TARGET)}]=1`,
  `filter[title][${'x'.repeat(TARGET)}]=1`,
  ...terms.map((term) => `search=${term}`),
  ...[
    '-price,title,-due,done,ownerId',
    '-',
    'title'.repeat(1500),
    '-title,'.repeat(1100),
    ','.repeat(TARGET),
  ].map((sort) => `sort=${sort}`),
  'sort=-price&search=ab&filter[title][contains]=ab&include=owner&fields=title&limit=100',
  ...['owner', `owner${',owner'.repeat(1300)}`, 'x,'.repeat(3900), 'x'.repeat(TARGET)].map(
    (name) => `include=${name}&limit=100`,
  ),
  ...[
    'title',
    `title${',title'.repeat(1300)}`,
    Array.from({ length: 1400 }, (_, n) => `f${n}`).join(','),
    'x'.repeat(TARGET),
  ].map((name) => `fields=${name}&limit=100`),
  ...['1', '9007199254740993', `1${'0'.repeat(TARGET)}`, '-1', 'NaN'].flatMap((number) => [
    `page=${number}`,
    `limit=${number}`,
    `page=${number}&limit=100`,
  ]),
  ...['after', 'before'].map((name) => `${name}=${'eyJ'.repeat(2600)}`),
  'count=none&limit=100',
  `count=${'x'.repeat(TARGET)}`,
  '&'.repeat(TARGET),
  'a=b&'.repeat(2000),
  '%'.repeat(TARGET),
  '%C3'.repeat(2600),
];

const list = (count: number, value: unknown) => new Array(count).fill(value);
const members = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, value]));

/** Bodies of QUERY of about so many bytes, by parameter. */
const bodiesOf = (bytes: number): readonly unknown[] => {
  const part = (of: number) => Math.floor(bytes / of);
  return [
    { filter: { title: { in: list(part(4), 'a') } } },
    { filter: { title: { in: list(100, 'a'.repeat(part(110))) } } },
    { filter: { price: { in: list(part(2), 1) } } },
    { filter: { tags: { has: 'a'.repeat(bytes) } } },
    { filter: { title: { contains: 'é'.repeat(part(2)) } } },
    { filter: { title: { prefix: `a${'\u0301\u0316'.repeat(part(4))}` } } },
    { filter: { note: { contains: '%'.repeat(bytes) } } },
    { filter: { price: '1'.repeat(bytes) } },
    { filter: { due: `2026-${'0'.repeat(bytes)}` } },
    { filter: { ownerId: 'f'.repeat(bytes) } },
    { filter: members(Math.min(9000, part(12)), 1) },
    { filter: { title: members(Math.min(9000, part(12)), 'a') } },
    { filter: list(part(4), {}) },
    { search: 'é'.repeat(part(2)) },
    { search: `a${'\u0301\u0316'.repeat(part(4))}` },
    { search: ' '.repeat(bytes) },
    { sort: list(part(9), '-title') },
    { sort: '-title,'.repeat(part(7)) },
    { sort: 'x'.repeat(bytes) },
    { fields: list(part(9), 'title') },
    { fields: Array.from({ length: part(10) }, (_, n) => `f${n}`) },
    { fields: ','.repeat(bytes) },
    { include: list(part(9), 'owner') },
    { include: Array.from({ length: part(10) }, (_, n) => `f${n}`) },
    { include: ','.repeat(bytes) },
    { page: '9'.repeat(bytes) },
    { limit: '9'.repeat(bytes) },
    { after: 'eyJ'.repeat(part(3)) },
    { count: 'x'.repeat(bytes) },
    members(Math.min(9000, part(12)), 1),
    list(part(2), 1),
  ];
};

/** As large as queries may be, and three as large as other bodies, which are refused. */
const BODIES = [
  ...bodiesOf(60_000),
  list(480_000, 1),
  { filter: { note: { contains: '%'.repeat(1_000_000) } } },
  { filter: { title: { in: list(240_000, 'a') } } },
];

const TYPES = ['application/json', 'text/csv', 'application/x-ndjson', 'text/html'];

/** The lists of the collection: of everything and of a parent with this id, of both versions. */
export const listsOf = (owner: string): string[] =>
  ['/things', `/owners/${owner}/things`].flatMap((path) => [path, `/api/v2${path}`]);

/** The queries of one list. */
export function worstQueries(path: string): WorstQuery[] {
  return [
    ...TEXTS.map((text) => ({
      name: nameOf('GET', path, text),
      method: 'GET' as const,
      path: `${path}?${text}`,
    })),
    ...TYPES.map((accept) => ({
      name: `GET ${path} as ${accept}`,
      method: 'GET' as const,
      path: `${path}?limit=100`,
      accept,
    })),
    ...BODIES.map((body) => {
      const text = JSON.stringify(body);
      return { name: nameOf('QUERY', path, text), method: 'QUERY' as const, path, body: text };
    }),
  ];
}

const nameOf = (method: string, path: string, text: string) =>
  `${method} ${path.replace(/[0-9a-f-]{36}/, '{id}')} ${text.length > 60 ? `${text.slice(0, 60)}... (${text.length})` : text}`;
