-- Access rules on Citus: parts of documents that callers may read, and events with the record before a change.
set local citus.enable_ddl_propagation = off;

-- The members of a document that a caller may read, and those that each record has. Not in SQL, of which Citus would plan the query.
create function plinth_readable_part(doc text, fields text[]) returns text language plpgsql immutable as $$
begin
  return (
    select '{' || string_agg(to_json(key)::text || ':' || value::text, ',' order by place) || '}'
    from json_each(doc::json) with ordinality as member (key, value, place)
    where place = 1 or key = any (fields) or key in ('created_at', 'updated_at', '_version')
  );
end $$;

drop function note_records(text, text, changed_record[]);

-- Writes what triggers write on one PostgreSQL. `operation`: created, updated or deleted. `former`: the records before the change.
-- The records are locked by now, so that the events of one record are in the order of its changes.
create function note_records(collection text, operation text, records changed_record[], former jsonb[] default null)
  returns void language plpgsql as $$
begin
  delete from two_phase_commit where id = 1;
  if current_setting('plinth.events', true) is distinct from 'off' then
    insert into events (segment, owner, record, version, type, data, former)
    select (select current from event_segment), owner, id, version, collection || '.' || operation,
      case when operation <> 'deleted' then doc end, former[place] - array['id', 'doc', 'write_only']
    from unnest(records) with ordinality as record (id, owner, version, doc, place);
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

-- Replaces a locked record. One that gets another parent moves to another shard.
create or replace function store_record(collection text, before jsonb, after jsonb) returns void language plpgsql as $$
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
  perform note_records(collection, 'updated', array[changed_record_of(collection, after)], array[before]);
end $$;

-- Deletes a record that fulfils preconditions, with what its references say of those that refer to it. `deleting`: the records
-- whose deletion causes this one, since records can refer to each other in a circle.
create or replace function delete_record(
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
  perform note_records(collection, 'deleted', array[changed_record_of(collection, old - 'doc')], array[old]);
  return query select (old ->> 'version')::integer, (old ->> 'version')::integer, old ->> 'doc';
end $$;

-- Deletes records to which none refer, in one statement.
create or replace function delete_referring(reference distributed_references, record_id uuid) returns void language plpgsql as $$
declare
  deleted record;
  former jsonb[] := '{}';
begin
  for deleted in execute format(
    'delete from :collections_format.%I where %I = %L returning *', reference.collection, reference.column_name, record_id
  ) loop
    former := former || to_jsonb(deleted);
  end loop;
  perform note_records(
    reference.collection, 'deleted', array(select changed_record_of(reference.collection, each - 'doc') from unnest(former) as each), former
  );
end $$;

set local citus.enable_ddl_propagation = on;

-- Lists ask the nodes for parts of documents.
select create_distributed_function('plinth_readable_part(text, text[])');
