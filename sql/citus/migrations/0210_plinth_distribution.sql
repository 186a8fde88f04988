-- Distributes the records of collections over the nodes of a Citus cluster. Events, counts, keys and all else stay on the
-- coordinator. Triggers with transition tables cannot be on distributed tables, so that functions write events and counts in
-- the transaction of the records.
set local citus.multi_shard_modify_mode = 'sequential';

do $$
begin
  if exists (select from counts) or exists (select from blocks where total > 0) then
    raise exception 'only a new database can be distributed: export the records of this one and import them';
  end if;
end $$;

-- How each collection is distributed. `parent`: the column whose value decides the shard, so that the children of one
-- record are in one shard, on the node of their parent; null: the id does.
create table distributed_collections (
  name text primary key,
  owner text,
  parent text,
  unique_columns text[] not null default '{}'
);

-- Few references can be foreign keys: only from a parent column to a collection that is distributed by its id.
create table distributed_references (
  name text primary key,
  collection text not null,
  field text not null,
  column_name text not null,
  target text not null,
  on_delete text not null
);

-- Rows of tables on the coordinator that are deleted with a record.
create table distributed_dependents (
  target text not null,
  table_name text not null,
  column_name text not null,
  primary key (table_name, column_name)
);

-- Values of unique columns. Distributed by the value, so that one shard decides who has it.
create table unique_values (
  name text not null,
  value text collate "C" not null,
  id uuid not null,
  primary key (value, name)
);
select create_distributed_table('unique_values', 'value', colocate_with => 'none');

-- Always empty. Citus commits in two phases if a transaction also modifies a local table that it manages; otherwise it
-- would commit the record on its node before the event on the coordinator, and a crash in between would lose the event.
create table two_phase_commit (id integer primary key);
select citus_add_local_table_to_metadata('two_phase_commit');

-- Search indexes need it on all nodes.
select create_distributed_function('grams(text)');

-- The functions are called on the coordinator alone. Their statements have literals instead of parameters, so that Citus sees the
-- shard, and name the schema of the tables of collections.
set local citus.enable_ddl_propagation = off;

-- Distributes a new collection's table. `owner` is the column with the id of the user who may read a record's events.
create function distribute_collection(collection name, owner name, parent name) returns void language plpgsql as $$
declare
  present distributed_collections;
begin
  select * into present from distributed_collections as each where each.name = collection;
  if present.name is not null and present.parent is distinct from parent then
    raise exception 'on Citus, the records of % cannot get another parent: export them, and import them into a new collection', collection;
  elsif present.name is not null then
    update distributed_collections as each set owner = distribute_collection.owner where each.name = collection;
    return;
  end if;
  if parent is not null then
    execute format('alter table :collections_format.%I drop constraint %I', collection, collection || '_pkey');
    execute format('alter table :collections_format.%I add constraint %I primary key (%I, id)', collection, collection || '_pkey', parent);
    execute format('create index %I on :collections_format.%I (id)', collection || '_id', collection);
  end if;
  perform create_distributed_table(format(':collections_format.%I', collection)::regclass, coalesce(parent, 'id')::text);
  insert into distributed_collections (name, owner, parent) values (collection, owner, parent);
end $$;

-- Sets which columns have unique values, and records the values that the collection has.
create function set_unique_columns(collection text, columns text[]) returns void language plpgsql as $$
declare
  present constant text[] := (select unique_columns from distributed_collections where name = collection);
  column_name text;
begin
  foreach column_name in array columns loop
    continue when column_name = any (present);
    execute format(
      'insert into unique_values (name, value, id) select %L, %I::text, id from :collections_format.%I where %I is not null',
      collection || '_' || column_name || '_key', column_name, collection, column_name
    );
  end loop;
  foreach column_name in array present loop
    continue when column_name = any (columns);
    execute format('delete from unique_values where name = %L', collection || '_' || column_name || '_key');
  end loop;
  update distributed_collections set unique_columns = columns where name = collection;
end $$;

-- Makes a column refer to another collection: by a foreign key where the shards of both are on one node, otherwise by the
-- functions that write.
create function refer_to(collection text, column_name text, field text, target text, on_delete text)
  returns void language plpgsql as $$
