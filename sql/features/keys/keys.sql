-- name: create ($1 id, $2 kind, $3 hash in base64, $4 label, $5 subject, $6 scopes, $7 expires, ms since 1970)
insert into credentials (id, kind, hash, label, subject, scopes, expires_at)
values ($1, $2, decode($3, 'base64'), $4, $5, string_to_array($6, ' '), to_timestamp($7::float8 / 1000))
returning (extract(epoch from created_at) * 1000)::float8 as created;

-- `:which` is about an id, $1.
-- name: credentials ($2 limit)
select id::text, kind, encode(hash, 'base64') as hash, label, subject, array_to_string(scopes, ' ') as scopes,
  (extract(epoch from created_at) * 1000)::float8 as created,
  (extract(epoch from expires_at) * 1000)::float8 as expires,
  (extract(epoch from last_used_at) * 1000)::float8 as used
from credentials
where :which
order by id desc
limit $2;

-- name: revoke ($1 id)
delete from credentials where id = $1 returning encode(hash, 'base64') as hash;
