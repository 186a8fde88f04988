import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../features/mcp/session.js';
import { PageVisitor } from '../features/pages/visitor.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const MEMBERSHIPS = {
  title: 'Membership',
  type: 'object',
  properties: {
    teamId: { type: 'string', 'x-references': 'teams' },
    email: { type: 'string', 'x-normalize': ['trim', 'lower'], 'x-index': true },
    season: { type: 'integer', 'x-index': true },
    role: { type: 'string', 'x-index': true },
    note: { type: 'string' },
  },
  'x-collection': {
    unique: [['teamId', 'email'], { fields: ['role', 'season', 'teamId'], code: 'ROLE_TAKEN' }],
  },
};
const FILES = {
  'teams.json': { title: 'Team', type: 'object', properties: { name: { type: 'string' } } },
  'memberships.json': MEMBERSHIPS,
};

async function service(t: Test, env: Record<string, string> = {}) {
  const COLLECTIONS = declare(t, FILES);
  const opened = await testService(t, { COLLECTIONS, MIGRATE: 'auto', ...env });
  const create = (body: object) => opened.send('POST', '/memberships', { body });
  const team = async (name: string): Promise<string> =>
    (await opened.send('POST', '/teams', { body: { name } })).json.id;
  return { ...opened, create, one: await team('one'), two: await team('two'), COLLECTIONS };
}

const DUPLICATE = {
  status: 409,
  json: {
    error: {
      code: 'DUPLICATE',
      message: 'Another record has this teamId and email.',
      details: { fields: ['teamId', 'email'] },
    },
  },
};

t.test('two records with equal values of all fields of a key are a 409 in every kind of write', async (t) => {
  const { send, create, one, two } = await service(t);
  t.equal((await create({ teamId: one, email: 'a@b.c' })).status, 201);
  t.equal((await create({ teamId: two, email: 'a@b.c' })).status, 201);
  t.match(await create({ teamId: one, email: ' A@b.c ' }), DUPLICATE);
  for (const body of [{ teamId: one }, { email: 'a@b.c' }])
    for (const _ of [1, 2])
      t.equal((await create(body)).status, 201, 'records that lack a field are not compared');
  const other = (await create({ teamId: one, email: 'd@b.c', note: 'other' })).json;
  const path = `/memberships/${other.id}`;
  const taken = { teamId: one, email: 'a@b.c' };
  t.match(await send('PUT', path, { body: taken }), DUPLICATE);
  t.match(await send('PUT', path, { body: taken, headers: { 'if-match': '"1"' } }), DUPLICATE);
  t.match(await send('PATCH', path, { body: { email: 'a@b.c' } }), DUPLICATE);
  t.match(await send('PATCH', '/memberships?filter[email]=d@b.c', { body: { email: 'a@b.c' } }), DUPLICATE);
  const batch = await send('POST', '/batch', {
    body: [
      { method: 'POST', path: '/memberships', body: { teamId: two, email: 'e@b.c' } },
      { method: 'POST', path: '/memberships', body: taken },
    ],
  });
  t.match(batch, { status: 409, json: { error: { code: 'DUPLICATE', details: { operation: 1 } } } });
  t.equal((await send('GET', '/memberships?page=1&filter[email]=e@b.c')).json.meta.total, 0);
  t.equal((await send('PATCH', path, { body: { teamId: two, email: 'f@b.c' } })).status, 200);
  t.equal((await create({ teamId: one, email: 'd@b.c' })).status, 201, 'the former values are free');
});

t.test('a key has the code that it declares, and texts that share an index have a limit', async (t) => {
  const { create, one } = await service(t);
  const role = { role: 'captain', season: 2026, teamId: one };
  t.equal((await create(role)).status, 201);
  t.match(await create(role), {
    status: 409,
    json: { error: { code: 'ROLE_TAKEN', details: { fields: ['role', 'season', 'teamId'] } } },
  });
  t.equal((await create({ ...role, season: 2027 })).status, 201);
  t.match(await create({ ...role, role: 'x'.repeat(1999) }), {
    status: 400,
    json: { errors: [{ path: '/role' }] },
  });
});

t.test('json-server, MCP and forms report the fields', async (t) => {
  const compatible = await service(t, { COMPAT: 'json-server' });
  const taken = { teamId: compatible.one, email: 'a@b.c' };
  t.equal((await compatible.create(taken)).status, 201);
  t.match(await compatible.create(taken), DUPLICATE);

  const { url, create, one, ...rest } = await service(t, { MCP: 'on' });
  const body = { teamId: one, email: 'a@b.c' };
  t.equal((await create(body)).status, 201);
  const { call } = await connect(t, url);
  const called = await call('memberships_create', { record: body });
  t.ok(called.isError);
  t.match(called.value, { error: { code: 'DUPLICATE', details: { fields: ['teamId', 'email'] } } });
  const visitor = new PageVisitor({ url, ...rest });
  const page = await visitor.submit(t, await visitor.get('/memberships?_new'), 'Create', {
    '/teamId': one,
    '/email': 'a@b.c',
  });
  t.equal(page.status, 409);
  for (const field of ['teamId', 'email']) t.match(page.text, `id="new-${field}-error"`);
  t.match(page.text, 'Another record has this teamId and email.');
});

t.test('an import refuses the records of a key that the file or the collection has already', async (t) => {
  const { create, send, one, two, COLLECTIONS, databaseUrl } = await service(t);
  t.equal((await create({ teamId: one, email: 'a@b.c' })).status, 201);
  t.equal((await create({ role: 'coach', season: 1, teamId: one })).status, 201);
  const records = [
    { teamId: one, email: 'A@B.C' },
    { teamId: two, email: 'a@b.c' },
    { teamId: two, email: 'a@b.c', note: 'again' },
    { role: 'coach', season: 1, teamId: one, email: 'k@b.c' },
    { role: 'coach', season: 2, teamId: one },
  ];
  const file = join(COLLECTIONS, 'memberships.ndjson');
  writeFileSync(file, records.map((each) => `${JSON.stringify(each)}\n`).join(''));
  const { code, out, err } = await plinth(t, ['import', 'memberships', file], {
    COLLECTIONS,
    DATABASE_URL: databaseUrl,
  });
  t.equal(code, 1);
  t.equal(out, 'memberships: 2 stored, 3 refused\n');
  const lines = err.trim().split('\n');
  t.match(lines, [
    /:1.*DUPLICATE: Another record has this teamId and email/,
    /:3.*DUPLICATE/,
    /:4.*ROLE_TAKEN/,
  ]);
  t.equal((await send('GET', '/memberships?page=1')).json.meta.total, 4);
});
