import type { Name } from '../harness/contestant.js';
import { TERMS } from '../harness/data.js';
import type { Request } from '../harness/request.js';
import { by, type Entrant, type Row, row } from '../harness/row.js';

const JSON_BODY = { 'content-type': 'application/json' };
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' };
const ABSENT = '018bcfe5-6800-7000-8000-000000000000';

const get = (path: string, headers: Request['headers'] = {}): Request => ({ method: 'GET', path, headers });
const search = (term: string) => get(`/items?page=1&limit=20&search=${term}`);

const ONE = get('/users/{id}');
const CREATE: Request = {
  method: 'POST',
  path: '/users',
  headers: JSON_BODY,
  body: '{"email":"{unique}@example.com","name":"New User","age":{number}}',
};
const PATCH: Request = {
  method: 'PATCH',
  path: '/users/{id}',
  headers: MERGE_PATCH,
  body: '{"age":{number}}',
};

const PAIR: readonly Name[] = ['plinth', 'handwritten'];
const FRAMEWORKS: readonly Name[] = [...PAIR, 'fastify', 'express'];

const TAIL = by(1, 'p99', '<');
const SHORT_TAIL = by(0.5, 'p99', '<');
/** A client that is alone has nobody to share a statement with, and must not pay for it. */
const ALONE = by(1, 'p50', '<=');

const NEAR_BARE = by(0.85, 'rate', '>', 'bare');

const overhead = (name: string, request: Request, status: number) =>
  row(name, 64, request, ['plinth', 'handwritten', 'bare'], [NEAR_BARE, TAIL], { status, base: 'bare' });

/**
 * Every row, in the order in which they are measured: those that write come last. A single connection comes after many: of
 * itself it makes too few requests for V8 to have compiled what they need, and would measure that.
 */
export function rowsOf(items: number): Row[] {
  const last = Math.ceil(items / 20);
  const middle = Math.ceil(last / 2);
  return [
    row(
      'get one',
      64,
      ONE,
      [...FRAMEWORKS, 'bare'],
      [by(2.5), SHORT_TAIL, by(1.5, 'nodeUs', '<', 'bare'), by(1 / 3, 'pgUs', '<')],
    ),
    row('get one', 1, ONE, [...PAIR, 'bare'], [by(2), ALONE, TAIL]),
    row('get one', 8, ONE, [...PAIR, 'bare'], [by(2), TAIL], { quick: false }),
    row('get one', 256, ONE, [...PAIR, 'bare'], [by(2), TAIL], { quick: false }),
    row('get one', 1000, ONE, [...PAIR, 'bare'], [by(2), TAIL], { quick: false }),
    conditions(),
    row('not modified', 64, get('/users/{id}', { 'if-none-match': '"1"' }), PAIR, [by(3.5), SHORT_TAIL], {
      status: 304,
    }),
    row('absent id', 64, get(`/users/${ABSENT}`), PAIR, [by(2), SHORT_TAIL], { status: 404 }),
    verified(),
    firstPage(),
    row('middle page', 4, get(`/items?page=${middle}&limit=20`), PAIR, [by(150), TAIL]),
    row('last page', 4, get(`/items?page=${last}&limit=20`), PAIR, [by(150), TAIL], { quick: false }),
    row('search, common word', 4, search(TERMS.common), PAIR, [by(1.5), TAIL]),
    row('search, rare word', 4, search(TERMS.rare), PAIR, [by(1), TAIL]),
    row('search, no match', 4, search(TERMS.none), PAIR, [by(1), TAIL]),
    row('search, oldest match', 4, search(TERMS.trap), PAIR, [by(8), TAIL]),
    row('search, two letters', 1, search(TERMS.two), PAIR, [TAIL]),
    row('search, one letter', 1, search(TERMS.one), PAIR, [TAIL], { quick: false }),
    overhead('no such path', get('/nothing/here'), 404),
    { ...overhead('no such method', { method: 'DELETE', path: '/items', headers: {} }, 405), quick: false },
    overhead('broken body', { method: 'POST', path: '/users', headers: JSON_BODY, body: '{"email":' }, 400),
    unauthorized(),
    row(
      'whole array',
      1,
      get('/users'),
      PAIR,
      [
        by(8, 'mbPerSecond'),
        { metric: 'aboveIdleMb', op: '<', bound: 48 },
        { metric: 'firstByteMs', op: '<', bound: 20 },
      ],
      { kind: 'whole' },
    ),
    row(
      'idle connections',
      10_000,
      ONE,
      ['plinth', 'bare'],
      [{ metric: 'idleKb', op: '<', bound: 8, above: 'bare' }],
      { kind: 'idle', quick: false, base: 'bare' },
    ),
    row('patch', 64, PATCH, FRAMEWORKS, [by(2.5), TAIL], { writes: true }),
    row('patch', 1, PATCH, PAIR, [by(2.5), ALONE, TAIL], { writes: true }),
    row('create', 64, CREATE, FRAMEWORKS, [by(2), TAIL], { writes: true, status: 201 }),
    row('create', 1, CREATE, PAIR, [by(1, 'rate', '>='), ALONE, TAIL], { writes: true, status: 201 }),
  ];
}

