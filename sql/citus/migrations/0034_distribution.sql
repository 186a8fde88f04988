-- Distributes the records of collections over the nodes of a Citus cluster. Events, counts, keys and all else stay on the
-- coordinator. Triggers with transition tables cannot be on distributed tables, so the functions of the next migrations
-- write events and counts in the transaction of the records.
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
    execute format('alter table %I drop constraint %I', collection, collection || '_pkey');
    execute format('alter table %I add constraint %I primary key (%I, id)', collection, collection || '_pkey', parent);
    execute format('create index %I on %I (id)', collection || '_id', collection);
  end if;
  perform create_distributed_table(format('%I', collection)::regclass, coalesce(parent, 'id')::text);
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
      'insert into unique_values (name, value, id) select %L, %I::text, id from %I where %I is not null',
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
    execute format('alter table %I drop constraint if exists %I', collection, key_name);
    execute format(
      'alter table %I add constraint %I foreign key (%I) references %I (id)%s', collection, key_name, column_name, target,
      case on_delete when 'cascade' then ' on delete cascade' else '' end
    );
  else
    execute format(
      'select count(*)
      from (select distinct %I as id from %I where %I is not null offset 0) as referring
      where id not in (select id from %I offset 0)',
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
  execute format('alter table %I drop constraint if exists %I', collection, key_name);
  delete from distributed_references where name = key_name;
end $$;

create function rename_distributed_collection(was text, new_name text) returns void language plpgsql as $$
declare
  key record;
begin
  -- Citus renames no constraints.
  for key in
    select name, column_name, target, on_delete from distributed_references, pg_constraint
    where collection = was and conname = name and conrelid = format('%I', new_name)::regclass
  loop
    execute format('alter table %I drop constraint %I', new_name, key.name);
    execute format(
      'alter table %I add constraint %I foreign key (%I) references %I (id)%s', new_name,
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

-- The tables of the built-in collections. Others can only be declared afterwards.
do $$
declare
  built_in constant text[] := array['users', 'items', 'posts'];
  attached record;
begin
  for attached in
    select tgname, tgrelid::regclass as collection from pg_trigger
    where not tgisinternal and tgrelid = any (built_in::regclass[])
  loop
    execute format('drop trigger %I on %s', attached.tgname, attached.collection);
  end loop;
  insert into distributed_dependents (target, table_name, column_name)
  select confrelid::regclass::text, conrelid::regclass::text, attname
  from pg_constraint
  join pg_attribute on attrelid = conrelid and attnum = conkey[1]
  where contype = 'f' and confrelid = any (built_in::regclass[]) and conrelid <> all (built_in::regclass[]);
  for attached in
    select conname, conrelid::regclass as collection from pg_constraint
    where contype = 'f' and confrelid = any (built_in::regclass[])
  loop
    execute format('alter table %s drop constraint %I', attached.collection, attached.conname);
  end loop;
end $$;

alter table users drop constraint users_email_key;
create index users_email_key on users (email collate "C");
select distribute_collection('users', 'id', null);
select distribute_collection('items', null, null);
select distribute_collection('posts', 'user_id', 'user_id');
select set_unique_columns('users', '{email}');
select refer_to('posts', 'user_id', 'userId', 'users', 'cascade');

-- Of tables that are created from declarations.
drop function attach_collection;
drop function count_inserted;
drop function count_deleted;
