-- A collection gets each of the two triggers of invitations that it lacks: a service in another schema of the database, which was created
-- by an earlier version, has removed one of them.
do $do$
begin
  if to_regprocedure('plinth_attach_events(regclass, name, boolean)') is null then
    return;
  end if;
  create or replace function attach_collection(
    collection regclass, owner name default null, history boolean default false, invite boolean default false
  ) returns void language plpgsql as $$
  declare
    attached name;
  begin
    perform plinth_attach_events(collection, owner, history);
    if invite then
      execute format(
        'create or replace trigger plinth_superseded after delete on %s referencing old table as changed
          for each statement execute function plinth_end_superseded()', collection
      );
      execute format(
        'create or replace trigger plinth_moved after update on %s referencing old table as changed new table as present
          for each statement execute function plinth_end_moved()', collection
      );
      return;
    end if;
    for attached in select tgname from pg_trigger where tgrelid = collection and tgname in ('plinth_superseded', 'plinth_moved') loop
      execute format('drop trigger %I on %s', attached, collection);
    end loop;
  end $$;
end $do$;
