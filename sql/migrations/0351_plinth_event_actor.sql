-- Who made a change: the subject of the caller, which the statement that writes passes as a setting. None for requests without
-- a credential, imports and SQL. `previous` is the document before the change, of collections that retain it.
alter table events add column actor text;
alter table events add column previous text;

-- On Citus, functions write events instead of triggers, without the actor.
do $do$
declare
  collection record;
begin
  if to_regproc('attach_collection') is null then
    return;
  end if;
  drop function attach_collection(regclass, name);

  -- As before, and events have the actor. The setting is `=` and the actor of all records of the statement, or the actors by
  -- the ids of the records, as JSON. `history`: events have the document before the change, too. Only a full join never
  -- compares each record with each other one: a plan that was made for one record is used for a million.
  create function attach_collection(collection regclass, owner name default null, history boolean default false)
    returns void language plpgsql as $$
  declare
    table_name constant name := (select relname from pg_class where oid = collection);
    place constant regnamespace := (select relnamespace from pg_class where oid = collection);
    event_function constant name := table_name || '_note_events';
    has_former constant boolean := exists (
      select from pg_attribute where attrelid = 'events'::regclass and attname = 'former' and not attisdropped
    );
    change record;
  begin
    execute format(
      $function$
        create or replace function %1$s.%2$I() returns trigger language plpgsql as $body$ #variable_conflict use_variable
        declare
          given constant text := nullif(current_setting('plinth.actor', true), '');
          one constant text := case when left(given, 1) = '=' then substr(given, 2) end;
          each_actor constant jsonb := case when left(given, 1) = '{' then given::jsonb end;
        begin
          if tg_op = 'UPDATE' then
            insert into events (segment, owner, record, version, type, data, actor%3$s)
            select (select current from event_segment), %4$s, changed.id, changed.version, %5$L, changed.doc,
              coalesce(one, each_actor ->> changed.id::text)%6$s
            from changed%7$s;
          else
            insert into events (segment, owner, record, version, type, data, actor%3$s)
            select (select current from event_segment), %4$s, changed.id, changed.version,
              case tg_op when 'INSERT' then %8$L else %9$L end,
              case tg_op when 'INSERT' then changed.doc end,
              coalesce(one, each_actor ->> changed.id::text)%10$s
            from changed;
          end if;
          return null;
        end $body$
      $function$,
      place, event_function,
      case when has_former then ', former' else '' end || case when history then ', previous' else '' end,
      coalesce('changed.' || quote_ident(owner), 'null::uuid'),
      table_name || '.updated',
      case when has_former then $part$, to_jsonb(replaced) - array['id', 'doc', 'write_only']$part$ else '' end
        || case when history then ', replaced.doc' else '' end,
      case when has_former or history then ' full join replaced on replaced.id = changed.id' else '' end,
      table_name || '.created', table_name || '.deleted',
      case when has_former then $part$,
              case tg_op when 'DELETE' then to_jsonb(changed) - array['id', 'doc', 'write_only'] end$part$ else '' end
        || case when history then $part$,
              case tg_op when 'DELETE' then changed.doc end$part$ else '' end
    );
    for change in
      select * from (values
        ('insert', 'new table as changed', 'created', 'inserted'),
        (
          'update',
          'new table as changed' || case when has_former or history then ' old table as replaced' else '' end,
          'updated', null
        ),
        ('delete', 'old table as changed', 'deleted', 'deleted')
      ) as changes (operation, transition, event, counted)
    loop
      execute format(
        'create or replace trigger %I after %s on %s referencing %s for each statement
          when (current_setting(''plinth.events'', true) is distinct from ''off'') execute function %s.%I()',
        table_name || '_' || change.event || '_events', change.operation, collection, change.transition, place, event_function
      );
      if change.counted is not null then
        execute format(
          'create or replace trigger %I after %s on %s referencing %s for each statement execute function %I()',
          table_name || '_' || change.counted, change.operation, collection, change.transition, 'count_' || change.counted
        );
      end if;
    end loop;
  end $$;

  -- The owner of a collection's records is in the function that it has.
  for collection in
    select attached.tgrelid::regclass as name,
      nullif(replace(substring(prosrc from 'event_segment\), (?:changed\.)?("[^"]+"|\w+)(?:::uuid)?, (?:changed\.)?id'), '"', ''), 'null') as owner
    from pg_trigger as attached
    join pg_class as collections on collections.oid = attached.tgrelid
    join pg_proc as functions on functions.oid = attached.tgfoid
    where attached.tgname = collections.relname || '_updated_events'
      and collections.relnamespace = quote_ident(plinth_collections_schema())::regnamespace
  loop
    perform attach_collection(collection.name, collection.owner);
  end loop;
end $do$;
