import type postgres from 'postgres';
import { openSql } from '../../test/support/sql.js';
import { PLAIN_TABLES } from '../peers/tables.js';

/** Words of the items' names: some common, some rare. */
const ADJECTIVES = ['Small', 'Large', 'Red', 'Blue', 'Old', 'New', 'Light', 'Heavy', 'Plain', 'Fancy'];
const NOUNS = ['Lamp', 'Chair', 'Table', 'Desk', 'Shelf', 'Sofa', 'Clock', 'Mirror', 'Carpet', 'Vase'];

/** Terms to search the items for, by what they find. */
export const TERMS = {
  /** One item in ten. */
  common: 'lamp',
  /** About a thousand items, spread evenly. */
  rare: 'zirconium',
  none: 'nothing-like-it',
  /** Up to twelve thousand items, the oldest of all: a search through the newest first passes all others. */
  trap: 'obsidian',
  two: 'la',
  one: 'z',
};

/**
 * Fills a migrated database with users and items whose documents look like those the service writes, one a
 * millisecond. `tables`: those of the users and of the items.
 */
export async function fill(
  url: string,
  users: number,
  items: number,
  [userTable, itemTable]: readonly [string, string] = ['users', 'items'],
): Promise<void> {
  await withFunctions(url, async (sql) => {
    await sql.unsafe(`insert into ${userTable} (id, updated_at, email, doc)
      select r.id, r.at, r.email, pg_temp.document(r.id, r.at,
        format('"email":"%s","name":"%s","age":%s', r.email, r.name, r.age))
      from (${usersOf(users)}) r`);
    await withoutIndexes(sql, itemTable, async () => {
      await sql.unsafe(`insert into ${itemTable} (id, updated_at, name, price, doc)
        select r.id, r.at, r.name, r.price, pg_temp.document(r.id, r.at,
          format('"name":"%s","price":%s,"stock":%s', r.name, r.price, r.stock))
        from (${itemsOf(items)}) r`);
    });
  });
}

/** Makes the plain tables that a hand-written server would have, with the same records and ids as `fill`. */
export async function fillPlain(url: string, users: number, items: number): Promise<void> {
  await withFunctions(url, async (sql) => {
    await sql.unsafe(PLAIN_TABLES);
    await sql.unsafe(`insert into users (id, email, name, age, created_at, updated_at)
      select id, email, name, age, at, at from (${usersOf(users)}) r`);
    await withoutIndexes(sql, 'items', async () => {
      await sql.unsafe(`insert into items (id, name, price, extra, created_at, updated_at)
        select id, name, price, jsonb_build_object('stock', stock), at, at from (${itemsOf(items)}) r`);
    });
  });
}

async function withFunctions(url: string, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = openSql(url, { max: 1, onnotice: () => undefined, connection: { 'plinth.events': 'off' } });
  try {
    await sql.unsafe(FUNCTIONS);
    await work(sql);
    await sql.unsafe('vacuum analyze');
  } finally {
    await sql.end();
  }
}

/** Indexes that are built when the rows are there take a fraction of the time. */
async function withoutIndexes(sql: postgres.Sql, table: string, work: () => Promise<void>): Promise<void> {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
    from pg_index i
    where i.indrelid = ${table}::regclass
      and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`;
  for (const { name } of indexes) await sql.unsafe(`drop index ${name}`);
  await work();
  for (const { definition } of indexes) await sql.unsafe(definition);
}

const usersOf = (users: number) => `
  select pg_temp.identity(n) as id, pg_temp.moment(n) as at, format('user%s@example.org', n) as email,
    'User ' || n as name, n % 100 as age
  from generate_series(1, ${users}) n`;

/**
 * Of a million the oldest twelve thousand are a little more than one in a hundred, and their names sort next to
 * each other: so the planner's statistics, a hundred steps, always show that they are not rare.
 */
const itemsOf = (items: number) => `
  select pg_temp.identity(n) as id, pg_temp.moment(n) as at, n % 1000 as stock,
    (n::bigint * 7919 % 100000)::double precision / 100 as price,
    case when n <= ${Math.min(12_000, Math.floor(items / 16))} then 'Obsidian ' else '' end
      || (array['${ADJECTIVES.join("','")}'])[1 + n % 10] || ' ' || (array['${NOUNS.join("','")}'])[1 + n / 10 % 10] || ' '
      || case when n % ${Math.max(1, Math.floor(items / 1000))} = 0 then 'Zirconium ' else '' end || n as name
  from generate_series(1, ${items}) n`;

const FUNCTIONS = `
create function pg_temp.moment(n bigint) returns timestamptz language sql as
  $$ select to_timestamp(1700000000 + n / 1000.0) $$;
create function pg_temp.identity(n bigint) returns uuid language sql as $$
  select (substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-7' || substr(h, 1, 3) || '-8' || substr(h, 4, 3) || '-' || substr(h, 7, 12))::uuid
  from (select lpad(to_hex(1700000000000 + n), 12, '0') as t, md5(n::text) as h) x $$;
create function pg_temp.document(id uuid, at timestamptz, fields text) returns text language sql as $$
  select format('{"id":"%s",%s,"created_at":"%s","updated_at":"%s","_version":1}', id, fields, x.at, x.at)
  from (select to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at) x $$;`;
