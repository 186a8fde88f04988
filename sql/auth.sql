-- name: take ($1 hash in base64, $2 seconds since 1970 until which it counts)
insert into taken (hash, until)
values (decode($1, 'base64'), to_timestamp($2))
on conflict (hash) do nothing
returning true as fresh;

-- name: prune_taken
delete from taken
where hash = any (array(select hash from taken where until < now() - interval '1 minute' limit 1000))
returning true;
