-- Addresses that users have requested, each until a code sent to it and one sent to the present address are used.
create table plinth_address_changes (
  id uuid primary key,
  user_id uuid not null unique references :collections.users (id) on delete cascade,
  email text not null,
  confirmed text[] not null default '{}'
);

-- The last changes of each account that concern its security, which its user sees.
create table plinth_account_log (
  id bigint generated always as identity primary key,
  user_id uuid not null references :collections.users (id) on delete cascade,
  at timestamptz not null default now(),
  change text not null
);
create index plinth_account_log_user on plinth_account_log (user_id, id);

-- Notes a change of a table by whatever way. A user who is deleted has no log any more.
create function plinth_log_account() returns trigger language plpgsql as $$
declare
  changed uuid := case tg_op when 'DELETE' then old.user_id else new.user_id end;
begin
  insert into plinth_account_log (user_id, change)
  select users.id, tg_argv[0] from :collections.users as users where users.id = changed;
  delete from plinth_account_log
  where user_id = changed
    and id <= (select id from plinth_account_log where user_id = changed order by id desc offset 50 limit 1);
  return null;
end $$;

create trigger plinth_log_passwords after insert or update of version on passwords
  for each row execute function plinth_log_account('password');
create trigger plinth_log_new_passkeys after insert on passkeys
  for each row execute function plinth_log_account('passkey-added');
-- Other triggers remove passkeys of passwords that were reset.
create trigger plinth_log_old_passkeys after delete on passkeys
  for each row when (pg_trigger_depth() = 0) execute function plinth_log_account('passkey-removed');
create trigger plinth_log_second_passkeys after delete on plinth_second_passkeys
  for each row when (pg_trigger_depth() = 0) execute function plinth_log_account('passkey-removed');
create trigger plinth_log_new_apps after insert on plinth_totp
  for each row execute function plinth_log_account('app-added');
create trigger plinth_log_old_apps after delete on plinth_totp
  for each row when (pg_trigger_depth() = 0) execute function plinth_log_account('app-removed');
create trigger plinth_log_links after insert on plinth_user_links
  for each row execute function plinth_log_account('issuer');
create trigger plinth_log_disabled after insert on plinth_disabled_users
  for each row execute function plinth_log_account('disabled');
create trigger plinth_log_enabled after delete on plinth_disabled_users
  for each row execute function plinth_log_account('enabled');
create trigger plinth_log_new_sessions after insert on issuer_records
  for each row when (new.model = 'Session' and new.user_id is not null) execute function plinth_log_account('sign-in');
create trigger plinth_log_sessions after update on issuer_records
  for each row when (new.model = 'Session' and new.user_id is not null and old.user_id is null)
  execute function plinth_log_account('sign-in');
