-- Versions before this one attached a collection to any table of its name, also to one of the service. What that added is
-- removed from tables that have not the columns of a collection; their records and their other columns stay.
do $$
declare
  attached record;
begin
  for attached in
    select class.oid::regclass as relation, relname as name, tgname as trigger, proname as event_function
    from pg_trigger
    join pg_class as class on class.oid = tgrelid
    join pg_proc as function on function.oid = tgfoid
    where relnamespace = current_schema()::regnamespace and not tgisinternal and tgparentid = 0
      and (
        proname in ('count_inserted', 'count_deleted') and tgname in (relname || '_inserted', relname || '_deleted')
        or proname = relname || '_note_events'
      )
      and (
        select count(*) < 4
        from pg_attribute
        where attrelid = class.oid and not attisdropped and (attname, atttypid) in (
          ('id', 'uuid'::regtype), ('version', 'integer'::regtype), ('updated_at', 'timestamptz'::regtype), ('doc', 'text'::regtype)
        )
      )
  loop
    execute format('drop trigger if exists %I on %s', attached.trigger, attached.relation);
    if attached.event_function = attached.name || '_note_events' then
      execute format('drop function if exists %I() cascade', attached.event_function);
    end if;
    delete from collections where name = attached.name;
    delete from counts where collection = attached.name;
    delete from blocks where collection = attached.name;
  end loop;
end $$;

-- The columns of a collection can have the names of variables of PL/pgSQL: `old`, `found`, `tg_op`. On Citus other functions
-- write the events.
do $$
declare
  attach constant regprocedure := to_regprocedure('attach_collection(regclass, name)');
begin
  if attach is not null then
    execute replace(
      replace(
        pg_get_functiondef(attach), 'coalesce(quote_ident(owner), ''null::uuid'')',
        'coalesce(''changed.'' || quote_ident(owner), ''null::uuid'')'
      ),
      'as $body$', 'as $body$ #variable_conflict use_variable'
    );
  end if;
end $$;
