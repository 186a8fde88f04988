-- name: count ($1 key, $2 now and $3 end of a new count, in milliseconds since 1970)
insert into limits as stored (key, points, expire) values ($1, 1, $3::bigint)
on conflict (key) do update set
  points = case when stored.expire <= $2::bigint then 1 else stored.points + 1 end,
  expire = case when stored.expire <= $2::bigint then excluded.expire else stored.expire end
returning points, expire;

-- name: set_count ($1 key, $2 count, $3 its end in milliseconds since 1970)
insert into limits (key, points, expire) values ($1, $2::integer, $3::bigint)
on conflict (key) do update set points = excluded.points, expire = excluded.expire
returning points, expire;
