-- The rights of a role in a database, for `plinth doctor`.

-- name: inspect ($1 names of tables of the service, $2 of collections, as JSON arrays, $3 the schema of collections)
select
  current_setting('server_version') as version,
  current_setting('server_version_num')::integer as "versionNumber",
  current_user as role,
  current_database() as database,
  current_schema() as schema,
  coalesce(current_setting('plinth.events', true), '') = 'off' as "passesSettings",
  pg_is_in_recovery() as "isStandby",
  current_setting('default_transaction_read_only') = 'on' as "isReadOnly",
  coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayCreate",
  has_database_privilege(current_database(), 'create') as "mayCreateSchemas",
  exists (select from pg_namespace where nspname = $3) as "hasCollectionsSchema",
  exists (
    select from pg_namespace
    where nspname = $3 and has_schema_privilege(oid, 'create') and has_schema_privilege(oid, 'usage')
  ) as "mayCreateCollections",
  exists (select from pg_extension where extname = 'pg_trgm') as "hasTrigrams",
  (
    select nspname
    from pg_extension join pg_namespace on pg_namespace.oid = extnamespace
    where extname = 'pg_trgm' and nspname <> all (current_schemas(true))
  ) as "hiddenTrigrams",
  exists (select from pg_available_extensions where name = 'pg_trgm')
    and has_database_privilege(current_database(), 'create') as "mayCreateTrigrams",
  to_regclass('migrations') is not null as "hasMigrations",
  -- Null: a Unix socket.
  inet_client_addr() is null or inet_client_addr() <<= '127.0.0.0/8' or inet_client_addr() = '::1' as "isLocal",
  exists (select from pg_stat_ssl where pid = pg_backend_pid() and ssl) as "isEncrypted",
  current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
    as "maxConnections",
  (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as connections,
  (select case when rolsuper then -1 else rolconnlimit end from pg_roles where rolname = current_user) as "roleLimit",
  (select count(*)::integer from pg_stat_activity where usename = current_user) as "roleConnections",
  (select datconnlimit from pg_database where datname = current_database()) as "databaseLimit",
  (select count(*)::integer from pg_stat_activity where datname = current_database()) as "databaseConnections",
  extract(epoch from clock_timestamp())::double precision * 1000 as now,
  (
    select coalesce(json_agg(relname order by relname), '[]')::text
    from pg_class
    where relkind in ('r', 'p')
      and (
        relnamespace = (select oid from pg_namespace where nspname = $3)
        and relname in (select json_array_elements_text($2::text::json))
        or relnamespace = (select oid from pg_namespace where nspname = current_schema()) and relname in (
          select name from json_array_elements_text($1::text::json) as name
          union all
          -- The partitions of a table.
          select inhrelid::regclass::text
          from json_array_elements_text($1::text::json) as name join pg_inherits on inhparent = to_regclass(name)
        )
      )
      and not pg_has_role(relowner, 'usage')
  ) as "foreignTables"
