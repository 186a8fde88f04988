-- The clock of the database decides here and in prune_limits: those of the processes may differ. `expire` is in
-- milliseconds since 1970. A count that ends more than an hour after a new one would was stored before the clock was set
-- back, and has ended.

-- name: count ($1 key, $2 milliseconds until a new count ends)
insert into limits as stored (key, points, expire)
  values ($1, 1, (extract(epoch from now()) * 1000)::bigint + $2::bigint)
on conflict (key) do update set
  points = case when stored.expire > excluded.expire - $2::bigint and stored.expire <= excluded.expire + 3600000
    then stored.points + 1 else 1 end,
  expire = case when stored.expire > excluded.expire - $2::bigint and stored.expire <= excluded.expire + 3600000
    then stored.expire else excluded.expire end
returning points, expire - (extract(epoch from now()) * 1000)::bigint as ends_in;

-- name: set_count ($1 key, $2 count, $3 milliseconds until it ends)
insert into limits (key, points, expire)
  values ($1, $2::integer, (extract(epoch from now()) * 1000)::bigint + $3::bigint)
on conflict (key) do update set points = excluded.points, expire = excluded.expire
returning points, $3::bigint as ends_in;
