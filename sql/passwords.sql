-- name: set_password ($1 user id, $2 hash)
-- Others may have known the old password: the trigger passwords_reset ends what began with it.
insert into passwords (user_id, hash)
values ($1, $2)
on conflict (user_id) do update set hash = excluded.hash, version = passwords.version + 1;

-- name: lock_version ($1 user id, $2 version of the password that was verified)
-- No row: the password was reset since, by another transaction.
select from passwords
where user_id = $1::uuid and (version = $2::integer or xmin = pg_current_xact_id()::xid)
for no key update;
