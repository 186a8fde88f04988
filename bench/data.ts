import postgres from 'postgres';

/** Words of the items' names: some common, some rare. */
const ADJECTIVES = ['Small', 'Large', 'Red', 'Blue', 'Old', 'New', 'Light', 'Heavy', 'Plain', 'Fancy'];
const NOUNS = ['Lamp', 'Chair', 'Table', 'Desk', 'Shelf', 'Sofa', 'Clock', 'Mirror', 'Carpet', 'Vase'];

/**
 * Fills a migrated database with users and items whose documents look like those the service writes, one a
 * millisecond. A thousand items have a rare word in their name.
 */
export async function fill(url: string, users: number, items: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await sql.unsafe(FUNCTIONS);
    await sql.unsafe(`insert into users (id, updated_at, email, doc)
      select r.id, r.at, r.email, pg_temp.document(r.id, r.at, format('"email":"%s","name":"User %s","age":%s', r.email, r.n, r.n % 100))
      from (select n, pg_temp.identity(n) as id, pg_temp.moment(n) as at, format('user%s@example.org', n) as email
        from generate_series(1, ${users}) n) r`);
    await sql.unsafe(`insert into items (id, updated_at, name, price, doc)
      select r.id, r.at, r.name, r.price, pg_temp.document(r.id, r.at, format('"name":"%s","price":%s,"stock":%s', r.name, r.price, r.n % 1000))
      from (select n, pg_temp.identity(n) as id, pg_temp.moment(n) as at, (n::bigint * 7919 % 100000) / 100.0 as price,
          (array['${ADJECTIVES.join("','")}'])[1 + n % 10] || ' ' || (array['${NOUNS.join("','")}'])[1 + n / 10 % 10] || ' '
            || case when n % 1000 = 0 then 'Zirconium ' else '' end || n as name
        from generate_series(1, ${items}) n) r`);
    await sql.unsafe('vacuum analyze');
  } finally {
    await sql.end();
  }
}

const FUNCTIONS = `
create function pg_temp.moment(n bigint) returns timestamptz language sql as
  $$ select to_timestamp(1700000000 + n / 1000.0) $$;
create function pg_temp.identity(n bigint) returns uuid language sql as $$
  select (substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-7' || substr(h, 1, 3) || '-8' || substr(h, 4, 3) || '-' || substr(h, 7, 12))::uuid
  from (select lpad(to_hex(1700000000000 + n), 12, '0') as t, md5(n::text) as h) x $$;
create function pg_temp.document(id uuid, at timestamptz, fields text) returns text language sql as $$
  select format('{"id":"%s",%s,"created_at":"%s","updated_at":"%s","_version":1}', id, fields, x.at, x.at)
  from (select to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at) x $$;`;