declare
  key_name constant text := collection || '_' || column_name || '_fkey';
  is_colocated constant boolean := exists (
    select from distributed_collections as child, distributed_collections as parent
    where child.name = collection and child.parent = column_name and parent.name = target and parent.parent is null
  );
  missing bigint;
begin
  if is_colocated then
    execute format('alter table :collections_format.%I drop constraint if exists %I', collection, key_name);
    execute format(
      'alter table :collections_format.%I add constraint %I foreign key (%I) references :collections_format.%I (id)%s', collection, key_name, column_name, target,
      case on_delete when 'cascade' then ' on delete cascade' else '' end
    );
  else
    execute format(
      'select count(*)
      from (select distinct %I as id from :collections_format.%I where %I is not null offset 0) as referring
      where id not in (select id from :collections_format.%I offset 0)',
      column_name, collection, column_name, target
    ) into missing;
    if missing > 0 then
      raise exception 'records of % refer to % missing records of %', collection, missing, target;
    end if;
  end if;
  insert into distributed_references (name, collection, field, column_name, target, on_delete)
  values (key_name, collection, field, column_name, target, on_delete)
  on conflict (name) do update set target = excluded.target, on_delete = excluded.on_delete;
end $$;

create function stop_referring(collection text, key_name text) returns void language plpgsql as $$
begin
  execute format('alter table :collections_format.%I drop constraint if exists %I', collection, key_name);
  delete from distributed_references where name = key_name;
end $$;

create function rename_distributed_collection(was text, new_name text) returns void language plpgsql as $$
declare
  key record;
begin
  -- Citus renames no constraints.
  for key in
    select name, column_name, target, on_delete from distributed_references, pg_constraint
    where collection = was and conname = name and conrelid = format(':collections_format.%I', new_name)::regclass
  loop
    execute format('alter table :collections_format.%I drop constraint %I', new_name, key.name);
    execute format(
      'alter table :collections_format.%I add constraint %I foreign key (%I) references :collections_format.%I (id)%s', new_name,
      new_name || substr(key.name, length(was) + 1), key.column_name, key.target,
      case key.on_delete when 'cascade' then ' on delete cascade' else '' end
    );
  end loop;
  update distributed_collections set name = new_name where name = was;
  update distributed_references
  set name = new_name || substr(name, length(was) + 1), collection = new_name
  where collection = was;
  update distributed_references set target = new_name where target = was;
  update distributed_dependents set target = new_name where target = was;
  update unique_values
  set name = new_name || substr(name, length(was) + 1)
  where name = any (array(
    select was || '_' || column_name || '_key'
    from distributed_collections, unnest(unique_columns) as column_name
    where distributed_collections.name = new_name
  ));
end $$;

create function forget_distributed_collection(collection text) returns void language plpgsql as $$
begin
  perform set_unique_columns(collection, '{}');
  delete from distributed_references where distributed_references.collection = $1 or target = $1;
  delete from distributed_collections where name = $1;
end $$;

create type changed_record as (id uuid, owner uuid, version integer, doc text);

-- Writes what triggers write on one PostgreSQL. `operation`: created, updated or deleted. The records are locked by now,
-- so that the events of one record are in the order of its changes.
create function note_records(collection text, operation text, records changed_record[]) returns void language plpgsql as $$
begin
  delete from two_phase_commit where id = 1;
  if current_setting('plinth.events', true) is distinct from 'off' then
    insert into events (segment, owner, record, version, type, data)
    select (select current from event_segment), owner, id, version, collection || '.' || operation, case when operation <> 'deleted' then doc end
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
  execute format('select %I from :collections_format.%I where id = %L', parent_column, collection, record_id) into parent_id;
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
    execute format('select * from :collections_format.%I where %s for update', collection, place) into locked;
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
    return query execute format('select id from :collections_format.%I where %s%s for update', collection, place, restriction);
  end loop;
end $$;

-- The columns of a collection, and a record's values as literals in the same order.
create function columns_of(collection text) returns text[] language sql stable as $$
  select array_agg(quote_ident(attname) order by attnum)
  from pg_attribute
  where attrelid = format(':collections_format.%I', collection)::regclass and attnum > 0 and not attisdropped
$$;

create function literals_of(collection text, fields jsonb) returns text[] language plpgsql as $$
declare
  literals text[];
