-- The tables of collections get a schema of their own, so that a collection can have any name that the service has in its own.
-- The program says in a setting which schema (src/db/object-names.ts). Processes of earlier versions look for the tables where
-- they were: they are stopped before this migration (docs/deployment.md#upgrades).

-- On Citus, which otherwise refuses to change several distributed tables in one transaction; elsewhere it has no effect.
set local citus.multi_shard_modify_mode = 'sequential';

do $$
declare
  place constant name := current_setting('plinth.collections_schema');
  is_missing constant boolean := not exists (select from pg_namespace where nspname = place);
  moved record;
  function record;
begin
  if is_missing and not has_database_privilege(current_database(), 'create') then
    raise exception 'the role % may not create the schema of the collections: run `create schema % authorization %` as the owner of the database',
      current_user, quote_ident(place), quote_ident(current_user);
  elsif is_missing then
    execute format('create schema %I', place);
  elsif exists (select from pg_class where relnamespace = quote_ident(place)::regnamespace) then
    raise exception 'the schema % for the tables of collections has tables of another program, or of a service whose own schema was removed: rename or drop it', place;
  elsif not has_schema_privilege(place, 'create, usage') then
    raise exception 'the role % may not create tables in the schema of the collections: run `alter schema % owner to %` as its owner',
      current_user, quote_ident(place), quote_ident(current_user);
  end if;
  execute format('create function plinth_collections_schema() returns text language sql immutable parallel safe as %L', format('select %L::text', place));

  -- Tables with the columns of a collection that the service has attached, by triggers or on Citus by its functions.
  for moved in
    select class.oid, class.oid::regclass as relation
    from pg_class as class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and (
        select count(*) = 4
        from pg_attribute
        where attrelid = class.oid and not attisdropped and (attname, atttypid) in (
          ('id', 'uuid'::regtype), ('version', 'integer'::regtype), ('updated_at', 'timestamptz'::regtype), ('doc', 'text'::regtype)
        )
      )
      and (
        to_regclass('distributed_collections') is not null
        or exists (select from collections where name = relname)
        or exists (select from pg_trigger where tgrelid = class.oid and tgname = relname || '_inserted')
      )
  loop
    -- Its functions: the one that writes events, and those that remove references to its deleted records.
    for function in
      select distinct pg_proc.oid, pg_proc.oid::regprocedure as signature, prosrc like '%without_member(referring.doc%' as is_null
      from pg_trigger
      join pg_proc on pg_proc.oid = tgfoid
      where tgrelid = moved.oid and not tgisinternal and pronamespace = current_schema()::regnamespace
        and (prosrc like '%without_member(referring.doc%' or prosrc like '%insert into events %')
    loop
      execute format('alter function %s set schema %I', function.signature, place);
      if function.is_null then
        execute regexp_replace(
          pg_get_functiondef(function.oid), 'update (\w+) as referring',
          'update ' || replace(quote_ident(place), '\', '\\') || '.\1 as referring'
        );
      end if;
    end loop;
    execute format('alter table %s set schema %I', moved.relation, place);
  end loop;

  -- Views by which services with former declarations know renamed collections.
  for moved in
    select oid::regclass as relation
    from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'v'
      and obj_description(oid, 'pg_class') like 'plinth: former name of %'
  loop
    execute format('alter view %s set schema %I', moved.relation, place);
  end loop;

  -- What the service itself reads of the collection that people sign in with.
  execute format('create view plinth_users as select id, doc, email from %I.users', place);
end $$;

-- The function of a table that writes its events is in the schema of the table. On Citus other functions write them.
do $$
begin
  if to_regprocedure('attach_collection(regclass, name)') is null then return; end if;
  execute $attach$
create or replace function attach_collection(collection regclass, owner name default null) returns void language plpgsql as $do$
declare
  table_name constant name := (select relname from pg_class where oid = collection);
  place constant regnamespace := (select relnamespace from pg_class where oid = collection);
  event_function constant name := table_name || '_note_events';
  change record;
begin
  execute format(
    $function$
      create or replace function %s.%I() returns trigger language plpgsql as $body$ #variable_conflict use_variable
      begin
        insert into events (segment, owner, record, version, type, data)
        select (select current from event_segment), %s, id, version,
          %L || case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end,
          case when tg_op <> 'DELETE' then doc end
        from changed;
        return null;
      end $body$
    $function$,
    place, event_function, coalesce('changed.' || quote_ident(owner), 'null::uuid'), table_name || '.'
  );
  for change in
    select * from (values
      ('insert', 'new', 'created', 'inserted'), ('update', 'new', 'updated', null), ('delete', 'old', 'deleted', 'deleted')
    ) as changes (operation, transition, event, counted)
  loop
    execute format(
      'create or replace trigger %I after %s on %s referencing %s table as changed for each statement
        when (current_setting(''plinth.events'', true) is distinct from ''off'') execute function %s.%I()',
      table_name || '_' || change.event || '_events', change.operation, collection, change.transition, place, event_function
    );
    if change.counted is not null then
      execute format(
        'create or replace trigger %I after %s on %s referencing %s table as changed for each statement
          execute function %I()',
        table_name || '_' || change.counted, change.operation, collection, change.transition, 'count_' || change.counted
      );
    end if;
  end loop;
end $do$
  $attach$;
end $$;
