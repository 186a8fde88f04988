-- An invitation ends also when a record of the invited user gets another team or another user: a person who was moved does not return.
-- The tables have columns such as `collection` and `target`, but none with a dollar sign in its name.
create or replace function plinth_end_superseded() returns trigger language plpgsql as $$
declare
  collection$ constant text := plinth_collection_of(tg_table_name);
  invited$ text[];
begin
  select array_agg(users.id::text) into invited$
  from plinth_invitations
  join plinth_users as users using (email)
  where outcome is null and collection$ = any (collections);
  if invited$ is null then
    return null;
  end if;
  update plinth_invitations as invitation set outcome = 'withdrawn'
  from plinth_users as users, (
    select member.value as user_id, changed.doc
    from changed cross join lateral jsonb_each_text(changed.doc::jsonb) as member
    where member.value = any (invited$)
  ) as removed
  where outcome is null and users.email = invitation.email and users.id::text = removed.user_id
    and exists (
      select from unnest(targets) as target
      where split_part(target, ' ', 1) = collection$
        and not exists (select from unnest((string_to_array(target, ' '))[2:]) as id where strpos(removed.doc, id) = 0)
    );
  return null;
end $$;

create function plinth_end_moved() returns trigger language plpgsql as $$
declare
  collection$ constant text := plinth_collection_of(tg_table_name);
begin
  -- Most changes leave all ids of a record.
  if not exists (
    select from changed join present using (id)
    cross join lateral jsonb_each_text(changed.doc::jsonb) as member
    where length(member.value) = 36 and strpos(present.doc, member.value) = 0
  ) then
    return null;
  end if;
  update plinth_invitations as invitation set outcome = 'withdrawn'
  from plinth_users as users
  where outcome is null and users.email = invitation.email and collection$ = any (collections)
    and exists (
      select from changed join present using (id)
      cross join unnest(invitation.targets) as target$
      where split_part(target$, ' ', 1) = collection$
        and not exists (
          select from unnest((string_to_array(target$, ' '))[2:] || users.id::text) as named where strpos(changed.doc, named) = 0
        )
        and exists (
          select from unnest((string_to_array(target$, ' '))[2:] || users.id::text) as named where strpos(present.doc, named) = 0
        )
    );
  return null;
end $$;

-- Citus has no triggers of records. A collection gets each of the two triggers that it lacks.
do $do$
declare
  attached record;
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
  for attached in
    select tgrelid::regclass as name from pg_trigger join pg_class on pg_class.oid = tgrelid
    where tgname = 'plinth_superseded' and relnamespace = quote_ident(plinth_collections_schema())::regnamespace
  loop
    execute format(
      'create or replace trigger plinth_moved after update on %s referencing old table as changed new table as present
        for each statement execute function plinth_end_moved()', attached.name
    );
  end loop;
end $do$;

-- The three notes of an hour are counted by rows that stay in the log for that hour, however many other changes follow.
alter table plinth_account_log add column is_noted boolean not null default false;
create or replace function plinth_log_change(changed uuid, name text, address text) returns void language sql as $$
  insert into plinth_account_log (user_id, change, recipient, is_noted)
  select changed, name, case when count(*) < 3 then address end, count(*) < 3 and address is not null
  from plinth_account_log where user_id = changed and change = name and is_noted and at > now() - interval '1 hour';
  delete from plinth_account_log
  where user_id = changed and (recipient is null or at <= now() - interval '1 day')
    and not (is_noted and at > now() - interval '1 hour')
    and id <= (select id from plinth_account_log where user_id = changed order by id desc offset 50 limit 1);
$$;

-- A code or a sign-in that was stored while the user was being disabled gives no access, and ends when the user is enabled again.
create function plinth_end_of_enabled() returns trigger language plpgsql as $$
begin
  delete from plinth_mail_codes where user_id = old.user_id;
  delete from plinth_address_changes where user_id = old.user_id;
  delete from issuer_records
  where user_id = old.user_id and (model in ('Session', 'Interaction', 'Grant') or grant_hash is not null);
  return null;
end $$;

create trigger plinth_enabled_users after delete on plinth_disabled_users
  for each row execute function plinth_end_of_enabled();
