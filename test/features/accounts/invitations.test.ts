import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { type Call, callsWith, valuesOf } from '../../support/callers.js';
import { noBrowser, openPage } from '../../support/chromium.js';
import { declare } from '../../support/collections.js';
import { byKey, byPassword, makeKey, makeUser, PASSWORD } from '../../support/credentials.js';
import { folderOf } from '../../support/folder.js';
import { checkPage } from '../../support/page-checks.js';
import { declarationsUnder } from '../../support/page-commands.js';
import { UNDECLARED } from '../../support/service.js';
import { openSql } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { notInDefault } from '../../support/thorough.js';
import { until } from '../../support/until.js';
import { serverWithMail } from '../issuer/authorization-server.js';
import { ANN, codeIn, mailing, rowsOf } from './mailing.js';

t.jobs = 3;

const RECIPES = 'docs/recipes.md';
const ZOE = 'zoe@example.org';

type Person = Awaited<ReturnType<Started['person']>>;
type Started = Awaited<ReturnType<typeof start>>;

const FILES = { ...declarationsUnder(RECIPES, 'Begin'), ...declarationsUnder(RECIPES, 'Teams with roles') };

/** The service of the recipe for teams, which sends messages. Ann owns a team, Bob is a member of it. */
async function start(t: Test, env: Record<string, string> = {}, files: object = FILES) {
  const world = await mailing(t, {
    COLLECTIONS: declare(t, { ...files }),
    DATABASE_URL: UNDECLARED,
    AUTH: 'basic,api-key',
    ...env,
  });
  const { service, mail, code } = world;
  const as = (headers: Record<string, string>) => callsWith(service, headers);
  const person = async (name: string, ...scopes: string[]) => {
    const { id, email } = await makeUser(service, `${name}@example.org`, { name, password: PASSWORD });
    if (scopes.length > 0) await setUserScopes(service.db, id, scopes);
    return { id, email, call: as(byPassword(email)) };
  };
  const key = async (subject: string, scopes: string[]) =>
    as(byKey((await makeKey(service.db, { subject, scopes })).key));
  const ann = { id: world.id, email: ANN, call: as(byPassword(ANN)) };
  const bob = await person('bob');
  const team = (await ann.call('POST', '/teams', { name: 'Roof' })).json.id as string;
  const join = ({ id }: { readonly id: string }, role: string) =>
    ann.call('POST', '/memberships', { teamId: team, userId: id, role });
  t.equal((await join(ann, 'owner')).status, 201);
  t.equal((await join(bob, 'member')).status, 201);
  /** Another team of Ann. */
  const owned = async (name: string): Promise<string> => {
    const { id } = (await ann.call('POST', '/teams', { name })).json;
    await ann.call('POST', '/memberships', { teamId: id, userId: ann.id, role: 'owner' });
    return id;
  };
  return {
    ...{ service, mail, person, key, ann, bob, team, join, owned, code },
    stranger: as({}),
    invite: (by: { readonly call: Call }, create: object = member(team), email = ZOE) =>
      by.call('POST', '/invitations', { email, create }),
    accept: (by: Call, code: string, user?: object) =>
      by('POST', '/invitations/accept', { code, ...(user && { user }) }),
    members: async () => (await ann.call('GET', `/teams/${team}/memberships?page=1`)).json.meta.total,
  };
}

const member = (teamId: string, role = 'member') => ({ memberships: { teamId, role } });

const FOLDED = 'Ann Bcc: x@evil.example B (ann@example.org)';

const ENDED = { status: 403, json: { error: { code: 'CODE_ENDED' } } };
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
  t.match(message.text, 'Ann (ann@example.org) invites you to api.example.org: Roof, member.');
  const page = await service.send('GET', `/accept-invitation?code=${first}`);
  t.match(page.text, 'Ann (ann@example.org) invites you: Roof, member');
  t.equal(await members(), 2, 'nothing exists before');
  const invalid = { status: 400, json: { error: { code: 'VALIDATION_ERROR' } } };
  for (const user of [{ name: 'Zoe' }, { ...NEW, password: 'password1' }, { ...NEW, age: 'x' }, {}])
    t.match(await accept(stranger, first, user), invalid, 'it stays open');
  const accepted = await accept(stranger, first, NEW);
  t.equal(accepted.status, 200, accepted.text);
  const { user: id, created } = accepted.json as { user: string; created: Record<string, string> };
  const shown = (await ann.call('GET', `/memberships/${created.memberships}`)).json;
  t.match(shown, { userId: id, teamId: team, role: 'member' });
  t.equal((await stranger('GET', `/teams/${team}`, undefined, byPassword(ZOE))).status, 200);
  t.match(await accept(stranger, first, NEW), ENDED, 'once');
  t.match((await ann.call('GET', `/invitations/${made.json.id}`)).json, { status: 'accepted', _version: 2 });
  const creations = "select actor from events where type = 'memberships.created' order by seq";
  const events = await service.db.run(creations, []);
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

