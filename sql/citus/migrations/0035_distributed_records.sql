-- Writes to distributed collections. Each function writes records in their shards, and the events, counts and tombstones
-- on the coordinator, in one transaction. Statements have literals instead of parameters, so that Citus sees the shard.
set local citus.enable_ddl_propagation = off;

create type changed_record as (id uuid, owner uuid, version integer, doc text);

-- Writes what triggers write on one PostgreSQL. `operation`: created, updated or deleted. The records are locked by now,
-- so that the events of one record are in the order of its changes.
create function note_records(collection text, operation text, records changed_record[]) returns void language plpgsql as $$
begin
  delete from two_phase_commit where id = 1;
  if current_setting('plinth.events', true) is distinct from 'off' then
    insert into events (owner, record, version, type, data)
    select owner, id, version, collection || '.' || operation, case when operation <> 'deleted' then doc end
    from unnest(records);
  end if;
  if operation <> 'updated' then
    perform note_changes(
      collection, array(select moment_of(id) from unnest(records)), case operation when 'created' then 1 else -1 end
    );
  end if;
  if operation = 'deleted' and current_setting('plinth.tombstones', true) = 'on' then
    insert into tombstones (id) select id from unnest(records) on conflict do nothing;
  end if;
end $$;

create function changed_record_of(collection text, fields jsonb) returns changed_record language sql stable as $$
  select row(fields ->> 'id', fields ->> owner, fields ->> 'version', fields ->> 'doc')::changed_record
  from distributed_collections where name = collection
$$;

-- The condition for one record in its shard; null: there is no such record. Of a child, whose id alone does not tell the
-- shard, it takes a look at the index of each shard (fan-out).
create function place_of(collection text, record_id uuid) returns text language plpgsql as $$
declare
  parent_column constant text := (select parent from distributed_collections where name = collection);
  parent_id uuid;
begin
  if parent_column is null then
    return format('id = %L', record_id);
  end if;
  execute format('select %I from %I where id = %L', parent_column, collection, record_id) into parent_id;
  if parent_id is null then
    return null;
  end if;
  return format('%I = %L and id = %L', parent_column, parent_id, record_id);
end $$;

-- Locks a record until the transaction ends, and returns its columns. A child that another transaction moves is looked up again.
create function lock_record(collection text, record_id uuid) returns jsonb language plpgsql as $$
declare
  place text;
  locked record;
begin
  for attempt in 1 .. 8 loop
    place := place_of(collection, record_id);
    if place is null then
      return null;
    end if;
    execute format('select * from %I where %s for update', collection, place) into locked;
    if locked.id is not null then
      return to_jsonb(locked);
    end if;
    exit when place not like '% and %';
  end loop;
  return null;
end $$;

-- Locks several records in the order of their ids, those of one parent if it is given.
create function lock_records(collection text, ids uuid[], parent_column text, parent_id uuid)
  returns table (id uuid) language plpgsql as $$
declare
  restriction constant text := case when parent_id is null then '' else format(' and %I = %L', parent_column, parent_id) end;
  record_id uuid;
  place text;
begin
  for record_id in select distinct unnest(ids) order by 1 loop
    if parent_column = (select parent from distributed_collections where name = collection) then
      place := format('id = %L', record_id);
    else
      place := place_of(collection, record_id);
    end if;
    continue when place is null;
    return query execute format('select id from %I where %s%s for update', collection, place, restriction);
  end loop;
end $$;

-- The columns of a collection, and a record's values as literals in the same order.
create function columns_of(collection text) returns text[] language sql stable as $$
  select array_agg(quote_ident(attname) order by attnum)
  from pg_attribute
  where attrelid = format('%I', collection)::regclass and attnum > 0 and not attisdropped
$$;

create function literals_of(collection text, fields jsonb) returns text[] language plpgsql as $$
declare
  literals text[];
begin
  execute format(
    'select array[%s] from jsonb_populate_record(null::%I, $1)',
    (select string_agg(format('quote_nullable(%s)', name), ', ') from unnest(columns_of(collection)) as name), collection
  ) into literals using fields;
  return literals;
end $$;

-- Throws what a foreign key would, for references that a write changes. Locks what they refer to. `is_self`: only references
-- to records of the same collection, or only to others.
create function require_references(collection text, before jsonb, after jsonb, is_self boolean default null)
  returns void language plpgsql as $$
declare
  reference distributed_references;
  target_id uuid;
  place text;
  found_rows integer;
begin
  for reference in select * from distributed_references as each where each.collection = $1 loop
    continue when is_self <> (reference.target = collection);
    target_id := after ->> reference.column_name;
    continue when target_id is null or target_id::text = before ->> reference.column_name
      or (reference.target = collection and target_id::text = after ->> 'id');
    place := place_of(reference.target, target_id);
    found_rows := 0;
    if place is not null then
      execute format('select 1 from %I where %s for key share', reference.target, place);
      get diagnostics found_rows = row_count;
    end if;
    if found_rows = 0 then
      raise exception 'insert or update on table "%" violates foreign key constraint "%"', collection, reference.name
        using errcode = 'foreign_key_violation', constraint = reference.name, table = collection;
    end if;
  end loop;
end $$;

-- Reserves the unique values of a record, and gives back those that it no longer has. Throws what a unique index would.
create function move_values(collection text, before jsonb, after jsonb) returns void language plpgsql as $$
declare
  column_name text;
  constraint_name text;
  new_rows integer;
begin
  foreach column_name in array (select unique_columns from distributed_collections where name = collection) loop
    continue when before ->> column_name is not distinct from after ->> column_name;
    constraint_name := collection || '_' || column_name || '_key';
    if after ->> column_name is not null then
      execute format(
        'insert into unique_values (name, value, id) values (%L, %L, %L) on conflict do nothing',
        constraint_name, after ->> column_name, after ->> 'id'
      );
      get diagnostics new_rows = row_count;
      if new_rows = 0 then
        raise exception 'duplicate key value violates unique constraint "%"', constraint_name
          using errcode = 'unique_violation', constraint = constraint_name, table = collection;
      end if;
    end if;
    if before ->> column_name is not null then
      execute format(
        'delete from unique_values where value = %L and name = %L', before ->> column_name, constraint_name
      );
    end if;
  end loop;
end $$;

create function insert_records(collection text, records jsonb[]) returns void language plpgsql as $$
begin
  execute format(
    'insert into %I (%s) values %s', collection, array_to_string(columns_of(collection), ', '),
    (
      select string_agg(format('(%s)', array_to_string(literals_of(collection, fields), ', ')), ', ')
      from unnest(records) as fields
    )
  );
end $$;
