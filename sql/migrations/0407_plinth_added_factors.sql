-- A second factor that is added ends the access of applications whose sign-ins proved none: their tokens could otherwise be refreshed
-- without it. Sessions stay, and prove one factor. A code or refresh token holds the methods of its sign-in.
create function plinth_end_of_half_grants() returns trigger language plpgsql as $$
begin
  with proved as materialized (
    select grant_hash from issuer_records
    where user_id = new.user_id and grant_hash is not null and payload::jsonb ? 'amr'
    group by grant_hash
    having bool_and(payload::jsonb -> 'amr' ? 'mfa')
  )
  delete from issuer_records
  where user_id = new.user_id and (model = 'Grant' or grant_hash is not null)
    and coalesce(grant_hash, hash) not in (select grant_hash from proved);
  return null;
end $$;

create trigger plinth_totp_added after insert on plinth_totp
  for each row execute function plinth_end_of_half_grants();
create trigger plinth_passkeys_added after insert on passkeys
  for each row execute function plinth_end_of_half_grants();