const GUEST = { teamId: ':team', role: 'guest' };

/** Invitations by Ann, if `by` does not name another caller. `:team`, `:other` and `:none` are ids. */
const INVITED: readonly [says: string, create: object, refusal?: string, path?: string, by?: string][] = [
  ['an owner', member(':team', 'guest')],
  ['members that no field has', { memberships: { ...GUEST, note: 'x', _x: 1, constructor: 1 } }],
  ['a member', { memberships: GUEST }, '403 ACCESS_DENIED', '', 'bob'],
  ['the operator', { memberships: GUEST }, '403 INVITER_UNKNOWN', '', 'operator'],
  ['a user with admin', member(':other', 'owner'), '', '', 'root'],
  ['admin that the user has not', member(':other', 'owner'), '422 TEAM_NOT_FOUND', '', 'sudo'],
  ['a key without the scope self', { memberships: GUEST }, '403 INSUFFICIENT_SCOPE', '', 'weak'],
  ['no credential', { memberships: GUEST }, '401 UNAUTHORIZED', '', 'stranger'],
  ['a team of others', member(':other', 'guest'), '422 TEAM_NOT_FOUND', '/memberships/teamId'],
  ['no team', member(':none', 'guest'), '422 TEAM_NOT_FOUND', '/memberships/teamId'],
  ['no team, to admin', member(':none', 'guest'), '422 TEAM_NOT_FOUND', '/memberships/teamId', 'root'],
  ['no role', { memberships: { teamId: ':team' } }, '400 VALIDATION_ERROR', '/memberships/role'],
  ['another role', member(':team', 'king'), '400 VALIDATION_ERROR', '/memberships/role'],
  ['a user', { memberships: { ...GUEST, userId: ':none' } }, '400 VALIDATION_ERROR', '/memberships/userId'],
  ['a collection without invitations', { teams: { name: 'Wall' } }, '400 VALIDATION_ERROR', '/teams'],
  ['nothing', {}, '400 VALIDATION_ERROR'],
  ['too much', { memberships: { ...GUEST, more: 'x'.repeat(9000) } }, '400 VALIDATION_ERROR'],
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
  for (const [says, create, refusal = '', path = '', by = 'ann'] of INVITED) {
    const named = JSON.parse(JSON.stringify(create).replaceAll(/:\w+(?=")/g, (name) => ids[name]!));
    const { status, json, text } = await world.invite({ call: callers[by]! }, named);
    t.equal(status === 201 ? '' : `${status} ${json.error.code}`, refusal, `${says}: ${text}`);
    const [detail] = [json.error?.details].flat();
    if (status === 400 || path !== '') t.equal(detail.path, `/create${path}`, says);
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
  const files = { ...FILES, ...LIST_OF_TEAMS };
  const { ann, bob, team, key, invite, owned, service } = await start(t, {}, files);
  // An invitation by a password runs in a transaction of its own; requests with keys share statements.
  const [inviter, reader] = [await key(ann.id, ['self']), await key(bob.id, ['self'])];
  const own: string[] = [team];
  for (const name of ['Wall', 'Cellar', 'Attic']) {
    const id = await owned(name);
    await ann.call('POST', '/memberships', { teamId: id, userId: bob.id, role: 'guest' });
    own.push(id);
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
  t.same(valuesOf(titles, 'title'), ['Wall', 'roster']);
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
  t.match(await accept(stranger, first, NEW), ENDED);
});

/** Changes that end or stop an invitation after its message was sent. */
const LATER: readonly [says: string, change: (world: Started) => Promise<unknown>, code: string][] = [
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

async function demote({ key, ann }: Started): Promise<void> {
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
    const added = await world.service.db.run('select from plinth_users where email = $1', [ZOE]);
    t.same(added, [], 'no half acceptance');
  });

t.test('a conflict leaves the invitation open', async (t) => {
  const { ann, person, join, invite, code, accept, service } = await start(t);
  const zoe = await person('zoe');
  await invite(ann);
  const first = await code(0);
  await join(zoe, 'guest');
  t.match(await accept(zoe.call, first), { status: 409, json: { error: { code: 'DUPLICATE' } } });
  t.equal(await rowsOf(service, 'plinth_invitations where outcome is null'), 1);
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
const REMOVALS: Readonly<Record<string, (world: Started, zoe: Person, id: string) => Promise<unknown>>> = {
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
    const { ann, person, join, owned, invite, code, accept, service, stranger } = world;
    const zoe = await person('zoe');
    const made = (await invite(ann)).json.id;
    // Messages of two invitations may arrive in any order.
    const first = await code(0);
    await invite(ann, member(await owned('Wall'), 'guest'));
    await code(1);
    const { id } = (await join(zoe, 'guest')).json;
    const isOpen = () => rowsOf(service, 'plinth_invitations where outcome is null');
    t.equal((await ann.call('PATCH', `/memberships/${id}`, { role: 'member' })).status, 200);
    t.equal(await isOpen(), 2, 'a change of the role ends none');
    await remove(world, zoe, id);
    t.equal(await isOpen(), says.includes('account') ? 0 : 1, 'of another team only with the account');
    t.match((await ann.call('GET', `/invitations/${made}`)).json, { status: 'withdrawn' });
    for (const by of [zoe.call, stranger])
      t.match((await accept(by, first, NEW)).json, { error: { code: /CODE_ENDED|UNAUTHORIZED/ } });
  });

t.test('a removal and an acceptance at one time wait for each other in one order', async (t) => {
  const { ann, person, join, invite, code, accept, members, service } = await start(t);
  const zoe = await person('zoe');
  await invite(ann);
  const first = await code(0);
  const { id } = (await join(zoe, 'guest')).json;
  const sql = openSql(service.databaseUrl, { max: 2 });
  t.teardown(() => sql.end());
  const isWaiting = async () =>
    (await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
      .length > 0;
  const accepted = await sql.begin(async (own) => {
    await own`lock table memberships in share row exclusive mode`;
    const response = accept(zoe.call, first);
    await until('the acceptance waits', isWaiting);
    await own`delete from memberships where id = ${id}`;
    return { response };
  });
  t.match(await accepted.response, ENDED, 'the removal has ended the invitation');
  t.equal(await members(), 2, 'others alone');
});

t.test('a removed member cannot return by any link to the same team', async (t) => {
  const { ann, person, team, owned, invite, code, accept } = await start(t);
  const zoe = await person('zoe');
  await invite(ann);
  const first = await code(0);
  await invite(ann, member(team, 'guest'));
  const second = await code(1);
  await invite(ann, member(await owned('Wall'), 'guest'));
  const third = await code(2);
  const { created } = (await accept(zoe.call, first)).json;
  await ann.call('DELETE', `/memberships/${created.memberships}`);
  for (const each of [first, second]) t.match(await accept(zoe.call, each), ENDED);
  t.equal((await accept(zoe.call, third)).status, 200, 'another team');
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
  const world = await start(t, { SIGN_UP: 'invited' }, files);
  const { ann, stranger, invite, code, mail, accept, service } = world;
  await invite(ann);
  const invitation = await code(0);
  for (const email of ['eve@example.org', ZOE])
    t.equal((await stranger('POST', '/sign-up', { email })).status, 202);
  const link = await code(1);
  t.equal(mail.received[1]!.to, ZOE);
  t.equal((await stranger('POST', '/sign-up', { code: link, ...NEW })).status, 201);
  t.equal((await accept(callsWith(service, byPassword(ZOE)), invitation)).status, 200);
});

t.test('an invitation ends with the collection of its records', async (t) => {
  const { ann, invite, service } = await start(t);
  await invite(ann);
  await service.db.run("update collections set name = 'seats' where name = 'memberships'", []);
  t.equal(await rowsOf(service, 'plinth_invitations'), 0);
});

const VIEWS = [{ width: 1280 }, { width: 390 }];

for (const javaScriptEnabled of [true, false])
  t.test(`in a browser, ${javaScriptEnabled ? 'with' : 'without'} script`, { skip: noBrowser }, async (t) => {
    const env = { COLLECTIONS: declare(t, FILES), DATABASE_URL: UNDECLARED, AUTH: 'bearer,api-key' };
    const { mail, server } = await serverWithMail(t, env);
    const { service, issuer, user, addUser } = server;
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
      t.match(await owner.locator('main').innerText(), /Inviter id\s+You/);
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
    await zoe.getByRole('link', { name: 'Sign in' }).click();
    await signIn(zoe, 'zoe@example.org');
    await zoe.waitForURL(`${issuer}/`);
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
