import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../../support/command.js';
import { doctor, faultsOf, namesOf } from '../../support/doctor.js';
import { SERVER_URL, testDatabase, testService } from '../../support/service.js';
import { openSql, SCHEMA, sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { words } from '../../support/words.js';

t.jobs = 3;

/** A URL with a new role, which the end of the test drops with what it owns in the database of `url`. */
async function withRole(t: Test, url: string, options = ''): Promise<{ name: string; url: string }> {
  const sql = sqlOf(t, url);
  const name = `doctor_${process.pid}_${++roles}`;
  await sql.unsafe(`create role ${name} login password 'x' ${options}`);
  t.teardown(() => sql.unsafe(`drop owned by ${name} cascade; drop role ${name}`));
  return { name, url: String(Object.assign(new URL(url), { username: name, password: 'x' })) };
}

let roles = 0;

t.test('a service that is in order has no problem', async (t) => {
  const { databaseUrl: DATABASE_URL } = await testService(t);
  const { checks } = await doctor(t, { DATABASE_URL, MAX_CONNECTIONS: '100' });
  t.same(faultsOf(checks), []);
  const names = 'settings declarations database permissions clock plan disk files proxies port tls';
  t.same(namesOf(checks), words(names));
  const { code, out } = await plinth(t, ['doctor'], { DATABASE_URL, PORT: '0', MAX_CONNECTIONS: '100' });
  t.equal(code, 0);
  t.match(out, /^ok {7}settings {6}all settings are valid\n/);
  t.match(out, /^ok {7}plan {10}the tables match the declarations$/m);
  t.match(out, /\n0 problems, 0 warnings\n$/);
});

t.test('all faults of the settings are listed at once, with names that may be meant', async (t) => {
  const { checks } = await doctor(t, { PORT: '70000', AUTH: 'apikey', PROT: '1' });
  t.match(faultsOf(checks).sort(), [
    /^settings problem: AUTH must be /,
    /^settings problem: PORT must be an integer from 0 to 65535; it is `70000`; see docs\/configuration\.md$/,
    /^settings warning: PROT is not a setting and is ignored: is PORT meant\?; /,
  ]);
  t.same(namesOf(checks), ['settings']);
});

t.test('faults of declarations are listed, and the rest is checked', async (t) => {
  const folder = t.testdir({
    'a.json': '{',
    'b.json': '{"type": "object", "properties": {"x": {"x-index": 1}}}',
  });
  const { checks } = await doctor(t, { COLLECTIONS: folder, DATABASE_URL: await testDatabase(t) });
  t.match(faultsOf(checks), [/^declarations problem: .*a\.json: is not JSON/]);
  t.ok(namesOf(checks).includes('permissions'));
});

t.test('a database that cannot be used', async (t) => {
  const { checks } = await doctor(t, { DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/d' });
  t.match(faultsOf(checks), [
    /^database problem: the database cannot be reached: .*ECONNREFUSED.*; check DATABASE_URL/,
  ]);
  t.notMatch(JSON.stringify(checks), /secret/);
  const none = String(Object.assign(new URL(SERVER_URL), { pathname: '/none' }));
  const absent = faultsOf((await doctor(t, { DATABASE_URL: none })).checks);
  t.match(absent, [/^database problem: database "none" does not exist/]);
});

t.test('a role without permissions', async (t) => {
  const { name, url: DATABASE_URL } = await withRole(t, await testDatabase(t));
  const { checks } = await doctor(t, { DATABASE_URL });
  t.match(faultsOf(checks).slice(0, 3), [
    `permissions problem: the role ${name} may not create tables in the schema public; grant create`,
    `permissions problem: the role ${name} may not create tables in the schema ${SCHEMA} of the collections; alter schema ${SCHEMA} owner to ${name}`,
    /^permissions problem: tables belong to another role.*: .*items.*; alter table \S+ owner to/,
  ]);
});

t.test('a database without the extension for searches, which its role may not create', async (t) => {
  const empty = await testDatabase(t, true);
  const { name, url: DATABASE_URL } = await withRole(t, empty);
  await sqlOf(t, empty).unsafe(`grant create on schema public to ${name}`);
  const { checks } = await doctor(t, { DATABASE_URL });
  t.match(faultsOf(checks), [
    `permissions problem: the role ${name} may not create the schema ${SCHEMA} for the tables of the collections; create schema ${SCHEMA} authorization ${name}`,
    `permissions problem: the extension pg_trgm is missing, and the role ${name} may not create it; as a superuser: create extension pg_trgm`,
  ]);
});

t.test('a role without tables, too few connections, an extension that is not found', async (t) => {
  const url = await testDatabase(t);
  const { name, url: DATABASE_URL } = await withRole(t, url, 'connection limit 9');
  await sqlOf(t, url).unsafe(`
    grant all on schema public to ${name};
    grant all on schema ${SCHEMA} to ${name};
    grant all on all tables in schema public, ${SCHEMA} to ${name};
    grant all on all sequences in schema public to ${name};
    create schema aside;
    alter extension pg_trgm set schema aside;
  `);
  const expected = [
    /tables belong to another role.*: .*events_\d.*items/,
    /pg_trgm is in the schema aside, which is not in the search_path/,
    new RegExp(`the role ${name} may have 9 connections \\(\\d+ now\\), and the service may open 14`),
  ];
  const { checks } = await doctor(t, { DATABASE_URL });
  const faults = faultsOf(checks).filter((line) => line.startsWith('permissions problem'));
  t.equal(faults.length, expected.length);
  for (const [at, each] of expected.entries()) t.match(faults[at], each);
});

t.test('a database that is read-only', async (t) => {
  const url = await testDatabase(t);
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`);
  await sql.end();
  const { checks } = await doctor(t, { DATABASE_URL: url });
  t.match(faultsOf(checks), [/^database problem: default_transaction_read_only is on; .*alter database/]);
});

t.test('tables that do not match, and records that violate a declaration', async (t) => {
  const [text, indexed] = ['{"type": "string"}', '{"type": "string", "x-index": true}'];
  const declare = (required: string, colour: string) =>
    `{"type": "object", "required": [${required}], "properties": {"colour": ${colour}}}`;
  const folder = t.testdir({ 'pens.json': declare('', text), 'inks.json': declare('', text) });
  const env = { DATABASE_URL: await testDatabase(t, true), COLLECTIONS: folder };
  const planOf = async (more: Record<string, string> = {}) => {
    const { checks } = await doctor(t, { ...env, ...more });
    return checks.filter(({ check }) => check === 'plan');
  };
  t.match(await planOf(), [{ status: 'ok', message: 'the first start creates all tables' }]);
  t.equal((await plinth(t, ['migrate'], env)).code, 0);
  t.match(await planOf(), [{ status: 'ok', message: 'the tables match the declarations' }]);

  writeFileSync(join(folder, 'pens.json'), declare('', indexed));
  const message = /^the tables do not match the declarations: \d+ steps are missing$/;
  const advice = 'plinth migrate --plan, then plinth migrate';
  t.match(await planOf(), [{ status: 'problem', message, advice }]);
  t.match(await planOf({ MIGRATE: 'auto' }), [{ status: 'ok', message: /^the next start takes \d+ steps/ }]);
  t.equal((await plinth(t, ['migrate'], env)).code, 0);
  rmSync(join(folder, 'inks.json'));
  const completion = /^2 steps complete a change of the declarations: /;
  t.match(await planOf(), [{ status: 'warning', message: completion }]);

  const input = '{"other": 1}\n';
  t.equal((await plinth(t, ['import', 'pens', '-'], env, { input })).code, 0);
  writeFileSync(join(folder, 'pens.json'), declare('"colour"', indexed));
  const violation = '1 of 1 records of pens violate the declaration';
  t.match(await planOf(), [{ status: 'problem', message: violation, advice: /--allow-violations$/ }]);
});
