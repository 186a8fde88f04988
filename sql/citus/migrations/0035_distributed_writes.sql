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

-- Throws what a foreign key would, for references that a write changes. Locks what they refer to.
create function require_references(collection text, before jsonb, after jsonb) returns void language plpgsql as $$
declare
  reference distributed_references;
  target_id uuid;
  place text;
  found_rows integer;
begin
  for reference in select * from distributed_references as each where each.collection = $1 loop
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

create function insert_record(collection text, fields jsonb) returns void language plpgsql as $$
begin
  execute format(
    'insert into %I (%s) values (%s)', collection,
    array_to_string(columns_of(collection), ', '), array_to_string(literals_of(collection, fields), ', ')
  );
end $$;

-- Writes new records, given as a JSON array of rows. A row that violates a constraint is the error of all.
create function write_new(collection text, rows json) returns table (key integer) language plpgsql as $$
declare
  unique_names constant text[] := (select unique_columns from distributed_collections where name = collection);
  fields jsonb;
  written changed_record[] := '{}';
begin
  for fields, key in
    select each.value::jsonb, each.ordinality from json_array_elements(rows) with ordinality as each
    order by array(select each.value ->> name from unnest(unique_names) as name), each.value ->> 'id'
  loop
    perform require_references(collection, null, fields);
    perform move_values(collection, null, fields);
    perform insert_record(collection, fields);
    written := written || changed_record_of(collection, fields);
    return next;
  end loop;
  perform note_records(collection, 'created', written);
end $$;

-- Replaces a locked record. One that gets another parent moves to another shard.
create function store_record(collection text, before jsonb, after jsonb) returns void language plpgsql as $$
declare
  key_column constant text := (select coalesce(parent, 'id') from distributed_collections where name = collection);
  place constant text := format('%I = %L and id = %L', key_column, before ->> key_column, before ->> 'id');
begin
  perform require_references(collection, before, after);
  perform move_values(collection, before, after);
  if before ->> key_column = after ->> key_column then
    execute format(
      'update %I set %s where %s', collection,
      (
        select string_agg(format('%s = %s', name, literal), ', ')
        from unnest(columns_of(collection), literals_of(collection, after)) as assignment (name, literal)
        where name not in ('id', quote_ident(key_column))
      ),
      place
    );
  else
    execute format('delete from %I where %s', collection, place);
    perform insert_record(collection, after);
  end if;
  perform note_records(collection, 'updated', array[changed_record_of(collection, after)]);
end $$;

-- Whether a record in this state lets a guarded write take place: the guard of sql/collection/write.sql.
create function admits(version integer, updated_at timestamptz, versions integer[], not_versions integer[], since timestamptz)
  returns boolean language sql immutable as $$
  select version = any (coalesce(versions, array[version])) and version <> all (coalesce(not_versions, '{}'))
    and date_trunc('second', updated_at) <= coalesce(since, 'infinity')
$$;

-- Replaces a record under a guard. `changes` has the new values of columns, with the document up to its version unless it
-- is whole. `before` and `after` are versions; `doc` is the record found if it was not written.
create function write_over(
  collection text, record_id uuid, versions integer[], not_versions integer[], since timestamptz,
  changes jsonb, is_whole boolean, has_tombstones boolean
) returns table (before integer, after integer, doc text) language plpgsql as $$
declare
  old jsonb;
  next_version integer;
begin
  old := lock_record(collection, record_id);
  if old is null then
    if has_tombstones and exists (select from tombstones where id = record_id) then
      return query select 0, null::integer, null::text;
    end if;
    return;
  end if;
  if not admits((old ->> 'version')::integer, (old ->> 'updated_at')::timestamptz, versions, not_versions, since) then
    return query select (old ->> 'version')::integer, null::integer, old ->> 'doc';
    return;
  end if;
  if changes ? 'write_only' then
    changes := jsonb_set(changes, '{write_only}', jsonb_strip_nulls(
      coalesce(nullif(old -> 'write_only', 'null'), '{}') || coalesce(nullif(changes -> 'write_only', 'null'), '{}')
    ));
  end if;
  next_version := (old ->> 'version')::integer + 1;
  changes := changes || jsonb_build_object(
    'version', next_version, 'doc', (changes ->> 'doc') || case when is_whole then '' else next_version || '}' end
  );
  perform store_record(collection, old, old || changes);
  return query select next_version - 1, next_version, null::text;
end $$;

