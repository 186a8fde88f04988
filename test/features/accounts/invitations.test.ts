import { noBrowser, openPage } from '../../support/chromium.js';
import { declare } from '../../support/collections.js';
import { makeKey } from '../../support/credentials.js';
import { folderOf } from '../../support/folder.js';
import { type MailServer, openWithMail } from '../../support/mail-server.js';
import { checkPage } from '../../support/page-checks.js';
import { declarationsUnder } from '../../support/page-commands.js';
import { type ServiceResponse, type TestService, testService, UNDECLARED } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { notInDefault } from '../../support/thorough.js';
import { until } from '../../support/until.js';
import { authorizationServer, PASSWORD } from '../issuer/authorization-server.js';

t.jobs = 3;

const RECIPES = 'docs/recipes.md';
const ZOE = 'zoe@example.org';

type Call = (method: string, path: string, body?: object, headers?: object) => Promise<ServiceResponse>;

interface Person {
  readonly id: string;
  readonly email: string;
  readonly call: Call;
}

interface World {
  readonly service: TestService;
  readonly mail: MailServer;
  readonly person: (name: string, ...scopes: string[]) => Promise<Person>;
  readonly key: (subject: string, scopes: string[]) => Promise<Call>;
  readonly stranger: Call;
  /** Ann owns a team, Bob is a member of it. */
  readonly ann: Person;
  readonly bob: Person;
  readonly team: string;
  readonly invite: (by: { readonly call: Call }, create?: object, email?: string) => Promise<ServiceResponse>;
  /** The code in a message, by its place among all. */
  readonly code: (at: number) => Promise<string>;
  readonly accept: (by: Call, code: string, user?: object) => Promise<ServiceResponse>;
  readonly members: () => Promise<number>;
}

const codeIn = (text: string) => /[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}/.exec(text)![0];

const FILES = { ...declarationsUnder(RECIPES, 'Begin'), ...declarationsUnder(RECIPES, 'Teams with roles') };

/** The service of the recipe for teams, which sends messages. */
async function start(t: Test, env: Record<string, string> = {}, files: object = FILES): Promise<World> {
  const settings = {
    AUTH: 'basic,api-key',
    INSECURE: 'basic',
    AUTH_FAILURES: '0',
    PUBLIC_URL: 'https://api.example.org',
  };
  const { mail, opened: service } = await openWithMail(
    t,
    (of) =>
      testService(
        t,
        { COLLECTIONS: declare(t, { ...files }), DATABASE_URL: UNDECLARED, ...settings, ...of, ...env },
        { mailPollMs: 50, mailRetrySeconds: 0, requestsPerAddress: 1000 },
      ),
    (service) => service,
  );
  const as =
    (headers: object): Call =>
    (method, path, body, more = {}) =>
      service.send(method, path, { ...(body && { body }), headers: { ...headers, ...more } });
  const users = service.collections.find(({ resource }) => resource.hasPasswords)!;
  const basic = (email: string) =>
    as({ authorization: `Basic ${Buffer.from(`${email}:${PASSWORD}`).toString('base64')}` });
  const person: World['person'] = async (name, ...scopes) => {
    const email = `${name}@example.org`;
    const { id } = await users.create(users.check({ email, name, password: PASSWORD }));
    if (scopes.length > 0)
      await service.db.run('insert into user_scopes values ($1::uuid, $2::text::text[])', [
        id,
        `{${scopes.join()}}`,
      ]);
    return { id, email, call: basic(email) };
  };
  const key: World['key'] = async (subject, scopes) =>
    as({ 'x-api-key': (await makeKey(service.db, { subject, scopes })).key });
  const [ann, bob] = [await person('ann'), await person('bob')];
  const team = (await ann.call('POST', '/teams', { name: 'Roof' })).json.id as string;
  const join = ({ id }: Person, role: string) =>
    ann.call('POST', '/memberships', { teamId: team, userId: id, role });
  t.equal((await join(ann, 'owner')).status, 201);
  t.equal((await join(bob, 'member')).status, 201);
  return {
    ...{ service, mail, person, key, ann, bob, team },
    stranger: as({}),
    invite: (by, create = { memberships: { teamId: team, role: 'member' } }, email = ZOE) =>
      by.call('POST', '/invitations', { email, create }),
    code: async (at) => codeIn((await until('the message arrives', () => mail.received[at])).text),
    accept: (by, code, user) => by('POST', '/invitations/accept', { code, ...(user && { user }) }),
    members: async () => (await ann.call('GET', `/teams/${team}/memberships?page=1`)).json.meta.total,
  };
}

