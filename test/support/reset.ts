import postgres from 'postgres';
import { SCHEMA } from './sql.js';
import { words } from './words.js';

/** Tables whose rows are the state of the service itself, which a running one also has in memory. */
const RETAINED = words(`
  migrations collections feed_epochs events_floor event_segment webhook_cursor delivery_segment issuer_keys
`);

/**
 * Adds a function to a database that empties all its tables beside a running service, without triggers, and fails if the
 * tables are others than when it was first called.
 */
export async function addReset(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`
    create schema test_reset;
    create table test_reset.seen (objects text not null);
    create function test_reset.objects() returns text language sql as $$
      with spaces as materialized (select oid from pg_namespace where nspname in ('public', '${SCHEMA}')),
        tables as materialized (
          select oid, relname, relchecks, relacl from pg_class where relnamespace in (select oid from spaces)
        )
      select md5(string_agg(definition, ' ' order by definition)) from (
        select format('%s %s %s %s', oid, relname, relchecks, relacl) as definition from tables
        union all select format('%s %s %s %s', oid, proname, proacl, xmin)
          from pg_proc where pronamespace in (select oid from spaces)
        union all select format('%s %s %s', oid, tgname, tgenabled) from pg_trigger where tgrelid in (select oid from tables)
        union all select format('%s %s', oid, conname) from pg_constraint where conrelid in (select oid from tables)
        union all select format('%s %s %s', attrelid, attname, atttypid) from pg_attribute
          where attrelid in (select oid from tables) and attnum > 0
      ) definitions
    $$;
    create function test_reset.empty_all() returns void language plpgsql as $$
    declare
      names text[];
      name text;
      found boolean;
    begin
      if exists (select from test_reset.seen where objects <> test_reset.objects()) then
        raise exception 'the tables have changed';
      end if;
      set local session_replication_role = 'replica';
      select array_agg(oid::regclass::text order by oid) into names from pg_class
        where relkind = 'r' and relnamespace::regnamespace::text in ('public', '${SCHEMA}')
          and oid::regclass::text <> all ('{${RETAINED.join()}}');
      execute 'lock table ' || array_to_string(names, ', ') || ' in exclusive mode';
      foreach name in array names loop
        execute format('select exists (select from %s)', name) into found;
        if found then
          execute format('delete from %s', name);
        end if;
      end loop;
    end $$;
  `);
  await sql.end();
}

const TABLES_CHANGED = 'P0001';
const DEADLOCK = '40P01';
const MAX_ATTEMPTS = 10;

/** Empties the tables of a database between tests, by one connection: a new one would cost three times as much as the work. */
export class Reset {
  readonly #sql: postgres.Sql;

  /** Connects when it is first used. */
  constructor(url: string) {
    this.#sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined });
  }

  /** Notes the tables as they are now. */
  async note(): Promise<void> {
    await this.#sql`insert into test_reset.seen select test_reset.objects()`;
  }

  /** Empties the tables; false if a test has changed them since they were noted. */
  async empty(): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#sql`select test_reset.empty_all()`.catch(
        (error: { code?: string }) => error,
      );
      const code = 'code' in outcome ? outcome.code : undefined;
      if (code === TABLES_CHANGED) return false;
      if (code === undefined) return true;
      if (code !== DEADLOCK || attempt === MAX_ATTEMPTS) throw outcome;
    }
  }

  end(): Promise<void> {
    return this.#sql.end();
  }
}
