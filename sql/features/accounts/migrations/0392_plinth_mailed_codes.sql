-- The thing to which a message and its code belong besides a user, such as an invitation.
alter table plinth_mail add column about uuid;
alter table plinth_mail_codes add column about uuid;

-- The message of a code, which counts once with it.
alter table plinth_mail_codes add column mail_id uuid unique;

create index plinth_mail_codes_user on plinth_mail_codes (user_id);

-- A password that is set by any way ends the codes with which the user could set another one. A new hash of an unchanged password has
-- the former version.
create function plinth_end_of_reset_codes() returns trigger language plpgsql as $$
begin
  delete from plinth_mail_codes where user_id = new.user_id and purpose = 'reset';
  return null;
end $$;

create trigger plinth_passwords_set after insert or update of version on passwords
  for each row execute function plinth_end_of_reset_codes();