const FOLDED = 'Ann Bcc: x@evil.example B (ann@example.org)';

const NEW = { name: 'Zoe', password: PASSWORD };

t.test('a person without an account accepts, and is a member', async (t) => {
  const { mail, ann, team, invite, code, accept, stranger, members, service } = await start(t);
  const made = await invite(ann, undefined, ' Zoe@Example.org ');
  t.match(made, {
    status: 201,
    json: { email: ZOE, inviter_id: ann.id, status: 'open', create: { memberships: { teamId: team } } },
  });
  const [first, message] = [await code(0), mail.received[0]!];
  t.equal(message.to, ZOE);
  t.match(message.text, `https://api.example.org/accept-invitation?code=${first}`);
  t.match(message.text, 'ann (ann@example.org) invites you to api.example.org: Roof, member.');
  const page = await service.send('GET', `/accept-invitation?code=${first}`, {
    headers: { 'accept-language': 'de' },
  });
  t.match(page.text, 'ann (ann@example.org) lädt Sie ein: Roof, member');
  t.equal(await members(), 2, 'nothing exists before');
  const accepted = await accept(stranger, first, NEW);
  t.equal(accepted.status, 200, accepted.text);
  const { user: id, created } = accepted.json as { user: string; created: Record<string, string> };
  t.match((await ann.call('GET', `/memberships/${created.memberships}`)).json, {
    userId: id,
    teamId: team,
    role: 'member',
  });
  const zoe = `Basic ${Buffer.from(`${ZOE}:${PASSWORD}`).toString('base64')}`;
  t.equal((await stranger('GET', `/teams/${team}`, undefined, { authorization: zoe })).status, 200);
  t.match(
    await accept(stranger, first, NEW),
    { status: 403, json: { error: { code: 'CODE_ENDED' } } },
    'once',
  );
  t.match((await ann.call('GET', `/invitations/${made.json.id}`)).json, { status: 'accepted', _version: 2 });
  const events = await service.db.run('select actor from events where type = $1 order by seq', [
    'memberships.created',
  ]);
  t.equal(events.at(-1)!.actor, ann.id, 'the inviter is the actor');
});

/** Texts of the message, and its first lines after a name with line breaks, separators and controls of the direction. */
const NAMED: readonly [text: string | undefined, subject: string, first: string][] = [
  [undefined, 'An invitation to api.example.org', `${FOLDED} invites you to api.example.org: Roof, member.`],
  ['{{inviter}} writes\n\n{{inviter}} writes:\n\n{{code}}\n', `${FOLDED} writes`, `${FOLDED} writes:`],
];

for (const [text, subject, first] of NAMED)
  t.test(`a name begins no line of ${text ? 'a text of the operator' : 'the text'}`, async (t) => {
    const env = text && { MAIL_TEMPLATES: folderOf(t, { 'invitation.en.txt': text }) };
    const { mail, ann, code, invite, stranger } = await start(t, { ...env });
    const name = 'Ann\r\nBcc: x@evil.example\u2028\u2029\u202e\u2066\u0085B';
    t.equal((await ann.call('PATCH', `/users/${ann.id}`, { name })).status, 200);
    await invite(ann);
    await code(0);
    const { raw, text: sent } = mail.received[0]!;
    t.match(raw.replaceAll(/\r\n[ \t]/g, ' '), `\r\nSubject: ${subject}\r\n`);
    t.equal(sent.split(/\r?\n/)[0]!.slice(0, first.length), first);
    t.notMatch(raw, /^Bcc/m);
    const page = await stranger('GET', `/accept-invitation?code=${codeIn(sent)}`, undefined, {
      accept: 'text/html',
    });
    t.match(page.text, FOLDED);
  });

