/** One request that costs as much as its form allows, and what it is to be sent to. */
export interface LongRequest {
  readonly name: string;
  readonly method: string;
  /** `{zeros}` and the like stand for the ids of the records below. */
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
  readonly accept?: string;
}

const MIB = 1_048_000;
const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';

/** As many of a text as fit into 1 MiB, as the elements of an array. */
const arrayOf = (element: string) => {
  const count = Math.floor((MIB - 40) / (element.length + 1));
  return `{"name":"x","a":[${`${element},`.repeat(count)}${element}]}`;
};
const membersOf = (count: number, name: (n: number) => string) =>
  `{"name":"x",${Array.from({ length: count }, (_, n) => `"${name(n)}":1`).join(',')}}`;
const repeat = (count: number, operation: object) => JSON.stringify(new Array(count).fill(operation));
const containers = (count: number, one: string) => `{"name":"x","a":[${`${one},`.repeat(count - 3)}${one}]}`;

/** The records that requests read and patch: each as large as it can be. */
export const RECORDS: Readonly<Record<string, string>> = {
  zeros: `{"name":"x","a":[${'0,'.repeat(499_999)}0]}`,
  nested: `{"name":"x","a":${'['.repeat(28)}${'0,'.repeat(479_999)}0${']'.repeat(28)}}`,
  objects: containers(100_000, '{}'),
  members: membersOf(9990, (n) => `k${n}`),
  integers: membersOf(9990, (n) => String((n * 7919) % 1_000_003)),
  objectsOfMembers: `{"name":"x","a":[${Array.from({ length: 5 }, (_, at) => membersOf(9990, (n) => `${at}k${n}`)).join(',')}]}`,
  quotes: `{"name":"x","t":"${'\\"'.repeat(500_000)}"}`,
  markup: `{"name":"x","t":"${'<'.repeat(1_000_000)}"}`,
  text: `{"name":"x","t":"${'é'.repeat(500_000)}"}`,
};

const bodies: Readonly<Record<string, string>> = {
  zeros: arrayOf('0'),
  texts: arrayOf('"ab"'),
  'empty texts': arrayOf('""'),
  escapes: arrayOf('"\\u00e9"'),
  exponents: arrayOf('1e5'),
  'small numbers': arrayOf('1e-300'),
  'subnormal numbers': arrayOf('1e-320'),
  'inexact numbers': arrayOf('12345678901234567'),
  'one long number': `{"name":"x","a":0.${'1'.repeat(MIB)}}`,
  'objects, too many': arrayOf('{}'),
  'objects, just enough': RECORDS.objects!,
  'arrays, just enough': containers(100_000, '[]'),
  'members, too many': membersOf(90_000, (n) => `k${n}`),
  'members, just enough': RECORDS.objectsOfMembers!,
  'integer names': RECORDS.integers!,
  'objects with members': containers(49_000, '{"a":1}'),
  'repeated names': `{"name":"x",${'"a":1,'.repeat(9000)}"b":1}`,
  'combining marks': `{"name":"x","t":"a${'\u0301'.repeat(250_000)}${'\u0316'.repeat(250_000)}"}`,
  'a long name': `{"name":"${'x'.repeat(MIB)}"}`,
  'blanks around a name': `{"name":"${' '.repeat(500_000)}x${' '.repeat(500_000)}"}`,
  broken: arrayOf('0').slice(0, -2),
  blanks: `{"name":"x"${' '.repeat(MIB)}}`,
};

const marks = `a${'\u0301'.repeat(250_000)}${'\u0316'.repeat(250_000)}`;

