-- What a role may do in a database, for `plinth doctor`.

-- name: inspect ($1 names of tables, as a JSON array)
select
  current_setting('server_version') as version,
  current_setting('server_version_num')::integer as version_number,
  current_user as role,
  current_database() as database,
  current_schema() as schema,
  coalesce(current_setting('plinth.events', true), '') = 'off' as passes_settings,
  pg_is_in_recovery() as is_standby,
  current_setting('default_transaction_read_only') = 'on' as is_read_only,
  coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create,
  has_database_privilege(current_database(), 'create') as may_create_extensions,
  exists (select from pg_extension where extname = 'pg_trgm') as has_trigrams,
  exists (select from pg_available_extensions where name = 'pg_trgm') as offers_trigrams,
  to_regclass('migrations') is not null as has_migrations,
  current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
    as max_connections,
  (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as connections,
  extract(epoch from clock_timestamp())::double precision * 1000 as now,
  (
    select coalesce(json_agg(relname order by relname), '[]')::text
    from pg_class
    where relnamespace = current_schema()::regnamespace
      and relkind in ('r', 'p')
      and relname in (select json_array_elements_text($1::text::json))
      and not pg_has_role(relowner, 'usage')
  ) as foreign_tables