t.test('a user accepts with a credential, another user does not', async (t) => {
  const { ann, bob, person, invite, code, accept, stranger, members } = await start(t);
  const zoe = await person('zoe');
  await invite(ann);
  const first = await code(0);
  t.match(await accept(bob.call, first), { status: 403, json: { error: { code: 'INVITATION_OF_ANOTHER' } } });
  t.match(await accept(stranger, first, NEW), { status: 403, json: { error: { code: 'SIGN_IN_REQUIRED' } } });
  t.equal(await members(), 2);
  t.match(await accept(zoe.call, first), { status: 200, json: { user: zoe.id } });
  t.equal(await members(), 3);
});

/** Invitations by Ann, if `by` does not name another caller. `:team`, `:other` and `:none` are ids. */
const INVITED: readonly [
  says: string,
  create: object,
  status: number,
  code: string,
  path?: string | undefined,
  by?: string,
][] = [
  ['an owner', { memberships: { teamId: ':team', role: 'guest' } }, 201, ''],
  [
    'members that no field has',
    { memberships: { teamId: ':team', role: 'guest', note: 'x', _x: 1, constructor: 1 } },
    201,
    '',
  ],
  ['a member', { memberships: { teamId: ':team', role: 'guest' } }, 403, 'ACCESS_DENIED', undefined, 'bob'],
  [
    'the operator',
    { memberships: { teamId: ':team', role: 'guest' } },
    403,
    'INVITER_UNKNOWN',
    undefined,
    'operator',
  ],
  ['a user with admin', { memberships: { teamId: ':other', role: 'owner' } }, 201, '', undefined, 'root'],
  [
    'admin that the user has not',
    { memberships: { teamId: ':other', role: 'owner' } },
    422,
    'TEAM_NOT_FOUND',
    undefined,
    'sudo',
  ],
  [
    'a key without the scope self',
    { memberships: { teamId: ':team', role: 'guest' } },
    403,
    'INSUFFICIENT_SCOPE',
    undefined,
    'weak',
  ],
  [
    'no credential',
    { memberships: { teamId: ':team', role: 'guest' } },
    401,
    'UNAUTHORIZED',
    undefined,
    'stranger',
  ],
  [
    'a team of others',
    { memberships: { teamId: ':other', role: 'guest' } },
    422,
    'TEAM_NOT_FOUND',
    '/create/memberships/teamId',
  ],
  [
    'no team',
    { memberships: { teamId: ':none', role: 'guest' } },
    422,
    'TEAM_NOT_FOUND',
    '/create/memberships/teamId',
  ],
  [
    'no team, to admin',
    { memberships: { teamId: ':none', role: 'guest' } },
    422,
    'TEAM_NOT_FOUND',
    '/create/memberships/teamId',
    'root',
  ],
  ['no role', { memberships: { teamId: ':team' } }, 400, 'VALIDATION_ERROR', '/create/memberships/role'],
  [
    'another role',
    { memberships: { teamId: ':team', role: 'king' } },
    400,
    'VALIDATION_ERROR',
    '/create/memberships/role',
  ],
  [
    'a user',
    { memberships: { teamId: ':team', role: 'guest', userId: ':none' } },
    400,
    'VALIDATION_ERROR',
    '/create/memberships/userId',
  ],
  ['a collection without invitations', { teams: { name: 'Wall' } }, 400, 'VALIDATION_ERROR', '/create/teams'],
  ['nothing', {}, 400, 'VALIDATION_ERROR', '/create'],
  [
    'too much',
    { memberships: { teamId: ':team', role: 'guest', more: 'x'.repeat(9000) } },
    400,
    'VALIDATION_ERROR',
    '/create',
  ],
];

