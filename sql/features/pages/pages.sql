-- name: scopes_of_users ($1 ids of users, as a JSON array)
-- The scopes that an operator granted, and how many browsers are signed in.
select ids.value as id, array_to_string(user_scopes.scopes, ' ') as scopes,
  (select count(*) from issuer_records
   where user_id = ids.value::uuid and model = 'Session' and expires_at > now())::int as sessions
from json_array_elements_text($1::text::json) as ids
left join user_scopes on user_scopes.user_id = ids.value::uuid;
