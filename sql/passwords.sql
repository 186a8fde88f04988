-- name: set_password ($1 user id, $2 hash)
insert into passwords (user_id, hash)
values ($1, $2)
on conflict (user_id) do update set hash = excluded.hash;
