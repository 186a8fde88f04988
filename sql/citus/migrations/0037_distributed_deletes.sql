-- Deletes records of distributed collections.
set local citus.enable_ddl_propagation = off;

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
    execute format('delete from %I where %I = %L', dependent.table_name, dependent.column_name, record_id);
  end loop;
  perform move_values(collection, old, null);
  execute format('delete from %I where %s', collection, place_of(collection, record_id));
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
    'select array_agg(id order by id) from (select id from %I where %I = %L and id <> all (%L::uuid[])%s) as referring',
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
