-- name: linked_users ($1 issuers and subjects, as a JSON array of arrays)
select issuer, subject, user_id::text, claims
from plinth_user_links
where (issuer, subject) in (
  select value ->> 0, value ->> 1 from json_array_elements($1::text::json)
);

-- name: link_user ($1 issuer, $2 subject, $3 user id, $4 SHA-256 of the values)
insert into plinth_user_links (issuer, subject, user_id, claims)
values ($1, $2, $3, $4)
on conflict (issuer, subject) do nothing
returning true;

-- name: link_values ($1 issuer, $2 subject, $3 SHA-256 of the values)
update plinth_user_links set claims = $3 where issuer = $1 and subject = $2;

-- A user whose account no password and no subject of another issuer can enter.
-- name: unlinked_user ($1 email)
select users.id::text
from plinth_users as users
where email = $1
  and not exists (select from passwords where user_id = users.id)
  and not exists (select from passkeys where user_id = users.id)
  and not exists (select from plinth_user_links where user_id = users.id)
for update;
