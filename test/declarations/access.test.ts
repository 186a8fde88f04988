import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { ADMIN, declared } from '../support/declared.js';
import t from '../support/test.js';

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
  [
    [{ ...READ, where: { authorId: { in: ['$caller', '01a20900-0000-7000-8000-000000000011'] } } }],
    'access/0/where/authorId/in',
    'cannot have $caller',
  ],
  [
    [{ ...READ, where: { title: { in: ['a', '$claims.team'] } } }],
    'access/0/where/title/in',
    'cannot have $claims',
  ],
  [[{ ...READ, where: { title: { in: [] } } }], 'access/0/where/title/in', 'must have at least one value'],
];

t.test('faults of access rules are reported with their places, by the check and by a start', async (t) => {
  for (const [access, pointer, reason] of ROWS) {
    const COLLECTIONS = declare(t, { 'books.json': books(access), 'users.json': USERS });
    const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS });
    t.equal(code, 78, `${JSON.stringify(access)}: ${err}`);
    t.ok(err.includes(`books.json#/x-collection/${pointer}`), `${pointer}: ${err}`);
    t.ok(err.includes(reason), `${reason}: ${err}`);
  }
  const more = await plinth(t, ['collections', 'check'], {
    COLLECTIONS: declare(t, { 'posts.json': books([READ], { public: 'read' }) }),
  });
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
    ADMIN,
  ];
  const { code, err } = await plinth(t, ['collections', 'check'], {
    COLLECTIONS: declare(t, { 'books.json': books(access) }),
  });
  t.equal(code, 0, err);
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
    const COLLECTIONS = declare(t, { 'books.json': books(access) });
    const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS });
    const said = `${JSON.stringify(access)}: ${err}`;
    t.equal(code, 0, said);
    if (pointer === undefined) t.equal(err, '', said);
    else {
      t.match(err, `books.json#/x-collection/${pointer}: `, said);
      t.match(err, reason!, said);
      t.equal(err.match(/^warning: /gm)?.length, 1, said);
    }
  }
});

t.test('the check warns of required names that no field has', async (t) => {
  const COLLECTIONS = declare(t, {
    'books.json': { type: 'object', required: ['title', 'autor'], properties: { title: {}, author: {} } },
  });
  t.match(await plinth(t, ['collections', 'check'], { COLLECTIONS }), {
    code: 0,
    err: /^warning: \S*books\.json#\/required\/1: no field autor is declared; did you mean author\?\n$/,
  });
});

t.test('the check warns of values on which rules depend and that callers write', async (t) => {
  const field = { type: 'string', 'x-index': true };
  const reference = { type: 'string', 'x-references': 'users' };
  const team = { type: 'string', 'x-references': 'teams' };
  const collection = (properties: object, options: object = {}) => declared(properties, options);
  const teams = collection(
    { name: field },
    {
      access: [
        { can: 'read', where: { memberships: { some: { userId: '$caller' } } } },
        { can: 'update', where: { name: '$caller.team' } },
      ],
    },
  );
  const memberships = collection({ userId: reference, teamId: team }, { nested: 'userId' });
  const check = async (files: Record<string, object>) => {
    const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS: declare(t, files) });
    t.equal(code, 0, err);
    return err;
  };
  const open = await check({
    'users.json': collection({ team: field }),
    'teams.json': teams,
    'memberships.json': memberships,
  });
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
    'users.json': collection({ team: field }, { access: [{ ...own, ...(fields && { fields }) }, ADMIN] }),
    'teams.json': teams,
    'memberships.json': collection(
      { userId: reference, teamId: team },
      { nested: 'userId', access: [{ can: 'read', where: { userId: '$caller' } }, ADMIN] },
    ),
  });
  t.match(await check(ruled()), /^warning: \S*users\.json#\/properties\/team: [^\n]*\n$/);
  t.equal(await check(ruled(['name'])), '');
  t.equal(await check({}), '', 'the declarations that come with the service are known');
});