begin
  execute format(
    'select array[%s] from jsonb_populate_record(null:::collections_format.%I, $1)',
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
      execute format('select 1 from :collections_format.%I where %s for key share', reference.target, place);
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

-- Reserves the unique values of new records: for each column one statement, in the order of the values.
create function reserve_values(collection text, records jsonb[]) returns void language plpgsql as $$
declare
  column_name text;
  key_name text;
  reserved text[];
  new_rows integer;
begin
  foreach column_name in array (select unique_columns from distributed_collections where name = collection) loop
    key_name := collection || '_' || column_name || '_key';
    reserved := array(
      select format('(%L, %L, %L)', key_name, fields ->> column_name, fields ->> 'id')
      from unnest(records) as fields
      where fields ->> column_name is not null
      order by fields ->> column_name
    );
    continue when reserved = '{}';
    execute 'insert into unique_values (name, value, id) values ' || array_to_string(reserved, ', ') || ' on conflict do nothing';
    get diagnostics new_rows = row_count;
    if new_rows < cardinality(reserved) then
      raise exception 'duplicate key value violates unique constraint "%"', key_name
        using errcode = 'unique_violation', constraint = key_name, table = collection;
    end if;
  end loop;
end $$;

create function insert_records(collection text, records jsonb[]) returns void language plpgsql as $$
begin
  execute format(
    'insert into :collections_format.%I (%s) values %s', collection, array_to_string(columns_of(collection), ', '),
    (
      select string_agg(format('(%s)', array_to_string(literals_of(collection, fields), ', ')), ', ')
      from unnest(records) as fields
    )
  );
end $$;

-- Writes new records, given as a JSON array of rows. A row that violates a constraint is the error of all.
create function write_new(collection text, rows json) returns table (key integer) language plpgsql as $$
declare
  fields jsonb;
  records jsonb[] := '{}';
  written changed_record[] := '{}';
begin
  for fields, key in
    select each.value::jsonb, each.ordinality from json_array_elements(rows) with ordinality as each
  loop
    perform require_references(collection, null, fields, false);
    records := records || fields;
    written := written || changed_record_of(collection, fields);
    return next;
  end loop;
  perform reserve_values(collection, records);
  perform insert_records(collection, records);
  perform require_references(collection, null, each, true) from unnest(records) as each;
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
      'update :collections_format.%I set %s where %s', collection,
      (
        select string_agg(format('%s = %s', name, literal), ', ')
        from unnest(columns_of(collection), literals_of(collection, after)) as assignment (name, literal)
        where name not in ('id', quote_ident(key_column))
      ),
      place
    );
  else
    execute format('delete from :collections_format.%I where %s', collection, place);
    perform insert_records(collection, array[after]);
  end if;
  perform note_records(collection, 'updated', array[changed_record_of(collection, after)]);
end $$;

-- Whether a record in this state fulfils the preconditions of a write: those of sql/collection/write.sql.
create function admits(version integer, updated_at timestamptz, versions integer[], not_versions integer[], since timestamptz)
  returns boolean language sql immutable as $$
  select version = any (coalesce(versions, array[version])) and version <> all (coalesce(not_versions, '{}'))
    and date_trunc('second', updated_at) <= coalesce(since, 'infinity')
$$;

-- Replaces a record that fulfils preconditions. `changes` has the new values of columns, with the document up to its version
-- unless it is whole. `before` and `after` are versions; `doc` is the record found if it was not written.
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

