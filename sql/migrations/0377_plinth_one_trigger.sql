-- One trigger of a statement that creates or deletes records writes its events, counts the records, and stores tombstones. On Citus,
-- functions do so.
do $do$
declare
  collection record;
begin
  if to_regprocedure('attach_collection(regclass, name, boolean)') is null then
    return;
  end if;

  -- As before, with one trigger for each kind of statement. The setting is `=` and the actor of all records of the statement, or the
  -- actors by the ids of the records, as JSON. `history`: events have the document before the change, too. Only a full join never
  -- compares each record with each other one: a plan that was made for one record is used for a million.
  create or replace function attach_collection(collection regclass, owner name default null, history boolean default false)
    returns void language plpgsql as $$
  declare
    table_name constant name := (select plinth_collection_of(relname) from pg_class where oid = collection);
    place constant regnamespace := (select relnamespace from pg_class where oid = collection);
    event_function constant name := table_name || '_note_events';
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
            insert into events (segment, owner, record, version, type, data, actor, former%3$s)
            select (select current from event_segment), %4$s, changed.id, changed.version, %5$L, changed.doc,
              coalesce(one, each_actor ->> changed.id::text), to_jsonb(replaced) - array['id', 'doc', 'write_only']%6$s
            from changed full join replaced on replaced.id = changed.id;
            return null;
          end if;
          if current_setting('plinth.events', true) is distinct from 'off' then
            insert into events (segment, owner, record, version, type, data, actor, former%3$s)
            select (select current from event_segment), %4$s, changed.id, changed.version,
              case tg_op when 'INSERT' then %7$L else %8$L end,
              case tg_op when 'INSERT' then changed.doc end,
              coalesce(one, each_actor ->> changed.id::text),
              case tg_op when 'DELETE' then to_jsonb(changed) - array['id', 'doc', 'write_only'] end%9$s
            from changed;
          end if;
          perform note_changes(%10$L, array(select moment_of(id) from changed), case tg_op when 'INSERT' then 1 else -1 end);
          if tg_op = 'DELETE' and current_setting('plinth.tombstones', true) = 'on' then
            insert into tombstones (id) select id from changed on conflict do nothing;
          end if;
          return null;
        end $body$
      $function$,
      place, event_function,
      case when history then ', previous' else '' end,
      coalesce('changed.' || quote_ident(owner), 'null::uuid'),
      table_name || '.updated',
      case when history then ', replaced.doc' else '' end,
      table_name || '.created', table_name || '.deleted',
      case when history then ', case tg_op when ''DELETE'' then changed.doc end' else '' end,
      table_name
    );
    for change in
      select * from (values
        ('inserted', 'insert', 'referencing new table as changed', 'true'),
        (
          'updated_events', 'update', 'referencing new table as changed old table as replaced',
          'current_setting(''plinth.events'', true) is distinct from ''off'''
        ),
        ('deleted', 'delete', 'referencing old table as changed', 'true'),
        -- Programs of the version before look for these triggers.
        ('created_events', 'insert', '', 'false'),
        ('deleted_events', 'delete', '', 'false')
      ) as changes (suffix, operation, transition, condition)
    loop
      execute format(
        'create or replace trigger %I after %s on %s %s for each statement when (%s) execute function %s.%I()',
        table_name || '_' || change.suffix, change.operation, collection, change.transition, change.condition, place, event_function
      );
    end loop;
  end $$;

  -- The owner of a collection's records, and whether it retains its history, are in the function that it has.
  for collection in
    select attached.tgrelid::regclass as name, strpos(prosrc, 'replaced.doc') > 0 as history,
      nullif(replace(substring(prosrc from 'event_segment\), (?:changed\.)?("[^"]+"|\w+)(?:::uuid)?, (?:changed\.)?id'), '"', ''), 'null') as owner
    from pg_trigger as attached
    join pg_class as collections on collections.oid = attached.tgrelid
    join pg_proc as functions on functions.oid = attached.tgfoid
    where attached.tgname = plinth_collection_of(collections.relname) || '_updated_events'
      and collections.relnamespace = quote_ident(plinth_collections_schema())::regnamespace
  loop
    perform attach_collection(collection.name, collection.owner, collection.history);
  end loop;
end $do$;