/** All long requests. */
export const LONG_REQUESTS: readonly LongRequest[] = [
  ...Object.entries(bodies).map(([name, body]) => ({
    name: `POST ${name}`,
    method: 'POST',
    path: '/items',
    body,
  })),
  {
    name: 'POST a user of combining marks',
    method: 'POST',
    path: '/users',
    body: JSON.stringify({ email: marks, name: marks }),
  },
  {
    name: 'POST a long address',
    method: 'POST',
    path: '/users',
    body: JSON.stringify({ email: `${'a.'.repeat(400_000)}@`, name: 'x' }),
  },
  ...Object.keys(RECORDS).flatMap((record) => [
    { name: `GET ${record} as JSON`, method: 'GET', path: `/items/{${record}}` },
    { name: `GET ${record} as HTML`, method: 'GET', path: `/items/{${record}}`, accept: 'text/html' },
    { name: `GET ${record} as CSV`, method: 'GET', path: `/items/{${record}}`, accept: 'text/csv' },
    {
      name: `merge patch of ${record}`,
      method: 'PATCH',
      path: `/items/{${record}}`,
      type: MERGE_PATCH,
      body: '{"price":1}',
    },
    {
      name: `JSON Patch of ${record}`,
      method: 'PATCH',
      path: `/items/{${record}}`,
      type: JSON_PATCH,
      body: '[{"op":"add","path":"/price","value":2}]',
    },
  ]),
  ...(
    [
      ['insertions at the front', repeat(10_000, { op: 'add', path: '/a/0', value: 0 })],
      ['removals at the front', repeat(10_000, { op: 'remove', path: '/a/0' })],
      ['moves from the front', repeat(10_000, { op: 'move', from: '/a/0', path: '/a/-' })],
      ['copies', repeat(100, { op: 'copy', from: '/a', path: '/b' })],
      ['a comparison', `[{"op":"test","path":"/a","value":${JSON.stringify(new Array(500_000).fill(0))}}]`],
      ['long pointers', repeat(100, { op: 'test', path: '/a'.repeat(5000), value: 1 })],
    ] as const
  ).map(([name, body]) => ({
    name: `JSON Patch: ${name}`,
    method: 'PATCH',
    path: '/items/{zeros}',
    type: JSON_PATCH,
    body,
  })),
  {
    name: 'JSON Patch: copies of members',
    method: 'PATCH',
    path: '/items/{members}',
    type: JSON_PATCH,
    body: repeat(100, { op: 'copy', from: '', path: '/b' }),
  },
  {
    name: 'JSON Patch: comparisons of members',
    method: 'PATCH',
    path: '/items/{members}',
    type: JSON_PATCH,
    body: repeat(10_000, { op: 'test', path: '', value: {} }),
  },
  {
    name: 'merge patch with as many members',
    method: 'PATCH',
    path: '/items/{members}',
    type: MERGE_PATCH,
    body: membersOf(9990, (n) => `m${n}`),
  },
  {
    name: 'merge patch that removes members',
    method: 'PATCH',
    path: '/items/{integers}',
    type: MERGE_PATCH,
    body: membersOf(9000, (n) => String((n * 7919) % 1_000_003)).replaceAll(':1', ':null'),
  },
  ...Object.keys(RECORDS).map((record) => ({
    name: `PUT of ${record} with another version`,
    method: 'PUT',
    path: `/items/{${record}}`,
    body: '{"name":"x","_version":9}',
  })),
  { name: 'all records as CSV', method: 'GET', path: '/items?sort=name', accept: 'text/csv' },
  { name: 'all records as NDJSON', method: 'GET', path: '/items?sort=name', accept: 'application/x-ndjson' },
  { name: 'fields of all records', method: 'GET', path: '/api/v2/items?limit=100&fields=name,a,t' },
  {
    name: 'fields of all records as CSV',
    method: 'GET',
    path: '/api/v2/items?limit=100&fields=name,a,t',
    accept: 'text/csv',
  },
  {
    name: 'fields of all records as NDJSON',
    method: 'GET',
    path: '/api/v2/items?fields=name,a,t',
    accept: 'application/x-ndjson',
  },
  {
    name: 'fields of objectsOfMembers as CSV',
    method: 'GET',
    path: '/api/v2/items/{objectsOfMembers}?fields=name,a',
    accept: 'text/csv',
  },
  {
    name: 'batch of unknown members',
    method: 'POST',
    path: '/batch',
    body: `[${membersOf(9990, (n) => `k${n}`)}]`,
  },
  {
    name: 'batch of pages',
    method: 'POST',
    path: '/batch',
    body: repeat(100, { method: 'GET', path: '/items?page=1&limit=100' }),
  },
  {
    name: 'batch of HTML',
    method: 'POST',
    path: '/batch',
    body: repeat(100, { method: 'GET', path: '/items/{nested}', headers: { accept: 'text/html' } }),
  },
  { name: 'a page of large records as HTML', method: 'GET', path: '/items?limit=100', accept: 'text/html' },
  { name: 'a query of question marks', method: 'GET', path: `/whoami${'?'.repeat(8180)}` },
];
