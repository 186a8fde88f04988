-- Attaches counting and events to a collection's table. `owner` is the column with the id of the user who may read a
-- record's events with the scope `self`; null: nobody. Each table has a function of its own, whose plan PostgreSQL
-- caches.
create function attach_collection(collection regclass, owner name default null) returns void language plpgsql as $$
declare
  table_name constant name := (select relname from pg_class where oid = collection);
  event_function constant name := table_name || '_note_events';
  change record;
begin
  execute format(
    $function$
      create or replace function %I() returns trigger language plpgsql as $body$
      begin
        insert into events (owner, record, version, type, data)
        select %s, id, version, %L || case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end,
          case when tg_op <> 'DELETE' then doc end
        from changed;
        return null;
      end $body$
    $function$,
    event_function, coalesce(quote_ident(owner), 'null::uuid'), table_name || '.'
  );
  for change in
    select * from (values
      ('insert', 'new', 'created', 'inserted'), ('update', 'new', 'updated', null), ('delete', 'old', 'deleted', 'deleted')
    ) as changes (operation, transition, event, counted)
  loop
    execute format(
      'create or replace trigger %I after %s on %s referencing %s table as changed for each statement
        when (current_setting(''plinth.events'', true) is distinct from ''off'') execute function %I()',
      table_name || '_' || change.event || '_events', change.operation, collection, change.transition, event_function
    );
    if change.counted is not null then
      execute format(
        'create or replace trigger %I after %s on %s referencing %s table as changed for each statement
          execute function %I()',
        table_name || '_' || change.counted, change.operation, collection, change.transition, 'count_' || change.counted
      );
    end if;
  end loop;
end $$;

-- Tables that were attached by hand, with the owner's column as the trigger's argument. Triggers with the same names are
-- replaced, others that do the same are dropped.
do $$
declare
  attached record;
  surplus record;
begin
  for attached in
    select tgrelid::regclass as collection, nullif(replace(max(encode(tgargs, 'escape')), '\000', ''), '') as owner
    from pg_trigger
    where tgfoid = 'note_events'::regproc
    group by tgrelid
  loop
    perform attach_collection(attached.collection, attached.owner::name);
    for surplus in
      select tgname
      from pg_trigger
      join pg_class on pg_class.oid = tgrelid
      where tgrelid = attached.collection and (
        tgfoid = 'note_events'::regproc
        or tgfoid = 'count_inserted'::regproc and tgname <> relname || '_inserted'
        or tgfoid = 'count_deleted'::regproc and tgname <> relname || '_deleted'
      )
    loop
      execute format('drop trigger %I on %s', surplus.tgname, attached.collection);
    end loop;
  end loop;
end $$;

drop function note_events;
