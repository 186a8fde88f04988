import { ADMIN, declared, withAccess } from '../support/declared.js';
import t from '../support/test.js';
import { checked } from './faults.js';

const text = { type: 'string', maxLength: 100, 'x-index': true };
const books = (access: unknown, more: object = {}) =>
  declared(
    {
      title: text,
      status: { ...text, enum: ['open', 'closed'] },
      note: { type: 'string' },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'users' },
    },
    { access, ...more },
  );
const READ = { can: 'read' };
const check = async (...of: Parameters<typeof checked>) => (await checked(...of)).join('\n');
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
];

/** Conditions, with the pointer below the condition and a part of the reason of their fault. */
const CONDITIONS: readonly (readonly [where: object, pointer: string, reason: string])[] = [
  [{ note: 'x' }, 'note', 'names no field that can be filtered by'],
  [{ author: { password: 'x' } }, 'author/password', 'names no field'],
  [{ or: [{ title: 'a' }, { titel: 'b' }] }, 'or/1/titel', 'names no field'],
  [{ authorId: '$me' }, 'authorId', '$me is unknown'],
  [{ authorId: '$caller.shoe' }, 'authorId', 'names no field of users'],
  [{ authorId: '$caller.email' }, 'authorId', 'cannot be compared'],
  [{ title: { in: '$caller.age' } }, 'title/in', 'cannot be compared'],
  [{ title: '$caller.tags' }, 'title', 'cannot be compared'],
  [{ _version: '$caller.email' }, '_version', 'cannot be compared'],
  [{ authorId: 'ann' }, 'authorId', 'must be the id of a record'],
  [{ created_at: { lt: '$now' } }, 'created_at/lt', 'cannot be compared'],
  [{ title: { prefix: '$caller' } }, 'title/prefix', 'cannot be compared'],
  [
    { authorId: { in: ['$caller', '01a20900-0000-7000-8000-000000000011'] } },
    'authorId/in',
    'cannot have a value of the request',
  ],
  [{ title: { in: ['a', '$claims.team'] } }, 'title/in', 'cannot have a value of the request'],
  [{ title: { in: [] } }, 'title/in', 'must have at least one value'],
];

t.test('faults of access rules are reported with their places, by the check and by a start', async (t) => {
  const ofConditions = CONDITIONS.map(
    ([where, pointer, reason]) => [[{ ...READ, where }], `access/0/where/${pointer}`, reason] as const,
  );
  for (const [access, pointer, reason] of [...ROWS, ...ofConditions]) {
    const err = await check(t, { 'books.json': books(access), 'users.json': USERS }, 78);
    t.match(err, `books.json#/x-collection/${pointer}`);
    t.match(err, reason);
  }
  const more = await check(t, { 'posts.json': books([READ], { public: 'read' }) }, 78);
  t.match(more, /posts\.json#\/x-collection\/public/);
});

t.test('rules with all kinds of values are valid', async (t) => {
  const access = [
    { can: 'read', to: 'anyone', where: { status: 'open' }, fields: ['title', 'status'] },
    {
      can: ['read', 'update'],
      where: { or: [{ authorId: '$caller' }, { title: { in: '$claims.titles' } }] },
    },
    { can: 'create', where: { author: { email: '$claims.email' } } },
    ADMIN,
  ];
  await check(t, { 'books.json': books(access) }, 0);
});

/** Access rules that are valid, with the pointer below x-collection and a part of the warning about them; none: there is no warning. */
const WARNINGS: readonly (readonly [
  access: readonly object[],
  pointer?: string | undefined,
  reason?: string,
])[] = [
  [[READ, ADMIN], undefined],
  [
    [{ ...READ, fields: ['titel'] }, ADMIN],
    'access/0/fields/0',
    'no field titel is declared; did you mean title?',
  ],
  [[{ ...READ, fields: ['title', '_version', 'id'] }, ADMIN], undefined],
  [
    [READ, { ...ADMIN, scope: 'boks:write' }],
    'access/1/scope',
    'no collection has the scope boks:write; did you mean books:write?',
  ],
  [[READ, { ...ADMIN, scope: 'library:read' }], 'access/1/scope', 'no collection has the scope library:read'],
  [[READ, { ...ADMIN, scope: 'staff' }], undefined],
];

t.test('the check warns of names that nothing has', async (t) => {
  for (const [access, pointer, reason] of WARNINGS) {
    const err = await check(t, { 'books.json': books(access) }, 0);
    const said = `${JSON.stringify(access)}: ${err}`;
    if (pointer === undefined) t.equal(err, '', said);
    else {
      t.match(err, `books.json#/x-collection/${pointer}: `, said);
      t.match(err, reason!, said);
      t.equal(err.match(/^warning: /gm)?.length, 1, said);
    }
  }
});

t.test('the check warns of required names that no field has', async (t) => {
  const books = declared({ title: {}, author: {} }, {}, { required: ['title', 'autor'] });
  const warning = /^warning: books\.json#\/required\/1: no field autor is declared; did you mean author\?$/;
  t.match(await check(t, { 'books.json': books }, 0), warning);
});

t.test('the check warns of values on which rules depend and that callers write', async (t) => {
  const field = { type: 'string', 'x-index': true };
  const membership = {
    userId: { type: 'string', 'x-references': 'users' },
    teamId: { type: 'string', 'x-references': 'teams' },
  };
  const teams = withAccess({ name: field }, [
    { can: 'read', where: { memberships: { some: { userId: '$caller' } } } },
    { can: 'update', where: { name: '$caller.team' } },
  ]);
  const open = await check(
    t,
    {
      'users.json': declared({ team: field }),
      'teams.json': teams,
      'memberships.json': declared(membership, { nested: 'userId' }),
    },
    0,
  );
  t.match(
    open,
    /users\.json#\/properties\/team: access rules compare \$caller\.team, which callers may change themselves/,
  );
  t.match(
    open,
    /memberships\.json#\/x-collection\/nested: access rules of other collections depend on these records/,
  );
  const own = { can: ['read', 'update'], where: { id: '$caller' } };
  const ruled = (fields?: string[]) => ({
    'users.json': withAccess({ team: field }, [{ ...own, ...(fields && { fields }) }, ADMIN]),
    'teams.json': teams,
    'memberships.json': withAccess(membership, [{ can: 'read', where: { userId: '$caller' } }, ADMIN], {
      nested: 'userId',
    }),
  });
  t.match(await check(t, ruled(), 0), /^warning: users\.json#\/properties\/team: [^\n]*$/);
  t.equal(await check(t, ruled(['name']), 0), '');
  t.equal(await check(t, {}, 0), '', 'the declarations that come with the service are known');
});
