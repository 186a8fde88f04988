-- name: set_password ($1 user id, $2 hash)
-- Others may have known the old password: sessions end, and so does the access of applications.
with ended as (
  delete from issuer_records
  where user_id = $1 and (model in ('Session', 'Grant') or grant_hash is not null)
)
insert into passwords (user_id, hash)
values ($1, $2)
on conflict (user_id) do update set hash = excluded.hash;
