-- Creates and replaces records of distributed collections.
set local citus.enable_ddl_propagation = off;

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
