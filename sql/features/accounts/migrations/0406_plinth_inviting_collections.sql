-- Deletions in collections without invitations look for none.
do $do$
declare
  attached record;
begin
  if to_regprocedure('plinth_attach_events(regclass, name, boolean)') is null then
    return;
  end if;
  drop function attach_collection(regclass, name, boolean);
  create function attach_collection(collection regclass, owner name default null, history boolean default false, invite boolean default false)
    returns void language plpgsql as $$
  declare
    is_inviting constant boolean := exists (select from pg_trigger where tgrelid = collection and tgname = 'plinth_superseded');
  begin
    perform plinth_attach_events(collection, owner, history);
    if invite and not is_inviting then
      execute format(
        'create trigger plinth_superseded after delete on %s referencing old table as changed
          for each statement execute function plinth_end_superseded()', collection
      );
    elsif is_inviting and not invite then
      execute format('drop trigger plinth_superseded on %s', collection);
    end if;
  end $$;
  for attached in
    select tgrelid::regclass as name
    from pg_trigger
    join pg_class on pg_class.oid = tgrelid
    left join collections on collections.name = plinth_collection_of(relname)
    where tgname = 'plinth_superseded' and declaration::json -> 'x-collection' ->> 'invite' is distinct from 'true'
      and relnamespace = quote_ident(plinth_collections_schema())::regnamespace
  loop
    execute format('drop trigger plinth_superseded on %s', attached.name);
  end loop;
end $do$;
