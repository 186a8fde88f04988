import type postgres from 'postgres';
import { Statements } from '../../../src/collection/sql-templates.js';
import { CITUS } from '../../../src/database-url/engine.js';
import { resourcesOf } from '../../../src/declarations/load-declarations.js';
import { readDeclarations } from '../../../src/declarations/read-declarations.js';
import { ListStatements } from '../../../src/list/list-sql.js';
import { readList } from '../../../src/list/read-list.js';
import { pageStatement } from '../../support/list-statement.js';
import { testService } from '../../support/service.js';
import { SCHEMA, sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { EXAMINED, HEADINGS } from './statements.js';

/*
 * Which shards the statements of requests read and write: Citus reports each command that it sends to a node. A statement
 * whose heading in sql/features/citus does not say `fan-out` reads and writes one shard of its collection.
 */

/** Reads of a child by its own id, which does not tell its shard. */
const FAN_OUT_OF_CHILDREN = new Set(['get', 'get_large', 'exists']);

interface Sent {
  /** The shards of the collection. */
  readonly shards: ReadonlySet<string>;
  readonly commands: readonly string[];
}

/** Runs statements as the service does, and returns the commands that Citus sends for each. */
async function watch(t: Test, url: string) {
  const commands: string[] = [];
  const sql = sqlOf(t, url, {
    onnotice: ({ message = '' }) => void commands.push(message),
    connection: { 'plinth.events': 'on', 'citus.log_remote_commands': 'on' } as never,
  });
  return async (
    table: string,
    text: string,
    args: readonly postgres.SerializableParameter[],
  ): Promise<Sent> => {
    commands.length = 0;
    await sql
      .begin(async (run) => {
        await run.unsafe(text, [...args]);
        throw new Undo();
      })
      .catch((error: unknown) => {
        if (!(error instanceof Undo)) throw error;
      });
    const found = commands.flatMap((text) => text.match(new RegExp(`${SCHEMA}\\.${table}_\\d+`, 'g')) ?? []);
    return { shards: new Set(found), commands: [...commands] };
  };
}

class Undo extends Error {}

const NO_PRECONDITIONS = [null, null, null] as const;
const NEW_ID = '019b0000-0000-7000-8000-000000000001';
const MOMENT = '2026-01-01T00:00:00.000Z';

t.test('statements without "fan-out" read and write one shard', async (t) => {
  const { send, databaseUrl } = await testService(t);
  const create = async (path: string, body: object) => (await send('POST', path, { body })).json.id as string;
  const user = await create('/users', { email: 'a@example.org', name: 'A' });
  const post = await create(`/users/${user}/posts`, { title: 'one' });
  const item = await create('/items', { name: 'Chair', price: 5 });
  for (let n = 0; n < 40; n++) await create('/items', { name: `Chair ${n}`, price: n });
  const sent = await watch(t, databaseUrl);
  const resources = resourcesOf(readDeclarations(undefined), { schema: SCHEMA });
  const statements = (name: string) =>
    new Statements(resources.find((each) => each.name === name)!, false, CITUS);
  const [items, posts] = [statements('items'), statements('posts')];
  const doc = `{"id":"${NEW_ID}","name":"x","_version":1}`;
  const row = { id: NEW_ID, version: 1, updated_at: MOMENT, doc, name: 'x', price: 1 };
  const page = (name: string, query: string, parent?: string) => {
    const resource = resources.find((each) => each.name === name)!;
    const { text, args } = pageStatement(resource, query, { lists: 'numbered', parent }, CITUS);
    return [text, args as postgres.SerializableParameter[]] as const;
  };
  const cases: [table: string, name: string, text: string, args: postgres.SerializableParameter[]][] = [
    ['items', 'get', items.of('get'), [`{${item}}`]],
    ['items', 'get_large', items.of('get_large'), [item]],
    ['items', 'exists', items.of('exists'), [item]],
    ['posts', 'get', posts.of('get'), [`{${post}}`]],
    ['posts', 'get_large', posts.of('get_large'), [post]],
    ['posts', 'exists', posts.of('exists'), [post]],
    ['items', 'lock', items.of('lock'), [`{${item}}`]],
    ['items', 'create', items.of('create'), [NEW_ID, MOMENT, doc, 'x', 1]],
    ['items', 'create_many', items.of('create_many'), [JSON.stringify([row])]],
    ['items', 'replace', items.of('replace'), [item, ...NO_PRECONDITIONS, MOMENT, '{"_version":', 'x', 1]],
    ['items', 'replace_many', items.of('replace_many'), [JSON.stringify([{ ...row, id: item, version: 2 }])]],
    ['items', 'remove', items.of('remove'), [item]],
    ['items', 'remove_if', items.of('remove_if'), [item, ...NO_PRECONDITIONS]],
    ['posts', 'page_of_parent', ...page('posts', 'limit=10', user)],
    ['items', 'page_first', ...page('items', 'limit=10')],
    ['items', 'page_found', ...page('items', 'page=100&limit=10&sort=price')],
    ['items', 'page_counted', ...page('items', 'page=100&limit=10')],
    ['items', 'page_matching', ...page('items', 'page=1&limit=10&search=chair')],
    ['items', 'page_matching_short', ...page('items', 'page=1&limit=10&search=ch')],
  ];
  t.same([...new Set(cases.map(([, name]) => name))].sort(), EXAMINED.toSorted());
  for (const [table, name, text, args] of cases) {
    const { shards, commands } = await sent(table, text, args);
    const isFanOut =
      HEADINGS.get(name)!.includes('fan-out') || (table === 'posts' && FAN_OUT_OF_CHILDREN.has(name));
    t.ok(shards.size > 0, `${name} reads ${table}`);
    if (!isFanOut) t.equal(shards.size, 1, `${name} uses one shard`);
    else t.ok(isBounded(commands), `${name} is bounded in each shard`);
  }
});

/** Whether each command to a shard looks up ids, counts, or has a limit. */
function isBounded(commands: readonly string[]): boolean {
  const read = new RegExp(`^issuing SELECT .* FROM ${SCHEMA}\\.\\w+_\\d+`, 's');
  const reads = commands.filter((text) => read.test(text));
  return reads.every((text) =>
    /LIMIT|count\(|OPERATOR\(pg_catalog\.=\) ANY|\(id OPERATOR\(pg_catalog\.=\)/.test(text),
  );
}

t.test('queries with filters, and pages between cursors, read no more than their page', async (t) => {
  const { databaseUrl } = await testService(t);
  const sent = await watch(t, databaseUrl);
  const resources = resourcesOf(readDeclarations(undefined), { schema: SCHEMA });
  const items = resources.find(({ name }) => name === 'items')!;
  const query = new URLSearchParams('filter[price][gt]=1');
  const { selection } = readList(query, { resource: items }, { lists: 'numbered' });
  const statements = [
    pageStatement(items, 'limit=10&sort=-price,name&filter[price][gt]=1&count=none', undefined, CITUS),
    new ListStatements(items, CITUS).ids(selection, 1001),
    pageStatement(items, 'limit=10&sort=-price', { lists: 'keyset' }, CITUS),
  ];
  for (const { text, args } of statements) {
    const { shards, commands } = await sent('items', text, args as never);
    t.ok(shards.size > 1, 'it is a fan-out');
    const reads = commands.filter((text) => /^issuing SELECT .* FROM/s.test(text));
    for (const text of reads) t.match(text, 'LIMIT', 'each shard gets the limit');
  }
});

t.test('a record by its id is planned for one shard, a child for one look in each', async (t) => {
  const { databaseUrl } = await testService(t);
  const sql = sqlOf(t, databaseUrl);
  const tasks = async (table: string): Promise<number> => {
    const rows = await sql.unsafe(`explain (format json) select doc from ${table} where id = '${NEW_ID}'`);
    const text = JSON.stringify(rows);
    return Number(/Task Count[^0-9]*(\d+)/.exec(text)![1]);
  };
  const [{ shards } = { shards: 0 }] = await sql<{ shards: number }[]>`
    select count(*)::integer as shards from pg_dist_shard where logicalrelid = 'posts'::regclass`;
  t.equal(await tasks('items'), 1);
  t.equal(await tasks('users'), 1);
  t.equal(await tasks('posts'), shards);
});
