import {
  arrayOf,
  BODY,
  filled,
  type Input,
  JSON_PATCH,
  JSON_TYPE,
  MERGE_PATCH,
  members,
  post,
  zeros,
} from './growing-input.js';

const record = (value: (bytes: number) => string) => (bytes: number) =>
  post('/items', JSON_TYPE, `{"name":"x","a":${value(bytes)}}`);

const patch = (
  name: string,
  type: string,
  value: (bytes: number) => string,
  content: (bytes: number) => string,
  bytes = BODY,
): Input => ({
  name: `${type === JSON_PATCH ? 'JSON Patch' : 'merge patch'}: ${name}`,
  bytes,
  record: record(value),
  sent: (n, location) => ({
    method: 'PATCH',
    path: location,
    headers: { 'content-type': type },
    body: content(n),
  }),
});

const repeated = (count: number, ...operations: object[]) =>
  JSON.stringify(Array.from({ length: count }, () => operations).flat());
const inArray = (of: string) => (n: number) => `[${of},${filled(n - 400, '0')}]`;

/** Patches of large records, and large patches. */
export const PATCHES: readonly Input[] = [
  patch(
    'moves to the end',
    JSON_PATCH,
    zeros,
    () => repeated(555, { op: 'move', from: '/a/0', path: '/a/-' }),
    BODY,
  ),
  patch(
    'moves of the second',
    JSON_PATCH,
    (n) => arrayOf(n / 6, '1'),
    (n) => repeated(n / 110, { op: 'move', from: '/a/1', path: '/a/2' }),
  ),
  patch(
    'moves of the second object',
    JSON_PATCH,
    (n) => arrayOf(n / 4, '{}'),
    (n) => repeated(n / 110, { op: 'move', from: '/a/1', path: '/a/2' }),
  ),
  patch('moves at the end', JSON_PATCH, zeros, (n) =>
    repeated(n / 110, { op: 'move', from: `/a/${(zeros(n).length / 2 - 2) | 0}`, path: '/a/-' }),
  ),
  patch('moves between members', JSON_PATCH, members, (n) =>
    repeated(
      n / 220,
      { op: 'move', from: '/a/k1', path: '/a/x' },
      { op: 'move', from: '/a/x', path: '/a/k1' },
    ),
  ),
  patch('moves of the array', JSON_PATCH, zeros, (n) =>
    repeated(n / 220, { op: 'move', from: '/a', path: '/b' }, { op: 'move', from: '/b', path: '/a' }),
  ),
  patch('moves of members', JSON_PATCH, members, (n) =>
    repeated(n / 220, { op: 'move', from: '/a', path: '/b' }, { op: 'move', from: '/b', path: '/a' }),
  ),
  patch('removals of members', JSON_PATCH, members, () =>
    JSON.stringify(Array.from({ length: 9000 }, (_, at) => ({ op: 'remove', path: `/a/k${at}` }))),
  ),
  patch('additions to the front', JSON_PATCH, zeros, (n) =>
    repeated(n / 105, { op: 'add', path: '/a/0', value: 0 }),
  ),
  patch('removals from the front', JSON_PATCH, zeros, (n) =>
    repeated(n / 105, { op: 'remove', path: '/a/0' }),
  ),
  patch('additions to the end', JSON_PATCH, zeros, (n) =>
    repeated(n / 105, { op: 'add', path: '/a/-', value: 0 }),
  ),
  patch('copies of the array', JSON_PATCH, zeros, () => repeated(10, { op: 'copy', from: '/a', path: '/b' })),
  patch(
    'copies that double',
    JSON_PATCH,
    () => '[0]',
    (n) => repeated(n / 105, { op: 'copy', from: '/a', path: '/a/-' }),
  ),
  patch('comparisons of the array', JSON_PATCH, zeros, (n) =>
    repeated(3, { op: 'test', path: '/a', value: JSON.parse(zeros(n / 3)) }),
  ),
  patch('comparisons of members', JSON_PATCH, members, (n) =>
    repeated(n / 105, { op: 'test', path: '', value: {} }),
  ),
  patch('comparisons of elements', JSON_PATCH, inArray('{"b":1}'), (n) =>
    repeated(n / 105, { op: 'test', path: '/a/0', value: { b: 1 } }),
  ),
  patch(
    'long pointers',
    JSON_PATCH,
    () => '[]',
    (n) => repeated(100, { op: 'test', path: '/a'.repeat(n / 220), value: 1 }),
  ),
  patch(
    'escapes in pointers',
    JSON_PATCH,
    () => '[]',
    (n) => repeated(100, { op: 'add', path: `/${'~1'.repeat(n / 220)}`, value: 1 }),
  ),
  patch(
    'deep pointers',
    JSON_PATCH,
    () => `${'['.repeat(29)}0${']'.repeat(29)}`,
    (n) => repeated(n / 105, { op: 'replace', path: `/a${'/0'.repeat(29)}`, value: 1 }),
  ),
  patch(
    'an index of digits',
    JSON_PATCH,
    () => '[]',
    (n) => JSON.stringify([{ op: 'add', path: `/a/${'1'.repeat(n)}`, value: 1 }]),
  ),
  patch('of members', MERGE_PATCH, members, (n) => `{"a":${members(n).replaceAll(':1', ':2')}}`),
  patch('that removes members', MERGE_PATCH, members, (n) => `{"a":${members(n).replaceAll(':1', ':null')}}`),
  patch('of depth', MERGE_PATCH, zeros, (n) => `${'{"b":'.repeat(n / 6)}1${'}'.repeat(n / 6)}`),
  patch('of an array', MERGE_PATCH, zeros, (n) => `{"a":${zeros(n)}}`),
];