-- Each row has the version that the record gets; it is written if the record has the version before.
create function write_over_many(collection text, rows json) returns table (key integer) language plpgsql as $$
declare
  element jsonb;
  outcome record;
begin
  for element, key in select each.value::jsonb, each.ordinality from json_array_elements(rows) with ordinality as each loop
    for outcome in
      select * from write_over(
        collection, (element ->> 'id')::uuid, array[(element ->> 'version')::integer - 1], null, null, element, true, false
      )
    loop
      if outcome.after is not null then
        return next;
      end if;
    end loop;
  end loop;
end $$;

-- Deletes a record under a guard, with what its references say of those that refer to it.
create function delete_record(
  collection text, record_id uuid, versions integer[] default null, not_versions integer[] default null,
  since timestamptz default null
) returns table (before integer, after integer, doc text) language plpgsql as $$
declare
  old jsonb;
  reference distributed_references;
  dependent distributed_dependents;
begin
  old := lock_record(collection, record_id);
  if old is null then
    return;
  end if;
  if not admits((old ->> 'version')::integer, (old ->> 'updated_at')::timestamptz, versions, not_versions, since) then
    return query select (old ->> 'version')::integer, null::integer, old ->> 'doc';
    return;
  end if;
  for reference in select * from distributed_references where target = delete_record.collection order by on_delete = 'restrict' desc, name loop
    perform release_references(reference, record_id);
  end loop;
  for dependent in select * from distributed_dependents where target = delete_record.collection loop
    execute format('delete from %I where %I = %L', dependent.table_name, dependent.column_name, record_id);
  end loop;
  perform move_values(collection, old, null);
  execute format('delete from %I where %s', collection, place_of(collection, record_id));
  perform note_records(collection, 'deleted', array[changed_record_of(collection, old)]);
  return query select (old ->> 'version')::integer, (old ->> 'version')::integer, old ->> 'doc';
end $$;

-- What happens to the records that refer to one that is being deleted. Children are in one shard; for other references it
-- is a look at the index of each shard (fan-out).
create function release_references(reference distributed_references, record_id uuid) returns void language plpgsql as $$
declare
  referring uuid[];
begin
  execute format(
    'select array_agg(id order by id) from (select id from %I where %I = %L%s) as referring', reference.collection,
    reference.column_name, record_id, case reference.on_delete when 'restrict' then ' limit 1' else '' end
  ) into referring;
  if referring is null or referring = array[record_id] and reference.collection = reference.target then
    return;
  end if;
  if reference.on_delete = 'restrict' then
    raise exception 'update or delete on table "%" violates foreign key constraint "%"', reference.target, reference.name
      using errcode = 'foreign_key_violation', constraint = reference.name, table = reference.collection;
  elsif reference.on_delete = 'null' then
    perform remove_reference(reference.collection, reference.column_name, reference.field, id) from unnest(referring) as id;
  elsif exists (select from distributed_references where target = reference.collection)
    or (select unique_columns <> '{}' from distributed_collections where name = reference.collection) then
    perform delete_record(reference.collection, id) from unnest(referring) as id;
  else
    perform delete_referring(reference, record_id);
  end if;
end $$;

-- Deletes records to which none refer, in one statement.
create function delete_referring(reference distributed_references, record_id uuid) returns void language plpgsql as $$
declare
  owner_column constant text := (select owner from distributed_collections where name = reference.collection);
  deleted changed_record;
  all_deleted changed_record[] := '{}';
begin
  for deleted in execute format(
    'delete from %I where %I = %L returning id, %s, version, null::text', reference.collection, reference.column_name, record_id,
    coalesce(quote_ident(owner_column), 'null::uuid')
  ) loop
    all_deleted := all_deleted || deleted;
  end loop;
  perform note_records(reference.collection, 'deleted', all_deleted);
end $$;

-- Removes the field that refers to a record that is being deleted.
create function remove_reference(collection text, column_name text, field text, record_id uuid)
  returns void language plpgsql as $$
declare
  moment constant timestamptz := date_trunc('milliseconds', now());
  old jsonb;
  next_version integer;
begin
  old := lock_record(collection, record_id);
  if old is null then
    return;
  end if;
  next_version := (old ->> 'version')::integer + 1;
  perform store_record(collection, old, old || jsonb_build_object(
    column_name, null, 'version', next_version, 'updated_at', moment,
    'doc', without_member(old ->> 'doc', field, next_version, moment)
  ));
end $$;
