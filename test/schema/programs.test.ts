import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildCommit, previousCommit } from '../postgres-clusters/previous-version.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { DIST, HOSTS, type ServiceProcess, startNode, startProcess } from '../support/process.js';
import { send, testDatabase, undeclaredDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

type Schema = Readonly<Record<string, unknown>>;

const PLAIN = {
  name: { type: 'string', 'x-index': true },
  isbn: { type: 'string' },
  authorId: { type: 'string' },
  note: { type: 'string' },
};
const books = (change: Readonly<Record<string, object>> = {}, more: object = {}): Schema => ({
  title: 'Book',
  type: 'object',
  properties: { ...PLAIN, ...change },
  ...more,
});

/** Changes after which the tables have all that the former declaration of the collection needs, and more. */
const CHANGES: Readonly<Record<string, Schema>> = {
  field: books({ more: { type: 'string' } }),
  indexed_field: books({ more: { type: 'number', 'x-index': true } }),
  index: books({ note: { type: 'string', 'x-index': true, 'x-search': true } }),
  unique: books({ isbn: { type: 'string', 'x-unique': true } }),
  key: books(
    { isbn: { type: 'string', 'x-index': true } },
    { 'x-collection': { unique: [['name', 'isbn']] } },
  ),
  reference: books({ authorId: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'null' } }),
  stricter: books({ name: { type: 'string', 'x-index': true, maxLength: 3 } }),
  required: books({ state: { type: 'string', default: 'new' } }, { required: ['state'] }),
  permitted: books({}, { 'x-collection': { access: [{ can: 'all', to: 'anyone' }] } }),
  history: books({}, { 'x-collection': { history: true } }),
  numbered: books({ number: { type: 'integer', 'x-index': true, 'x-set': { next: true } } }),
  words: books(
    { note: { type: 'string', 'x-search': 'words' } },
    { 'x-collection': { language: 'english' } },
  ),
};

const files = (schemas: Readonly<Record<string, Schema>>) => ({
  'authors.json': { title: 'Author', type: 'object', properties: {} },
  ...Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [`${name}.json`, schema])),
});
const FORMER = files({
  ...Object.fromEntries(Object.keys(CHANGES).map((name) => [name, books()])),
  gone: books(),
});
const PRESENT = files({ ...CHANGES, added: books() });

/** The program of the commit before the newest migration; undefined: it cannot be built here. */
async function previousProgram(t: Test): Promise<string | undefined> {
  const commit = previousCommit();
  return commit === undefined ? undefined : buildCommit(t.testdir(), commit).catch(() => undefined);
}

async function stop({ child, ended }: ServiceProcess): Promise<number | string> {
  child.kill('SIGTERM');
  return ended;
}

t.test('a service with the former declarations starts on the tables of the present ones', async (t) => {
  const previous = await previousProgram(t);
  const programs = [DIST, ...(previous === undefined ? [] : [previous])];
  t.comment(previous ?? 'the previous version cannot be built here');
  const [former, present] = [declare(t, FORMER), declare(t, PRESENT)];
  for (const program of programs) {
    const DATABASE_URL = await undeclaredDatabase(t);
    const start = (COLLECTIONS: string, MIGRATE: string) =>
      startNode(t, [program], {
        DATABASE_URL,
        COLLECTIONS,
        MIGRATE,
        LOG_LEVEL: 'info',
        PORT: '0',
        ALLOWED_HOSTS: HOSTS,
      });
    const first = start(former, 'auto');
    await first.ready();
    t.equal(await stop(first), 0);
    t.match(await plinth(t, ['migrate'], { DATABASE_URL, COLLECTIONS: present }), { code: 0, err: '' });
    for (const mode of ['check', 'auto']) {
      const service = start(former, mode);
      const base = await service.ready();
      t.notMatch(service.stdout() + service.stderr(), '"step"', 'it changes no table back');
      for (const name of [...Object.keys(CHANGES), 'gone']) {
        const body = { name: `${mode} ${name}`, note: 'a note' };
        const { status, json, text } = await send(base, 'POST', `/${name}`, { body });
        t.equal(status, 201, `${name}: ${text}`);
        t.match((await send(base, 'GET', `/${name}/${json.id}`)).json, body, name);
      }
      t.equal(await stop(service), 0);
    }
    const after = startProcess(t, { DATABASE_URL, COLLECTIONS: present, MIGRATE: 'check' });
    t.equal((await fetch(`${await after.ready()}/added`)).status, 200, 'the present ones are still recorded');
    t.equal(await stop(after), 0);
  }
});

t.test('after --allow-drop the former declarations are refused', async (t) => {
  const rows: [before: Schema, after: Schema, ...args: string[]][] = [
    [books(), books({ name: { type: 'string' } })],
    [books(), books({ more: { type: 'string', 'x-index': true } }), '--allow-drop'],
  ];
  for (const [before, after, ...args] of rows) {
    const DATABASE_URL = await undeclaredDatabase(t);
    const [former, present] = [before, after].map((schema) => declare(t, files({ books: schema })));
    t.match(await plinth(t, ['migrate'], { DATABASE_URL, COLLECTIONS: former! }), { code: 0 });
    t.match(await plinth(t, ['migrate', ...args], { DATABASE_URL, COLLECTIONS: present! }), { code: 0 });
    const service = startProcess(t, { DATABASE_URL, COLLECTIONS: former!, MIGRATE: 'check' });
    t.equal(await service.ended, 78);
    t.match(service.stderr(), 'the database does not match the declarations');
  }
});

t.test('a database that serves later versions alone is refused by name', async (t) => {
  const DATABASE_URL = await testDatabase(t);
  const sql = sqlOf(t, DATABASE_URL);
  const needs = (version: string) =>
    sql`update migrations set checksum = ${version} where name = '0000_oldest_program'`;
  for (const version of ['0.2.1', '0.10.0']) {
    await needs(version);
    const refusal = `the database serves version ${version} and later, and this is version 0.2.0: start a later one`;
    for (const WORKERS of version === '0.2.1' ? ['1', '2'] : ['1']) {
      const service = startProcess(t, { DATABASE_URL, WORKERS });
      t.equal(await service.ended, 78, version);
      t.match(service.stderr(), refusal);
    }
    t.match(await plinth(t, ['migrate'], { DATABASE_URL }), { code: 78, err: refusal });
    t.match(await plinth(t, ['doctor'], { DATABASE_URL }), { out: refusal });
  }
  for (const version of ['0.1.0', '0.2.0']) {
    await needs(version);
    const service = startProcess(t, { DATABASE_URL });
    await service.ready();
    t.equal(await stop(service), 0, version);
  }
});

/** A commit whose program finds no tables of collections here, and would create others. */
const BEFORE_BASELINE = '99d595ea76294c08586a1a7f319edacc02eefe28';

t.test('a program from before the baseline is refused', async (t) => {
  const folder = join(t.testdir(), 'old');
  mkdirSync(folder);
  const built = await buildCommit(folder, BEFORE_BASELINE).catch(() => undefined);
  if (built === undefined) return void t.pass('refusal', { skip: 'this clone has no history of it' });
  const url = await testDatabase(t);
  const old = (await import(pathToFileURL(join(built, '../db/migrate.js')).href)) as {
    migrate: (url: string, timeoutMs: number) => Promise<void>;
  };
  await t.rejects(old.migrate(url, 10_000), {
    message: /^migration 0001_counts\.sql was changed after it had been applied to this database/,
  });
});
