import type { Resource } from '../../src/collection/resource.js';
import { readList } from '../../src/list/read-list.js';
import { items, posts, users } from '../support/collections.js';
import t from '../support/test.js';

const read = (query: string, resource: Resource, parent?: string) =>
  readList(new URLSearchParams(query), { resource }, { lists: 'numbered', parent });

t.test('which form a list has depends on what is given, not on its value', async (t) => {
  const rows: [query: string, isPage: boolean, isPageOfUsers: boolean][] = [
    ['', true, false],
    ['x=1', true, false],
    ['page', true, true],
    ['limit=abc', true, true],
    ['sort=', false, false],
    ['order=up', false, false],
    ['search=', false, false],
    ['page=1&search=a', true, true],
    ['count=none', true, true],
    ['fields=name', true, true],
  ];
  for (const [query, isPage, isPageOfUsers] of rows) {
    t.equal(read(query, items).part.kind, isPage ? 'numbered' : 'all', query);
    for (const resource of [users, posts]) {
      const { part } = read(query, resource);
      t.equal(part.kind, isPageOfUsers ? 'numbered' : 'all', `${resource.name} ${query}`);
    }
  }
});

t.test('sort, order and search have effective values, and links repeat what is given', async (t) => {
  const rows: [query: string, sort: string, order: string, search: string, suffix: string][] = [
    ['', 'created_at', 'desc', '', ''],
    ['sort=name', 'name', 'desc', '', '&sort=name'],
    ['sort=price&order=asc', 'price', 'asc', '', '&sort=price&order=asc'],
    ['order=asc&sort=price', 'price', 'asc', '', '&order=asc&sort=price'],
    ['sort=created_at&order=desc', 'created_at', 'desc', '', '&sort=created_at&order=desc'],
    ['sort=id', 'created_at', 'desc', '', '&sort=id'],
    ['sort=toString', 'created_at', 'desc', '', '&sort=toString'],
    ['sort=__proto__', 'created_at', 'desc', '', '&sort=__proto__'],
    ['sort=%5Cprice', 'created_at', 'desc', '', '&sort=%5Cprice'],
    ['sort=pri%5Cce', 'created_at', 'desc', '', '&sort=pri%5Cce'],
    ['sort=name%3Bdrop', 'created_at', 'desc', '', '&sort=name%3Bdrop'],
    ['order=ASC', 'created_at', 'desc', '', '&order=ASC'],
    [
      'sort=name&sort=price&order=asc&order=desc',
      'name',
      'asc',
      '',
      '&sort=name&sort=price&order=asc&order=desc',
    ],
    ['search=+a%26b%3D%25+', 'created_at', 'desc', 'a&b=%', '&search=+a%26b%3D%25+'],
    ['search=caf%C3%A9', 'created_at', 'desc', 'café', '&search=caf%C3%A9'],
    ['search=%FF', 'created_at', 'desc', '\ufffd', '&search=%EF%BF%BD'],
    ['search=a&search=b', 'created_at', 'desc', 'a', '&search=a&search=b'],
    ['page=2&search=a&_x=y', 'created_at', 'desc', 'a', '&search=a&_x=y'],
  ];
  for (const [query, sort, order, search, suffix] of rows) {
    const list = read(query, items);
    t.same(list.sorts, [{ field: sort, direction: order }], query);
    t.same(list.selection, { conditions: [], search: search === '' ? [] : [search] }, query);
    t.same([list.search, list.repeated], [search, suffix.slice(1)], query);
  }
});

t.test('a search is cut to 100 code points, and no character in two', async (t) => {
  const searchOf = (text: string) => read(`search=${encodeURIComponent(text)}`, items).search;
  t.equal(searchOf('a'.repeat(101)), 'a'.repeat(100));
  t.equal(searchOf('😀'.repeat(100)), '😀'.repeat(100));
  t.equal(searchOf(`a${'😀'.repeat(100)}`), `a${'😀'.repeat(99)}`);
  t.equal(searchOf(`${' '.repeat(200)}a`), 'a', 'after it is trimmed');
});
