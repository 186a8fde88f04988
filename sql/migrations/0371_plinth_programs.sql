-- What programs before and after this one find in the database.

-- Each program reads this row at its start. A migration whose tables the version before cannot serve raises the version.
insert into migrations (name, checksum) values ('0000_oldest_program', '0.1.0');

-- Programs from before the baseline do not find the tables of collections, and would make others of the same names. They compare
-- the text of each file that they have with this table, and refuse a database where one differs.
insert into migrations (name, checksum) values ('0001_counts.sql', 'replaced by 0200_plinth_records.sql')
on conflict (name) do update set checksum = excluded.checksum;

-- `declaration` is what the version before compares with its own: here, the declaration that `newest` has replaced. Services with
-- either run until `plinth migrate --allow-drop`. A program that does not know `newest` sets `applied_at` alone.
alter table collections add column newest text, add column newest_at timestamptz;

create function plinth_newest(collection collections) returns text language sql immutable
  return case when collection.newest_at >= collection.applied_at then collection.newest else collection.declaration end;

-- As in 0370_plinth_names.sql, between the newest declarations.
create or replace function plinth_note_fields() returns trigger language plpgsql as $$
begin
  new.fields_since := (
    select coalesce(json_object_agg(name, since) filter (where since is not null), '{}')
    from (
      select present.key as name, case
        when former.key is null or former.value ->> 'writeOnly' = 'true' and present.value ->> 'writeOnly' is distinct from 'true'
          then (select case when is_called then last_value else 0 end from events_seq_seq)
        else (old.fields_since ->> present.key)::bigint
      end as since
      from json_each(plinth_newest(new)::json -> 'properties') as present
      left join json_each(plinth_newest(old)::json -> 'properties') as former on former.key = present.key
    ) as fields
  );
  return new;
end $$;

-- `check`: services with the former declaration may have written records that violate the present one.
alter table plinth_document_work
  drop constraint plinth_document_work_state_check,
  add constraint plinth_document_work_state_check check (state in ('repeat', 'offer', 'due', 'check'));

-- Where a program from before the baseline has run since, its tables have counted into the totals of the collections.
do $$
declare
  stray record;
  collection text;
begin
  for stray in
    select relname as name, pg_class.oid::regclass as id, array_agg(tgname) as triggers
    from pg_class
    join pg_trigger on tgrelid = pg_class.oid and not tgisinternal
    where relnamespace = (select oid from pg_namespace where nspname = current_schema())
    group by pg_class.oid, relname
    having bool_or(tgfoid = to_regprocedure('count_inserted()'))
  loop
    for i in 1 .. cardinality(stray.triggers) loop
      execute format('drop trigger %I on %s', stray.triggers[i], stray.id);
    end loop;
    execute format('comment on table %s is %L', stray.id, 'plinth: records of an earlier program');
    collection := format('%I.%I', plinth_collections_schema(), stray.name);
    if to_regclass(collection) is not null then
      execute format('lock table %s in share mode', collection);
    end if;
    delete from counts where counts.collection = stray.name;
    delete from blocks where blocks.collection = stray.name;
    if to_regclass(collection) is not null then
      execute format('insert into blocks (collection, total) select %L, count(*) from %s', stray.name, collection);
    end if;
  end loop;
end $$;
