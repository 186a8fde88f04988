import type postgres from 'postgres';
import { SCHEMA } from './sql.js';

const ARE_OURS = `in (select oid from pg_namespace where nspname in ('public', '${SCHEMA}'))`;

/** Not part of an extension. */
const isOwn = (catalog: string, oid: string) =>
  `not exists (select from pg_depend where classid = '${catalog}'::regclass and objid = ${oid} and deptype = 'e')`;

/** The contents of a database by kind: queries of names, and of all that the catalog has about each as JSON. */
const KINDS: Readonly<Record<string, string>> = {
  schema: `select nspname, jsonb_build_array(nspowner::regrole, nspacl, obj_description(oid, 'pg_namespace'))
    from pg_namespace where oid ${ARE_OURS}`,
  extension: `select extname, jsonb_build_array(extversion, extnamespace::regnamespace) from pg_extension`,
  relation: `select oid::regclass::text, jsonb_build_array(relkind, relpersistence, relowner::regrole, relacl, reloptions,
      relispartition, relreplident, relrowsecurity, pg_get_expr(relpartbound, oid),
      case relkind when 'p' then pg_get_partkeydef(oid) when 'v' then pg_get_viewdef(oid) end, obj_description(oid, 'pg_class'))
    from pg_class where relnamespace ${ARE_OURS} and ${isOwn('pg_class', 'pg_class.oid')}`,
  column: `select attrelid::regclass || '.' || attname, jsonb_build_array(
      rank() over (partition by attrelid order by attnum), format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
      attstorage, attcompression, attcollation::regcollation, attacl, attoptions, pg_get_expr(adbin, adrelid),
      col_description(attrelid, attnum))
    from pg_attribute
    join pg_class on pg_class.oid = attrelid
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where relnamespace ${ARE_OURS} and attnum > 0 and not attisdropped and ${isOwn('pg_class', 'pg_class.oid')}`,
  // PostgreSQL 18 has "not null" here too, under generated names.
  constraint: `select conrelid::regclass || '.' || conname, jsonb_build_array(contype, convalidated, condeferrable,
      pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint'))
    from pg_constraint where connamespace ${ARE_OURS} and contype <> 'n'`,
  index: `select indexrelid::regclass::text, jsonb_build_array(indrelid::regclass, indisvalid, indisprimary, indisreplident,
      (select inhparent::regclass from pg_inherits where inhrelid = indexrelid), pg_get_indexdef(indexrelid))
    from pg_index join pg_class on pg_class.oid = indexrelid where relnamespace ${ARE_OURS}`,
  sequence: `select seqrelid::regclass::text, jsonb_build_array(seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache,
      seqcycle, pg_sequence_last_value(seqrelid),
      (select refobjid::regclass || '.' || refobjsubid from pg_depend
       where objid = seqrelid and classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass))
    from pg_sequence join pg_class on pg_class.oid = seqrelid where relnamespace ${ARE_OURS}`,
  routine: `select oid::regprocedure::text, jsonb_build_array(proowner::regrole, proacl, pg_get_functiondef(oid),
      obj_description(oid, 'pg_proc'))
    from pg_proc where pronamespace ${ARE_OURS} and ${isOwn('pg_proc', 'pg_proc.oid')}`,
  trigger: `select tgrelid::regclass || '.' || tgname, jsonb_build_array(tgenabled, pg_get_triggerdef(pg_trigger.oid),
      obj_description(pg_trigger.oid, 'pg_trigger'))
    from pg_trigger join pg_class on pg_class.oid = tgrelid where relnamespace ${ARE_OURS} and not tgisinternal`,
  'event trigger': `select evtname, jsonb_build_array(evtevent, evtfoid::regproc, evtenabled, evttags) from pg_event_trigger`,
  type: `select oid::regtype::text, jsonb_build_array(typtype, typowner::regrole, typacl) from pg_type
    where typnamespace ${ARE_OURS} and ${isOwn('pg_type', 'pg_type.oid')}`,
  rule: `select ev_class::regclass || '.' || rulename, to_jsonb(pg_get_ruledef(pg_rewrite.oid))
    from pg_rewrite join pg_class on pg_class.oid = ev_class where relnamespace ${ARE_OURS}`,
  policy: `select polrelid::regclass || '.' || polname, to_jsonb(polcmd) from pg_policy`,
  statistics: `select stxrelid::regclass || '.' || stxname, to_jsonb(pg_get_statisticsobjdef(oid)) from pg_statistic_ext`,
  'default privileges': `select defaclrole::regrole || defaclobjtype, to_jsonb(defaclacl) from pg_default_acl`,
  settings: `select setrole::text, to_jsonb(setconfig) from pg_db_role_setting
    where setdatabase = (select oid from pg_database where datname = current_database())`,
};

/** All objects of the schemas of a service, by kind and name, each with its definition, owner, privileges and comment. */
export async function catalogOf(sql: postgres.Sql): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [kind, query] of Object.entries(KINDS))
    for (const row of await sql.unsafe(`select * from (${query}) as found (name, definition) order by name`))
      found[`${kind} ${row.name}`] = row.definition;
  return found;
}

/** The rows of all tables but the record of migrations, without times and random names. */
export async function rowsOf(sql: postgres.Sql): Promise<Record<string, string[]>> {
  const tables = await sql`select oid::regclass::text as name from pg_class
    where relkind = 'r' and relname <> 'migrations' and relnamespace ${sql.unsafe(ARE_OURS)} order by 1`;
  const found: Record<string, string[]> = {};
  for (const { name } of tables) {
    const rows = await sql.unsafe(`select to_jsonb(each) - 'since' as row from ${name} as each`);
    const texts = rows.map(({ row }) =>
      JSON.stringify({ ...row, ...(name === 'feed_epochs' && { name: '' }) }),
    );
    found[name] = texts.sort();
  }
  return found;
}
