-- Each reset of a password makes a new version; a new hash of an unchanged password does not. A sign-in commits only while
-- the version that it has verified is current, and locks it. So a reset waits for the sign-ins that commit before it, and
-- ends them: each statement of the function sees them.
alter table passwords add column version integer not null default 1;

create function end_sign_ins() returns trigger language plpgsql as $$
begin
  delete from issuer_records
  where user_id = new.user_id and (model in ('Session', 'Interaction', 'Grant') or grant_hash is not null);
  delete from passkeys where user_id = new.user_id;
  return null;
end $$;

create trigger passwords_reset after update on passwords
  for each row when (old.version <> new.version) execute function end_sign_ins();