t.test('who may invite for what', async (t) => {
  const world = await start(t);
  const { person, key, ann, bob, stranger, service } = world;
  const [eve, root] = [await person('eve'), await person('root', 'admin')];
  const other = (await eve.call('POST', '/teams', { name: 'Cellar' })).json.id as string;
  const ids: Record<string, string> = {
    ':team': world.team,
    ':other': other,
    ':none': '01a20900-0000-7000-8000-000000000001',
  };
  const callers: Record<string, Call> = {
    ...{ ann: ann.call, bob: bob.call, stranger },
    root: await key(root.id, ['admin']),
    sudo: await key(ann.id, ['admin']),
    weak: await key(ann.id, ['items:read']),
    operator: await key('operator', ['admin']),
  };
  for (const [says, create, status, code, path, by = 'ann'] of INVITED) {
    const named = JSON.parse(JSON.stringify(create).replaceAll(/:\w+(?=")/g, (name) => ids[name]!));
    const reply = await world.invite({ call: callers[by]! }, named);
    t.equal(reply.status, status, `${says}: ${reply.text}`);
    t.equal(reply.json.error?.code ?? '', code, says);
    const { details } = reply.json.error ?? {};
    if (path !== undefined) t.equal([details].flat()[0].path, path, says);
  }
  t.equal((await world.invite(ann, undefined, 'no address')).json.error.details[0].path, '/email');
  const titles = await service.db.run('select title from plinth_invitations', []);
  t.same(titles.map(({ title }) => title).sort(), ['Cellar, owner', 'Roof, guest', 'Roof, guest']);
});

const LIST_OF_TEAMS = {
  'rosters.json': JSON.stringify({
    title: 'Roster',
    type: 'object',
    required: ['userId'],
    properties: {
      userId: { type: 'string', 'x-references': 'users', 'x-on-delete': 'cascade' },
      teamIds: {
        type: 'array',
        maxItems: 9,
        items: { type: 'string', 'x-references': 'teams', 'x-on-delete': 'remove' },
      },
    },
    'x-collection': {
      list: 'page',
      invite: true,
      access: [{ can: 'create', where: { userId: { ne: '$caller' } } }],
    },
  }),
};

t.test('an invitation with a list of records changes no read of others', async (t) => {
  const { ann, bob, team, key, invite, service } = await start(t, {}, { ...FILES, ...LIST_OF_TEAMS });
  // An invitation by a password runs in a transaction of its own; requests with keys share statements.
  const [inviter, reader] = [await key(ann.id, ['self']), await key(bob.id, ['self'])];
  const own: string[] = [team];
  for (const name of ['Wall', 'Cellar', 'Attic']) {
    const { id } = (await ann.call('POST', '/teams', { name })).json;
    await ann.call('POST', '/memberships', { teamId: id, userId: ann.id, role: 'owner' });
    await ann.call('POST', '/memberships', { teamId: id, userId: bob.id, role: 'guest' });
    own.push(id as string);
  }
  let isEnded = false;
  const reading = own.flatMap((id) =>
    Array.from({ length: 4 }, async () => {
      while (!isEnded) t.match(await reader('GET', `/teams/${id}`), { status: 200, json: { id } });
    }),
  );
  const wall = own[1]!;
  for (let at = 0; at < (notInDefault ? 4 : 12); at++)
    for (const teamIds of [[], [wall, own[2]]]) {
      const made = await invite({ call: inviter }, { rosters: { teamIds } }, `zoe.${at}@example.org`);
      t.equal(made.status, 201, made.text);
    }
  isEnded = true;
  await Promise.all(reading);
  const titles = await service.db.run('select distinct title from plinth_invitations order by 1', []);
  t.same(
    titles.map(({ title }) => title),
    ['Wall', 'roster'],
  );
});

t.test('an inviter sees and withdraws its own invitations, an operator all', async (t) => {
  const { ann, person, key, invite, code, accept, stranger } = await start(t);
  const eve = await person('eve');
  const operator = await key('operator', ['admin']);
  const { id } = (await invite(ann)).json;
  const first = await code(0);
  const seen = async (call: Call) => (await call('GET', '/invitations')).json.data.length;
  t.same([await seen(ann.call), await seen(eve.call), await seen(operator)], [1, 0, 1]);
  t.equal((await eve.call('GET', `/invitations/${id}`)).status, 404);
  t.equal((await eve.call('DELETE', `/invitations/${id}`)).status, 204);
  t.match((await operator('GET', `/invitations/${id}`)).json, { status: 'open' });
  t.equal((await ann.call('DELETE', `/invitations/${id}`, undefined, { 'if-match': '"1"' })).status, 204);
  t.match((await ann.call('GET', `/invitations/${id}`)).json, { status: 'withdrawn' });
  t.match(await accept(stranger, first, NEW), { status: 403, json: { error: { code: 'CODE_ENDED' } } });
});

/** Changes that end or stop an invitation after its message was sent. */
const LATER: readonly [says: string, change: (world: World) => Promise<unknown>, code: string][] = [
  [
    'it has expired',
    ({ service }) =>
      service.db.run("update plinth_invitations set expires_at = now() - interval '1 second'", []),
    'CODE_ENDED',
  ],
  ['the inviter is no owner any more', demote, 'INVITATION_REFUSED'],
  [
    'the inviter is disabled',
    ({ service, ann }) =>
      service.db.run('insert into plinth_disabled_users (user_id) values ($1::uuid)', [ann.id]),
    'INVITATION_REFUSED',
  ],
  ['the inviter is deleted', async ({ ann }) => ann.call('DELETE', `/users/${ann.id}`), 'CODE_ENDED'],
  ['the team is deleted', ({ ann, team }) => ann.call('DELETE', `/teams/${team}`), 'INVITATION_REFUSED'],
];

async function demote({ key, ann }: World): Promise<void> {
  const operator = await key('operator', ['admin']);
  const { data } = (await operator('GET', `/memberships?page=1&filter[userId]=${ann.id}`)).json;
  t.equal((await operator('PATCH', `/memberships/${data[0].id}`, { role: 'member' })).status, 200);
}

for (const [says, change, expected] of LATER)
  t.test(`an invitation is not accepted after this: ${says}`, async (t) => {
    const world = await start(t);
    await world.invite(world.ann);
    const first = await world.code(0);
    await change(world);
    const reply = await world.accept(world.stranger, first, NEW);
    t.match(reply, { status: 403, json: { error: { code: expected } } }, reply.text);
    const { db } = world.service;
    t.equal(
      (await db.run('select from plinth_users where email = $1', [ZOE])).length,
      0,
      'no half acceptance',
    );
  });

t.test('a conflict leaves the invitation open', async (t) => {
  const { ann, person, team, invite, code, accept, service } = await start(t);
  const zoe = await person('zoe');
  await invite(ann);
  const first = await code(0);
  const body = { teamId: team, userId: zoe.id, role: 'guest' };
  await ann.call('POST', '/memberships', body);
  t.match(await accept(zoe.call, first), { status: 409, json: { error: { code: 'DUPLICATE' } } });
  const rows = await service.db.run('select from plinth_invitations where outcome is null', []);
  t.equal(rows.length, 1);
});

/** Fields whose columns have names that the functions of triggers could mean otherwise. */
const AMBIGUOUS = ['collection', 'invited', 'target', 'targets', 'value'].map((name) => [
  name,
  { type: 'string', 'x-index': true },
]);

/** Memberships that can get another team or person. */
const MOVABLE = {
  ...FILES,
  'memberships.json': JSON.parse(FILES['memberships.json']!, (name, value) =>
    name === 'x-immutable' || name === 'nested'
      ? undefined
      : name === 'properties'
        ? { ...value, ...Object.fromEntries(AMBIGUOUS) }
        : value,
  ),
};

/** Ways in which a person who was added without the invitation loses what it is for. */
const REMOVALS: Readonly<Record<string, (world: World, zoe: Person, id: string) => Promise<unknown>>> = {
  'the membership is deleted': ({ ann }, _, id) => ann.call('DELETE', `/memberships/${id}`),
  'a batch deletes it': ({ ann }, _, id) =>
    ann.call('POST', '/batch', [{ method: 'DELETE', path: `/memberships/${id}` }]),
  'the membership gets another team': async ({ ann, key }, _, id) => {
    const teamId = (await ann.call('POST', '/teams', { name: 'Cellar' })).json.id;
    return (await key('operator', ['admin']))('PATCH', `/memberships/${id}`, { teamId });
  },
  'the membership gets another person': async ({ person, key }, _, id) => {
    const userId = (await person('max')).id;
    return (await key('operator', ['admin']))('PATCH', `/memberships/${id}`, { userId });
  },
  'the account is deleted': async ({ key }, { id }) =>
    (await key('operator', ['admin']))('DELETE', `/users/${id}`),
  'the account has another address': async ({ key }, { id }) =>
    (await key('operator', ['admin']))('PATCH', `/users/${id}`, { email: 'other@example.org' }),
};

for (const [says, remove] of Object.entries(REMOVALS))
  t.test(`a person who was added in another way does not return by the invitation: ${says}`, async (t) => {
    const world = await start(t, {}, MOVABLE);
    const { ann, person, team, invite, code, accept, service, stranger } = world;
    const zoe = await person('zoe');
    const made = (await invite(ann)).json.id;
    const other = (await ann.call('POST', '/teams', { name: 'Wall' })).json.id;
    await ann.call('POST', '/memberships', { teamId: other, userId: ann.id, role: 'owner' });
    await invite(ann, { memberships: { teamId: other, role: 'guest' } });
    const [first] = [await code(0), await code(1)];
    const body = { teamId: team, userId: zoe.id, role: 'guest' };
    const { id } = (await ann.call('POST', '/memberships', body)).json;
    const isOpen = async () =>
      (await service.db.run('select id from plinth_invitations where outcome is null', [])).length;
    t.equal((await ann.call('PATCH', `/memberships/${id}`, { role: 'member' })).status, 200);
    t.equal(await isOpen(), 2, 'a change of the role ends none');
    await remove(world, zoe, id);
    t.equal(await isOpen(), says.includes('account') ? 0 : 1, 'of another team only with the account');
    t.match((await ann.call('GET', `/invitations/${made}`)).json, { status: 'withdrawn' });
    for (const by of [zoe.call, stranger])
      t.match((await accept(by, first, NEW)).json, { error: { code: /CODE_ENDED|UNAUTHORIZED/ } });
  });

t.test('a removed member cannot return by any link to the same team', async (t) => {
  const { ann, person, team, invite, code, accept } = await start(t);
  const zoe = await person('zoe');
  await invite(ann);
  await code(0);
  await invite(ann, { memberships: { teamId: team, role: 'guest' } });
  await code(1);
  const other = (await ann.call('POST', '/teams', { name: 'Wall' })).json.id;
  await ann.call('POST', '/memberships', { teamId: other, userId: ann.id, role: 'owner' });
  await invite(ann, { memberships: { teamId: other, role: 'guest' } });
  const [first, second, third] = [await code(0), await code(1), await code(2)];
  const { created } = (await accept(zoe.call, first)).json;
  await ann.call('DELETE', `/memberships/${created.memberships}`);
  for (const each of [first, second])
    t.match(await accept(zoe.call, each), { status: 403, json: { error: { code: 'CODE_ENDED' } } });
  t.equal((await accept(zoe.call, third)).status, 200, 'another team');
});

t.test('of ten acceptances at a time, one succeeds', async (t) => {
  const { ann, invite, code, accept, stranger, members } = await start(t);
  await invite(ann);
  const first = await code(0);
  const all = await Promise.all(Array.from({ length: 10 }, () => accept(stranger, first, NEW)));
  t.equal(all.filter(({ status }) => status === 200).length, 1);
  t.equal(await members(), 3);
});

t.test('a password and fields that are refused leave the invitation open', async (t) => {
  const { ann, invite, code, accept, stranger } = await start(t);
  await invite(ann);
  const first = await code(0);
  for (const user of [
    { name: 'Zoe' },
    { name: 'Zoe', password: 'password1' },
    { ...NEW, email: 'a@example.org', age: 'x' },
    {},
  ])
    t.match(await accept(stranger, first, user), {
      status: 400,
      json: { error: { code: 'VALIDATION_ERROR' } },
    });
  t.equal((await accept(stranger, first, NEW)).status, 200);
});

t.test('a user makes so many invitations, and three to one address', async (t) => {
  const { ann, invite, service, code } = await start(t);
  for (let at = 0; at < 3; at++) t.equal((await invite(ann)).status, 201);
  t.match(await invite(ann), {
    status: 429,
    headers: { 'retry-after': '3600' },
    json: { error: { code: 'TOO_MANY_INVITATIONS', details: { limit: 100 } } },
  });
  await code(2);
  await service.db.run(
    `insert into plinth_invitations select gen_random_uuid(), n || '@example.org', inviter_id, records, collections, targets, outcome, created_at, expires_at
     from generate_series(1, 97) as n, (select * from plinth_invitations limit 1) as one`,
    [],
  );
  t.equal((await invite(ann, undefined, 'other@example.org')).status, 429);
});

t.test('with SIGN_UP=invited, people with an invitation sign up', async (t) => {
  const users = JSON.parse(FILES['users.json']!) as { 'x-collection': { access: object[] } };
  const own = { can: 'create', where: { id: '$caller' }, fields: ['email', 'name', 'password'] };
  users['x-collection'].access.push(own);
  const files = { ...FILES, 'users.json': users };
  const { ann, stranger, invite, code, mail, accept } = await start(t, { SIGN_UP: 'invited' }, files);
  await invite(ann);
  const invitation = await code(0);
  for (const email of ['eve@example.org', ZOE])
    t.equal((await stranger('POST', '/sign-up', { email })).status, 202);
  const link = await code(1);
  t.equal(mail.received[1]!.to, ZOE);
  t.equal((await stranger('POST', '/sign-up', { code: link, ...NEW })).status, 201);
  const zoe = `Basic ${Buffer.from(`${ZOE}:${PASSWORD}`).toString('base64')}`;
  const as: Call = (method, path, body) => stranger(method, path, body, { authorization: zoe });
  t.equal((await accept(as, invitation)).status, 200);
});

t.test('an invitation ends with the collection of its records', async (t) => {
  const { ann, invite, service } = await start(t);
  await invite(ann);
  await service.db.run("update collections set name = 'seats' where name = 'memberships'", []);
  t.equal((await service.db.run('select from plinth_invitations', [])).length, 0);
});

t.test('without mail, or without a collection for invitations, the paths are 404', async (t) => {
  const { send } = await testService(t, {
    ...{ AUTH: 'basic', INSECURE: 'basic', MAIL: 'log' },
    PUBLIC_URL: 'https://api.example.org',
  });
  for (const path of ['/invitations', '/accept-invitation', '/invitations/accept'])
    t.equal((await send('GET', path)).status, 404);
});

const VIEWS = [{ width: 1280 }, { width: 390 }];

for (const javaScriptEnabled of [true, false])
  t.test(`in a browser, ${javaScriptEnabled ? 'with' : 'without'} script`, { skip: noBrowser }, async (t) => {
    const settings = {
      COLLECTIONS: declare(t, FILES),
      DATABASE_URL: UNDECLARED,
      AUTH: 'bearer,api-key',
    };
    const { mail, opened } = await openWithMail(
      t,
      (of) => authorizationServer(t, { ...settings, ...of }, { mailPollMs: 50 }),
      ({ service }) => service,
    );
    const { service, issuer, user, addUser } = opened;
    const { key } = await makeKey(service.db, { subject: user.id, scopes: ['self'] });
    const send = async (path: string, body: object) =>
      (await service.send('POST', path, { body, headers: { 'x-api-key': key } })).json.id as string;
    const teamId = await send('/teams', { name: 'Roof' });
    await send('/memberships', { teamId, userId: user.id, role: 'owner' });
    await addUser('bob@example.org', 'Bob');
    const open = async () =>
      openPage(t, issuer, { width: javaScriptEnabled ? 1280 : 390, javaScriptEnabled });
    const check = async (page: Awaited<ReturnType<typeof open>>, name: string) => {
      if (javaScriptEnabled) await checkPage(t, page, name, VIEWS);
    };
    const signIn = async (page: Awaited<ReturnType<typeof open>>, email: string) => {
      await page.getByLabel('Email').fill(email);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
    };
    const owner = await open();
    await owner.goto('/account?return=/memberships');
    await signIn(owner, user.email);
    await owner.waitForURL(`${issuer}/memberships`);
    for (const [at, email] of ['zoe@example.org', 'bob@example.org'].entries()) {
      await owner.goto(at === 0 ? '/teams' : '/memberships');
      if (at === 0) await owner.getByRole('link', { name: 'Roof', exact: true }).click();
      await owner.getByRole('link', { name: 'Invite', exact: true }).click();
      await owner.getByLabel('Email').fill(email);
      if (at === 0) t.equal(await owner.getByLabel('Team').inputValue(), 'Roof', 'the team of the page');
      else await owner.getByLabel('Team').fill('Roof');
      await owner.getByLabel('Role').selectOption('member');
      if (at === 0) await check(owner, 'the form');
      await owner.getByRole('button', { name: 'Create invitation' }).click();
      await owner.getByText('Created.').waitFor();
      if (at === 0) await check(owner, 'an invitation');
    }
    const codeTo = async (email: string) =>
      codeIn((await until('the message arrives', () => mail.received.find(({ to }) => to === email))).text);
    const zoe = await open();
    await zoe.goto(`/accept-invitation?code=${await codeTo('zoe@example.org')}`);
    await check(zoe, 'a new account');
    await zoe.getByLabel('Name').fill('Zoe');
    await zoe.getByLabel(/^Password/).fill('password1');
    await zoe.getByRole('button').click();
    await zoe.getByRole('alert').waitFor();
    await check(zoe, 'a refused password');
    await zoe.getByLabel(/^Password/).fill(PASSWORD);
    await zoe.keyboard.press('Enter');
    await zoe.getByRole('status').waitFor();
    await check(zoe, 'an accepted invitation');
    const bob = await open();
    await bob.goto(`/accept-invitation?code=${await codeTo('bob@example.org')}`);
    await bob.getByRole('button', { name: 'Accept' }).click();
    await bob.getByRole('alert').waitFor();
    await bob.getByRole('link', { name: 'Sign in' }).click();
    await signIn(bob, 'bob@example.org');
    await bob.getByRole('button', { name: 'Accept' }).click();
    await bob.getByRole('status').waitFor();
    const members = await service.send('GET', '/memberships?page=1', { headers: { 'x-api-key': key } });
    t.equal(members.json.meta.total, 3);
    await owner.goto('/invitations');
    t.equal(await owner.getByText('accepted').count(), 2);
    await check(owner, 'the list');
  });