-- Deletes a record that fulfils preconditions, with what its references say of those that refer to it. `deleting`: the records
-- whose deletion causes this one, since records can refer to each other in a circle.
create function delete_record(
  collection text, record_id uuid, versions integer[] default null, not_versions integer[] default null,
  since timestamptz default null, deleting uuid[] default '{}'
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
    perform release_references(reference, record_id, deleting || record_id);
  end loop;
  for dependent in select * from distributed_dependents where target = delete_record.collection loop
    execute format('delete from  %I where %I = %L', dependent.table_name, dependent.column_name, record_id);
  end loop;
  perform move_values(collection, old, null);
  execute format('delete from :collections_format.%I where %s', collection, place_of(collection, record_id));
  perform note_records(collection, 'deleted', array[changed_record_of(collection, old)]);
  return query select (old ->> 'version')::integer, (old ->> 'version')::integer, old ->> 'doc';
end $$;

-- What happens to the records that refer to one that is being deleted. Children are in one shard; for other references it
-- is a look at the index of each shard (fan-out).
create function release_references(reference distributed_references, record_id uuid, deleting uuid[])
  returns void language plpgsql as $$
declare
  referring uuid[];
begin
  execute format(
    'select array_agg(id order by id) from (select id from :collections_format.%I where %I = %L and id <> all (%L::uuid[])%s) as referring',
    reference.collection, reference.column_name, record_id, deleting, case reference.on_delete when 'restrict' then ' limit 1' else '' end
  ) into referring;
  if referring is null then
    return;
  end if;
  if reference.on_delete = 'restrict' then
    raise exception 'update or delete on table "%" violates foreign key constraint "%"', reference.target, reference.name
      using errcode = 'foreign_key_violation', constraint = reference.name, table = reference.collection;
  elsif reference.on_delete = 'null' then
    perform remove_reference(reference.collection, reference.column_name, reference.field, id) from unnest(referring) as id;
  elsif exists (select from distributed_references where target = reference.collection)
    or (select unique_columns <> '{}' from distributed_collections where name = reference.collection) then
    perform delete_record(reference.collection, id, deleting => deleting) from unnest(referring) as id;
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
    'delete from :collections_format.%I where %I = %L returning id, %s, version, null::text', reference.collection, reference.column_name, record_id,
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

-- Reads of distributed collections are fan-outs to all shards, each bounded by the page that is read, unless the condition is
-- about the children of one parent. The totals are those of the coordinator.
create function total_of(collection text) returns bigint language sql stable as $$
  select coalesce((select total from blocks where blocks.collection = $1), 0)
    + coalesce((select sum(delta) from counts where counts.collection = $1), 0)::bigint
$$;

-- The documents of some records as one text; `documents` is the aggregate that makes it of the relation `record`.
create function documents_of(collection text, condition text, documents text, ids uuid[], argument text)
  returns text language plpgsql as $$
declare
  docs text;
begin
  execute format('select %s from :collections_format.%I as record where id = any ($2) and %s', documents, collection, condition)
    into docs using argument, ids;
  return docs;
end $$;

-- A page: its ids from the indexes of the shards, then its documents. `condition` is about `$1`, the argument; with `true`
-- the total is that of the collection.
create function distributed_page(
  collection text, condition text, by text, documents text, rows bigint, skipped bigint, argument text default null
) returns table (total bigint, docs text) language plpgsql as $$
declare
  ids uuid[];
begin
  if condition = 'true' then
    total := total_of(collection);
  else
    execute format('select count(*) from :collections_format.%I where %s', collection, condition) into total using argument;
  end if;
  execute format(
    'select array_agg(id) from (select id from :collections_format.%I where %s order by %s limit %s offset %s) as page',
    collection, condition, by, rows, skipped
  ) into ids using argument;
  docs := documents_of(collection, condition, documents, ids, argument);
  return next;
end $$;

-- A later page in the default order, from the last row-count bucket before it: page_counted of sql/collection/page.sql.
create function counted_page(collection text, is_descending boolean, documents text, rows bigint, skipped bigint)
  returns table (total bigint, docs text) language plpgsql as $$
declare
  added bigint;
  bucket integer;
  ids uuid[];
  list blocks;
  start bigint;
  position bigint := skipped;
begin
  select * into list from blocks where blocks.collection = counted_page.collection;
  select coalesce(list.total, 0) + coalesce(sum(delta), 0), coalesce(sum(greatest(delta, 0)), 0) into total, added
  from counts where counts.collection = counted_page.collection;
  if is_descending then
    position := greatest(total - skipped - rows, 0);
    rows := greatest(least(rows, total - skipped), 0);
  end if;
  bucket := greatest(width_bucket(position - added, coalesce(list.before, '{0}')), 1);
  start := coalesce(list.starts[bucket], 0);
  select position - coalesce(list.before[bucket], 0) - coalesce(sum(delta), 0) into skipped
  from counts where counts.collection = counted_page.collection and at < start;
  if skipped < 0 then
    start := 0;
    skipped := position;
  end if;
  execute format(
    'select array_agg(id) from (select id from :collections_format.%I where id >= %L order by id limit %s offset %s) as page',
    collection, first_id(start), rows, skipped
  ) into ids;
  docs := documents_of(collection, 'true', documents, ids, null);
  return next;
end $$;

-- The documents of a query, whose conditions are about `$1`, an array of values.
create function distributed_rows(query text, arguments text[], rows bigint default null, skipped bigint default 0)
  returns setof text language plpgsql as $$
begin
  return query execute query || case when rows is null then '' else format(' limit %s offset %s', rows, skipped) end
    using arguments;
end $$;

-- The ids of a part of a collection, for the row-count buckets.
create function distributed_ids(collection text, since uuid, until uuid, rows bigint)
  returns setof uuid language plpgsql strict as $$
begin
  return query execute
    format('select id from :collections_format.%I where id >= %L and id < %L order by id limit %s', collection, since, until, rows);
end $$;

-- The records that refer to each of some others, up to a limit each.
create function distributed_referring(collection text, column_name text, ids uuid[], rows bigint)
  returns table (parent text, docs text) language plpgsql as $$
begin
  foreach parent in array ids::text[] loop
    execute format(
      'select string_agg(doc, '','' order by id) from (select id, doc from :collections_format.%I where %I = %L order by id limit %s) as record',
      collection, column_name, parent, rows
    ) into docs;
    if docs is not null then
      return next;
    end if;
  end loop;
end $$;

create function bounded_referring(collection text, column_name text, ids uuid[], rows bigint, max_bytes bigint, too_large text)
  returns table (parent text, docs text) language plpgsql as $$
declare
  bytes bigint;
  total bigint := 0;
begin
  foreach parent in array ids::text[] loop
    execute format(
      'select sum(bytes) from (select id, octet_length(doc) as bytes from :collections_format.%I where %I = %L order by id limit %s) as record',
      collection, column_name, parent, rows
    ) into bytes;
    total := total + coalesce(bytes, 0);
    if total > max_bytes then
      parent := null;
      docs := too_large;
      return next;
      return;
    end if;
  end loop;
  foreach parent in array ids::text[] loop
    execute format(
      'select string_agg(doc, '','' order by id) from (select id, doc from :collections_format.%I where %I = %L order by id limit %s) as record',
      collection, column_name, parent, rows
    ) into docs;
    if docs is not null then
      return next;
    end if;
  end loop;
end $$;

set local citus.enable_ddl_propagation = on;

-- The tables of the built-in collections lose what tables of one PostgreSQL have: their triggers, and foreign keys and unique
-- columns, which Citus cannot have across shards. The rows that foreign keys would delete with a record are deleted by a function.
do $$
declare
  built_in constant text[] := array(
    select format('%I.%I', plinth_collections_schema(), name) from unnest(array['users', 'items', 'posts']) as name
  );
  attached record;
begin
  for attached in
    select tgname, tgrelid::regclass as collection from pg_trigger
    where not tgisinternal and tgrelid = any (built_in::regclass[])
  loop
    execute format('drop trigger %I on %s', attached.tgname, attached.collection);
  end loop;
  insert into distributed_dependents (target, table_name, column_name)
  select target.relname, conrelid::regclass::text, attname
  from pg_constraint
  join pg_class as target on target.oid = confrelid
  join pg_attribute on attrelid = conrelid and attnum = conkey[1]
  where contype = 'f' and confrelid = any (built_in::regclass[]) and conrelid <> all (built_in::regclass[]);
  for attached in
    select conname, conrelid::regclass as collection from pg_constraint
    where contype = 'f' and confrelid = any (built_in::regclass[])
  loop
    execute format('alter table %s drop constraint %I', attached.collection, attached.conname);
  end loop;
end $$;
drop function :collections.users_note_events, :collections.items_note_events, :collections.posts_note_events;
drop function attach_collection, count_inserted, count_deleted;

drop view plinth_users;
alter table :collections.users drop constraint users_email_key;
create index users_email_key on :collections.users (email collate "C");
select distribute_collection('users', 'id', null);
select distribute_collection('items', null, null);
select distribute_collection('posts', 'user_id', 'user_id');
select set_unique_columns('users', '{email}');
select refer_to('posts', 'user_id', 'userId', 'users', 'cascade');
create view plinth_users as select id, doc, email from :collections.users;
