-- A note by mail of each change that concerns the security of an account, whatever way it came. `recipient`: the address that the user
-- had before the change; null: no note, or it is written.
alter table plinth_account_log add column recipient text, add column language text not null default 'en';
create index plinth_account_log_notes on plinth_account_log (id) where recipient is not null;

-- An account sends three notes of one change in an hour, so that it cannot flood an address that it has had.
create function plinth_log_change(changed uuid, name text, address text) returns void language sql as $$
  insert into plinth_account_log (user_id, change, recipient)
  select changed, name, case when count(*) < 3 then address end
  from plinth_account_log where user_id = changed and change = name and at > now() - interval '1 hour';
  delete from plinth_account_log
  where user_id = changed
    and id <= (select id from plinth_account_log where user_id = changed order by id desc offset 50 limit 1);
$$;

-- A user who is deleted has no log any more. The first way to sign in needs no note.
create or replace function plinth_log_account() returns trigger language plpgsql as $$
declare
  changed uuid := case tg_op when 'DELETE' then old.user_id else new.user_id end;
  is_noted boolean := tg_argv[0] not in ('sign-in', 'disabled', 'enabled');
begin
  if tg_op = 'INSERT' and tg_argv[0] in ('password', 'issuer') then
    is_noted := 1 < (
      select count(*) from (
        select from passwords where user_id = changed
        union all select from passkeys where user_id = changed
        union all select from plinth_user_links where user_id = changed
      ) as ways
    );
  end if;
  perform plinth_log_change(users.id, tg_argv[0], case when is_noted then users.email end)
  from :collections.users as users where users.id = changed;
  return null;
end $$;

create function plinth_log_address() returns trigger language plpgsql as $$
begin
  perform plinth_log_change(new.id, 'address', old.email);
  return null;
end $$;

-- Citus has no triggers of records.
do $do$
begin
  if to_regprocedure('attach_collection(regclass, name, boolean)') is not null then
    create trigger plinth_log_addresses after update on :collections.users
      for each row when (old.email is distinct from new.email) execute function plinth_log_address();
  end if;
end $do$;
