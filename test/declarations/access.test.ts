import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import t from '../support/test.js';

const text = { type: 'string', maxLength: 100, 'x-index': true };
const books = (access: unknown, more: object = {}) => ({
  type: 'object',
  properties: {
    title: text,
    status: { ...text, enum: ['open', 'closed'] },
    note: { type: 'string' },
    authorId: { type: 'string', format: 'uuid', 'x-references': 'users' },
  },
  'x-collection': { access, ...more },
});
const READ = { can: 'read' };
/** Fields of callers beside those of the service. */
const USERS = {
  type: 'object',
  properties: {
    age: { type: 'integer', 'x-index': true },
    tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
  },
};

/** Access rules with the pointer below x-collection and a part of the reason of their fault. */
const ROWS: readonly (readonly [access: unknown, pointer: string, reason: string])[] = [
  [[], 'access', 'must NOT have fewer than 1 items'],
  [[{}], 'access/0', "must have required property 'can'"],
  [[{ can: 'write' }], 'access/0/can', 'must be one of "read", "create", "update", "delete", "all"'],
  [[{ ...READ, when: {} }], 'access/0/when', 'is not a known option'],
  [[{ can: 'create' }], 'access', 'no grant permits anybody to read'],
  [[{ ...READ, where: { note: 'x' } }], 'access/0/where/note', 'names no field that can be filtered by'],
  [[{ ...READ, where: { author: { password: 'x' } } }], 'access/0/where/author/password', 'names no field'],
  [
    [{ ...READ, where: { or: [{ title: 'a' }, { titel: 'b' }] } }],
    'access/0/where/or/1/titel',
    'names no field',
  ],
  [[{ ...READ, where: { authorId: '$me' } }], 'access/0/where/authorId', '$me is unknown'],
  [[{ ...READ, where: { authorId: '$caller.shoe' } }], 'access/0/where/authorId', 'names no field of users'],
  [[{ ...READ, where: { authorId: '$caller.email' } }], 'access/0/where/authorId', 'cannot be compared'],
  [[{ ...READ, where: { title: { in: '$caller.age' } } }], 'access/0/where/title/in', 'cannot be compared'],
  [[{ ...READ, where: { title: '$caller.tags' } }], 'access/0/where/title', 'cannot be compared'],
  [[{ ...READ, where: { _version: '$caller.email' } }], 'access/0/where/_version', 'cannot be compared'],
  [[{ ...READ, where: { authorId: 'ann' } }], 'access/0/where/authorId', 'must be the id of a record'],
  [
    [{ ...READ, where: { created_at: { lt: '$now' } } }],
    'access/0/where/created_at/lt',
    'cannot be compared',
  ],
  [
    [{ ...READ, where: { title: { prefix: '$caller' } } }],
    'access/0/where/title/prefix',
    'cannot be compared',
  ],
  [[{ ...READ, where: { status: 'draft' } }], 'access/0/where', 'can never hold: status eq draft'],
  [[{ ...READ, where: { status: { in: ['draft', 'old'] } } }], 'access/0/where', 'can never hold'],
  [[{ ...READ, where: { title: { in: [] } } }], 'access/0/where/title/in', 'must have at least one value'],
  [[READ, { can: 'delete', fields: ['title'] }], 'access/1/fields', 'has no effect'],
];

t.test('faults of access rules are reported with their places, by the check and by a start', async (t) => {
  for (const [access, pointer, reason] of ROWS) {
    const COLLECTIONS = declare(t, { 'books.json': books(access), 'users.json': USERS });
    const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS });
    t.equal(code, 78, `${JSON.stringify(access)}: ${err}`);
    t.ok(err.includes(`books.json#/x-collection/${pointer}`), `${pointer}: ${err}`);
    t.ok(err.includes(reason), `${reason}: ${err}`);
  }
  const closed = { ...books([{ ...READ, fields: ['titel'] }]), additionalProperties: false };
  const more = await plinth(t, ['collections', 'check'], {
    COLLECTIONS: declare(t, {
      'books.json': closed,
      'posts.json': books([READ], { public: 'read' }),
    }),
  });
  t.match(more.err, /books\.json#\/x-collection\/access\/0\/fields\/0/);
  t.match(more.err, /posts\.json#\/x-collection\/public/);
});

t.test('rules with all kinds of values are valid', async (t) => {
  const access = [
    { can: 'read', to: 'anyone', where: { status: 'open' }, fields: ['title', 'status'] },
    {
      can: ['read', 'update'],
      where: { or: [{ authorId: '$caller' }, { title: { in: '$claims.titles' } }] },
    },
    { can: 'create', where: { author: { email: '$claims.email' } } },
    { can: 'all', scope: 'admin' },
  ];
  const { code, err } = await plinth(t, ['collections', 'check'], {
    COLLECTIONS: declare(t, { 'books.json': books(access) }),
  });
  t.equal(code, 0, err);
});
