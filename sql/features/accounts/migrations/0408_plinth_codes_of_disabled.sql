-- Codes of a user end when an administrator disables the user, so that none is valid when the user is enabled again.
create function plinth_end_of_disabled_codes() returns trigger language plpgsql as $$
begin
  delete from plinth_mail_codes where user_id = new.user_id;
  delete from plinth_address_changes where user_id = new.user_id;
  return null;
end $$;

create trigger plinth_codes_of_disabled after insert on plinth_disabled_users
  for each row execute function plinth_end_of_disabled_codes();