/** A token that was seen before, against the same read of the service that asks for none. */
function verified(): Row {
  const other = 'plinth, AUTH=none';
  const headers = { authorization: 'Bearer {token}' };
  return {
    ...row('verified token', 64, ONE, [], [by(0.9, 'rate', '>', other)], { base: other }),
    entrants: [
      { label: 'plinth', name: 'scoped', request: get('/users/{id}', headers) },
      { label: other, name: 'plinth', request: ONE },
    ],
  };
}

/** The hand-written server asks nobody for a credential. */
function unauthorized(): Row {
  const base = row('no credential', 64, ONE, ['scoped', 'bare'], [NEAR_BARE], { status: 401, base: 'bare' });
  const entrants = base.entrants.map((each) =>
    each.name === 'scoped' ? { ...each, label: 'plinth' } : each,
  );
  return { ...base, entrants, quick: false };
}

/** The cost that conditions which do not end in a 304 add to a read, of Plinth alone. */
function conditions(): Row {
  const conditional = (label: string, headers: Request['headers']): Entrant => ({
    label: `plinth, ${label}`,
    name: 'plinth',
    request: get('/users/{id}', headers),
  });
  const plain = row('conditional read', 64, ONE, ['plinth'], [], { base: 'plinth', quick: false });
  const entrants = [
    conditional('If-None-Match', { 'if-none-match': '"999"' }),
    conditional('If-Match', { 'if-match': '"1"', 'if-modified-since': 'Thu, 01 Jan 2015 00:00:00 GMT' }),
  ];
  return { ...plain, entrants: [...plain.entrants, ...entrants] };
}

function firstPage(): Row {
  const uncounted = 'handwritten, no total';
  const base = row('first page', 4, get('/items?page=1&limit=20'), FRAMEWORKS, [
    by(300),
    by(2, 'rate', '>', uncounted),
    TAIL,
  ]);
  const [plinth, handwritten, ...others] = base.entrants;
  const extra: Entrant = {
    label: uncounted,
    name: 'handwritten',
    request: get('/items?page=1&limit=20&count=0'),
  };
  return { ...base, entrants: [plinth!, handwritten!, extra, ...others] };
}

const NEW_ITEM: Request = {
  method: 'POST',
  path: '/items',
  headers: JSON_BODY,
  body: '{"name":"New Item {unique}","price":{number}}',
};

/** The rows of the growth curve, of Plinth alone. */
export function growthRows(items: number): Row[] {
  const middle = Math.ceil(items / 40);
  const alone: readonly Name[] = ['plinth'];
  return [
    row('get one', 64, get('/items/{id}'), alone, []),
    row('first page', 4, get('/items?page=1&limit=20'), alone, []),
    row('middle page', 4, get(`/items?page=${middle}&limit=20`), alone, []),
    row('search, rare word', 4, search(TERMS.rare), alone, []),
    row('create', 64, NEW_ITEM, alone, [], { writes: true, status: 201 }),
  ];
}
