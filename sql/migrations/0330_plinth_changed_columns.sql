-- On Citus, functions write events instead of triggers, and conditions on events are not available.
do $do$
declare
  collection record;
begin
  if to_regproc('attach_collection') is null then
    return;
  end if;

  -- As before, and the trigger of updates sees both states of the records. Only a full join never compares each record with
  -- each other one: a plan that was made for one record is used for a million.
  create or replace function attach_collection(collection regclass, owner name default null) returns void language plpgsql as $$
  declare
    table_name constant name := (select relname from pg_class where oid = collection);
    place constant regnamespace := (select relnamespace from pg_class where oid = collection);
    event_function constant name := table_name || '_note_events';
    change record;
  begin
    execute format(
      $function$
        create or replace function %1$s.%2$I() returns trigger language plpgsql as $body$ #variable_conflict use_variable
        begin
          if tg_op = 'UPDATE' then
            insert into events (segment, owner, record, version, type, data, former)
            select (select current from event_segment), %3$s, changed.id, changed.version, %4$L, changed.doc,
              to_jsonb(replaced) - array['id', 'doc', 'write_only']
            from changed full join replaced on replaced.id = changed.id;
          else
            insert into events (segment, owner, record, version, type, data, former)
            select (select current from event_segment), %3$s, id, version,
              case tg_op when 'INSERT' then %5$L else %6$L end,
              case tg_op when 'INSERT' then doc end,
              case tg_op when 'DELETE' then to_jsonb(changed) - array['id', 'doc', 'write_only'] end
            from changed;
          end if;
          return null;
        end $body$
      $function$,
      place, event_function, coalesce('changed.' || quote_ident(owner), 'null::uuid'),
      table_name || '.updated', table_name || '.created', table_name || '.deleted'
    );
    for change in
      select * from (values
        ('insert', 'new table as changed', 'created', 'inserted'),
        ('update', 'new table as changed old table as replaced', 'updated', null),
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

  -- The column of the owner is in the text of the function that a collection has; earlier versions wrote it without `changed`.
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

-- What conditions on events compare besides the document after a change: the columns of the record before it, without its
-- document. Null for a record that was created, and in events from before this file. Last, since writers lock a collection
-- before the events.
alter table events add column if not exists former jsonb;
