import { checkDeclarations } from '../../src/declarations/check-declarations.js';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { declare } from './collections.js';
import { type TestService, testService } from './service.js';
import type { Test } from './test.js';
import { words } from './words.js';

/** Names of members of all objects, and names with the characters of the query syntax. */
export const NAMES = [
  ...Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== '__proto__'),
  ...[
    ...words(`
      a[b a]b [ ] [] ][ x][eq a,b , a.b -a - -- a-b a=b a&b
    `),
    'a b',
    ' ',
  ],
  ...[
    '"',
    "'",
    'a"b\'c',
    ...words(`
      \\ a\\ \\, \\] a+b a%5Db a#b a?b ~ a/b ~1 ä 日本 😀 * _a
    `),
  ],
  ...[
    'page',
    'limit',
    'sort',
    'filter',
    'fields',
    'search',
    'null',
    'true',
    'a\nb',
    'a\tb',
    '<b>',
    '$ref',
    '$1',
    ':table',
  ],
];
const properties = Object.fromEntries(NAMES.map((name) => [name, { type: 'string', 'x-index': true }]));
const schema = { type: 'object', title: 'Thing', properties, 'x-collection': { list: 'page' } };

/** A service with two records for each of the names. */
export async function serviceWithThings(t: Test, env: Record<string, string> = {}): Promise<TestService> {
  const folder = declare(t, { 'things.json': schema });
  checkDeclarations(readDeclarations(folder));
  const service = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto', ...env });
  for (const value of ['v1', 'v2'])
    for (const name of NAMES) {
      const { status, text } = await service.send('POST', '/things', { body: { [name]: value } });
      t.equal(status, 201, `${name}: ${text}`);
    }
  return service;
}
