-- The records of an invitation as people read them: "Roof, member".
alter table plinth_invitations add column title text;

create index plinth_invitations_open on plinth_invitations (email) where outcome is null;

-- An invitation ends when a record of the invited user is deleted that refers to all that the invitation names: a person who was added
-- in another way, and removed, does not return by it.
create function plinth_end_superseded() returns trigger language plpgsql as $$
declare
  collection constant text := plinth_collection_of(tg_table_name);
  invited text[];
begin
  select array_agg(users.id::text) into invited
  from plinth_invitations
  join plinth_users as users using (email)
  where outcome is null and collection = any (collections);
  if invited is null then
    return null;
  end if;
  update plinth_invitations as invitation set outcome = 'withdrawn'
  from plinth_users as users, (
    select value as user_id, changed.doc from changed cross join lateral jsonb_each_text(changed.doc::jsonb) where value = any (invited)
  ) as removed
  where outcome is null and users.email = invitation.email and users.id::text = removed.user_id
    and exists (
      select from unnest(targets) as target
      where split_part(target, ' ', 1) = collection
        and not exists (select from unnest((string_to_array(target, ' '))[2:]) as id where strpos(removed.doc, id) = 0)
    );
  return null;
end $$;

-- A user that is deleted, or gets another address, does not return by an invitation to the former one either.
create function plinth_end_invitations_to() returns trigger language plpgsql as $$
begin
  update plinth_invitations set outcome = 'withdrawn' where email = old.email and outcome is null;
  return null;
end $$;

-- Citus has no triggers of records.
do $do$
declare
  attached regclass;
begin
  if to_regprocedure('attach_collection(regclass, name, boolean)') is null then
    return;
  end if;
  create trigger plinth_deleted_users after delete on :collections.users
    for each row execute function plinth_end_invitations_to();
  create trigger plinth_moved_users after update on :collections.users
    for each row when (old.email is distinct from new.email) execute function plinth_end_invitations_to();

  alter function attach_collection(regclass, name, boolean) rename to plinth_attach_events;
  create function attach_collection(collection regclass, owner name default null, history boolean default false)
    returns void language plpgsql as $$
  begin
    perform plinth_attach_events(collection, owner, history);
    execute format(
      'create or replace trigger plinth_superseded after delete on %s referencing old table as changed
        for each statement execute function plinth_end_superseded()', collection
    );
  end $$;
  for attached in
    select tgrelid from pg_trigger
    join pg_class on pg_class.oid = tgrelid
    where tgname = plinth_collection_of(relname) || '_updated_events'
      and relnamespace = quote_ident(plinth_collections_schema())::regnamespace
  loop
    execute format(
      'create trigger plinth_superseded after delete on %s referencing old table as changed
        for each statement execute function plinth_end_superseded()', attached
    );
  end loop;
end $do$;
