-- What is stored under the name of a collection or a field never belongs to a later one that has this name.

-- Of fields that were added to a declaration, the last event before: up to it, values under the name are those of another field.
alter table collections add column fields_since json not null default '{}';

create function plinth_types_of(collection text) returns text[] language sql immutable
  return array[collection || '.created', collection || '.updated', collection || '.deleted'];

-- How many transactions ago a collection's table got its name: PostgreSQL writes the row type of a table when it creates or renames it.
create function plinth_age_of_name(collection text) returns integer language sql stable as $$
  select case when age(pg_type.xmin) < 0 then 2147483647 else age(pg_type.xmin) end
  from pg_class join pg_type on pg_type.oid = reltype
  where pg_class.oid = to_regclass(format('%I.%I', plinth_collections_schema(), collection))
$$;

-- A stored response names its collection in the paths of its links, or beside the id of a record.
create function plinth_forget_responses(collection text) returns void language plpgsql as $$
begin
  delete from idempotency_keys
  where strpos(headers, '/' || collection || '/') > 0 or strpos(body, '/' || collection || '/') > 0
    or strpos(parts, '/' || collection || '/') > 0 or strpos(parts, '["' || collection || '",') > 0;
end $$;

-- Forgets what is stored under a name. `youngest`: only events of more transactions ago.
create function plinth_forget_collection(was text, youngest integer) returns void language plpgsql as $$
declare
  types constant text[] := plinth_types_of(was);
begin
  delete from events where type = any (types) and (youngest is null or age(events.xmin) > youngest);
  delete from plinth_history where collection = was and (youngest is null or age(plinth_history.xmin) > youngest);
  delete from delivery_bodies where event_id in (select event_id from deliveries where type = any (types));
  delete from deliveries where type = any (types);
  perform plinth_forget_responses(was);
  delete from plinth_jobs where task::json ->> 'collection' = was;
  delete from imports where collection = was;
  delete from import_ids where collection = was;
  delete from plinth_import_references where collection = was;
end $$;

-- What is stored about a collection that is renamed follows it. A response is forgotten, since it is about an address that is another's.
create function plinth_rename_collection(was text, name text) returns void language plpgsql as $$
declare
  types constant text[] := plinth_types_of(was);
  rest constant integer := length(was) + 1;
begin
  -- What is left of one that had the new name.
  perform plinth_forget_collection(name, null);
  update events set type = name || substr(type, rest) where type = any (types);
  update plinth_history set collection = name where collection = was;
  update delivery_bodies
  set body = regexp_replace(
    body, '^(\{"specversion":"[^"]*","id":"[^"]*","source":"[^"]*","type":")' || was || '(\.\w+","subject":"[^"]*/)' || was || '/',
    '\1' || name || '\2' || name || '/'
  )
  where event_id in (select event_id from deliveries where type = any (types));
  update deliveries
  set type = name || substr(type, rest), record_key = regexp_replace(record_key, was || '(/[^/]*)$', name || '\1')
  where type = any (types);
  update webhooks
  set types = array(
    select case split_part(each, '.', 1) when was then name || substr(each, rest) else each end
    from unnest(webhooks.types) with ordinality as given (each, place) order by place
  ), updated_at = now(), version = version + 1
  where exists (select from unnest(webhooks.types) as each where split_part(each, '.', 1) = was);
  perform plinth_forget_responses(was);
  update plinth_jobs set task = jsonb_set(task::jsonb, '{collection}', to_jsonb(name))::text where task::json ->> 'collection' = was;
  update imports set collection = name where collection = was;
  update import_ids set collection = name where collection = was;
  update plinth_import_references set collection = name where collection = was;
end $$;

-- The transaction that removes or renames a collection has locked its table, so that it sees all that was stored under the name.
create function plinth_follow_names() returns trigger language plpgsql as $$
begin
  case tg_op
    when 'DELETE' then perform plinth_forget_collection(old.name, null);
    when 'UPDATE' then perform plinth_rename_collection(old.name, new.name);
    -- What is left of one that was removed by hand, or by an earlier version.
    else perform plinth_forget_collection(new.name, plinth_age_of_name(new.name));
  end case;
  return null;
end $$;

create trigger plinth_forgotten after insert or delete on collections
  for each row execute function plinth_follow_names();
create trigger plinth_renamed after update of name on collections
  for each row when (old.name <> new.name) execute function plinth_follow_names();

-- `declaration` is what the version before compares with its own: here, the declaration that `newest` has replaced. Services with
-- either run until `plinth migrate --allow-drop`. A program that does not know `newest` sets `applied_at` alone.
alter table collections add column newest text, add column newest_at timestamptz;

create function plinth_newest(collection collections) returns text language sql immutable
  return case when collection.newest_at >= collection.applied_at then collection.newest else collection.declaration end;

create function plinth_note_fields() returns trigger language plpgsql as $$
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

create trigger plinth_noted before update of declaration on collections
  for each row execute function plinth_note_fields();

-- Events of earlier versions count where no declaration can have used the names for something else since: those since the last
-- change of a declaration, and those since the table has its name. Restored events do not show when they were written.
do $$
declare
  restored bigint;
  each record;
  last bigint;
begin
  select max(first_after) into restored
  from (
    select first_after, history, lag(history) over (order by number) as former from feed_epochs
    union all
    (select (select max(seq) from events), database_history(), history from feed_epochs order by number desc limit 1)
  ) as epochs
  where regexp_replace(history, '\.[^.]*$', '') <> regexp_replace(former, '\.[^.]*$', '');
  for each in select name, applied_at, plinth_age_of_name(name) as age, declaration::json -> 'properties' as fields from collections loop
    delete from events
    where type = any (plinth_types_of(each.name)) and time < each.applied_at and (seq <= coalesce(restored, 0) or age(events.xmin) > each.age);
    select max(seq) into last from events where type = any (plinth_types_of(each.name)) and time < each.applied_at;
    update collections set fields_since = (select json_object_agg(field, last) from json_object_keys(each.fields) as field)
    where name = each.name and last is not null;
  end loop;
end $$;
