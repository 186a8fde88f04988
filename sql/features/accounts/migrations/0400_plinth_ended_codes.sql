-- A new password ends also the changes that someone else may have requested with the former one.
create or replace function plinth_end_of_reset_codes() returns trigger language plpgsql as $$
begin
  delete from plinth_mail_codes where user_id = new.user_id and purpose in ('reset', 'address', 'removal');
  delete from plinth_address_changes where user_id = new.user_id;
  return null;
end $$;
