-- A user without a second factor any more has no sign-in that one has proved: access that applications have ends, and sessions count as
-- those of one factor. Their tokens could otherwise be refreshed with scopes that need two.
create function plinth_end_of_factors() returns trigger language plpgsql as $$
begin
  if exists (select from plinth_totp where user_id = old.user_id)
    or exists (select from plinth_all_passkeys where user_id = old.user_id) then
    return null;
  end if;
  delete from issuer_records where user_id = old.user_id and (model = 'Grant' or grant_hash is not null);
  update issuer_records
  set payload = jsonb_set(payload::jsonb, '{amr}', coalesce(
    (select jsonb_agg(way) from jsonb_array_elements_text(payload::jsonb -> 'amr') as way where way in ('pwd', 'fed')), '[]'
  ))::text
  where user_id = old.user_id and model = 'Session' and payload::jsonb ? 'amr';
  return null;
end $$;

create trigger plinth_totp_removed after delete on plinth_totp
  for each row execute function plinth_end_of_factors();
create trigger plinth_passkeys_removed after delete on passkeys
  for each row execute function plinth_end_of_factors();
create trigger plinth_second_passkeys_removed after delete on plinth_second_passkeys
  for each row execute function plinth_end_of_factors();
