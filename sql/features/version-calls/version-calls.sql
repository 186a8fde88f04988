-- In the order of the key, so that two processes cannot deadlock.
-- name: add ($1 the calls, as a JSON array of {version, principal, day, calls, address, called_at})
insert into version_calls as stored (version, principal, day, calls, address, called_at)
select version, principal, day, sum(calls), (array_agg(address order by called_at desc))[1], max(called_at)
from json_to_recordset($1::text::json)
  as called (version text, principal text, day date, calls bigint, address text, called_at timestamptz)
group by version, principal, day
order by version, principal, day
on conflict (version, principal, day) do update
set calls = stored.calls + excluded.calls,
  address = case when excluded.called_at >= stored.called_at then excluded.address else stored.address end,
  called_at = greatest(stored.called_at, excluded.called_at);

-- A page of callers, by version and principal. The days are as many as are retained.
-- name: list ($1 version, $2 principal after which the page begins, $3 number)
select version, principal, json_agg(json_build_object('day', day, 'calls', calls) order by day desc)::text as days,
  (array_agg(address order by called_at desc))[1] as address,
  (extract(epoch from max(called_at)) * 1000)::bigint as called_ms
from (
  select * from version_calls
  where (version, principal) in (
    select distinct version, principal from version_calls
    where (version, principal) > ($1, $2)
    order by version, principal limit $3::bigint
  )
) as called
group by version, principal
order by version, principal;

-- name: prune ($1 days)
delete from version_calls
where (version, principal, day) in (
  select version, principal, day from version_calls
  where day < (now() at time zone 'utc')::date - $1::integer
  order by day limit 1000 for update skip locked
)
returning 1 as pruned;
